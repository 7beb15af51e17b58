/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wanted: in lanes by how soon, each first in, first out, so that
 * nothing here takes longer when there is more of it.
 */
#include <stdlib.h>

#include "metrics.h"
#include "prefetch_private.h"

static struct want_list *bucket(
    struct prefetch *pf, uint64_t object, const struct pf_cred *cred)
{
	return &pf->wants[(object ^ cred->id * 2654435761u) % WANT_BUCKETS];
}

static struct want *want_find(
    struct prefetch *pf, uint64_t object, const struct pf_cred *cred)
{
	struct want *w;

	LIST_FOREACH (w, bucket(pf, object, cred), hash_link)
		if (w->object == object && w->cred == cred)
			return w;
	return NULL;
}

static uint8_t lane_of(uint32_t lead)
{
	uint8_t lane = 0;

	while (lead > 1 && lane < WANT_LANES - 2) {
		lead /= 2;
		lane++;
	}
	return lane;
}

static struct want *want_new(struct prefetch *pf)
{
	struct want *w = TAILQ_FIRST(&pf->spare);

	if (w) {
		TAILQ_REMOVE(&pf->spare, w, link);
	} else if (pf->nmade < WANTS_MAX) {
		w = malloc(sizeof(*w));
		pf->nmade += w != NULL;
	}
	if (w) {
		*w = (struct want){.pf = pf};
		pf->nwants++;
	}
	return w;
}

/* It is wanted sooner, or for more. */
static void want_merge(
    struct want *w, const struct prediction *pred, uint64_t now_us)
{
	uint8_t lane = lane_of(pred->lead);

	w->born_us = now_us;
	w->steps = 0;
	w->needs |= pred->needs;
	/* A directory is wanted for its listing without its own. */
	if (!w->parent)
		w->parent = pred->parent;
	if (pred->p > w->p)
		w->p = pred->p;
	if (pred->first_bytes > w->first_bytes)
		w->first_bytes = pred->first_bytes;
	if (lane >= w->lane)
		return;
	if (w->queued) {
		TAILQ_REMOVE(&w->pf->lanes[w->lane], w, link);
		TAILQ_INSERT_TAIL(&w->pf->lanes[lane], w, link);
	}
	w->lane = lane;
}

struct want *want_add(struct prefetch *pf, struct pf_cred *cred,
    const struct prediction *pred, uint64_t now_us)
{
	struct want *w = want_find(pf, pred->object, cred);

	if (w) {
		want_merge(w, pred, now_us);
		return w;
	}
	w = want_new(pf);
	if (!w) {
		metrics_add(pf->p.metrics, METRICS_PREFETCH_CROWDED, 1);
		return NULL;
	}
	w->cred = pf_cred_ref(cred);
	w->object = pred->object;
	w->parent = pred->parent;
	w->born_us = now_us;
	w->p = pred->p;
	w->first_bytes = pred->first_bytes;
	w->needs = pred->needs;
	w->lane = lane_of(pred->lead);
	LIST_INSERT_HEAD(bucket(pf, w->object, cred), w, hash_link);
	want_queue(w, false);
	return w;
}

void want_queue(struct want *w, bool head)
{
	struct want_queue *lane = &w->pf->lanes[w->lane];

	if (head)
		TAILQ_INSERT_HEAD(lane, w, link);
	else
		TAILQ_INSERT_TAIL(lane, w, link);
	w->queued = true;
	w->pf->nqueued++;
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

static void want_unqueue(struct want *w)
{
	if (w->delayed)
		TAILQ_REMOVE(&w->pf->later, w, link);
	w->delayed = false;
	if (!w->queued)
		return;
	TAILQ_REMOVE(&w->pf->lanes[w->lane], w, link);
	w->queued = false;
	w->pf->nqueued--;
}

struct want *want_next(struct prefetch *pf)
{
	for (int i = 0; i < WANT_LANES; i++) {
		struct want *w = TAILQ_FIRST(&pf->lanes[i]);

		if (w) {
			want_unqueue(w);
			return w;
		}
	}
	return NULL;
}

void want_drop(struct want *w)
{
	struct prefetch *pf = w->pf;

	want_unqueue(w);
	for (int i = 0; i < WANT_WATCHES; i++)
		fetch_unwatch(&w->watches[i]);
	LIST_REMOVE(w, hash_link);
	pf_cred_unref(w->cred);
	TAILQ_INSERT_HEAD(&pf->spare, w, link);
	pf->nwants--;
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
	/* Its neighbours are the want's other watches. */
	struct want *w = watch->ctx;

	if (--w->pending > 0)
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
	/* More than it can watch is under way: it will ask again. */
	return true;
}
