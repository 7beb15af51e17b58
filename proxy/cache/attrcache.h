/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of one server: handle to attributes.
 *
 * A node is what is known of one handle. Other caches hang on it what they
 * know: names, grants, listings, answers. These are bound to the node's
 * version (size, mtime, ctime) by its generation: a change that was not one
 * of our own begins a new generation, and what belongs to an older one does
 * not count any more.
 *
 * Times are those at which a call was sent, since its answer says nothing of
 * later ones. How old a confirmation may be is the caller's business
 * (contract.h).
 */
#ifndef FOREFETCH_ATTRCACHE_H
#define FOREFETCH_ATTRCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slab.h"
#include "nfsproto/nfs3.h"

/* Times are kept in 48 bits (clock.h). */
#define TIME48(us) ((us) & ((UINT64_C(1) << 48) - 1))

struct attrcache;
struct answer;
struct listing;

enum {
	/* The coarsest grain of a server's timestamps: that of Windows's
	 * clock tick, 15.6 ms (Linux's is 10 ms at most); a second where all of
	 * them are whole ones. */
	GRAIN_US = 16000,
	GRAIN_COARSE_US = 1000000,
};

enum node_flags {
	NODE_ATTRS = 1, /* attributes are there */
	NODE_USED = 2,  /* since the clock's hand passed last */
	NODE_DEAD = 4,  /* STALE or BADHANDLE: nothing of it counts */
	NODE_MOVED = 8, /* by a call of our own that changed its ctime only */
	NODE_PROGRAM = 16, /* its first bytes are those of one */
	/* PATHCONF's answer about this object, kept here until its file system
	 * is known. */
	NODE_CASE_SENSITIVE = 32,
	NODE_CASE_BLIND = 64,
	/* Contents that a client was going to change had been replaced: no
	 * answer rests on an older confirmation any more. */
	NODE_CONTESTED = 128,
	/* Its version is the outcome of a change of ours, and nobody else
	 * changed it in between. */
	NODE_OURS = 256,
	/* We changed it, by whatever call. */
	NODE_WRITTEN = 512,
	/* Somebody else was seen to change its contents: once, and again. */
	NODE_CHANGED = 1024,
	NODE_LIVELY = 2048,
};

/* Machines that a node tells apart, a bit each. */
enum {
	NODE_MACHINES = 12,
	NODE_MACHINES_ALL = (1 << NODE_MACHINES) - 1,
};

struct node {
	slab_ref next;
	slab_ref grants;       /* accesscache */
	slab_ref ext;          /* struct node_ext */
	slab_ref profile;      /* what many objects have in common */
	uint64_t sent_us : 48; /* of the call that last confirmed; 0: none */
	uint64_t flags : 16;
	uint64_t seen_us : 48; /* when this ctime was first seen */
	uint64_t refs : 16;    /* names that lead here; stops at the top */
	uint64_t size;
	uint64_t used;
	uint64_t fileid;
	nfstime3 atime;
	nfstime3 mtime;
	nfstime3 ctime;
	uint32_t fh_len : 8;
	/* Machines that were told the attributes of the version that is known,
	 * from the cache, and those that were told so of contents that had been
	 * replaced: neither has had the server's own answer since. A machine
	 * that is among both has had it later than all that were told wrongly,
	 * so whichever of them it may have been before, it knows better. */
	uint32_t told : NODE_MACHINES;
	uint32_t mistold : NODE_MACHINES;
	uint8_t fh[];
};

_Static_assert(offsetof(struct node, fh) == 84,
    "handles of 28 bytes, as Linux's servers have, fit into 112");

/* Members that few nodes need, so that the others do without their memory. */
struct node_ext {
	uint32_t generation;
	uint32_t nchildren; /* names kept in this directory */
	/* Changes of our own: when the first of this generation was sent, and
	 * when the last one was answered. */
	uint64_t first_sent_us;
	uint64_t changed_us;
	struct listing *listings;
	struct answer *answers;
};

