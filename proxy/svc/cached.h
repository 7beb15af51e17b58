/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May a call be answered from the caches? One function a procedure decides. It
 * sends nothing, counts nothing, and knows of the request only what is in
 * `struct cached_call`. All that it changes is what nodes remember of having
 * been told (known_tell()).
 *
 *	svc_answer.c ─ call ─▶ cached_*() ─┬▶ HIT: these are the results
 *	     ▲                             ├▶ CONFIRM: if it is as it was
 *	     │                             ├▶ REST: but for the end of data
 *	     │                             ├▶ WAIT: when the disk brings it
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

/* The caches' decision about a call. */
enum cached_verdict {
	CACHED_MISS,
	CACHED_HIT,
	/* The results are there, but nobody knows whether they still hold. An
	 * ACCESS of the object, which stands first in the arguments, will tell,
	 * and spares a reply that is larger. */
	CACHED_CONFIRM,
	/* Of a READ the first `have` bytes are there, or of a READDIRPLUS the
	 * entries before those that `rest` asks for. */
	CACHED_REST,
	CACHED_WAIT, /* the disk reads the data of a READ; `disk` hears of it */
};

/* A call as the functions below see it; the caller keeps all that it points to.
 */
struct cached_call {
	struct asker who;
	const struct nfs_proc *proc;
	const union nfs_args *args;
	bool confirmed; /* the server was asked for its object already */
	/* The server was asked for the end of its answer already. */
	bool rest_asked;
	struct datacache_waiter *disk; /* for a READ, as in datacache_find() */
	/* For a READDIRPLUS: whether to leave out the handle and attributes of
	 * an entry; NULL: of none. */
	bool (*hides)(const void *ctx, const struct node *node);
	const void *hides_ctx;
};

/* The answer; its members but `have`, `rest` and `list` are good for HIT only.
 */
struct cached_answer {
	union nfs_res res;
	/* When the call was sent that confirmed what the answer rests on. */
	uint64_t sent_us;
	uint32_t have; /* for REST: how many of the first bytes are there */
	READDIRPLUS3args rest; /* for REST: what is missing of a listing */
	/* The data of a READ, by reference; the cache keeps it until the event
	 * loop goes on. */
	unsigned npieces;
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	/* The entries that `res` of READDIR and READDIRPLUS points to, which
	 * the caller frees; NULL for other procedures. */
	char *list;
};

/* One function for each procedure that caches may answer; cached_whole() is for
 * those whose results are kept as they came: READLINK, FSSTAT, FSINFO, PATHCONF
 * and GETACL. Each fills `a` as far as the verdict says. GETATTR and ACCESS
 * give HIT or MISS only, since the confirmation itself would be as large. */
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
enum cached_verdict cached_whole(
    const struct cached_call *call, struct cached_answer *a);

#endif
