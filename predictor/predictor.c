/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facade:
 *
 *	observe  objects_make → streams_choose → candidates decided
 *	         → follow.c (trails) → guess.c (names) → the log
 *	predict  the stream's candidates, as the calibration values them
 *
 * The budget is cut into arenas when the predictor is made; each of them
 * then gives up what is oldest.
 */
#include "predictor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "fit.h"
#include "persist.h"

enum {
	BUDGET_DEFAULT = 64 << 20,
	BUDGET_MIN = 1 << 20,
	PAUSE_MS = 700, /* without a call ends a run */
	DATA_BYTES = 65536,
};
static void on_evict(void *ctx, uint32_t id, struct object *o)
{
	struct predictor *p = ctx;

	if (o->dir != DIR_NONE && o->rank != RANK_NONE) {
		struct dir *d = names_at(p->names, o->dir);

		/* The number will mean another object. */
		if (o->rank < d->n && d->list[o->rank] == id) {
			names_set_list(p->names, o->dir, NULL, 0);
		}
	}
	twin_drop(p, id, o);
	place_drop(p, id, o);
	if (o->edges != GRAPH_NONE)
		graph_drop(p->graph, o->edges);
	for (int i = 0; i < STREAMS; i++) {
		struct cand *c = stream_cand(&p->streams.at[i], id);

		if (c)
			stream_cand_set(&p->streams.at[i], c, OBJECT_NONE);
	}
}

/* Bytes each: an object 48 and 24 of its map, an entry 8 and up to 16 of the
 * index; maps and arenas double, so plan for them half empty. */
static bool arenas_make(struct predictor *p)
{
	size_t budget = p->opt.budget_bytes;

	p->objects = objects_new((uint32_t)(budget / 4 / 96), on_evict, p);
	p->trails = trails_new((uint32_t)(budget / 2 / 26));
	p->graph = graph_new((uint32_t)(budget / 4 / 128));
	p->names = names_new((uint32_t)(budget / 16 / 96), budget / 16 / 4);
	p->places = keymap_new(0);
	p->suffixes = keymap_new(0);
	p->calib = calib_new();
	for (int i = 0; i < STREAMS; i++)
		stream_reset(&p->streams.at[i]);
	return p->objects && p->trails && p->graph && p->names && p->places &&
	       p->suffixes && p->calib;
}

struct predictor *predictor_new(const struct predictor_options *opt)
{
	struct predictor *p;
	size_t budget = opt->budget_bytes ? opt->budget_bytes : BUDGET_DEFAULT;

	if (budget < BUDGET_MIN) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->opt = *opt;
	p->opt.budget_bytes = budget;
	if (arenas_make(p))
		return p;
	predictor_free(p);
	errno = ENOMEM;
	return NULL;
}

static void arenas_free(struct predictor *p)
{
	objects_free(p->objects);
	trails_free(p->trails);
	graph_free(p->graph);
	names_free(p->names);
	keymap_free(p->places);
	keymap_free(p->suffixes);
	calib_free(p->calib);
}

int predictor_clear(struct predictor *p)
{
	struct predictor *fresh = predictor_new(&p->opt);

	if (!fresh)
		return -errno;
	arenas_free(p);
	*p = *fresh;
	objects_set_ctx(p->objects, p);
	free(fresh);
	return 0;
}

void predictor_free(struct predictor *p)
{
	if (!p)
		return;
	arenas_free(p);
	free(p);
}

/* Returns its number: a new handle under an old name has the old one's. */
static uint32_t object_learn(
    struct predictor *p, uint32_t id, const struct predictor_obs *o)
{
	uint32_t dir = o->parent ? names_dir(p->names, o->parent) : DIR_NONE;
	struct object *x;

	if (dir != DIR_NONE && o->name_hash)
		id = place_object(p, id, dir, o->name_hash);
	x = objects_at(p->objects, id);
	if (dir != DIR_NONE && x->dir == DIR_NONE)
		x->dir = dir;

	x->recent = true;
	x->exec = o->exec;
	x->size =
	    o->size_bytes < UINT32_MAX ? (uint32_t)o->size_bytes : UINT32_MAX;
	if (o->type_hash)
		x->type = (uint16_t)o->type_hash;
	return id;
}

