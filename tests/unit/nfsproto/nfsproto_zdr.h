/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnfs's codecs behind plain types: its headers and <rpc/rpc.h> cannot be
 * in one file.
 */
#ifndef FOREFETCH_TESTS_NFSPROTO_ZDR_H
#define FOREFETCH_TESTS_NFSPROTO_ZDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decode `len` bytes by libnfs and encode what comes out, into `out` of
 * `size` bytes; how many, or 0 where it refuses either. Version 3 of `prog`.
 */
size_t zdr_recode(uint32_t prog, uint32_t proc, bool res, const void *in,
    size_t len, void *out, size_t size);

/*
 * Encode by libnfs, from fields set by name, the message that is a row of
 * wire_rows[] by that name; 0 where there is none here.
 */
size_t zdr_make(const char *name, void *out, size_t size);

#endif
