/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "predictor/core/stream.h"

#include <string.h>

#include "predictor/store/objects.h"

enum { PROBES = 8, CANDS_BITS = 9 };
_Static_assert(1 << CANDS_BITS == CANDS, "homes are as many");

/* Whoever was silent for as long has ended. */
#define IDLE_NS  60000000000u
#define PAUSE_NS 700000000u

/* Below this, an event opens a stream of its own. */
#define SCORE_NEW       0.88f
/* The same while there is but one that may be at work. */
#define SCORE_NEW_ALONE 0.1f
#define ACTIVE_NS       20000000u
/* A call that went out while the last one was open: readahead, threads. */
#define SCORE_BLOCKED   (-3.0f)

void stream_cand_set(struct stream *s, struct cand *c, uint32_t object)
{
	c->object = object;
	s->keys[c - s->cands] = object;
}

void stream_reset(struct stream *s)
{
	memset(s, 0, sizeof(*s));
	s->guessed = 0.5f;
	s->last = OBJECT_NONE;
	s->tail = TRAIL_NONE;
	memset(s->dirs, 0xff, sizeof(s->dirs));
	s->from = s->to = s->maybe_from = s->maybe_to = UINT32_MAX;
	for (int i = 0; i < CURSORS; i++)
		s->cursors[i].place = TRAIL_NONE;
	for (int i = 0; i < CANDS; i++)
		stream_cand_set(s, &s->cands[i], OBJECT_NONE);
}

static uint32_t cand_home(uint32_t object)
{
	return object * 0x9e3779b1u >> (32 - CANDS_BITS);
}

const struct cand *stream_find_cand(const struct stream *s, uint32_t object)
{
	uint32_t home = cand_home(object);

	for (uint32_t i = 0; i < PROBES; i++) {
		if (s->keys[(home + i) % CANDS] == object)
			return &s->cands[(home + i) % CANDS];
	}
	return NULL;
}

struct cand *stream_cand(struct stream *s, uint32_t object)
{
	const struct cand *c = stream_find_cand(s, object);

	return c ? &s->cands[c - s->cands] : NULL;
}

struct cand *stream_cand_slot(struct stream *s, uint32_t object)
{
	uint32_t home = cand_home(object);
	struct cand *best = stream_cand(s, object);

	if (best)
		return best;
	best = &s->cands[home];
	for (uint32_t i = 0; i < PROBES; i++) {
		struct cand *c = &s->cands[(home + i) % CANDS];

		if (c->object == OBJECT_NONE)
			return c;
		if (c->born_at < best->born_at)
			best = c;
	}
	return best;
}

/* Much like exp(-x), and cheaper. */
static float decay(float x)
{
	return 1 / (1 + x * (1 + x * (0.5f + x * 0.17f)));
}

/*
 * By the time since its last reply. Who is blocked says more than who was
 * answered last: hits are answered at once. The weights here and in fit.c
 * were searched for on the tuning half of the corpus.
 */
static float score_timing(const struct stream *s, uint64_t now_ns)
{
	float ms;

	if (s->reply_ns > now_ns)
		return SCORE_BLOCKED;
	ms = (float)(now_ns - s->reply_ns) * 1e-6f;
	if (ms > 4000)
		return 0.24f * decay(ms / 2000);
	return 0.16f * decay(ms / 40) + 0.48f * decay(ms / 100) +
	       0.24f * decay(ms / 2000);
}

static struct stream *streams_new(struct streams *ss,
    const struct predictor_obs *o, void (*retire)(void *ctx, struct stream *s),
    void *ctx)
{
	struct stream *s = &ss->at[0];

	for (int i = 0; i < STREAMS && s->used; i++)
		if (!ss->at[i].used || ss->at[i].last_at < s->last_at)
			s = &ss->at[i];
	if (s->used)
		retire(ctx, s);
	stream_reset(s);
	s->used = true;
	s->actor = o->actor;
	s->connection = o->connection;
	s->uid = o->uid;
	s->pid = o->pid;
	ss->made++;
	return s;
}

bool stream_paused(const struct stream *s, uint64_t now_ns)
{
	return s->events == 0 || now_ns > s->reply_ns + PAUSE_NS;
}

/* Those that may be at work now. */
static unsigned streams_active(
    const struct streams *ss, const struct predictor_obs *o)
{
	unsigned n = 0;

	for (int i = 0; i < STREAMS; i++)
		n += ss->at[i].used && ss->at[i].actor == o->actor &&
		     o->now_ns < ss->at[i].reply_ns + ACTIVE_NS;
	return n;
}

struct stream *streams_choose(struct streams *ss, const struct predictor_obs *o,
    bool use_pids, stream_fit fit, void (*retire)(void *ctx, struct stream *s),
    void *ctx)
{
	struct stream *best = NULL;
	float best_score;
	bool know_pid = use_pids && o->pid;

	best_score = streams_active(ss, o) > 1 ? SCORE_NEW : SCORE_NEW_ALONE;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &ss->at[i];
		float score;

		if (!s->used || s->actor != o->actor)
			continue;
		if (know_pid) {
			if (s->pid == o->pid)
				return s;
			continue;
		}
		if (o->now_ns > s->reply_ns + IDLE_NS)
			continue;
		score = score_timing(s, o->now_ns) + fit(ctx, s);
		if (score > best_score) {
			best_score = score;
			best = s;
		}
	}
	return best ? best : streams_new(ss, o, retire, ctx);
}