static void on_retire(void *ctx, struct stream *s)
{
	const struct fit *f = ctx;

	cands_retire(f->p, s);
}

static void stream_move(struct stream *s, const struct fit *f)
{
	if (s->moves > 0 &&
	    s->dirs[(s->moves - 1) % RECENT_DIRS][0] == f->dirs[0])
		return;
	memcpy(s->dirs[s->moves++ % RECENT_DIRS], f->dirs, sizeof(f->dirs));
}

static void stream_take(struct predictor *p, struct stream *s,
    const struct predictor_obs *o, const struct fit *f)
{
	uint32_t id = f->object;
	struct object *x = objects_at(p->objects, id);
	bool lives =
	    s->tail != TRAIL_NONE && trails_holds(p->trails, s->tail, s->last);

	s->tail = trails_append(
	    p->trails, lives ? s->tail : TRAIL_NONE, id, x->last, p->events);
	x->last = s->tail;
	x->seen_at = p->events;
	x->stream = (uint8_t)(s - p->streams.at);
	if (x->count == 0)
		twin_learn(p, id);
	if (x->count < UINT8_MAX)
		x->count++;
	s->recent[s->events % RECENT] = id;
	s->events++;
	s->last = id;
	s->last_at = p->events;
	stream_move(s, f);
	s->request_ns = o->now_ns;
	s->reply_ns = o->now_ns + o->latency_ns;
}

/* After a pause: what was to come before it will not. */
static void stream_begin(struct predictor *p, struct stream *s)
{
	s->began_at = p->events;
	twin_forget(s);
	cands_retire(p, s);
}

void predictor_observe(struct predictor *p, const struct predictor_obs *o)
{
	struct fit f;
	struct stream *s;
	uint32_t id, twin;

	p->now = NULL;
	if (o->kind != PREDICTOR_READ || o->offset_bytes > 0)
		return;
	p->events++;
	id = objects_make(p->objects, o->object, p->events);
	if (id == OBJECT_NONE)
		return;
	id = object_learn(p, id, o);
	fit_init(&f, p, id);
	s = streams_choose(
	    &p->streams, o, p->opt.use_pids, fit_score, on_retire, &f);
	if (s->events == 0 || o->now_ns > s->reply_ns + PAUSE_MS * 1000000ull)
		stream_begin(p, s);
	cands_hit(p, s, id);
	twin = twin_find(p, s, id);
	follow_event(p, s, id, twin);
	relate_event(p, s, id, twin);
	guess_event(p, s, id);
	stream_take(p, s, o, &f);
	cands_sweep(p, s);
	cands_sweep_idle(p);
	p->now = s;
}

static int prediction_cmp(const void *a, const void *b)
{
	const struct prediction *x = a, *y = b;

	return (x->p < y->p) - (x->p > y->p);
}

static void cand_tell(struct predictor *p, const struct stream *s,
    struct cand *c, struct prediction *out)
{
	const struct object *o = objects_at(p->objects, c->object);
	int32_t lead = (int32_t)(c->due - s->events);

	c->said = calib_correct(p->calib, c->p);
	*out = (struct prediction){.object = o->key,
	    .parent = o->dir == DIR_NONE ? 0 : names_at(p->names, o->dir)->key,
	    .p = c->said,
	    .lead = lead > 0 ? (uint32_t)lead + 1 : 1,
	    .data_bytes = o->size < DATA_BYTES ? o->size : DATA_BYTES,
	    .needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
		     PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
	    .source = c->source};
	if (c->told <= 0)
		c->first = c->cell;
	c->last = c->cell;
	c->told = c->p;
	p->predicted++;
}

/* Directories whose listing would show where the stream goes. */
static size_t wanted_tell(
    struct predictor *p, struct prediction *out, size_t max)
{
	size_t n = 0;

	while (p->nwanted > 0 && n < max) {
		const struct dir *d =
		    names_at(p->names, p->wanted[--p->nwanted]);

		out[n++] = (struct prediction){.object = d->key,
		    .p = 0.9f,
		    .lead = 1,
		    .needs = PREDICTOR_NEEDS_LISTING,
		    .source = PREDICTOR_FROM_NAMES};
	}
	return n;
}

