/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A want asks the farm for data and listings before it asks the server. */
#include "base/uint.h"
#include "farm/farm.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

/* Listings that a want asks the farm for; what came may be given up at once for
 * want of memory. */
enum { FARMED_MAX = 4 };

/* Ask the farm for what it may have of the extent. It may have nothing: so the
 * want comes back to the first piece that was asked of it, once it has
 * answered. */
static enum farm_answer ask_data(struct turn *t)
{
	const struct turn_call *call = &t->call;
	uint64_t offset = call->args.read.offset;
	struct fetch_about a = {.object = node_key(call->node),
	    .proc = NFSPROC3_READ,
	    .cred = t->cred,
	    .from = offset,
	    .to = offset + 1};
	enum farm_answer answer = farm_ask_data(t->g->farm, call->node, t->cred,
	    offset, (uint32_t)min_u64(call->left_bytes, UINT32_MAX), true);

	if (answer != FARM_ASKED)
		return answer;
	(void)want_watch(t->w, &a);
	if (!t->farmed)
		t->back = t->at->place;
	t->farmed = true;
	return answer;
}

/* Where it was asked for the listing, the want waits for that, and looks again
 * what is still missing. It is asked behind the first page, too, with which the
 * directory's version has come. */
static enum farm_answer ask_listing(struct turn *t)
{
	struct want_progress *at = t->at;
	struct steps *s = t->s;
	struct node *dir = t->call.node;
	struct listing *l = listcache_find(t->c->lists, dir, t->cred, true);

	if (at->farmed == FARMED_MAX || (l && listing_complete(l)) ||
	    farm_ask_listing(t->g->farm, dir, t->cred, true, true) !=
		FARM_ASKED)
		return FARM_NO;
	(void)turn_under_way(t, dir, NFSPROC3_READDIRPLUS);
	/* The entries of the first page are fresh, the others are not. */
	at->paging = l != NULL;
	at->page = (struct list_span){0};
	at->next_bytes = 0;
	if (at->listing == LISTING_ASKED)
		at->listing = LISTING_WANTED;
	at->farmed++;
	t->farmed = true;
	/* The predictor hears of what comes, but in no want's turn: that may
	 * make others wanted. */
	if (s->nfarmed < FARMED)
		s->farmed[s->nfarmed++] =
		    (struct farmed){.cred = credential_ref(t->wish->cred),
			.dir = node_key(dir)};
	return FARM_ASKED;
}

enum farm_answer turn_ask_farm(struct turn *t)
{
	return t->call.proc == NFSPROC3_READ ? ask_data(t) : ask_listing(t);
}

void steps_tell_farmed(struct steps *s)
{
	struct caches *c = s->g->caches;

	for (unsigned i = s->nfarmed; i-- > 0;) {
		struct farmed f = s->farmed[i];
		struct node *dir = attrcache_by_key(c->attr, f.dir);
		struct fetch_about a = {.object = f.dir,
		    .proc = NFSPROC3_READDIRPLUS,
		    .cred = credential_id(f.cred)};
		struct listing *l;

		if (dir && fetch_under_way(s->g->fetch, &a))
			continue;
		s->farmed[i] = s->farmed[--s->nfarmed];
		l = dir ? listcache_find(c->lists, dir, a.cred, true) : NULL;
		if (l && listing_complete(l))
			sources_listed(s->sources, f.cred, dir);
		credential_unref(f.cred);
	}
}

void steps_forget_farmed(struct steps *s)
{
	while (s->nfarmed > 0)
		credential_unref(s->farmed[--s->nfarmed].cred);
}
