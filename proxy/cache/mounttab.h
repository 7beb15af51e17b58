/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the answers of MNT, so that a client can mount while the server is
 * away.
 */
#ifndef FOREFETCH_MOUNTTAB_H
#define FOREFETCH_MOUNTTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/credtab.h"
#include "nfsproto/xdr_view.h"

struct mounttab;

enum { MOUNTTAB_MAX = 1024 };

struct mounttab_entry {
	const char *path;
	size_t path_len;
	const struct cred_key *cred; /* to whom it was answered */
	struct xdr_view body;        /* MNT3res, encoded */
	uint64_t sent_us;
};

struct mounttab *mounttab_new(void);
void mounttab_free(struct mounttab *mt);

/* In place of an older one; the oldest goes when there are too many. */
void mounttab_put(struct mounttab *mt, const struct mounttab_entry *e);
bool mounttab_find(const struct mounttab *mt, const mnt3_path *path,
    const struct cred_key *cred, struct mounttab_entry *e);
/* All of them, from `i` = 0 on; false behind the last one. */
bool mounttab_at(
    const struct mounttab *mt, unsigned i, struct mounttab_entry *e);

#endif
