/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An object that was forgotten is like one whose handle the server called
 * stale (caches_dead()): answers that are on their way do not bring it back,
 * and names that led to it are not known any more. Its node lives on, marked as
 * dead, as long as names stand in it, and so the names tell what is below. */
#include "explain/forget.h"

#include "base/clock.h"
#include "cache/known.h"

enum {
	/* How long a step takes, in microseconds, and how many buckets of names
	 * are looked at between two readings of the clock. */
	STEP_US = 500,
	BUCKETS = 64,
	/* A path of PATH_MAX bytes has half as many levels. */
	PASSES_MAX = 2048,
};

static void forget_node(struct forget *f, const struct node *node)
{
	nfs3_fh fh = node_fh(node);

	caches_dead(f->caches, &fh, f->now_us);
	f->objects++;
}

enum forget_found forget_begin(struct forget *f, struct caches *c,
    const char *export, const char *path, uint64_t now_us)
{
	struct asker who = asker_now(c, 0, now_us);
	struct known_walk w;
	nfs3_fh fh;

	*f = (struct forget){
	    .caches = c, .flushes = c->flushes, .now_us = now_us};
	if (!caches_mounted(c, export, &fh)) {
		f->over = true;
		return FORGET_UNMOUNTED;
	}
	known_walk_begin(&w, &who, attrcache_find(c->attr, &fh), path);
	while (known_walk_next(&w))
		;
	/* The server is asked anew where the name leads. A listing may say,
	 * too, that it leads nowhere. */
	if (*path && !*w.left && w.dir.node) {
		c->dirty = true;
		namecache_forget(c->names, w.dir.node, &w.name);
		if (!w.node)
			listcache_drop(c->lists, w.dir.node);
	}
	if (*w.left || !w.node)
		return FORGET_NOTHING;
	f->over = (w.node->flags & NODE_ATTRS) &&
		  attrcache_type(c->attr, w.node) != NF3DIR;
	forget_node(f, w.node);
	return FORGET_OBJECT;
}

static void look_at_name(void *arg, const struct dentry *d)
{
	struct forget *f = arg;
	struct attrcache *ac = f->caches->attr;
	const struct node *child;

	if (!d->child || !(attrcache_node(ac, d->dir)->flags & NODE_DEAD))
		return;
	child = attrcache_node(ac, d->child);
	if (child->flags & NODE_DEAD)
		return;
	forget_node(f, child);
	f->found = true;
}

/* Looks at some names; false where the last pass is over. */
static bool look_on(struct forget *f)
{
	for (int i = 0; i < BUCKETS; i++) {
		if (namecache_each(
			f->caches->names, f->bucket++, look_at_name, f))
			continue;
		f->bucket = 0;
		if (!f->found || ++f->passes == PASSES_MAX)
			return false;
		f->found = false;
	}
	return true;
}

bool forget_step(struct forget *f, uint64_t now_us)
{
	f->now_us = now_us;
	if (f->over || f->caches->flushes != f->flushes)
		return false;
	do {
		if (!look_on(f))
			return false;
	} while (clock_now_us() < now_us + STEP_US);
	return true;
}
