/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that go away in the middle of everything: handles end, names move,
 * and their numbers are given out anew. Nothing false may be told, or kept.
 */
#include "predictor/learn_fixture.h"

#include "predictor/core/core.h"

enum { CHURN_SLOTS = 12000, CHURN_ACTORS = 12, CHURN_EVENTS = 200000 };

/* Names that stay, with handles that do not. */
struct churn {
	struct world w;
	uint64_t x;
	uint32_t handle[CHURN_SLOTS]; /* how many each had */
	bool gone[CHURN_SLOTS];       /* forgotten, and not met since */
	uint32_t at[CHURN_ACTORS];    /* where each one's run is */
	uint32_t left[CHURN_ACTORS];
	uint64_t told;
};

static uint32_t churn_random(struct churn *c, uint32_t n)
{
	c->x = c->x * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(c->x >> 33) % n;
}

static uint64_t churn_key(const struct churn *c, uint32_t slot)
{
	return (uint64_t)c->handle[slot] << 32 | (slot + 1);
}

static uint64_t churn_dir(uint32_t slot)
{
	return (uint64_t)1 << 62 | (slot / 40 + 1);
}

static uint64_t churn_name(uint32_t slot)
{
	return (slot + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static void churn_check(struct churn *c)
{
	for (size_t i = 0; i < c->w.n; i++) {
		const struct prediction *f = &c->w.out[i];
		uint32_t slot = (uint32_t)f->object - 1;

		assert_true(f->p > 0 && f->p < 1);
		assert_true(f->lead >= 1);
		assert_int_not_equal(f->needs, 0);
		assert_true(f->source < PREDICTOR_SOURCES);
		assert_int_not_equal(f->object, 0);
		if (f->object >> 62)
			continue;
		assert_true(slot < CHURN_SLOTS);
		assert_false(c->gone[slot] && f->object == churn_key(c, slot));
	}
	c->told += c->w.n;
}

static void churn_see(struct churn *c, uint32_t actor, uint32_t slot)
{
	struct predictor_obs o = {
	    .kind = (enum predictor_kind)churn_random(c, PREDICTOR_READDIR),
	    .exec = slot % 97 == 0,
	    .now_ns = c->w.now_ns,
	    .latency_ns = MS,
	    .actor = actor + 1,
	    .uid = actor % 3,
	    .object = churn_key(c, slot),
	    .parent = churn_dir(slot),
	    .name_hash = churn_name(slot),
	    .size_bytes = 9000,
	    .offset_bytes = churn_random(c, 3) * 4096,
	    .count_bytes = 4096};

	predictor_observe(c->w.p, &o);
	c->gone[slot] = false;
	c->w.n = predictor_predict(
	    c->w.p, c->w.out, churn_random(c, 8) ? 256 : churn_random(c, 4));
	churn_check(c);
}

static void churn_forget(struct churn *c, uint32_t slot)
{
	predictor_forget(c->w.p, churn_key(c, slot));
	c->gone[slot] = true;
}

static void churn_list(struct churn *c, uint32_t slot)
{
	struct predictor_dirent ents[40];

	slot -= slot % 40;
	for (uint32_t i = 0; i < 40; i++) {
		ents[i] =
		    (struct predictor_dirent){.object = churn_key(c, slot + i),
			.name_hash = churn_name(slot + i),
			.size_bytes = 9000,
			.rank = 39 - i};
		c->gone[slot + i] = false;
	}
	predictor_list(c->w.p, slot % 3, churn_dir(slot), ents, 40);
}

/* A new handle takes the name, or an object that there is. */
static void churn_rename(struct churn *c, uint32_t slot)
{
	uint32_t to = churn_random(c, 4) ? slot : churn_random(c, CHURN_SLOTS);

	if (churn_random(c, 2)) {
		c->handle[slot]++;
		c->gone[slot] = false;
	}
	predictor_rename(
	    c->w.p, churn_key(c, slot), churn_dir(to), churn_name(to));
	if (churn_random(c, 64) == 0)
		predictor_place_dir(
		    c->w.p, 0, churn_dir(slot), churn_dir(to), churn_name(to));
}

static void churn_spoil(struct churn *c, uint32_t slot)
{
	uint32_t any = churn_random(c, CHURN_SLOTS);

	switch (churn_random(c, 24)) {
	case 0:
	case 1: /* what a run just had, or will have */
		churn_forget(c, (slot + churn_random(c, 4)) % CHURN_SLOTS);
		break;
	case 2:
		for (uint32_t i = 0; i < 20; i++)
			churn_forget(c, (any + i) % CHURN_SLOTS);
		break;
	case 3:
		churn_rename(c, churn_random(c, 2) ? slot : any);
		break;
	case 4:
		if (churn_random(c, 8) == 0)
			churn_list(c, any);
		break;
	case 5:
		for (size_t i = 0; i < c->w.n; i++)
			predictor_feedback(c->w.p, c->w.out[i].object,
			    (enum predictor_outcome)churn_random(c, 4));
		break;
	case 6: /* what it just told of is gone before it is asked for */
		for (size_t i = 0; i < c->w.n; i += 3)
			predictor_forget(c->w.p, c->w.out[i].object);
		break;
	default:
		break;
	}
}

static void churn_turn(struct churn *c)
{
	uint32_t a = churn_random(c, CHURN_ACTORS);

	if (c->left[a]-- == 0) {
		/* A few runs are of all; the rest nobody repeats. */
		c->at[a] = churn_random(c, 8) ? churn_random(c, 20) * 100
					      : churn_random(c, CHURN_SLOTS);
		c->left[a] = 20 + churn_random(c, 60);
	}
	churn_see(c, a, c->at[a]);
	churn_spoil(c, c->at[a]);
	c->at[a] = (c->at[a] + 1) % CHURN_SLOTS;
	c->w.now_ns += churn_random(c, 400) ? MS / 4 : 1000 * MS;
}

static void churn_judge(const struct churn *c)
{
	struct predictor_stats st;
	uint64_t predicted = 0, used = 0;

	predictor_get_stats(c->w.p, &st);
	for (int i = 0; i < PREDICTOR_SOURCES; i++) {
		assert_true(st.by_source[i].used <= st.by_source[i].predicted);
		predicted += st.by_source[i].predicted;
		used += st.by_source[i].used;
	}
	assert_true(predicted <= st.predicted && st.predicted <= c->told);
	assert_true(used > 0 && used <= predicted);
	assert_in_range(st.events, CHURN_EVENTS / 2, CHURN_EVENTS);
	assert_in_range(st.objects, 1, CHURN_SLOTS);
	assert_true(st.memory_bytes < (1 << 20) + sizeof(struct predictor) +
					  STREAMS * sizeof(struct stream) +
					  (256 << 10));
}

/* Numbers of objects that are gone are in trails, in the graph, in listings
 * and in what streams wait for; all of them are given out anew. */
TEST(test_churn)
{
	FREED struct churn *c = calloc(1, sizeof(*c));

	world_begin(&c->w, 1 << 20);
	c->x = 1;
	for (int i = 0; i < CHURN_EVENTS; i++)
		churn_turn(c);
	churn_judge(c);
	/* Nothing is left, and all of it is met again. */
	for (uint32_t i = 0; i < CHURN_SLOTS; i++)
		churn_forget(c, i);
	for (int i = 0; i < 2000; i++)
		churn_turn(c);
	world_end(&c->w);
}