/* Properties of a file system, as its server told them once. */
struct fsys {
	uint64_t fsid;
	uint32_t export_plus_one; /* of the configuration; 0: none */
	uint64_t subseconds : 1;  /* timestamps are finer than a second */
	uint64_t case_known : 1;
	uint64_t case_sensitive : 1;
	uint64_t unlisted : 1; /* a name was found that a listing lacked */
	/* Its ctimes do not tell how far the server's clock has come; what was
	 * bound before this was known counts no more. */
	uint64_t clock_back : 1;
	uint64_t
	    links_us : 48; /* some file lost or got a link, unknown which */
	/* When the last call of our own was answered that may have changed how
	 * much room there is. */
	uint64_t room_us;
	/* Clients' calls, those of them that are changes or WRITEs, all others
	 * that the server was asked for, and bytes of replies; for those who
	 * look. */
	uint64_t calls, changes, asked, bytes;
};

/* Whether a name that is there has one spelling, and is listed by it. */
static inline bool fsys_lists_all(const struct fsys *fs)
{
	return fs && fs->case_known && fs->case_sensitive && !fs->unlisted;
}

struct attrcache *attrcache_new(struct slab *slab);
void attrcache_free(struct attrcache *ac);

/* The node of a handle's fh_key(), or NULL. */
struct node *attrcache_by_key(struct attrcache *ac, uint64_t key);

/* Who asks, by bits of struct node. */
struct machine {
	uint16_t own;  /* 0: it is none that a node tells apart */
	uint16_t also; /* those that it may have been before */
};

/* A machine is told the node's attributes: on the strength of a confirmation
 * that is `older` than its request, or of one that is not. */
void attrcache_tell(struct node *node, struct machine m, bool older);

/* The attributes that a machine goes by. */
enum attr_told {
	ATTR_TOLD,          /* the server's own */
	ATTR_TOLD_FROM_OLD, /* of an older confirmation */
	ATTR_TOLD_WRONGLY,  /* likewise, and the contents were others */
};

enum attr_told attrcache_told(const struct node *node, struct machine m);

/* NULL where it is not known. Marks it as used. */
struct node *attrcache_find(struct attrcache *ac, const nfs3_fh *fh);
/* The same, made where it is missing; NULL without memory. */
struct node *attrcache_get(struct attrcache *ac, const nfs3_fh *fh);
struct node *attrcache_node(const struct attrcache *ac, slab_ref ref);
slab_ref attrcache_ref(const struct attrcache *ac, const struct node *node);
struct node_ext *attrcache_ext(struct attrcache *ac, const struct node *node);
struct node_ext *attrcache_make_ext(struct attrcache *ac, struct node *node);
static inline nfs3_fh node_fh(const struct node *node)
{
	return (nfs3_fh){.len = node->fh_len, .data = (const char *)node->fh};
}
/* fh_key() of its handle. */
uint64_t node_key(const struct node *node);

void attrcache_fattr(
    const struct attrcache *ac, const struct node *node, fattr3 *out);
ftype3 attrcache_type(const struct attrcache *ac, const struct node *node);
struct fsys *attrcache_fsys(
    const struct attrcache *ac, const struct node *node);
struct fsys *attrcache_find_fsys(struct attrcache *ac, uint64_t fsid);
/* All of them, from `i` = 0 on; NULL behind the last one. */
struct fsys *attrcache_fsys_at(struct attrcache *ac, uint32_t i);

static inline bool nfstime_equal(const nfstime3 *a, const nfstime3 *b)
{
	return a->seconds == b->seconds && a->nseconds == b->nseconds;
}

/* Whether these attributes are of the version that is known. */
bool attrcache_is_version(
    const struct attrcache *ac, const struct node *node, const fattr3 *a);

enum attr_result {
	ATTR_IGNORED, /* sent before a newer state, or before an own change */
	ATTR_SAME,    /* confirmed */
	ATTR_NEW,     /* first ones */
	ATTR_MOVED,   /* a new ctime, by a change of our own; the rest stays */
	ATTR_CHANGED, /* somebody changed it: a new generation */
};

/* Attributes from a reply to a call sent at `sent_us` that changed nothing. */
enum attr_result attrcache_apply(struct attrcache *ac, struct node *node,
    const fattr3 *a, uint64_t sent_us, uint64_t now_us);

/*
 * The wcc_data of a reply to a change of our own. True where what is bound
 * to the version stays good but for what was changed: the attributes before
 * it were those that are known (RFC 1813 section 2.6), or `contents_stay`,
 * as after SETATTR without size and LINK, and size and mtime say so, too.
 */
bool attrcache_apply_wcc(struct attrcache *ac, struct node *node,
    const wcc_data *wcc, bool contents_stay, uint64_t sent_us, uint64_t now_us);
