/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May a call be answered from the caches? One function a procedure decides,
 * and does nothing else: it sends nothing, counts nothing, and knows of the
 * request only what is in `struct cached_call`.
 *
 *	svc_answer.c ─ call ─▶ cached_*() ─┬▶ HIT: these are the results
 *	     ▲                             ├▶ CONFIRM: … if it is as it was
 *	     │                             ├▶ REST: … but for the end of data
 *	     │                             ├▶ WAIT: … when the disk brings it
 *	     └── when there is an answer ──┘▶ MISS: the server must be asked
 *
 * After CONFIRM, REST and WAIT, when there is an answer, the function is asked
 * again. docs/CONTRACT.md has a table of what each answer needs, for the
 * credential that asks.
 */
#ifndef FOREFETCH_CACHED_H
#define FOREFETCH_CACHED_H

#include <stdbool.h>

#include "cache/known.h"
#include "nfsproto/nfs_proc.h"

enum cached_verdict {
	CACHED_MISS,
	CACHED_HIT,
	/* An ACCESS of the object, which stands first in the arguments, spares
	 * a reply that is larger. */
	CACHED_CONFIRM,
	CACHED_REST, /* READ: the first `have` bytes are there */
	CACHED_WAIT, /* READ: `disk` hears of it */
};

struct cached_call {
	struct asker who;
	const struct nfs_proc *proc;
	const union nfs_args *args;
	bool confirmed;  /* its object was asked for already */
	bool rest_asked; /* the end of its data was asked for already */
	struct datacache_waiter *disk; /* READ; as in datacache_find() */
	/* READDIRPLUS: whether to leave out what is known of an entry; NULL: of
	 * none. */
	bool (*hides)(const void *ctx, const struct node *node);
	const void *hides_ctx;
};

struct cached_answer {
	union nfs_res res;
	/* When the confirmation was sent that the answer rests on. */
	uint64_t sent_us;
	uint32_t have; /* REST */
	/* The data of a READ, by reference; the cache keeps it until the event
	 * loop goes on. */
	unsigned npieces;
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	/* The entries that `res` of READDIR and READDIRPLUS points to; to be
	 * freed by the caller. Else NULL. */
	char *list;
};

enum cached_verdict cached_getattr(
    const struct cached_call *call, struct cached_answer *a);
enum cached_verdict cached_access(
    const struct cached_call *call, struct cached_answer *a);
enum cached_verdict cached_lookup(
    const struct cached_call *call, struct cached_answer *a);
enum cached_verdict cached_read(
    const struct cached_call *call, struct cached_answer *a);
enum cached_verdict cached_readdir(
    const struct cached_call *call, struct cached_answer *a);
enum cached_verdict cached_readdirplus(
    const struct cached_call *call, struct cached_answer *a);
/* READLINK, FSSTAT, FSINFO, PATHCONF, GETACL. */
enum cached_verdict cached_whole(
    const struct cached_call *call, struct cached_answer *a);

#endif
