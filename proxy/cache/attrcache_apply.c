/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies replies to nodes: decides which of two states is the later one, what
 * a change of our own leaves valid, and how old a confirmation is. Calls
 * overtake each other on their way, so nothing is concluded from the order of
 * replies.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/attrcache_private.h"
#include "cache/contract.h"
#include "hashing/hash_key.h"

/* So many file systems have a list of changed files, of 96 KiB each; in the
 * others each change of our own makes all older confirmations void. */
enum { CHANGES_FSYS = 64 };

/* A file that was replaced within this time of its own last change, by the
 * server's clock, is one of many to come: what is unchanged for so long is held
 * to attr_timeout alone (contract_set_still()). */
#define SHORT_LIFE_NS UINT64_C(30000000000)

/* Invalidates everything that is bound to the node. A node with nothing bound
 * to it has no generation to count. */
static void next_generation(struct attrcache *ac, struct node *node)
{
	struct node_ext *x = attrcache_ext(ac, node);

	if (!x)
		return;
	x->generation++;
	x->first_sent_us = 0;
}

bool attrcache_is_version(
    const struct attrcache *ac, const struct node *n, const fattr3 *a)
{
	const struct profile *p;

	if (!(n->flags & NODE_ATTRS))
		return false;
	p = node_profile(ac, n);
	return n->size == a->size && n->fileid == a->fileid &&
	       nfstime_equal(&n->mtime, &a->mtime) &&
	       nfstime_equal(&n->ctime, &a->ctime) && p->type == a->type &&
	       ac->fsys[p->fsys]->fs.fsid == a->fsid;
}

/* Whether the attributes are of the contents that are known: a ctime of another
 * mode or owner does not count. */
static bool same_contents(const struct node *n, const fattr3 *a)
{
	return (n->flags & NODE_ATTRS) && n->size == a->size &&
	       n->fileid == a->fileid && nfstime_equal(&n->mtime, &a->mtime);
}

void node_forget_attrs(struct attrcache *ac, struct node *node)
{
	node->flags &= (uint16_t)~NODE_ATTRS;
	node->sent_us = 0;
	profile_drop(ac, node->profile);
	node->profile = 0;
}

bool node_store(struct attrcache *ac, struct node *node, const fattr3 *a)
{
	slab_ref profile = profile_get(ac, a);
	struct fsys_slot *fs;

	if (!profile) {
		node_forget_attrs(ac, node);
		return false;
	}
	profile_drop(ac, node->profile);
	node->profile = profile;
	node->flags |= NODE_ATTRS;
	node->size = a->size;
	node->used = a->used;
	node->fileid = a->fileid;
	node->atime = a->atime;
	node->mtime = a->mtime;
	node->ctime = a->ctime;
	fs = node_slot(ac, node);
	if (a->ctime.nseconds != 0)
		fs->fs.subseconds = true;
	return true;
}

/* Returns the wall clock less clock_now_us(). A reading may be a system call,
 * and it need not be exact, so the clock is read once a second at most. */
static uint64_t wall_us(struct attrcache *ac, uint64_t now_us)
{
	enum { WALL_READ_US = 1000000 };

	if (ac->wall_read_us == 0 ||
	    now_us - ac->wall_read_us >= WALL_READ_US) {
		ac->wall_read_us = now_us;
		ac->wall_us = clock_real_us() - now_us;
	}
	return ac->wall_us;
}

/* Looks at what a change says of the server's clock, before the node has the
 * new attributes `a`: in the answer to a call that was sent at `since_us` it
 * had the ctime `was`, so the change came later. */
static void clock_look(struct attrcache *ac, const struct node *node,
    const nfstime3 *was, const fattr3 *a, uint64_t since_us, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);

	if (!fs || fs->fs.fsid != a->fsid || nfstime_equal(was, &a->ctime))
		return;
	if (since_us > CONTRACT_LOADED_WHOLE_US)
		srvclock_compare(&fs->clock, nfstime_ns(&a->ctime), since_us,
		    wall_us(ac, now_us));
	if (fs->fs.clock_back ||
	    !srvclock_went_back(
		&fs->clock, nfstime_ns(was), nfstime_ns(&a->ctime), since_us))
		return;
	fs->fs.clock_back = true;
	ac->nback++;
}

