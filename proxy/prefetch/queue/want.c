/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of wants. It has a lane for each distance at which something will
 * be used, and a lane is first in, first out: so nothing here takes longer when
 * there is more of it.
 */
#include <stdlib.h>

#include <xxhash.h>

#include "base/metrics.h"
#include "hashing/hash_key.h"
#include "prefetch/prefetch_private.h"

/* How likely a file whose beginning is read will be read on as it was in former
 * runs. */
#define P_REST 0.9f

/* What tells wants apart: what has an equal key is the same want. */
struct want_key {
	uint64_t object;
	struct pf_cred *cred;
	uint64_t offset;
	bool ranged;
	uint8_t source; /* of a range */
};

static struct want_list *bucket(struct prefetch *pf, const struct want_key *k)
{
	uint64_t h = hash_numbers(k->object + k->cred->id, k->offset);

	return &pf->wants[h % WANT_BUCKETS];
}

static struct want *want_find(struct prefetch *pf, const struct want_key *k)
{
	struct want *w;

	LIST_FOREACH (w, bucket(pf, k), hash_link)
		if (w->object == k->object && w->cred == k->cred &&
		    w->offset == k->offset && (w->count > 0) == k->ranged &&
		    (!k->ranged || w->source == k->source))
			return w;
	return NULL;
}

/* What is half as likely is worth as little as what is twice as far away. */
static uint8_t lane_of(uint32_t lead, float p)
{
	uint8_t lane = 0;

	for (; p < 0.5f && lane < WANT_ODDS_LANES; p *= 2)
		lane++;
	while (lead > 1 && lane < WANT_LANE_JOBS - 1 - WANT_TAIL_LANES) {
		lead /= 2;
		lane++;
	}
	return lane;
}

/* The flow that has most wants; `flow`, if none has more. */
static unsigned richest(const struct prefetch *pf, unsigned flow)
{
	for (unsigned f = 0; f < LANE_FLOWS; f++)
		if (pf->flow_wants[f] > pf->flow_wants[flow])
			flow = f;
	return flow;
}

/* The flow's want that costs too much, or its last in a lane from `nearest` on.
 */
static struct want *least_of(
    const struct prefetch *pf, unsigned flow, int nearest)
{
	struct want *w = lane_first_of(&pf->lanes[WANT_LANE_DEAR], flow);

	for (int i = WANT_LANE_JOBS - 1; !w && i >= nearest; i--)
		w = lane_last_of(&pf->lanes[i], flow);
	return w;
}

/* One of the flow that has most goes; else one of the want's own flow that
 * stands behind all of the lane. */
static void make_room(struct prefetch *pf, uint8_t lane, unsigned flow)
{
	unsigned from = richest(pf, flow);
	struct want *w = from == flow ? NULL : least_of(pf, from, 0);

	if (!w && !(w = least_of(pf, flow, lane + 1)))
		return;
	metrics_add(pf->p.metrics, METRICS_PREFETCH_CROWDED, 1);
	want_drop(w);
}

static struct want *want_new(struct prefetch *pf, uint8_t lane, uint8_t flow)
{
	struct want *w;

	if (pf->nwants == WANTS_MAX)
		make_room(pf, lane, flow);
	w = TAILQ_FIRST(&pf->spare);
	if (w) {
		TAILQ_REMOVE(&pf->spare, w, link);
	} else if (pf->nmade < WANTS_MAX) {
		w = malloc(sizeof(*w));
		pf->nmade += w != NULL;
	}
	if (w) {
		*w = (struct want){.pf = pf, .flow = flow};
		pf->nwants++;
		pf->flow_wants[flow]++;
	}
	return w;
}

static bool is_job(const struct want *w)
{
	return w->lane == WANT_LANE_JOBS;
}

/* Of those that go before all jobs. */
static bool is_urgent(const struct want *w)
{
	return w->lane < WANT_LANE_JOBS;
}

static bool is_left(const struct want *w)
{
	return w->rest_p > 0 && w->object != w->pf->opened;
}

static uint8_t want_lane(const struct want *w)
{
	if (w->dear)
		return WANT_LANE_DEAR;
	/* The tail of what will be used next is as urgent as its beginning;
	 * where only its kind says that it will be read, until something else
	 * is opened. */
	return w->tail && (w->base_lane > 0 || is_left(w))
		   ? w->base_lane + WANT_TAIL_LANES
		   : w->base_lane;
}

static void want_unqueue(struct want *w)
{
	if (w->delayed)
		TAILQ_REMOVE(&w->pf->later, w, link);
	w->delayed = false;
	if (!w->queued)
		return;
	lane_remove(&w->pf->lanes[w->lane], w);
	w->queued = false;
	w->pf->nqueued -= is_urgent(w);
}

