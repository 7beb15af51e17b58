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
	/* The server called its handle stale or bad: nothing of it counts. */
	NODE_DEAD = 4,
	NODE_MOVED = 8, /* a call of our own changed its ctime only */
	/* Its first bytes are those of a program ("#!", ELF). */
	NODE_PROGRAM = 16,
	/* PATHCONF said so about case in this object's file system. It is kept
	 * here until that file system is known. */
	NODE_CASE_SENSITIVE = 32,
	NODE_CASE_BLIND = 64,
	/* Contents that a client was going to change had been replaced by
	 * somebody else: no answer rests on an older confirmation any more. */
	NODE_CONTESTED = 128,
	/* Its version is the outcome of a change of ours, and nobody else
	 * changed it in between. */
	NODE_OURS = 256,
	/* A call of our own changed it. */
	NODE_WRITTEN = 512,
	/* Somebody else was seen to change its contents once (CHANGED), and
	 * once more (LIVELY). */
	NODE_CHANGED = 1024,
	NODE_LIVELY = 2048,
};

/* Machines that a node tells apart, a bit each. */
enum {
	NODE_MACHINES = 12,
	NODE_MACHINES_ALL = (1 << NODE_MACHINES) - 1,
};

/* The object behind one handle, as far as it is known. It lies in a slab; the
 * attributes that many objects share are in its profile (attrcache_private.h),
 * the rest of them here. */
struct node {
	/* The next node of its bucket (reftab.h). */
	slab_ref next;
	/* The first of its grants (accesscache.h); 0: none. */
	slab_ref grants;
	slab_ref ext;     /* struct node_ext; 0: none yet */
	slab_ref profile; /* type, mode, owner, file system; 0: none yet */
	/* When the call was sent that last confirmed the attributes; 0: they do
	 * not count. */
	uint64_t sent_us : 48;
	uint64_t flags : 16;
	/* When the reply came that first showed this ctime. */
	uint64_t seen_us : 48;
	/* Names in the cache that lead here; stops at the top. */
	uint64_t refs : 16;
	/* These are as in fattr3 (RFC 1813 section 2.6): bytes, bytes on the
	 * server's disk, and the number of the file. */
	uint64_t size;
	uint64_t used;
	uint64_t fileid;
	nfstime3 atime;
	nfstime3 mtime;
	nfstime3 ctime;
	uint32_t fh_len : 8;
	/* Two sets of machines, a bit each: those that were told the attributes
	 * of the version that is known from the cache (`told`), and those that
	 * were told so of contents that had been replaced (`mistold`). Neither
	 * has had the server's own answer since. A machine that is among both
	 * has had it later than all that were told wrongly, so whichever of
	 * them it may have been before, it knows better. */
	uint32_t told : NODE_MACHINES;
	uint32_t mistold : NODE_MACHINES;
	uint8_t fh[];
};

_Static_assert(offsetof(struct node, fh) == 84,
    "handles of 28 bytes, as Linux's servers have, fit into 112");

/* Members that few nodes need, so that the others do without their memory. */
struct node_ext {
	/* Grows with each change that was not our own, or that nobody knows:
	 * what is bound to another generation does not count. */
	uint32_t generation;
	uint32_t nchildren; /* names kept in this directory */
	/* When the first change of our own in this generation was sent (0:
	 * there was none), and when the last one was answered. */
	uint64_t first_sent_us;
	uint64_t changed_us;
	/* When it was last seen that somebody else had replaced the contents.
	 */
	uint64_t replaced_us;
	/* Lists of what listcache.c and answercache.c keep of it. */
	struct listing *listings;
	struct answer *answers;
};

/* Properties of a file system, as its server told them once. */
struct fsys {
	uint64_t fsid;
	/* Which [export] section counts for it, from 1 on; 0: none. */
	uint32_t export_plus_one;
	uint64_t subseconds : 1; /* timestamps are finer than a second */
	uint64_t case_known : 1;
	uint64_t case_sensitive : 1;
	uint64_t unlisted : 1; /* a name was found that a listing lacked */
	/* A listing had an entry with an older ctime than the server had told
	 * before: listings confirm nothing. */
	uint64_t lists_old : 1;
	/* The server's clock was set back, so its ctimes do not tell how far
	 * that clock has come. What was bound before this was found out counts
	 * no more. */
	uint64_t clock_back : 1;
	uint64_t
	    /* When a call of our own was answered that may have taken a link
	     * from some file, or given it one, nobody knows which. */
	    links_us : 48;
	/* When the last call of our own was answered that may have changed how
	 * much room there is; FSSTAT answers from before are past. */
	uint64_t room_us;
	/* Counts since the daemon began or its caches were flushed, for people
	 * to look at: clients' calls, those of them that are changes or WRITEs,
	 * all others that the server was asked for, and bytes of replies. */
	uint64_t calls, changes, asked, bytes;
	/* The part of these counts that mountuse_take() has told. */
	struct fsys_told {
		uint64_t calls, changes, asked, bytes;
	} told;
};