/* Notes the ctime that the node has now for what it says of the server's clock.
 */
static void clock_show(
    struct attrcache *ac, const struct node *node, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);

	if (fs)
		srvclock_show(&fs->clock, nfstime_ns(&node->ctime), now_us);
}

bool attrcache_may_fill(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us)
{
	return sent_us > node_changed_us(ac, node);
}

static size_t telling_place(const struct node *node)
{
	return hash_number(node->fileid) & (TELLINGS - 1);
}

/* Returns when the node's file was last told of from the cache. Where that was
 * forgotten, it is the latest time at which it may have been. */
static uint64_t told_us(const struct attrcache *ac, const struct node *node)
{
	const struct telling *t = &ac->tellings[telling_place(node)];

	return t->fileid == node->fileid ? t->us : ac->told_floor_us;
}

static void note_telling(
    struct attrcache *ac, const struct node *node, uint64_t us)
{
	struct telling *t = &ac->tellings[telling_place(node)];

	/* Only WRITEs ask for it, and clients send those to files alone. */
	if (attrcache_type(ac, node) != NF3REG)
		return;
	if (t->fileid != node->fileid) {
		if (t->us > ac->told_floor_us)
			ac->told_floor_us = t->us;
		*t = (struct telling){.fileid = node->fileid};
	}
	if (us > t->us)
		t->us = us;
}

void attrcache_tell(struct attrcache *ac, struct node *node, struct machine m,
    const fattr3 *a, uint64_t sent_us, uint64_t asked_us)
{
	uint32_t told = node->told, mistold = node->mistold, own = m.own;
	bool older = false, later = false;

	if (own == 0)
		return;
	if (sent_us >= CONTRACT_LOADED_WHOLE_US) {
		if (sent_us < asked_us)
			note_telling(ac, node, asked_us);
		older = sent_us < asked_us || sent_us < told_us(ac, node);
	}
	/* The machine may have been told another version later, and goes by
	 * that. */
	if (older && a && !attrcache_is_version(ac, node, a))
		return;
	/* A machine that is in both sets may turn out to have been this one,
	 * under another address, and is then told from the cache, too. */
	if (older)
		mistold &= ~told;
	else
		later = ((told & m.also) | (mistold & ~own)) != 0;
	told = (told & ~own) | (older || later ? own : 0);
	mistold = (mistold & ~own) | (later ? own : 0);
	node->told = told & NODE_MACHINES_ALL;
	node->mistold = mistold & NODE_MACHINES_ALL;
}

enum attr_told attrcache_told(const struct node *node, struct machine m)
{
	uint32_t told = node->told, mistold = node->mistold, bits = m.own;

	/* The machine was told something itself, later than any that it may
	 * have been before, so only its own bit counts. */
	if (((told | mistold) & bits) == 0)
		bits |= m.also;
	if (mistold & ~told & bits)
		return ATTR_TOLD_WRONGLY;
	return told & ~mistold & bits ? ATTR_TOLD_FROM_OLD : ATTR_TOLD;
}

bool attrcache_was_replaced(
    struct attrcache *ac, const struct node *node, uint64_t since_us)
{
	const struct node_ext *x = attrcache_ext(ac, node);

	return x && x->replaced_us >= since_us;
}

/* Notes that somebody else had replaced the contents: all machines that were
 * told the former ones from the cache were told wrongly. */
static void told_wrongly(
    struct attrcache *ac, struct node *node, uint64_t now_us)
{
	uint32_t told = node->told, mistold = node->mistold;
	struct node_ext *x = attrcache_ext(ac, node);

	node->told = told & mistold & NODE_MACHINES_ALL;
	node->mistold = (told | mistold) & NODE_MACHINES_ALL;
	if (x)
		x->replaced_us = now_us;
}

/* Whether contents came back from before, which is no change by anybody: a
 * server that lost its memory has lost WRITEs that were not committed, and
 * their client sends them again. A file system may have kept the ctime of such
 * a WRITE, and lost its bytes; so it is where the version was our own, or was
 * confirmed when no other change could have that ctime. A file that has grown
 * has not come back, whatever its ctime: somebody may have appended to it after
 * the server's clock was set back. */