static void want_move(struct want *w)
{
	uint8_t lane = want_lane(w);

	if (lane == w->lane)
		return;
	if (w->queued) {
		want_unqueue(w);
		w->lane = lane;
		want_queue(w, false);
		return;
	}
	w->order = ++w->pf->orders;
	w->lane = lane;
}

void want_put_off(struct want *w, bool off)
{
	w->dear = off;
	want_move(w);
}

bool want_begins_tail(struct want *w)
{
	uint8_t was = w->lane;

	w->tail = true;
	want_move(w);
	return w->lane != was;
}

/* Who says that a name will be looked up says nothing of its data. And what is
 * guessed from names may be looked up, and no more. */
static float data_p(const struct want *w, const struct prediction *pred)
{
	if (!(pred->needs & PREDICTOR_NEEDS_DATA))
		return 0;
	return pred->source == PREDICTOR_FROM_NAMES
		   ? pred->p * habit_reads(w->pf, w->cred, pred->object)
		   : pred->p;
}

static bool is_led(const struct prediction *pred)
{
	return pred->source == PREDICTOR_FROM_TRAIL ||
	       pred->source == PREDICTOR_FROM_GRAPH;
}

/* A listing that somebody will read is wanted for itself, whoever else would be
 * spared lookups by it. */
static void merge_spared(struct want *w, const struct prediction *pred)
{
	if (!(pred->needs & PREDICTOR_NEEDS_LISTING))
		return;
	if (!(w->needs & PREDICTOR_NEEDS_LISTING))
		w->calls_spared = pred->calls_spared;
	else if (w->calls_spared == 0 || pred->calls_spared == 0)
		w->calls_spared = 0;
	else if (pred->calls_spared > w->calls_spared)
		w->calls_spared = pred->calls_spared;
}

/* The want is predicted again: sooner, or for more. */
static void want_merge(
    struct want *w, const struct prediction *pred, uint64_t now_us)
{
	uint8_t lane = lane_of(pred->lead, pred->p);
	bool more = (pred->needs & ~w->needs) || pred->p > w->p;
	float p_of_data = data_p(w, pred);

	w->born_us = now_us;
	w->steps = 0;
	merge_spared(w, pred);
	w->needs |= pred->needs;
	w->led |= is_led(pred);
	w->guess &= source_is_guess(pred->source);
	w->planned |= pred->source == PREDICTOR_FROM_SESSION;
	w->session &= pred->source == PREDICTOR_FROM_SESSION;
	w->far_off &= pred->early;
	/* A want for a directory's listing comes without the parent. */
	if (!w->parent)
		w->parent = pred->parent;
	if (pred->p > w->p)
		w->p = pred->p;
	if (p_of_data > w->data_p)
		w->data_p = p_of_data;
	if (pred->first_bytes > w->first_bytes)
		w->first_bytes = pred->first_bytes;
	if (pred->read_bytes > w->read_bytes)
		w->read_bytes = pred->read_bytes;
	if (lane < w->base_lane)
		w->base_lane = lane;
	want_put_off(w, false);
	/* What it waits for may be less than what is worth a call now. */
	if (more && !w->queued && !w->delayed)
		want_queue(w, false);
}

static struct want *want_make(struct prefetch *pf, const struct want_key *k,
    const struct prediction *pred, uint64_t now_us)
{
	uint8_t lane = lane_of(pred->lead, pred->p);
	struct want *w = want_new(pf, lane, k->cred->flow);

	if (!w) {
		metrics_add(pf->p.metrics, METRICS_PREFETCH_CROWDED, 1);
		return NULL;
	}
	w->cred = pf_cred_ref(k->cred);
	w->object = k->object;
	w->offset = k->offset;
	w->source = k->source;
	w->parent = pred->parent;
	w->born_us = now_us;
	w->p = pred->p;
	w->data_p = data_p(w, pred);
	w->first_bytes = pred->first_bytes;
	w->read_bytes = pred->read_bytes;
	w->needs = pred->needs;
	w->calls_spared = pred->calls_spared;
	w->led = is_led(pred);
	w->guess = source_is_guess(pred->source);
	w->session = w->planned = pred->source == PREDICTOR_FROM_SESSION;
	w->far_off = pred->early;
	w->base_lane = w->lane = lane;
	LIST_INSERT_HEAD(bucket(pf, k), w, hash_link);
	want_queue(w, false);
	return w;
}

