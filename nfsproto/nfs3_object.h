/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles and names as keys: what every part of the proxy knows objects by. */
#ifndef FOREFETCH_NFS3_OBJECT_H
#define FOREFETCH_NFS3_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/xdr_view.h"

/*
 * The 64-bit hash of a handle, never 0, for places where a handle of 64 bytes
 * is too long. Two objects may have the same key, so only guesses, or a
 * comparison with the handle itself, may rest on it.
 */
uint64_t fh_key(const nfs3_fh *fh);

/* Whether a name is "." or "..", which are not entries of a directory. */
bool nfs3_name_is_dots(const nfs3_name *name);

#endif