/* A change of our own, such as RENAME, that leaves the contents, and whose
 * reply did not say which attributes the object has now. */
void attrcache_moved(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us);
/* A call of our own changed it, and nobody knows how: all that hangs on it
 * goes. */
void attrcache_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us);
/* Some object of the node's file system was changed by a call of our own,
 * but which one is not known: all are to be asked for again; where `links`,
 * only those with several names. */
void attrcache_changed_some(
    struct attrcache *ac, const struct node *node, bool links, uint64_t now_us);
/* A call of our own may have changed how much room the node's file system has.
 */
void attrcache_changed_room(
    struct attrcache *ac, const struct node *node, uint64_t now_us);
/* The handle is of no use any more. The caller has taken all but names from
 * the node, and must not use it after this. */
void attrcache_dead(struct attrcache *ac, struct node *node);
/* The server said just now that a handle is of no use any more, be it one that
 * is not known: answers that are on their way are older. */
void attrcache_died(struct attrcache *ac, const nfs3_fh *fh, uint64_t now_us);
/* Whether the server has said so since a call was sent at `sent_us`, so that
 * the call's answer tells nothing of the handle. */
bool attrcache_has_died(
    const struct attrcache *ac, const nfs3_fh *fh, uint64_t sent_us);
/* The answer to a call that was sent at `sent_us` shows `is` (NULL: nothing)
 * behind a name that led to `was`: somebody else did that. What is known of
 * `was` counts no more until it is confirmed, and `is` has what that one had
 * of being changed often, as if its contents had been changed in place. */
void attrcache_replaced(const struct attrcache *ac, struct node *was,
    struct node *is, uint64_t sent_us);
/* A name leads to it, or no longer; a name in it is gone. */
void attrcache_hold(struct attrcache *ac, slab_ref ref);
void attrcache_release(struct attrcache *ac, slab_ref ref);
void attrcache_release_dir(struct attrcache *ac, slab_ref ref);

/* When the call that confirmed the attributes was sent. 0: they must not be
 * used, for example because the same file was changed by another handle. */
uint64_t attrcache_sent(const struct attrcache *ac, const struct node *node);
/* Whether an answer to a call sent then may be kept. */
bool attrcache_may_fill(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us);
/* Whether bytes, names and absences of such an answer are bound to the ctime
 * for good: it was sent a grain after the ctime was seen, or after the file
 * system had shown a ctime that is later by more than that (base/srvclock.h).
 */
bool attrcache_firm(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us);
/* How long the version of the node that is known had stood, in microseconds,
 * when the server answered a call that was sent at `sent_us`: as long as it has
 * been known, or longer by what is known of the server's clock (an estimate,
 * base/srvclock.h). */
uint64_t attrcache_still_us(struct attrcache *ac, const struct node *node,
    uint64_t sent_us, uint64_t now_us);
/* The node's present generation. A binding of another generation is invalid. */
uint32_t attrcache_generation(struct attrcache *ac, const struct node *node);
/* How many file systems got `clock_back` since this was asked last. */
uint32_t attrcache_take_clocks_back(struct attrcache *ac);

/* ---- for caches.c and metasave.c -------------------------------------- */

/* Whether it was not used since the clock's hand passed, and no name leads
 * to it. */
bool attrcache_is_idle(struct attrcache *ac, const struct node *node);
/* The clock's hand goes on; returns a node to be given up, or NULL after
 * `*steps` buckets, which are taken off. The caller takes what hangs on it,
 * then calls remove. */
struct node *attrcache_sweep(struct attrcache *ac, size_t *steps);
void attrcache_remove(struct attrcache *ac, struct node *node);
/* Call `cb` for all nodes of one bucket, counted from 0; false behind the
 * last bucket. */
bool attrcache_each(struct attrcache *ac, size_t bucket,
    void (*cb)(void *arg, struct node *node), void *arg);
/* Attributes as they were saved; `sent_us` as in contract.h. Nobody knows
 * any more when the version was first seen, so it counts as seen now. */
void attrcache_load(struct attrcache *ac, struct node *node, const fattr3 *a,
    uint64_t sent_us, uint64_t now_us);
size_t attrcache_count(const struct attrcache *ac);
/* Bytes outside of the slab. */
size_t attrcache_bytes(const struct attrcache *ac);

#endif
