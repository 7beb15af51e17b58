/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rest of files that were never read, as far as files of their kind are
 * read (kinds.h). Of others the predictor knows it. */
#include "cache/caches.h"
#include "config/config.h"
#include "prefetch/sources/kinds.h"
#include "prefetch/sources/source_private.h"

enum {
	/* A client reads so many bytes at once of what follows: they spare one
	 * round trip. */
	ONE_READ = 131072,
	/* A first READ asks for all of such a file. */
	SHORT_BYTES = 16384,
};

/* How likely a file whose beginning is read will be read on. */
#define P_REST 0.9f

static struct kinds_file about(const struct sources *all, uint64_t object,
    uint64_t size_bytes, uint64_t now_us)
{
	struct kinds_file f = {
	    .object = object, .size_bytes = size_bytes, .now_us = now_us};
	struct predictor_file known;

	predictor_get_file(all->g->predictor, object, &known);
	f.type = known.type;
	f.read = known.read;
	return f;
}

bool sources_rest(const struct sources *all, struct want *w,
    uint64_t size_bytes, uint64_t rest_bytes)
{
	const struct wish *x = want_wish(w);
	struct kinds_file f;

	want_set_rest(w, 0, x->rest_bytes);
	if (rest_bytes == 0)
		return false;
	f = about(all, x->object, size_bytes, all->g->now_us);
	want_set_rest(w, kinds_rest(all->kinds, &f),
	    rest_bytes < ONE_READ ? (uint32_t)rest_bytes : ONE_READ);
	return worth_call(all->g, wish_is_guess(x),
	    (double)x->data_p * (double)x->rest_p, x->rest_bytes);
}

/* Wants the rest of a file, as files of its kind are read. */
static void want_rest(struct sources *all, const struct passed *p)
{
	struct prediction pred = {.object = p->obs.object,
	    .needs = PREDICTOR_NEEDS_DATA,
	    .p = P_REST,
	    .lead = 1,
	    .source = NOTE_FROM_KIND};

	(void)want_add(all->queue, p->cred, &pred, 1, p->now_us);
}

static bool may_read_on(const struct sources *all, const struct node *node)
{
	return caches_policy(all->g->caches, node)->prefetch ==
	       CONFIG_PREFETCH_ON;
}

static void begins(struct source *s, const struct passed *p)
{
	struct sources *all = s->all;
	const struct predictor_obs *o = &p->obs;
	struct kinds_file f;

	if (!p->missed || !p->node || o->kind != PREDICTOR_READ ||
	    o->offset_bytes > 0 || o->size_bytes <= o->count_bytes ||
	    !may_read_on(all, p->node))
		return;
	f = about(all, o->object, o->size_bytes, p->now_us);
	if (kinds_rest(all->kinds, &f) > 0)
		want_rest(all, p);
}

static void passed(struct source *s, struct passed *p)
{
	struct sources *all = s->all;
	const struct predictor_obs *o = &p->obs;
	struct kinds_file f;

	if (!p->node || o->size_bytes <= SHORT_BYTES ||
	    o->size_bytes <= all->first_read_bytes)
		return;
	want_opened(all->queue, p->cred, o->object);
	f = about(all, o->object, o->size_bytes, p->now_us);
	if (kinds_seen(all->kinds, &f, o->offset_bytes, o->count_bytes) &&
	    may_read_on(all, p->node) && kinds_rest(all->kinds, &f) > 0)
		want_rest(all, p);
}

static bool turn(struct source *s, uint64_t now_us)
{
	kinds_age(s->all->kinds, now_us);
	return false;
}

const struct source_ops source_kind = {
    .passed = passed, .of_reads = true, .begins = begins, .turn = turn};
