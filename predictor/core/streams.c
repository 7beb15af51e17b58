/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which streams there are, and whose they are. A stream is made when it is
 * needed. When there are as many as memory allows, one that has ended goes; if
 * none has, the actor that has the most of them gives one up, so that one who
 * walks over everything takes none from others.
 */
#include <stdlib.h>

#include "predictor/core/core.h"

/* By how much one gap between the actor's events moves its spacing. */
#define SPACING_GAIN 0.125f

/* There are no more actors than streams, so a look at each is cheap. */
static struct stream_actor *actor_find(struct streams *ss, uint64_t actor)
{
	for (uint32_t i = 0; i < ss->nactors; i++)
		if (ss->actors[i].actor == actor)
			return &ss->actors[i];
	return NULL;
}

struct stream *streams_first(const struct streams *ss, uint64_t actor)
{
	const struct stream_actor *a = actor_find((struct streams *)ss, actor);

	return a ? ss->at[a->first] : NULL;
}

struct stream *streams_next(const struct streams *ss, const struct stream *s)
{
	return s->next == STREAM_NONE ? NULL : ss->at[s->next];
}

uint32_t streams_event(struct streams *ss, uint64_t actor, uint32_t event)
{
	struct stream_actor *a = actor_find(ss, actor);
	float gap;

	if (!a)
		return 1;
	gap = (float)(event - a->last_at);
	if (gap > STREAMS_MAX)
		gap = STREAMS_MAX;
	a->spacing += (gap - a->spacing) * SPACING_GAIN;
	a->last_at = event;
	return a->spacing < 1 ? 1 : (uint32_t)(a->spacing + 0.5f);
}

/* ---- making and giving up ----------------------------------------------- */

/* Adds one stream that nobody uses; false at the limit or without memory. */
static bool streams_grow(struct streams *ss)
{
	struct stream *s;

	if (ss->n == ss->limit)
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	ss->at[ss->n] = s;
	stream_reset(s);
	s->number = (uint16_t)ss->n++;
	return true;
}

bool streams_init(struct streams *ss, size_t budget_bytes)
{
	size_t n = budget_bytes / sizeof(struct stream);

	*ss =
	    (struct streams){.limit = (uint32_t)(n < STREAMS       ? STREAMS
						 : n > STREAMS_MAX ? STREAMS_MAX
								   : n)};
	return streams_grow(ss);
}

void streams_free(struct streams *ss)
{
	for (uint32_t i = 0; i < ss->n; i++)
		free(ss->at[i]);
	*ss = (struct streams){0};
}

void streams_reset(struct streams *ss)
{
	for (uint32_t i = 0; i < ss->n; i++)
		stream_reset(ss->at[i]);
	ss->nactors = 0;
}

/* Takes the stream out of its actor's list. */
static void stream_leave(struct streams *ss, struct stream *s)
{
	struct stream_actor *a = actor_find(ss, s->actor);
	uint16_t *link = &a->first;

	while (*link != s->number)
		link = &ss->at[*link]->next;
	*link = s->next;
	if (--a->n == 0)
		*a = ss->actors[--ss->nactors];
}

/* Puts the stream at the head of its actor's list; the actor is made with its
 * first stream, and goes with its last. */
static void stream_join(struct streams *ss, struct stream *s, uint32_t event)
{
	struct stream_actor *a = actor_find(ss, s->actor);

	if (!a) {
		a = &ss->actors[ss->nactors++];
		*a = (struct stream_actor){.actor = s->actor,
		    .first = STREAM_NONE,
		    .last_at = event,
		    .spacing = 1};
	}
	s->next = a->first;
	a->first = s->number;
	a->n++;
}

/* Of the actor's streams the one that was silent for most events. */
static struct stream *oldest(
    const struct streams *ss, const struct stream_actor *actor)
{
	struct stream *best = NULL;

	for (struct stream *s = ss->at[actor->first]; s;
	     s = streams_next(ss, s))
		if (!best || s->last_at < best->last_at)
			best = s;
	return best;
}

/* The stream that ended longest ago; NULL if none has ended. */
static struct stream *ended(const struct streams *ss, uint64_t now_ns)
{
	struct stream *best = NULL;

	for (uint32_t i = 0; i < ss->n; i++) {
		struct stream *s = ss->at[i];

		if (s->used && stream_ended(s, now_ns) &&
		    (!best || s->reply_ns < best->reply_ns))
			best = s;
	}
	return best;
}

/* The actor that has most streams; of several, the one that was silent for most
 * events. */
static const struct stream_actor *richest(const struct streams *ss)
{
	const struct stream_actor *best = &ss->actors[0];

	for (uint32_t i = 1; i < ss->nactors; i++)
		if (ss->actors[i].n > best->n ||
		    (ss->actors[i].n == best->n &&
			ss->actors[i].last_at < best->last_at))
			best = &ss->actors[i];
	return best;
}

/* A stream that is not in use, or one that has to go. */
static struct stream *streams_spare(
    struct streams *ss, uint64_t actor, uint64_t now_ns)
{
	const struct stream_actor *a = actor_find(ss, actor);
	struct stream *s;

	if (a && a->n == STREAMS)
		return oldest(ss, a);
	for (uint32_t i = 0; i < ss->n; i++)
		if (!ss->at[i]->used)
			return ss->at[i];
	if (streams_grow(ss))
		return ss->at[ss->n - 1];
	s = ended(ss, now_ns);
	return s ? s : oldest(ss, richest(ss));
}

struct stream *streams_new(struct predictor *p, const struct predictor_obs *o)
{
	struct streams *ss = &p->streams;
	struct stream *s = streams_spare(ss, o->actor, o->now_ns);

	if (s->used) {
		cands_retire(p, s);
		stream_leave(ss, s);
	}
	stream_reset(s);
	s->used = true;
	s->actor = o->actor;
	s->uid = o->uid;
	s->pid = o->pid;
	s->made_at = p->events;
	stream_join(ss, s, p->events);
	ss->made++;
	return s;
}
