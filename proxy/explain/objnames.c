/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds names of objects. In the cache of names a name leads to its object, not
 * the other way. So the objects are looked up first; then each name in the
 * cache is compared with them by the number of its node, which needs nothing of
 * the node itself. */
#include "explain/objnames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/known.h"
#include "hashing/hash_key.h"
#include "nfsproto/nfs3_object.h"

/* An object, and what was found of it. */
struct objname {
	uint64_t object;
	slab_ref node; /* 0: not cached */
	uint64_t dir;  /* 0: not known */
	char *name;
};

/* A search. Nodes may be freed between two steps, so it holds numbers of them,
 * no pointers. */
struct objnames {
	struct objname *list;
	/* Open addressing, index + 1: by object, and by node. */
	uint32_t *objects, *nodes;
	size_t mask;
	size_t n, max;
	size_t resolved; /* of the objects */
	size_t bucket;   /* of the names, the next one */
	uint64_t flushes;
	bool begun;
};

/* One step of a search. */
struct search {
	struct caches *c;
	struct objnames *on;
	uint32_t cred;
	uint64_t now_us;
	bool all;
};

struct objnames *objnames_new(size_t max)
{
	struct objnames *on = calloc(1, sizeof(*on));

	if (!on)
		return NULL;
	for (on->mask = 1; on->mask < 2 * max; on->mask *= 2)
		;
	on->max = max;
	on->list = calloc(max + 1, sizeof(*on->list));
	on->objects = calloc(on->mask, sizeof(*on->objects));
	on->nodes = calloc(on->mask, sizeof(*on->nodes));
	on->mask--;
	if (on->list && on->objects && on->nodes)
		return on;
	objnames_free(on);
	errno = ENOMEM;
	return NULL;
}

void objnames_free(struct objnames *on)
{
	if (!on)
		return;
	for (size_t i = 0; i < on->n; i++)
		free(on->list[i].name);
	free(on->list);
	free(on->objects);
	free(on->nodes);
	free(on);
}

/* The place of an object in its table, or the free one where it belongs. */
static uint32_t *by_object(const struct objnames *on, uint64_t object)
{
	size_t at = hash_number(object) & on->mask;

	while (
	    on->objects[at] && on->list[on->objects[at] - 1].object != object)
		at = (at + 1) & on->mask;
	return &on->objects[at];
}

/* The place of a node's number in its table, or the free one where it
 * belongs. */
static uint32_t *by_node(const struct objnames *on, slab_ref node)
{
	size_t at = hash_number(node) & on->mask;

	while (on->nodes[at] && on->list[on->nodes[at] - 1].node != node)
		at = (at + 1) & on->mask;
	return &on->nodes[at];
}

static struct objname *find(const struct objnames *on, uint64_t object)
{
	uint32_t i = *by_object(on, object);

	return i ? &on->list[i - 1] : NULL;
}

void objnames_add(struct objnames *on, uint64_t object)
{
	uint32_t *at = by_object(on, object);

	if (*at || on->n == on->max)
		return;
	on->list[on->n++].object = object;
	*at = (uint32_t)on->n;
}

bool objnames_at(const struct objnames *on, size_t i, uint64_t *object)
{
	if (i >= on->n)
		return false;
	*object = on->list[i].object;
	return true;
}

void objnames_set(
    struct objnames *on, uint64_t object, const char *name, size_t len)
{
	struct objname *x = find(on, object);

	if (!x)
		return;
	free(x->name);
	x->name = strndup(name, len);
}

const char *objnames_find(const struct objnames *on, uint64_t object)
{
	const struct objname *x = find(on, object);

	return x ? x->name : NULL;
}

uint64_t objnames_dir(const struct objnames *on, uint64_t object)
{
	const struct objname *x = find(on, object);

	return x && x->name ? x->dir : 0;
}

/* ---- the walk --------------------------------------------------------- */

/* Whether the user may know names in the name's directory. */
static bool may_search(const struct search *s, const struct dentry *d)
{
	const struct node *dir = attrcache_node(s->c->attr, d->dir);
	const struct grant *g;

	if (s->all)
		return true;
	g = dir ? accesscache_find(s->c->access, dir, s->cred) : NULL;
	return known_given(s->c, dir, g, ACCESS3_LOOKUP, s->now_us);
}

/* Called for each name of a bucket. */
static void on_name(void *arg, const struct dentry *d)
{
	struct search *s = arg;
	uint32_t i = d->child ? *by_node(s->on, d->child) : 0;
	struct objname *x = i ? &s->on->list[i - 1] : NULL;
	const struct node *node, *dir;

	if (!x || x->name)
		return;
	/* The number may mean another node by now. */
	node = dentry_child(s->c->names, d);
	if (!node || node_key(node) != x->object || !may_search(s, d))
		return;
	x->name = strndup(d->name, d->len);
	dir = attrcache_node(s->c->attr, d->dir);
	x->dir = dir ? node_key(dir) : 0;
}

/* Finds the node of an object, if it is cached. */
static void resolve(struct search *s, struct objname *x)
{
	struct node *node = attrcache_by_key(s->c->attr, x->object);
	uint32_t *at;

	if (!node)
		return;
	x->node = slab_ref_of(node);
	at = by_node(s->on, x->node);
	if (!*at)
		*at = (uint32_t)(x - s->on->list) + 1;
}

/* Ends early where the caches were emptied: the nodes that these numbers stood
 * for are gone, and so are the names. */
bool objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps)
{
	struct search s = {
	    .c = c, .on = on, .now_us = now_us, .all = user->uid == 0};
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;

	if (!on->begun)
		on->flushes = c->flushes;
	on->begun = true;
	/* The nodes that these numbers stood for are gone, and so are the
	 * names. */
	if (on->flushes != c->flushes || on->n == 0)
		return true;
	s.cred = user_cred(c, user, &cred, body);
	for (; steps > 0 && on->resolved < on->n; steps--)
		resolve(&s, &on->list[on->resolved++]);
	for (; steps > 0; steps--)
		if (!namecache_each(c->names, on->bucket++, on_name, &s))
			return true;
	return false;
}