struct want *want_add(struct prefetch *pf, struct pf_cred *cred,
    const struct prediction *pred, uint64_t now_us)
{
	struct want_key k = {.object = pred->object, .cred = cred};
	struct want *w = want_find(pf, &k);

	if (!w)
		return want_make(pf, &k, pred, now_us);
	want_merge(w, pred, now_us);
	return w;
}

void want_opened(struct prefetch *pf, struct pf_cred *cred, uint64_t object)
{
	struct want_key k = {.object = pf->opened, .cred = cred};
	struct want *w;

	if (object == pf->opened)
		return;
	pf->opened = object;
	w = want_find(pf, &k);
	if (w)
		want_move(w);
}

struct want *want_rest(
    struct prefetch *pf, struct pf_cred *cred, uint64_t object, uint64_t now_us)
{
	struct prediction pred = {.object = object,
	    .needs = PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS,
	    .p = P_REST,
	    .lead = 1};
	struct predictor_extent one;

	if (predictor_extents(pf->predictor, object, &one, 1) == 0)
		return NULL;
	return want_add(pf, cred, &pred, now_us);
}

struct want *want_more(
    struct prefetch *pf, struct pf_cred *cred, uint64_t object, uint64_t now_us)
{
	struct prediction pred = {.object = object,
	    .needs = PREDICTOR_NEEDS_DATA,
	    .p = P_REST,
	    .lead = 1,
	    .source = NOTE_FROM_KIND};

	return want_add(pf, cred, &pred, now_us);
}

struct want *want_add_range(struct prefetch *pf, struct pf_cred *cred,
    const struct want_range *r, uint64_t now_us)
{
	struct want_key k = {.object = r->object,
	    .cred = cred,
	    .offset = r->offset_bytes,
	    .ranged = true,
	    .source = r->source};
	struct prediction pred = {.object = r->object,
	    .parent = r->parent,
	    .p = r->p,
	    .lead = r->lead,
	    .needs = r->needs | PREDICTOR_NEEDS_DATA,
	    .source = r->source};
	struct want *w;

	note_predicted(pf, &pred, cred->uid, now_us);
	if (!want_worth(pf, false, (double)r->p, r->count_bytes)) {
		note_set(pf, r->object, NOTE_UNLIKELY, now_us);
		metrics_add(pf->p.metrics, METRICS_PREFETCH_UNLIKELY, 1);
		return NULL;
	}
	w = want_find(pf, &k);
	if (w)
		want_merge(w, &pred, now_us);
	else
		w = want_make(pf, &k, &pred, now_us);
	if (w && r->count_bytes > w->count) {
		w->count = r->count_bytes;
		w->extent = 0;
		w->into = 0;
	}
	return w;
}

void want_drop_range(struct prefetch *pf, struct pf_cred *cred, uint64_t object,
    uint64_t offset, enum note_source source)
{
	struct want_key k = {.object = object,
	    .cred = cred,
	    .offset = offset,
	    .ranged = true,
	    .source = (uint8_t)source};
	struct want *w = want_find(pf, &k);

	if (w)
		want_drop(w);
}

void want_withdraw(
    struct prefetch *pf, struct pf_cred *cred, uint64_t object, uint64_t now_us)
{
	struct want_key k = {.object = object, .cred = cred};
	struct want *w = want_find(pf, &k);

	/* Once it has had a turn, calls for it may be under way. */
	if (!w || !w->queued || w->steps > 0)
		return;
	if (w->planned) {
		w->session = true;
		return;
	}
	note_set(pf, object, NOTE_WITHDRAWN, now_us);
	metrics_add(pf->p.metrics, METRICS_PREFETCH_WITHDRAWN, 1);
	want_drop(w);
}

/* Another number than observe_absent(): an absent name, too, may be wanted as
 * an object. */
static uint64_t name_object(const struct want_name *n)
{
	return XXH3_64bits_withSeed(n->name, n->len, ~n->dir) | 1;
}

struct want *want_add_name(struct prefetch *pf, struct pf_cred *cred,
    const struct want_name *n, uint64_t now_us)
{
	struct want_key k = {.object = name_object(n), .cred = cred};
	struct prediction pred = {.object = k.object,
	    .parent = n->dir,
	    .p = n->p,
	    .lead = n->lead,
	    .needs = PREDICTOR_NEEDS_NAME};
	struct want *w = want_find(pf, &k);

	if (w)
		return w;
	w = want_make(pf, &k, &pred, now_us);
	if (w) {
		w->name = n->name;
		w->name_len = (uint8_t)n->len;
		w->source = n->source;
	}
	return w;
}

