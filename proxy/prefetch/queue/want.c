/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predictions become wants, or are added to them. */
#include "prefetch/queue/want.h"

#include <stdlib.h>

#include <xxhash.h>

#include "base/metrics.h"
#include "hashing/hash_key.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/worth.h"
#include "prefetch/queue/queue_private.h"

/* Two wants with equal keys are the same want. */
struct want_key {
	uint64_t object;
	struct credential *cred;
	uint64_t offset;
	bool ranged;
	uint8_t source; /* of a range */
};

static struct want_list *bucket(struct queue *q, const struct want_key *k)
{
	uint64_t h =
	    hash_numbers(k->object + credential_id(k->cred), k->offset);

	return &q->wants[h % WANT_BUCKETS];
}

static bool is_key(const struct wish *w, const struct want_key *k)
{
	return w->object == k->object && w->cred == k->cred &&
	       w->offset == k->offset && (w->count > 0) == k->ranged &&
	       (!k->ranged || w->source == k->source);
}

static struct want *find(struct queue *q, const struct want_key *k)
{
	struct want *w;

	LIST_FOREACH (w, bucket(q, k), hash_link)
		if (is_key(&w->wish, k))
			return w;
	return NULL;
}

/* ---- who says so ------------------------------------------------------- */

static uint16_t bit(uint8_t source)
{
	return (uint16_t)(1u << source);
}

const struct wish *want_wish(const struct want *w)
{
	return &w->wish;
}

struct want_progress *want_progress(struct want *w)
{
	return &w->progress;
}

void want_narrow(struct want *w, uint8_t needs)
{
	w->wish.needs &= needs;
}

void want_set_rest(struct want *w, double p, uint32_t bytes)
{
	w->wish.rest_p = (float)p;
	w->wish.rest_bytes = bytes;
}

void want_list_again(struct want *w)
{
	if (w->progress.listing == LISTING_ASKED)
		w->progress.listing = LISTING_WANTED;
}

void want_list_anew(struct want *w)
{
	if (w->progress.listing == LISTING_WANTED)
		w->progress.listing = LISTING_ANEW;
}

struct want_owner *want_owner(const struct want *w)
{
	return w->owner;
}

/* ---- predictions ------------------------------------------------------- */

/* Who says that a name will be looked up says nothing of its data. */
static float data_p(const struct prediction *pred, float read)
{
	return pred->needs & PREDICTOR_NEEDS_DATA ? pred->p * read : 0;
}

/* A listing that somebody will read is wanted for itself, whoever else would be
 * spared lookups by it. */
static void merge_spared(struct wish *w, const struct prediction *pred)
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
static void merge(struct want *want, const struct prediction *pred, float read,
    uint64_t now_us)
{
	struct wish *w = &want->wish;
	uint8_t lane = queue_lane(pred->lead, pred->p);
	bool more = (pred->needs & ~w->needs) || pred->p > w->p;
	float p_of_data = data_p(pred, read);

	w->born_us = now_us;
	want->progress.turns = 0;
	merge_spared(w, pred);
	w->needs |= pred->needs;
	w->said_by |= bit(pred->source);
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
	if (lane < want->base_lane)
		want->base_lane = lane;
	want_put_off(want, false);
	/* It may wait for less than is worth a call now. */
	if (more && want->state != WANT_QUEUED && want->state != WANT_LATER)
		queue_put(want, false);
}

static struct want *make(struct queue *q, const struct want_key *k,
    const struct prediction *pred, float read, uint64_t now_us)
{
	uint8_t lane = queue_lane(pred->lead, pred->p);
	struct want *w = queue_take_spare(
	    q, lane, (uint8_t)lane_flow(credential_actor(k->cred)));

	if (!w) {
		metrics_add(q->g->metrics, METRICS_PREFETCH_CROWDED, 1);
		return NULL;
	}
	w->wish = (struct wish){.cred = credential_ref(k->cred),
	    .object = k->object,
	    .offset = k->offset,
	    .source = k->source,
	    .parent = pred->parent,
	    .born_us = now_us,
	    .p = pred->p,
	    .data_p = data_p(pred, read),
	    .first_bytes = pred->first_bytes,
	    .read_bytes = pred->read_bytes,
	    .needs = pred->needs,
	    .calls_spared = pred->calls_spared,
	    .said_by = bit(pred->source),
	    .far_off = pred->early};
	w->base_lane = w->lane = lane;
	LIST_INSERT_HEAD(bucket(q, k), w, hash_link);
	queue_put(w, false);
	return w;
}