/* Whether a name that is there has one spelling, and listings have it: only
 * then does a listing show that a name is absent. False for NULL. */
static inline bool fsys_lists_all(const struct fsys *fs)
{
	return fs && fs->case_known && fs->case_sensitive && !fs->unlisted;
}

/* Makes the table of nodes in a slab, which outlives it. NULL without memory.
 */
struct attrcache *attrcache_new(struct slab *slab);
/* Frees the tables; the nodes go with the slab. NULL is allowed. */
void attrcache_free(struct attrcache *ac);

/* Returns the node whose handle has this fh_key(), or NULL. The key is a hash,
 * so use it only where another node of the same key would do no harm. */
struct node *attrcache_by_key(struct attrcache *ac, uint64_t key);

/* Who asks, by bits of struct node. */
struct machine {
	uint16_t own;  /* 0: it has none of its own */
	uint16_t also; /* those that it may have been before */
};

/* Notes that a machine is told attributes of the node: `a`, or the ones that
 * are known (NULL). They come from an answer to a call that was sent at
 * `sent_us`, and the machine's request came in at `asked_us` (0: it was that
 * call). Where `sent_us` is the earlier one, it is told of an older
 * confirmation; so it is, too, by an answer to a call that was sent before
 * anybody was last told of the file from the cache. A change of the machine's
 * own is told as of now. Nothing for a machine without a bit. */
void attrcache_tell(struct attrcache *ac, struct node *node, struct machine m,
    const fattr3 *a, uint64_t sent_us, uint64_t asked_us);

/* The attributes that a machine goes by when it writes to a file. */
enum attr_told {
	ATTR_TOLD,          /* the server's own */
	ATTR_TOLD_FROM_OLD, /* of an older confirmation */
	/* An older confirmation of contents that had been replaced. */
	ATTR_TOLD_WRONGLY,
};

enum attr_told attrcache_told(const struct node *node, struct machine m);
/* Whether it was seen at `since_us` or later that somebody else had replaced
 * the contents. A WRITE that has waited since then asks this, too:
 * attrcache_told() may show what its machine was told later. Only a node that
 * has its struct node_ext by then remembers that. */
bool attrcache_was_replaced(
    struct attrcache *ac, const struct node *node, uint64_t since_us);

/* Finds the node of a handle, and marks it as used; NULL where there is none.
 */
struct node *attrcache_find(struct attrcache *ac, const nfs3_fh *fh);
/* The same, but makes the node where it is missing. NULL without memory, or
 * where no handle is that long. */
struct node *attrcache_get(struct attrcache *ac, const nfs3_fh *fh);
/* Returns the node that a reference in the slab stands for; slab_ref_of() gives
 * the reference of a node. */
struct node *attrcache_node(const struct attrcache *ac, slab_ref ref);
/* The node's ext: NULL where it has none; attrcache_make_ext() makes it, and
 * gives NULL without memory. */
struct node_ext *attrcache_ext(struct attrcache *ac, const struct node *node);
struct node_ext *attrcache_make_ext(struct attrcache *ac, struct node *node);
/* The node's handle, as long as the node is there. */
static inline nfs3_fh node_fh(const struct node *node)
{
	return (nfs3_fh){.len = node->fh_len, .data = (const char *)node->fh};
}
/* fh_key() of its handle. */
uint64_t node_key(const struct node *node);

/* The attributes, and the type alone; the node must have NODE_ATTRS. */
void attrcache_fattr(
    const struct attrcache *ac, const struct node *node, fattr3 *out);
ftype3 attrcache_type(const struct attrcache *ac, const struct node *node);
/* The node's file system, NULL where it has no attributes; and that of an fsid,
 * which is made where it is missing, NULL without memory or where there are
 * 65536. */
struct fsys *attrcache_fsys(
    const struct attrcache *ac, const struct node *node);
struct fsys *attrcache_get_fsys(struct attrcache *ac, uint64_t fsid);
struct fsys *attrcache_find_fsys(struct attrcache *ac, uint64_t fsid);
/* All file systems, from `i` = 0 on; NULL behind the last one. */
struct fsys *attrcache_fsys_at(struct attrcache *ac, uint32_t i);

static inline bool nfstime_equal(const nfstime3 *a, const nfstime3 *b)
{
	return a->seconds == b->seconds && a->nseconds == b->nseconds;
}

static inline uint64_t nfstime_ns(const nfstime3 *t)
{
	return t->seconds * UINT64_C(1000000000) + t->nseconds;
}

/* Whether these attributes are of the version that is known: type, file system
 * and number of the file, size, mtime and ctime agree. */
