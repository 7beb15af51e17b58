/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predicting: the candidates of the last event's stream that are news are told,
 * the likeliest first. */
#include <stdlib.h>

#include "predictor/core/core.h"

/* The likeliest first, for qsort(). */
static int prediction_cmp(const void *a, const void *b)
{
	const struct prediction *x = a, *y = b;

	return (x->p < y->p) - (x->p > y->p);
}

/* How many accesses of the stream lie between now and its use. */
static int32_t cand_lead(const struct stream *s, const struct cand *c)
{
	return (int32_t)(c->due - s->events);
}

struct prediction predict_object(
    const struct predictor *p, uint32_t object, uint8_t needs)
{
	const struct object *o = objects_at(p->objects, object);
	struct predictor_extent one;

	if (needs & PREDICTOR_NEEDS_DATA &&
	    extents_get(p->extents, object, &one, 1) > 0)
		needs |= PREDICTOR_NEEDS_EXTENTS;
	return (struct prediction){.object = o->key,
	    .parent = names_key(p->names, o->dir),
	    .size_bytes = o->size,
	    .first_bytes = o->first * (uint32_t)FIRST_UNIT,
	    .needs = needs};
}

/* Writes the prediction, and notes in the candidate how it was told, so that it
 * is told again only if it rises or needs more. */
static void cand_tell(struct predictor *p, const struct stream *s,
    struct cand *c, uint8_t needs, struct prediction *out)
{
	int32_t lead = cand_lead(s, c);

	c->told_corrected = calib_correct(p->calib, c->p);
	*out = predict_object(p, c->object, needs);
	out->p = c->told_corrected;
	out->lead = lead > 0 ? (uint32_t)lead + 1 : 1;
	out->source = c->source;
	if (c->told_p <= 0)
		c->first_cell = c->cell;
	c->last_cell = c->cell;
	c->told_p = c->p;
	c->told_needs |= c->needs;
	c->told_at = p->events;
	/* A candidate that is told once more was counted the first time. */
	p->predicted += !c->retell && !c->withdrawn;
	p->predicted_by[c->source] += !c->retell && !c->withdrawn;
	c->retell = c->withdrawn = false;
}

/* Whether something of it is still needed, and the uid may be told. */
static bool cand_passes(
    struct predictor *p, struct stream *s, struct cand *c, uint8_t *needs)
{
	const struct object *o = objects_at(p->objects, c->object);

	*needs = c->needs;
	if (!c->rest && p->recent_ns)
		*needs = cands_lacks(p, s, c->object, c->needs);
	*needs = predict_needs(o, *needs);
	return *needs && wall_passes(p, s, o->met_by,
			     names_key(p->names, o->dir), o->key);
}

size_t predictor_predict(
    struct predictor *p, struct prediction *out, size_t max)
{
	struct stream *s = p->now;
	uint16_t kept = 0;
	size_t n = 0;

	if (!s)
		return 0;
	for (int i = 0; i < CANDS && s->stale; i++)
		if (s->keys[i] != OBJECT_NONE && s->cands[i].told_p < P_SURE)
			cands_estimate(p, s, &s->cands[i]);
	s->stale = false;
	for (int i = 0; i < s->nnews; i++) {
		struct cand *c = &s->cands[s->news[i]];
		uint8_t needs;

		/* A candidate that finds no room is told after the next event;
		 * one that was dropped is told when it is nearer. */
		if (c->object != OBJECT_NONE &&
		    (n == max || (c->retry && cand_lead(s, c) > c->retry))) {
			s->news[kept++] = s->news[i];
			continue;
		}
		c->in_news = false;
		c->retry = 0;
		if (c->object == OBJECT_NONE || !cand_is_news(c))
			continue;
		if (cand_passes(p, s, c, &needs))
			cand_tell(p, s, c, needs, &out[n++]);
	}
	s->nnews = kept;
	n += want_tell(p, out + n, max - n);
	qsort(out, n, sizeof(*out), prediction_cmp);
	return n;
}

void predict_later(struct predictor *p, uint32_t object)
{
	struct stream *s = p->now;
	struct cand *c = s ? stream_cand(s, object) : NULL;
	int32_t lead;

	if (!c || c->told_p <= 0 || c->in_news || s->nnews == NEWS)
		return;
	lead = cand_lead(s, c) / 2;
	if (lead < 1)
		return;
	c->retry = (uint16_t)(lead < UINT16_MAX ? lead : UINT16_MAX);
	c->told_p = 0;
	c->told_needs = 0;
	cand_push(s, c);
}

size_t predictor_extents(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max)
{
	uint32_t id = objects_find(p->objects, object);

	return id == OBJECT_NONE ? 0 : extents_get(p->extents, id, out, max);
}

void predictor_get_file(
    const struct predictor *p, uint64_t object, struct predictor_file *out)
{
	uint32_t id = objects_find(p->objects, object);
	const struct object *o =
	    id == OBJECT_NONE ? NULL : objects_at(p->objects, id);

	*out = (struct predictor_file){0};
	if (!o)
		return;
	out->type = o->type;
	out->read = o->first > 0;
	if (o->dir != DIR_NONE)
		out->parent = names_at(p->names, o->dir)->key;
}

uint32_t predictor_run(const struct predictor *p, uint64_t object)
{
	uint32_t id = objects_find(p->objects, object);

	return id == OBJECT_NONE ? 0 : extents_run(p->extents, id);
}

size_t predictor_order(const struct predictor *p, uint64_t object,
    struct predictor_extent *out, size_t max)
{
	uint32_t id = objects_find(p->objects, object);
	struct order_piece pieces[ORDER_MAX];
	size_t n = 0;

	if (id != OBJECT_NONE)
		n = extents_order(
		    p->extents, id, pieces, max < ORDER_MAX ? max : ORDER_MAX);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct predictor_extent){
		    .offset_bytes = (uint64_t)pieces[i].at * EXTENT_BLOCK,
		    .length_bytes = pieces[i].length * EXTENT_BLOCK,
		    .count = 1};
	return n;
}
