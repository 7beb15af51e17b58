/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to warm*.c.
 *
 *	warm.c          walks and their turns
 *	warm_step.c     what an item needs next
 *	warm_flight.c   calls under way, and what their replies lead to
 *
 * What is known and not yet looked at is a stack: the latest goes first, so
 * that it holds a page of entries for each level of the tree and not the tree.
 * The next page of a directory lies below the entries of the one before.
 */
#ifndef FOREFETCH_WARM_PRIVATE_H
#define FOREFETCH_WARM_PRIVATE_H

#include <sys/queue.h>

#include "cache/caches.h"
#include "link/linkest.h"
#include "prefetch/flight.h"
#include "prefetch/want.h"
#include "warm/warm.h"

enum {
	WARM_ITEMS_MAX = 65536, /* of one walk; about 7 MiB */
	WARM_FLIGHTS_MAX = 64,
	WARM_TRIES_MAX = 5,
};

enum item_kind {
	ITEM_MOUNT,  /* the export's root */
	ITEM_NAME,   /* `name`, a path, below fh */
	ITEM_OBJECT, /* attributes are not known yet */
	ITEM_DIR,
	ITEM_FILE,
	ITEM_LINK,
};

struct item {
	uint8_t kind;
	uint8_t tries;
	bool root;   /* of the path itself: its errors end the walk */
	bool rights; /* were asked for */
	bool proof;  /* likewise, before a file is pinned */
	uint8_t fh_len;
	char fh[NFS3_FHSIZE_MAX];
	char *name; /* MOUNT, NAME: what is left of the path; allocated */
	union {
		struct {
			uint64_t cookie;
			char verf[NFS3_COOKIEVERFSIZE];
		} dir;
		struct {
			uint64_t offset, end;
			bool counted;
			bool pinned;
		} file;
	};
};

struct warm_walk {
	LIST_ENTRY(warm_walk) link;
	struct warm *warm;
	struct want_owner job; /* its place in the queue */
	struct pf_cred *cred;
	bool data;
	int pin; /* -1: for none */
	char *export;
	struct item *items; /* a stack */
	size_t nitems, size;
	unsigned nflights;
	uint64_t begun_us, ended_us;
	struct warm_progress p;
};

LIST_HEAD(warm_walks, warm_walk);

/* A call of a walk; may outlive it. */
struct warm_flight {
	struct flight fl;
	struct warm *warm;
	struct warm_walk *walk; /* NULL: it ended meanwhile */
	struct item item;       /* as it was when the call went out */
};

struct warm {
	struct warm_params p;
	struct warm_walks walks;
	unsigned nwalks;
	struct flights flights;
	uint64_t demand_us; /* when others' calls were last under way */
	uint64_t probed_us;
	uint64_t probe_bytes; /* that may still go out beyond the budget */
};

/* warm.c */
/* Whether a call may go out that the budget has no room for. What is sent
 * within an estimate never shows that the link could carry more; so where
 * nobody else uses it, there is once as much on it for a round trip. */
bool warm_probe(struct warm *wm, uint64_t bytes, uint64_t now_us);
/* Takes `it`, its name too, even where there is no room. */
void warm_push(struct warm_walk *w, const struct item *it);
/* An object with known attributes. */
void warm_push_object(
    struct warm_walk *w, const nfs3_fh *fh, ftype3 type, bool root);
/* An entry of a directory that was listed without its handle. */
void warm_push_name(
    struct warm_walk *w, const nfs3_fh *dir, const nfs3_name *name);
/* Whether it is better left alone, unless named: copies of the tree. */
bool warm_skips(const nfs3_name *name);
nfs3_fh item_fh(const struct item *it);

/* warm_step.c */
/* As a turn of its want; STEP_DONE: the item is used up. */
enum step warm_step(
    struct warm_walk *w, struct item *it, uint64_t now_us, uint64_t *wait_us);

/* warm_flight.c */
/* Ask; takes the name of `it` on success. False without memory. */
bool warm_flight_start(struct warm_walk *w, const struct item *it,
    const struct nfs_proc *proc, const union nfs_args *args, uint64_t bytes,
    uint64_t now_us);
void warm_flights_init(struct warm *wm);
/* The walk ends; its calls run their course. */
void warm_flights_leave(struct warm_walk *w);

#endif
