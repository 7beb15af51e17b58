/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objnames.h"

#include <stdlib.h>
#include <string.h>

#include "caches.h"
#include "user.h"

struct search {
	struct caches *c;
	struct objname *list;
	size_t n;
	uint32_t cred;
	bool all;
};

static int compare(const void *a, const void *b)
{
	const struct objname *x = a, *y = b;

	return (x->object > y->object) - (x->object < y->object);
}

static struct objname *find(
    const struct objname *list, size_t n, uint64_t object)
{
	const struct objname key = {.object = object};

	return n ? bsearch(&key, list, n, sizeof(*list), compare) : NULL;
}

static bool may_search(const struct search *s, const struct dentry *d)
{
	const struct node *dir = attrcache_node(s->c->attr, d->dir);
	const struct grant *g;

	if (s->all)
		return true;
	g = dir ? accesscache_find(s->c->access, dir, s->cred) : NULL;
	return g && ((g->known & g->given & ACCESS3_LOOKUP) || g->own_us != 0);
}

static void on_name(void *arg, const struct dentry *d)
{
	struct search *s = arg;
	struct node *node = dentry_child(s->c->names, d);
	struct objname *x;
	nfs3_fh fh;

	if (!node)
		return;
	fh = node_fh(node);
	x = find(s->list, s->n, fh_key(&fh));
	if (x && !x->name && may_search(s, d))
		x->name = strndup(d->name, d->len);
}

void objnames_fill(
    struct caches *c, const struct user *user, struct objname *list, size_t n)
{
	struct search s = {.c = c, .list = list, .n = n, .all = user->uid == 0};
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;

	s.cred = user_cred(c, user, &cred, body);
	if (n > 1)
		qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; n > 0; i++)
		if (!namecache_each(c->names, i, on_name, &s))
			return;
}

const char *objnames_find(const struct objname *list, size_t n, uint64_t object)
{
	const struct objname *x = find(list, n, object);

	return x ? x->name : NULL;
}

void objnames_clear(struct objname *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
}
