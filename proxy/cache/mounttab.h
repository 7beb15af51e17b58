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

/* One kept answer. In what mounttab_find() and mounttab_at() give, all points
 * into the table, and is good until the next mounttab_put(). */
struct mounttab_entry {
	const char *path;
	size_t path_len;
	const struct cred_key *cred; /* to whom it was answered */
	struct xdr_view body;        /* MNT3res, encoded */
	uint64_t sent_us;
};

/* Makes an empty table; NULL without memory. */
struct mounttab *mounttab_new(void);
/* Frees it; NULL is allowed. */
void mounttab_free(struct mounttab *mt);

/* Keeps an answer, a copy, in place of an older one for the same path and
 * credential. The oldest goes when there are MOUNTTAB_MAX. Without memory it is
 * not kept. */
void mounttab_put(struct mounttab *mt, const struct mounttab_entry *e);
/* Finds the answer for a path and a credential; false where there is none. */
bool mounttab_find(const struct mounttab *mt, const mnt3_path *path,
    const struct cred_key *cred, struct mounttab_entry *e);
/* Gives all answers, from `i` = 0 on, the latest first; false behind the last
 * one. */
bool mounttab_at(
    const struct mounttab *mt, unsigned i, struct mounttab_entry *e);

#endif
