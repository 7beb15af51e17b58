/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grants hang on their node in a list, the latest one first. A node keeps the
 * grants of a few credentials only, so that a directory that everybody uses
 * takes no more memory than others. learn*.c writes them from replies; known.c
 * reads them, and judges by the contract whether they are recent enough.
 */
#include "cache/accesscache.h"

#include <stdlib.h>

/* Grants of one node; the one made longest ago goes first. */
enum { GRANTS_MAX = 64 };

struct accesscache {
	struct slab *slab;
	struct attrcache *ac;
	size_t count;
};

struct accesscache *accesscache_new(struct slab *slab, struct attrcache *ac)
{
	struct accesscache *xc = calloc(1, sizeof(*xc));

	if (!xc)
		return NULL;
	xc->slab = slab;
	xc->ac = ac;
	return xc;
}

void accesscache_free(struct accesscache *xc)
{
	free(xc);
}

const struct grant *accesscache_find(
    const struct accesscache *xc, const struct node *node, uint32_t cred)
{
	slab_ref ref = cred ? node->grants : 0;

	while (ref != 0) {
		const struct grant *g = slab_ptr(xc->slab, ref);

		if (g->cred == cred)
			return g;
		ref = g->next;
	}
	return NULL;
}

/* Makes room for one more: drops the last grant of a list that is full, which
 * has the latest first. */
static void trim(struct accesscache *xc, struct node *node)
{
	slab_ref *link = &node->grants;
	unsigned n = 0;

	while (*link != 0) {
		struct grant *g = slab_ptr(xc->slab, *link);

		if (++n == GRANTS_MAX) {
			slab_free(xc->slab, *link, sizeof(*g));
			*link = 0;
			xc->count--;
			return;
		}
		link = &g->next;
	}
}

/* Finds the credential's grant, or makes one; NULL without memory, and for 0.
 */
static struct grant *get(
    struct accesscache *xc, struct node *node, uint32_t cred)
{
	struct grant *g =
	    (struct grant *)(uintptr_t)accesscache_find(xc, node, cred);
	slab_ref ref;

	if (g || cred == 0)
		return g;
	trim(xc, node);
	ref = slab_alloc(xc->slab, sizeof(*g));
	if (!ref)
		return NULL;
	g = slab_ptr(xc->slab, ref);
	g->cred = cred;
	g->next = node->grants;
	node->grants = ref;
	xc->count++;
	return g;
}

/* Whether the server gives what it gave before, of the bits that were asked for
 * both times. DELETE does not count: it may go by more than the object's own
 * state. */
static bool same_answer(const struct grant *g, uint32_t asked, uint32_t given)
{
	return ((g->given ^ given) & g->known & asked &
		   ~(uint32_t)ACCESS3_DELETE) == 0;
}

/* Whether the server refused a call that was sent later. */
static bool was_refused(const struct grant *g, uint64_t sent_us)
{
	return g->known == 0 && sent_us <= g->access_us;
}

bool accesscache_set_access(struct accesscache *xc, struct node *node,
    uint32_t cred, uint32_t asked, uint32_t given, uint64_t sent_us)
{
	struct grant *g = get(xc, node, cred);
	bool same, firm;

	if (!g || was_refused(g, sent_us))
		return true;
	firm = attrcache_firm(xc->ac, node, sent_us);
	if (sent_us >= g->any_us) {
		g->any_us = TIME48(sent_us);
		g->any_firm = firm;
	}
	if (sent_us < g->access_us)
		return true;
	same = same_answer(g, asked, given);
	g->access_us = TIME48(sent_us);
	g->access_firm = firm;
	g->known = asked & ACCESS_ALL;
	g->given = given & asked & ACCESS_ALL;
	return same;
}

void accesscache_set_answered(struct accesscache *xc, struct node *node,
    uint32_t cred, bool own, uint64_t sent_us)
{
	struct grant *g = get(xc, node, cred);
	bool firm;

	if (!g || was_refused(g, sent_us))
		return;
	firm = attrcache_firm(xc->ac, node, sent_us);
	if (sent_us > g->any_us) {
		g->any_us = TIME48(sent_us);
		g->any_firm = firm;
	}
	if (own && sent_us > g->own_us) {
		g->own_us = TIME48(sent_us);
		g->own_firm = firm;
	}
}

void accesscache_refused(
    struct accesscache *xc, struct node *node, uint32_t cred, uint64_t sent_us)
{
	struct grant *g = get(xc, node, cred);

	if (g)
		*g = (struct grant){.next = g->next,
		    .cred = cred,
		    .access_us = TIME48(sent_us)};
}

void accesscache_changed(struct accesscache *xc, struct node *node)
{
	for (slab_ref ref = node->grants; ref != 0;) {
		struct grant *g = slab_ptr(xc->slab, ref);

		g->access_us = 0;
		g->known = 0;
		g->given = 0;
		g->any_firm = 0;
		g->own_us = 0;
		ref = g->next;
	}
}

void accesscache_load(
    struct accesscache *xc, struct node *node, const struct grant *saved)
{
	struct grant *g = get(xc, node, saved->cred);
	slab_ref next;

	if (!g)
		return;
	next = g->next;
	*g = *saved;
	g->next = next;
}

void accesscache_drop(struct accesscache *xc, struct node *node)
{
	while (node->grants != 0) {
		slab_ref ref = node->grants;

		node->grants = ((struct grant *)slab_ptr(xc->slab, ref))->next;
		slab_free(xc->slab, ref, sizeof(struct grant));
		xc->count--;
	}
}

size_t accesscache_count(const struct accesscache *xc)
{
	return xc->count;
}