struct want *want_add(struct queue *q, struct credential *cred,
    const struct prediction *pred, float read, uint64_t now_us)
{
	struct want_key k = {.object = pred->object, .cred = cred};
	struct want *w = find(q, &k);

	if (!w)
		return make(q, &k, pred, read, now_us);
	merge(w, pred, read, now_us);
	return w;
}

void want_opened(struct queue *q, struct credential *cred, uint64_t object)
{
	struct want_key k = {.object = q->opened, .cred = cred};
	struct want *w;

	if (object == q->opened)
		return;
	q->opened = object;
	w = find(q, &k);
	if (w)
		queue_move(w);
}

struct want *want_add_range(struct queue *q, struct credential *cred,
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

	notes_predicted(q->notes, &pred, credential_uid(cred), now_us);
	if (!worth_call(q->g, false, (double)r->p, r->count_bytes)) {
		notes_set(q->notes, r->object, NOTE_UNLIKELY, now_us);
		metrics_add(q->g->metrics, METRICS_PREFETCH_UNLIKELY, 1);
		return NULL;
	}
	w = find(q, &k);
	if (w)
		merge(w, &pred, 1, now_us);
	else
		w = make(q, &k, &pred, 1, now_us);
	if (w && r->count_bytes > w->wish.count) {
		w->wish.count = r->count_bytes;
		w->progress.place = (struct want_place){0};
	}
	return w;
}

void want_drop_range(
    struct queue *q, struct credential *cred, const struct want_range *r)
{
	struct want_key k = {.object = r->object,
	    .cred = cred,
	    .offset = r->offset_bytes,
	    .ranged = true,
	    .source = r->source};
	struct want *w = find(q, &k);

	if (w)
		want_drop(w);
}

void want_withdraw(
    struct queue *q, struct credential *cred, uint64_t object, uint64_t now_us)
{
	struct want_key k = {.object = object, .cred = cred};
	struct want *w = find(q, &k);

	/* Once it has had a turn, calls for it may be under way. */
	if (!w || w->state != WANT_QUEUED || w->progress.turns > 0)
		return;
	if (w->wish.said_by & WISH_OF_SESSION) {
		w->wish.said_by = WISH_OF_SESSION;
		return;
	}
	notes_set(q->notes, object, NOTE_WITHDRAWN, now_us);
	metrics_add(q->g->metrics, METRICS_PREFETCH_WITHDRAWN, 1);
	want_drop(w);
}

/* Another number than observe_absent(): an absent name, too, may be wanted as
 * an object. */
static uint64_t name_object(const struct want_name *n)
{
	return XXH3_64bits_withSeed(n->name, n->len, ~n->dir) | 1;
}

struct want *want_add_name(struct queue *q, struct credential *cred,
    const struct want_name *n, uint64_t now_us)
{
	struct want_key k = {.object = name_object(n), .cred = cred};
	struct prediction pred = {.object = k.object,
	    .parent = n->dir,
	    .p = n->p,
	    .lead = n->lead,
	    .needs = PREDICTOR_NEEDS_NAME};
	struct want *w = find(q, &k);

	if (w)
		return w;
	w = make(q, &k, &pred, 1, now_us);
	if (w) {
		w->wish.name = n->name;
		w->wish.name_len = (uint8_t)n->len;
		w->wish.source = n->source;
	}
	return w;
}

/* Jobs are few, and have no key: only their owners find them. */
bool want_add_job(
    struct queue *q, struct credential *cred, struct want_owner *o)
{
	struct want *w = malloc(sizeof(*w));

	if (!w)
		return false;
	*w = (struct want){.queue = q,
	    .lane = WANT_LANE_JOBS,
	    .wish.cred = credential_ref(cred)};
	(void)want_own(w, o);
	queue_put(w, false);
	return true;
}

void want_go_on(struct want_owner *o)
{
	struct want *w = o->want;

	if (w && w->state != WANT_QUEUED && w->state != WANT_LATER)
		queue_put(w, false);
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