static bool came_back(
    const struct attrcache *ac, const struct node *node, const fattr3 *a)
{
	uint64_t was_ns = nfstime_ns(&node->ctime),
		 is_ns = nfstime_ns(&a->ctime);

	if (is_ns < was_ns)
		return a->size <= node->size;
	return is_ns == was_ns && a->size < node->size &&
	       (node->flags & NODE_OURS ||
		   attrcache_firm(ac, node, node->sent_us));
}

enum attr_result attrcache_apply(struct attrcache *ac, struct node *node,
    const fattr3 *a, uint64_t sent_us, uint64_t now_us)
{
	bool had = node->flags & NODE_ATTRS, moved;
	bool same = attrcache_is_version(ac, node, a);

	if (!attrcache_may_fill(ac, node, sent_us) ||
	    (!same && sent_us < node->seen_us)) {
		/* Nobody can tell which state is the later one, because
		 * calls overtake each other: the object has to be asked for
		 * again. */
		if (!same)
			node->sent_us = 0;
		return ATTR_IGNORED;
	}
	if (same) {
		/* Our rename or link has left the ctime as it was, so it does
		 * not explain a later one. */
		node->flags &= (uint16_t)~NODE_MOVED;
		if (sent_us >= node->sent_us && node_store(ac, node, a))
			node->sent_us = TIME48(sent_us);
		clock_show(ac, node, now_us);
		return ATTR_SAME;
	}
	moved = (node->flags & NODE_MOVED) && same_contents(node, a);
	if (!moved)
		next_generation(ac, node);
	if (had)
		clock_look(ac, node, &node->ctime, a, node->sent_us, now_us);
	if (!same_contents(node, a) && !came_back(ac, node, a))
		told_wrongly(ac, node, now_us);
	if (had && !same_contents(node, a))
		node->flags |=
		    node->flags & NODE_CHANGED ? NODE_LIVELY : NODE_CHANGED;
	node->flags &= (uint16_t) ~(NODE_MOVED | NODE_OURS);
	if (!node_store(ac, node, a))
		return ATTR_IGNORED;
	node->sent_us = TIME48(sent_us);
	node->seen_us = TIME48(now_us);
	clock_show(ac, node, now_us);
	if (moved)
		return ATTR_MOVED;
	return had ? ATTR_CHANGED : ATTR_NEW;
}

/* Remembers that this file was changed, for its other handles: one file may
 * have several, by the export or the directory that it was looked up in. */
static void note_change(
    struct attrcache *ac, const struct node *node, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);
	struct change *c;

	if (!fs) {
		/* Nobody knows which file it is, and where, so it may be any.
		 */
		attrcache_changed_some(ac, node, false, now_us);
		return;
	}
	if (!fs->changes && ac->nchanges < CHANGES_FSYS) {
		fs->changes = calloc(CHANGES, sizeof(*fs->changes));
		ac->nchanges += fs->changes != NULL;
	}
	if (!fs->changes) {
		fs->floor_us = now_us;
		return;
	}
	c = &fs->changes[hash_number(node->fileid) & (CHANGES - 1)];
	if (c->fileid != node->fileid && c->us > fs->floor_us)
		fs->floor_us = c->us;
	*c = (struct change){
	    .fileid = node->fileid, .us = now_us, .node = slab_ref_of(node)};
}

/* Notes a change of our own, sent at `sent_us` and answered at `now_us`: what a
 * call that was sent before that answer says of the node is not kept. */
static void mark_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	struct node_ext *x = attrcache_make_ext(ac, node);

	node->flags |= NODE_WRITTEN;
	note_change(ac, node, now_us);
	if (x) {
		if (x->first_sent_us == 0)
			x->first_sent_us = sent_us;
		x->changed_us = now_us;
	} else {
		ac->forgotten_us = now_us;
	}
}

/*
 * Judges, by a change of our own, what machines were told. If it came upon the
 * contents that they were told, they were told the truth. If it came upon
 * others (`replaced`), they were not, unless these come from another change of
 * our own that was under way as well. In that case nobody can tell, nor whose
 * was a version that was first seen while this change was under way: it is
 * taken for ours, since a WRITE must not fail on a file that only this daemon's
 * clients change. Then nobody replaced anything, either (`replaced_us`).
 */