size_t predictor_predict(
    struct predictor *p, struct prediction *out, size_t max)
{
	struct stream *s = p->now;
	size_t n = 0;

	if (!s)
		return 0;
	for (int i = 0; i < CANDS && s->stale; i++)
		if (s->keys[i] != OBJECT_NONE && s->cands[i].told < P_SURE)
			cands_estimate(p, s, &s->cands[i]);
	s->stale = false;
	for (int i = 0; i < s->nfresh; i++) {
		struct cand *c = &s->cands[s->fresh[i]];

		c->fresh = false;
		if (c->object != OBJECT_NONE && n < max && c->p >= P_MIN &&
		    c->p >= c->told + P_RISE)
			cand_tell(p, s, c, &out[n++]);
	}
	s->nfresh = 0;
	n += wanted_tell(p, out + n, max - n);
	qsort(out, n, sizeof(*out), prediction_cmp);
	return n;
}

void predictor_feedback(
    struct predictor *p, uint64_t object, enum predictor_outcome what)
{
	(void)object;
	p->used += what != PREDICTOR_UNUSED;
	p->late += what == PREDICTOR_LATE;
	p->unused += what == PREDICTOR_UNUSED;
}

static void dirent_learn(
    struct predictor *p, uint32_t id, const struct predictor_dirent *e)
{
	struct object *o = objects_at(p->objects, id);

	o->type = (uint16_t)e->type_hash;
	o->exec = e->exec;
	o->rank = (uint16_t)e->rank;
	o->size =
	    e->size_bytes < UINT32_MAX ? (uint32_t)e->size_bytes : UINT32_MAX;
}

void predictor_list(struct predictor *p, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	uint32_t d = names_dir(p->names, dir);
	uint32_t *list;

	if (d == DIR_NONE || n == 0 || n >= RANK_NONE)
		return;
	list = calloc(n, sizeof(*list));
	if (!list)
		return;
	memset(list, 0xff, n * sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		uint32_t id;

		if (ents[i].rank >= n)
			continue;
		id = objects_make(p->objects, ents[i].object, p->events);
		if (id == OBJECT_NONE)
			continue;
		id = place_object(p, id, d, ents[i].name_hash);
		list[ents[i].rank] = id;
		dirent_learn(p, id, &ents[i]);
	}
	names_set_list(p->names, d, list, (uint32_t)n);
}

void predictor_place_dir(
    struct predictor *p, uint64_t dir, uint64_t parent, uint64_t name_hash)
{
	uint32_t d = names_dir(p->names, dir), up;

	if (d == DIR_NONE)
		return;
	up = parent ? names_dir(p->names, parent) : DIR_NONE;
	names_place(p->names, d, up, (uint32_t)name_hash);
}

void predictor_rename(
    struct predictor *p, uint64_t object, uint64_t parent, uint64_t name_hash)
{
	uint32_t id = objects_find(p->objects, object);
	uint32_t dir = parent ? names_dir(p->names, parent) : DIR_NONE;

	if (id == OBJECT_NONE || dir == DIR_NONE || !name_hash)
		return;
	p->now = NULL;
	place_object(p, id, dir, name_hash);
}

void predictor_forget(struct predictor *p, uint64_t object)
{
	uint32_t id = objects_find(p->objects, object);

	if (id != OBJECT_NONE)
		objects_drop(p->objects, id);
}

void predictor_get_stats(const struct predictor *p, struct predictor_stats *st)
{
	*st = (struct predictor_stats){.events = p->events,
	    .predicted = p->predicted,
	    .used = p->used,
	    .late = p->late,
	    .unused = p->unused,
	    .streams_made = p->streams.made,
	    .scans_guarded = p->guarded,
	    .objects = objects_count(p->objects),
	    .memory_bytes =
		sizeof(*p) + objects_memory_bytes(p->objects) +
		trails_memory_bytes(p->trails) + graph_memory_bytes(p->graph) +
		keymap_memory_bytes(p->places) +
		keymap_memory_bytes(p->suffixes) +
		names_memory_bytes(p->names) + calib_memory_bytes(p->calib)};
}

void predictor_get_reliability(
    const struct predictor *p, struct predictor_reliability *r)
{
	*r = p->reliability;
}