/* Jobs are few, and have no key: only their owners find them. */
bool want_add_job(
    struct prefetch *pf, struct pf_cred *cred, struct want_owner *o)
{
	struct want *w = malloc(sizeof(*w));

	if (!w)
		return false;
	*w = (struct want){.pf = pf, .lane = WANT_LANE_JOBS};
	w->cred = pf_cred_ref(cred);
	(void)want_own(w, o);
	want_queue(w, false);
	return true;
}

void want_go_on(struct want_owner *o)
{
	struct want *w = o->want;

	if (w && !w->queued && !w->delayed)
		want_queue(w, false);
}

bool want_is_asked(const struct want *w)
{
	return w->source == NOTE_FROM_HINT && (w->name || w->count > 0);
}

bool want_own(struct want *w, struct want_owner *o)
{
	if (w->owner)
		return false;
	w->owner = o;
	o->want = w;
	return true;
}

void want_disown(struct want_owner *o)
{
	struct want *w = o->want;

	if (!w)
		return;
	o->want = NULL;
	w->owner = NULL;
	want_drop(w);
}

void want_queue(struct want *w, bool again)
{
	if (!again)
		w->order = ++w->pf->orders;
	lane_add(&w->pf->lanes[w->lane], w, again);
	w->queued = true;
	w->pf->nqueued += is_urgent(w);
}

void want_queue_blocked(struct want *w)
{
	w->blocked_turn = w->pf->turn;
	/* The others have their turns one after the other. */
	want_queue(w, is_urgent(w));
	if (is_urgent(w))
		lane_give_back(&w->pf->lanes[w->lane], w);
}

void want_delay(struct want *w, uint64_t now_us)
{
	w->due_us = now_us + GRAIN_US;
	w->delayed = true;
	TAILQ_INSERT_TAIL(&w->pf->later, w, link);
}

uint64_t wants_ripen(struct prefetch *pf, uint64_t now_us)
{
	struct want *w;

	while ((w = TAILQ_FIRST(&pf->later)) != NULL) {
		if (w->due_us > now_us)
			return w->due_us;
		TAILQ_REMOVE(&pf->later, w, link);
		w->delayed = false;
		want_queue(w, true);
	}
	return 0;
}

struct want *want_next(struct prefetch *pf)
{
	struct want *w = NULL;

	/* Only jobs are passed over that were blocked: what is blocked in
	 * another lane ends the turn. */
	for (int i = 0; !w && i < WANT_LANE_DEAR; i++)
		w = lane_next(&pf->lanes[i], pf->turn);
	/* These come round in turn. */
	if (!w && pf->now_us >= pf->dear_us)
		w = lane_next(&pf->lanes[WANT_LANE_DEAR], pf->turn);
	if (w)
		want_unqueue(w);
	return w;
}

void want_drop(struct want *w)
{
	struct prefetch *pf = w->pf;
	struct want_owner *o = w->owner;
	bool given_up = w->expired;

	want_unqueue(w);
	pf_cred_unref(w->cred);
	if (is_job(w)) {
		free(w);
	} else {
		for (int i = 0; i < WANT_WATCHES; i++)
			fetch_unwatch(&w->watches[i]);
		LIST_REMOVE(w, hash_link);
		TAILQ_INSERT_HEAD(&pf->spare, w, link);
		pf->nwants--;
		pf->flow_wants[w->flow]--;
	}
	if (!o)
		return;
	o->want = NULL;
	o->on_end(o, given_up);
}

void wants_free(struct prefetch *pf)
{
	struct want *w;

	for (int i = 0; i < WANT_BUCKETS; i++)
		while ((w = LIST_FIRST(&pf->wants[i])) != NULL)
			want_drop(w);
	while ((w = TAILQ_FIRST(&pf->spare)) != NULL) {
		TAILQ_REMOVE(&pf->spare, w, link);
		free(w);
	}
}

static void on_done(struct fetch_watch *watch)
{
	struct want *w = watch->ctx;

	/* One that is in `later` has its turn when its time has come. */
	if (--w->pending > 0 || w->queued || w->delayed)
		return;
	want_queue(w, true);
	prefetch_wake(w->pf, w->pf->now_us);
}

bool want_watch(struct want *w, const struct fetch_about *about)
{
	for (int i = 0; i < WANT_WATCHES; i++) {
		struct fetch_watch *watch = &w->watches[i];

		if (watch->list)
			continue;
		watch->on_done = on_done;
		watch->ctx = w;
		if (!fetch_watch(w->pf->p.fetch, about, watch))
			return false;
		w->pending++;
		return true;
	}
	/* It cannot watch that many calls: it asks again in its next turn. */
	return true;
}
