/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choosing the stream of an event, and the slots of candidates: see stream.h.
 */
#include "predictor/core/stream.h"

#include <string.h>

#include "predictor/core/fit.h"

/* Candidates lie in an open-addressed table, each within PROBES slots of its
 * home, so that finding and making one costs the same however many there are.
 */
enum { PROBES = 8, CANDS_BITS = 9 };
_Static_assert(1 << CANDS_BITS == CANDS, "homes are as many");

/* A stream that was silent for so long has ended. */
#define IDLE_NS  60000000000u
/* A pause that ends a run. It lies between the longest think time of a recorded
 * run (0.5 s, trace.h) and the second that forefetch-sim puts between two runs.
 * With 350 ms the warm stall of one stream rises by a twentieth. */
#define PAUSE_NS 700000000u

/*
 * The scores below, the weights in score_timing() and those in fit.c were
 * searched for with forefetch-sim on the tuning half of the corpus
 * (bench/traces/cat tuning), at 1, 3 and 6 streams; bench/frontier draws the
 * result. Where half or double of one of them matters, its comment says so.
 */

/* An event whose best score is lower opens a stream of its own. With 0.5 the
 * waste of six streams goes from .14 to .32. */
#define SCORE_NEW       0.88f
/* The same while at most one stream was answered within ACTIVE_NS: with 0.3 the
 * warm stall of one stream rises by a tenth. */
#define SCORE_NEW_ALONE 0.1f
#define ACTIVE_NS       20000000u
/* Of a stream whose last call is still open. It is not minus infinity, because
 * readahead and threads do call before the reply; with -1 the warm stall of
 * three streams goes from .033 to .050. */
#define SCORE_BLOCKED   (-3.0f)

void stream_cand_set(struct stream *s, struct cand *c, uint32_t object)
{
	c->object = object;
	s->keys[c - s->cands] = object;
}

void stream_reset(struct stream *s)
{
	uint16_t number = s->number;

	memset(s, 0, sizeof(*s));
	s->number = number;
	s->next = STREAM_NONE;
	s->spacing = 1;
	s->guess_share = 0.5f;
	s->last = OBJECT_NONE;
	s->tail = TRAIL_NONE;
	memset(s->dirs, 0xff, sizeof(s->dirs));
	s->twin_from = s->twin_to = s->maybe_twin_from = s->maybe_twin_to =
	    UINT32_MAX;
	for (int i = 0; i < CURSORS; i++)
		s->cursors[i].place = TRAIL_NONE;
	for (int i = 0; i < CANDS; i++)
		stream_cand_set(s, &s->cands[i], OBJECT_NONE);
}

/* The slot where probing for the object begins (Knuth's multiplicative hash).
 */
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
	return (struct cand *)(uintptr_t)stream_find_cand(s, object);
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

/* Close to exp(-x) (it is the inverse of the beginning of its series) and
 * cheaper. */
static float decay(float x)
{
	return 1 / (1 + x * (1 + x * (0.5f + x * 0.17f)));
}

/*
 * The score by the time since the stream's last reply. Which stream is blocked
 * says more than which was answered last, because hits are answered at once.
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

bool stream_ended(const struct stream *s, uint64_t now_ns)
{
	return now_ns > s->reply_ns + IDLE_NS;
}

bool stream_paused(const struct stream *s, uint64_t now_ns)
{
	return s->events == 0 || now_ns > s->reply_ns + PAUSE_NS;
}

/* How many streams of the actor may be at work now. */
static unsigned streams_active(
    const struct streams *ss, const struct predictor_obs *o)
{
	unsigned n = 0;

	for (const struct stream *s = streams_first(ss, o->actor); s;
	     s = streams_next(ss, s))
		n += o->now_ns < s->reply_ns + ACTIVE_NS;
	return n;
}

struct stream *streams_choose(
    struct predictor *p, const struct predictor_obs *o, const struct fit *f)
{
	struct streams *ss = &p->streams;
	struct stream *best = NULL;
	bool know_pid = p->opt.use_pids && o->pid;
	float best_score =
	    streams_active(ss, o) > 1 ? SCORE_NEW : SCORE_NEW_ALONE;

	for (struct stream *s = streams_first(ss, o->actor); s;
	     s = streams_next(ss, s)) {
		float score;

		if (know_pid) {
			if (s->pid == o->pid)
				return s;
			continue;
		}
		if (stream_ended(s, o->now_ns))
			continue;
		score = score_timing(s, o->now_ns) + fit_score(f, s);
		if (score > best_score) {
			best_score = score;
			best = s;
		}
	}
	return best ? best : streams_new(p, o);
}
