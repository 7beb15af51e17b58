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
#include "prefetch/calls/flight.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/queue/want.h"
#include "warm/dirset.h"
#include "warm/warm.h"

enum {
	WARM_ITEMS_MAX = 65536, /* of one walk; about 7 MiB */
	/* Directories of one walk: more are a tree without an end. And of all
	 * walks of a server, 32 MiB or so. */
	WARM_DIRS_MAX = 1 << 20,
	WARM_DIRS_ALL_MAX = 1 << 21,
	WARM_FLIGHTS_MAX = 64,
	WARM_TRIES_MAX = 5,
};

enum item_kind {
	ITEM_MOUNT,  /* the export's root is to be mounted */
	ITEM_NAME,   /* `name`, a path below `fh`, is to be looked up */
	ITEM_OBJECT, /* what `fh` is has to be asked */
	ITEM_DIR,
	ITEM_FILE,
	ITEM_LINK,
};

/* Something of the tree that is to be looked at. */
struct item {
	uint8_t kind;
	uint8_t tries;
	bool root;   /* where the walk begins: an error on the way ends it */
	bool rights; /* the user's rights were asked for */
	bool proof;  /* they were asked for because the file is to be pinned */
	bool met;    /* a directory that is in `dirs` */
	uint8_t fh_len;
	char fh[NFS3_FHSIZE_MAX];
	char *name; /* MOUNT, NAME: what is left of the path; allocated */
	union {
		struct {
			uint64_t cookie;
			char verf[NFS3_COOKIEVERFSIZE];
			/* The cookie of a former page, each time that twice as
			 * many have gone by: if it comes again, the listing
			 * goes round in a circle. */
			uint64_t mark;
			uint32_t pages;
		} dir;
		struct {
			uint64_t offset, end;
			bool counted; /* in the progress */
			bool pinned;
		} file;
	};
};

/* One walk. */
struct warm_walk {
	LIST_ENTRY(warm_walk) link;
	struct warm *warm;
	struct want_owner job; /* its place in the queue */
	struct credential *cred;
	uid_t uid;
	bool data;
	int pin;    /* -1: for none */
	bool asked; /* by a user, now: as in hold.h */
	char *export;
	struct dirset dirs; /* that were put on the stack */
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

/* The walks of one server. */
struct warm {
	struct warm_params p;
	struct warm_walks walks;
	unsigned nwalks;
	size_t ndirs; /* of all walks */
	struct flights flights;
	uint64_t demand_us;   /* when others' calls were last under way */
	uint64_t probed_us;   /* when the last probe began */
	uint64_t probe_bytes; /* that may still go out beyond the budget */
};

/* warm.c */
/*
 * Whether a call may go out that the budget has no room for. Calls that keep
 * within the estimate of the link never show that it could carry more: so now
 * and then, while clients are quiet, a walk may send as much again for one
 * round trip.
 */
bool warm_probe(struct warm *wm, uint64_t bytes, uint64_t now_us);
/* Takes `it`, its name too, even where there is no room. */
void warm_push(struct warm_walk *w, const struct item *it);
/* A new item; `name` is copied, and may be NULL. */
void warm_push_new(struct warm_walk *w, enum item_kind kind, const nfs3_fh *fh,
    const nfs3_name *name, bool root);
/* An object with known attributes, by what it is; a directory that the walk has
 * met before is left out. */
void warm_push_object(
    struct warm_walk *w, const nfs3_fh *fh, ftype3 type, bool root);
/* Whether an entry of a directory is left out: a file server's snapshots, which
 * are copies of the tree. Who names one gets it. */
bool warm_skips(const nfs3_name *name);
/* The item's handle, which points into it. */
nfs3_fh item_fh(const struct item *it);

/* warm_step.c */
/* One call at most; STEP_DONE: the item is used up. */
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
