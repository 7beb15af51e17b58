/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a call of a want goes out, and with which words it ends its turn. */
#include "base/metrics.h"
#include "link/budget.h"
#include "prefetch/calls/refused.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/worth.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/turn_private.h"

void turn_ends(struct turn *t, enum turn_end how)
{
	if (how > t->end)
		t->end = how;
}

bool turn_worth(const struct turn *t, uint64_t bytes)
{
	return worth_call(
	    t->g, wish_is_guess(t->wish), (double)t->wish->p, bytes);
}

bool turn_too_early(struct turn *t, const struct node *node)
{
	if (!worth_waiting(t->c, node, t->now_us))
		return false;
	turn_ends(t, TURN_TOO_EARLY);
	return true;
}

bool turn_under_way(struct turn *t, struct node *node, uint32_t proc)
{
	struct fetch_about a = {.object = node_key(node),
	    .proc = proc,
	    .cred = credential_id(t->wish->cred)};

	if (!fetch_under_way(t->g->fetch, &a))
		return false;
	(void)want_watch(t->w, &a);
	return true;
}

bool turn_pays(const struct ground *g, const struct wish *w,
    const struct want_progress *at, double p, uint64_t bytes)
{
	struct worth_bid bid = {.p = p,
	    .bytes = bytes,
	    .guess = wish_is_guess(w),
	    .bounded = wish_is_bounded(w)};

	/* Whoever asked for it knows what it is worth. */
	if (wish_is_asked(w))
		return true;
	/* Of the rest of a file it takes many a piece to spare a round trip. */
	if (at->extent > 0 && w->rest_p > 0) {
		bid.p *= (double)w->rest_p;
		bid.bytes = w->rest_bytes;
	}
	return worth_now(g, &bid);
}

/* Whether it may go out now; else the turn ends so. */
static bool may_send(
    struct turn *t, const struct refused_call *call, double p, uint64_t bytes)
{
	if (refused_lately(t->s->refused, t->c, call, t->now_us))
		return false;
	if (!hold_lets(t->g->hold, wish_is_asked(t->wish), bytes, t->now_us)) {
		turn_ends(t, TURN_HELD);
		return false;
	}
	if (!turn_pays(t->g, t->wish, t->at, p, bytes)) {
		turn_ends(t, TURN_DEAR);
		return false;
	}
	if (!budget_may(t->g->budget, bytes, t->now_us, t->wait_us)) {
		turn_ends(t, TURN_BLOCKED);
		return false;
	}
	return true;
}

bool turn_send(struct turn *t, struct node *node, uint32_t proc,
    const union nfs_args *args, uint64_t bytes)
{
	const struct wish *w = t->wish;
	struct refused_call call = {
	    .node = node, .proc = proc, .cred = credential_id(w->cred)};
	double p = (double)(proc == NFSPROC3_READ ? w->data_p : w->p);

	if (!may_send(t, &call, p, bytes))
		return false;
	notes_set(t->s->notes, w->object, NOTE_ASKED, t->now_us);
	if (!steps_send(t->s, t->w, node, proc, args, bytes))
		return false;
	budget_likely(t->g->budget, bytes, p);
	t->sent++;
	t->confirms |= proc != NFSPROC3_READ;
	want_put_off(t->w, false);
	if (wish_is_of_session(w))
		sources_session_spends(t->s->sources, w->cred, bytes);
	return true;
}