static void judge_told(struct attrcache *ac, struct node *node, bool replaced,
    uint64_t sent_us, uint64_t now_us)
{
	struct node_ext *x = attrcache_ext(ac, node);

	if (sent_us < node->seen_us) {
		node->mistold = 0;
		if (x)
			x->replaced_us = 0;
	} else if (replaced && attrcache_may_fill(ac, node, sent_us)) {
		told_wrongly(ac, node, now_us);
	}
	node->told &= node->mistold;
}

/* Whether the contents were those that are known. */
static bool had_contents(const struct node *node, const wcc_attr *w)
{
	return node->size == w->size && nfstime_equal(&node->mtime, &w->mtime);
}

/* Whether the object was in the state that is known before the change came:
 * then nobody else changed it in between (RFC 1813 section 2.6). */
static bool matches_before(const struct node *node, const pre_op_attr *before)
{
	const wcc_attr *w = &before->pre_op_attr_u.attributes;

	return before->attributes_follow && (node->flags & NODE_ATTRS) &&
	       had_contents(node, w) && nfstime_equal(&node->ctime, &w->ctime);
}

/* Whether somebody else had replaced the contents when the change came. Another
 * ctime alone does not say so: a rename, a link or a new mode changes it, too.
 * If the attributes are not known any more, nor are the contents that machines
 * were told, so these count as replaced. */
static bool was_replaced_before(
    const struct node *node, const pre_op_attr *before)
{
	return before->attributes_follow &&
	       (!(node->flags & NODE_ATTRS) ||
		   !had_contents(node, &before->pre_op_attr_u.attributes));
}

/* Notes whose the new version is. A CREATE of a name that is there changes
 * nothing: then the version is still whose it was. */
static void mark_ours(const struct attrcache *ac, struct node *node, bool ours,
    const fattr3 *after)
{
	if (!ours)
		node->flags &= (uint16_t)~NODE_OURS;
	else if (!attrcache_is_version(ac, node, after))
		node->flags |= NODE_OURS;
}

bool attrcache_apply_wcc(struct attrcache *ac, struct node *node,
    const wcc_data *wcc, bool contents_stay, uint64_t sent_us, uint64_t now_us)
{
	const fattr3 *after = &wcc->after.post_op_attr_u.attributes;
	bool ours = wcc->after.attributes_follow &&
		    node->fileid == after->fileid &&
		    (matches_before(node, &wcc->before) ||
			(contents_stay && same_contents(node, after)));
	bool replaced = !ours && was_replaced_before(node, &wcc->before);
	bool older = sent_us < node->seen_us;

	if (wcc->after.attributes_follow && wcc->before.attributes_follow)
		clock_look(ac, node,
		    &wcc->before.pre_op_attr_u.attributes.ctime, after, sent_us,
		    now_us);
	else if (wcc->after.attributes_follow && (node->flags & NODE_ATTRS))
		clock_look(ac, node, &node->ctime, after,
		    sent_us < node->sent_us ? sent_us : node->sent_us, now_us);
	/* The attributes are taken before the change is noted, which needs the
	 * number of the file. */
	if (!(node->flags & NODE_ATTRS) && wcc->after.attributes_follow)
		(void)node_store(ac, node, after);
	judge_told(
	    ac, node, replaced && (node->flags & NODE_ATTRS), sent_us, now_us);
	mark_changed(ac, node, sent_us, now_us);
	if (!ours)
		next_generation(ac, node);
	mark_ours(ac, node, ours, after);
	if (!wcc->after.attributes_follow || (older && !ours)) {
		/* Nobody can tell which of two replies shows the later
		 * state. */
		node->sent_us = 0;
		return false;
	}
	node->seen_us = TIME48(now_us);
	if (node_store(ac, node, after) && !older)
		node->sent_us = TIME48(sent_us);
	clock_show(ac, node, now_us);
	return ours;
}

void attrcache_changed(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	judge_told(ac, node, false, sent_us, now_us);
	mark_changed(ac, node, sent_us, now_us);
	next_generation(ac, node);
	node->sent_us = 0;
}