bool attrcache_is_version(
    const struct attrcache *ac, const struct node *node, const fattr3 *a);

/* The meaning of attributes that came, compared with those that are known. */
enum attr_result {
	/* The call was sent before a newer state was seen, or a change of our
	 * own answered; or memory ran out. */
	ATTR_IGNORED,
	ATTR_SAME,    /* confirmed */
	ATTR_NEW,     /* first ones */
	ATTR_MOVED,   /* a new ctime, by a change of our own; the rest stays */
	ATTR_CHANGED, /* somebody else changed it: a new generation begins */
};

/* Takes attributes from a reply, come at `now_us`, to a call sent at `sent_us`
 * that changed nothing. */
enum attr_result attrcache_apply(struct attrcache *ac, struct node *node,
    const fattr3 *a, uint64_t sent_us, uint64_t now_us);

/*
 * Takes the wcc_data of a reply to a change of our own. True where what is
 * bound to the version stays good but for what was changed: the attributes
 * before the change were those that are known (RFC 1813 section 2.6), or
 * `contents_stay`, as after SETATTR without size and LINK, and size and mtime
 * say so, too.
 */
bool attrcache_apply_wcc(struct attrcache *ac, struct node *node,
    const wcc_data *wcc, bool contents_stay, uint64_t sent_us, uint64_t now_us);
/* Notes a change of our own, such as RENAME, that leaves the contents as they
 * are, and whose reply did not say which attributes the object has now. */
void attrcache_moved(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us);
/* Notes that a call of our own changed it, and nobody knows how: all that is
 * bound to it counts no more. */
void attrcache_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us);
/* Notes that a call of our own changed some object of the node's file system,
 * and nobody knows which: all are to be asked for again; where `links`, only
 * those with several names. */
void attrcache_changed_some(
    struct attrcache *ac, const struct node *node, bool links, uint64_t now_us);
/* Notes that a call of our own may have changed how much room the node's file
 * system has. */
void attrcache_changed_room(
    struct attrcache *ac, const struct node *node, uint64_t now_us);
/* Ends a node whose handle is of no use any more. The caller has taken all but
 * names from it, and must not use it after this; it is freed when the last name
 * that leads to it goes. */
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

/* Returns when the call was sent that confirmed the attributes. 0: they must
 * not be used, for example because the same file was changed by another handle.
 */
uint64_t attrcache_sent(const struct attrcache *ac, const struct node *node);
/* Whether the reply to a call that was sent at `sent_us` may be kept: no change
 * of our own to the node was answered since. */
bool attrcache_may_fill(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us);
/* Whether bytes, names and absences of such an answer are bound to the ctime
 * for good, so that any later change would show: the call was sent a grain
 * after the ctime was first seen, or after the file system had shown a ctime
 * that is later by more than that (base/srvclock.h). */
bool attrcache_firm(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us);
/* Returns for how many microseconds the version that is known had stood when
 * the server answered a call that was sent at `sent_us`: for as long as it has
 * been known, or longer by what is known of the server's clock (an estimate,
 * base/srvclock.h). */
uint64_t attrcache_still_us(struct attrcache *ac, const struct node *node,
    uint64_t sent_us, uint64_t now_us);
/* Returns the node's present generation. A binding of another generation is
 * invalid. */
uint32_t attrcache_generation(struct attrcache *ac, const struct node *node);
/* Returns how many file systems got `clock_back` since this was asked last. */
uint32_t attrcache_take_clocks_back(struct attrcache *ac);

/* ---- for caches.c and metasave.c -------------------------------------- */

/* Whether it was not used since the clock's hand passed, and no name leads
 * to it. */
bool attrcache_is_idle(struct attrcache *ac, const struct node *node);
/* Moves the clock's hand on; returns a node to be given up, or NULL after
 * `*steps` buckets, which are counted down. The caller takes off what hangs on
 * the node, then calls attrcache_remove(), which frees it. */
struct node *attrcache_sweep(struct attrcache *ac, size_t *steps);
void attrcache_remove(struct attrcache *ac, struct node *node);
/* Calls `cb` for all nodes of one bucket, counted from 0; false behind the last
 * bucket. `cb` may remove the node that it gets. */
bool attrcache_each(struct attrcache *ac, size_t bucket,
    void (*cb)(void *arg, struct node *node), void *arg);
/* Takes attributes as they were saved; `sent_us` is one of CONTRACT_LOADED.
 * Nobody knows any more when the version was first seen, so it counts as seen
 * at `now_us`. */
void attrcache_load(struct attrcache *ac, struct node *node, const fattr3 *a,
    uint64_t sent_us, uint64_t now_us);
/* How many nodes there are. */
size_t attrcache_count(const struct attrcache *ac);
/* The bytes that the cache takes outside of the slab. */
size_t attrcache_bytes(const struct attrcache *ac);

#endif