void attrcache_moved(
    struct attrcache *ac, struct node *node, uint64_t sent_us, uint64_t now_us)
{
	mark_changed(ac, node, sent_us, now_us);
	node->sent_us = 0;
	node->flags |= NODE_MOVED;
}

void attrcache_changed_some(
    struct attrcache *ac, const struct node *node, bool links, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);

	/* A node without attributes may be of any file system. */
	for (uint32_t i = 0; i < ac->nfsys; i++) {
		if (fs && ac->fsys[i] != fs)
			continue;
		if (links)
			ac->fsys[i]->fs.links_us = TIME48(now_us);
		else
			ac->fsys[i]->floor_us = now_us;
	}
}

void attrcache_changed_room(
    struct attrcache *ac, const struct node *node, uint64_t now_us)
{
	struct fsys_slot *fs = node_slot(ac, node);

	if (fs) {
		fs->fs.room_us = now_us;
		return;
	}
	for (uint32_t i = 0; i < ac->nfsys; i++)
		ac->fsys[i]->fs.room_us = now_us;
}

void attrcache_replaced(const struct attrcache *ac, struct node *was,
    struct node *is, uint64_t sent_us)
{
	if (was->sent_us < TIME48(sent_us))
		was->sent_us = 0;
	/* Programs that write a file anew and rename it change one name again
	 * and again, and each of the files only once. */
	if (!is || !(is->flags & NODE_ATTRS) ||
	    attrcache_type(ac, is) == NF3DIR)
		return;
	/* Nobody replaced what was only dropped from the cache. */
	if (is->fh_len == was->fh_len &&
	    memcmp(is->fh, was->fh, was->fh_len) == 0)
		return;
	if ((was->flags & NODE_CHANGED) ||
	    nfstime_ns(&is->ctime) - nfstime_ns(&was->ctime) < SHORT_LIFE_NS)
		is->flags |= NODE_LIVELY;
	is->flags |= NODE_CHANGED;
}

/* ---- asking ----------------------------------------------------------- */

uint64_t attrcache_still_us(struct attrcache *ac, const struct node *node,
    uint64_t sent_us, uint64_t now_us)
{
	const struct fsys_slot *fs = node_slot(ac, node);
	uint64_t known_us =
	    sent_us > node->seen_us ? sent_us - node->seen_us : 0;
	uint64_t clock_ns, ctime_ns = nfstime_ns(&node->ctime);

	if (!fs)
		return known_us;
	clock_ns =
	    srvclock_estimate_ns(&fs->clock, sent_us, wall_us(ac, now_us));
	if (clock_ns > ctime_ns && (clock_ns - ctime_ns) / 1000 > known_us)
		return (clock_ns - ctime_ns) / 1000;
	return known_us;
}

uint64_t attrcache_sent(const struct attrcache *ac, const struct node *node)
{
	const struct fsys_slot *fs = node_slot(ac, node);
	const struct change *c;

	if (!(node->flags & NODE_ATTRS) || !fs ||
	    node->sent_us <= fs->floor_us ||
	    (node_profile(ac, node)->nlink > 1 &&
		node_profile(ac, node)->type != NF3DIR &&
		node->sent_us <= fs->fs.links_us))
		return 0;
	if (!fs->changes)
		return node->sent_us;
	c = &fs->changes[hash_number(node->fileid) & (CHANGES - 1)];
	if (c->fileid == node->fileid && node->sent_us <= c->us &&
	    attrcache_node(ac, c->node) != node)
		return 0;
	return node->sent_us;
}

bool attrcache_firm(
    const struct attrcache *ac, const struct node *node, uint64_t sent_us)
{
	const struct fsys_slot *fs = node_slot(ac, node);
	uint64_t grain_us;

	if (!fs)
		return false;
	grain_us = fs->fs.subseconds ? GRAIN_US : GRAIN_COARSE_US;
	return sent_us >= node->seen_us + grain_us ||
	       (!fs->fs.clock_back &&
		   srvclock_past(&fs->clock, nfstime_ns(&node->ctime), grain_us,
		       sent_us));
}
