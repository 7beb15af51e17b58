/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A source of one's own: what it hears, and what it may want. */
#include "unittest.h"
#include "prefetch/prefetch_fixture.h"

enum { FILE_A = 10, FILE_B = 11 };

struct source_world {
	struct rooms pf;
	struct credential *cred;
};

static void setup(struct source_world *s)
{
	rooms_open(&s->pf, &s->cred, 1);
}

static void teardown(struct source_world *s)
{
	rooms_close(&s->pf, &s->cred, 1);
}

/* ---- whoever reads one file reads the next ------------------------------ */

struct next {
	struct source s;
	unsigned passed, begun, turns;
};

static struct next *the_next;

static struct source *next_open(struct sources *all)
{
	(void)all;
	the_next = (struct next *)source_new(sizeof(*the_next));
	return &the_next->s;
}

static void next_passed(struct source *s, struct passed *p)
{
	struct prediction pred = {.object = p->obs.object + 1,
	    .p = 0.9f,
	    .lead = 1,
	    .needs = PREDICTOR_NEEDS_DATA,
	    .source = NOTE_FROM_KIND};

	((struct next *)s)->passed++;
	if (p->hinted)
		return;
	notes_predicted(
	    s->all->notes, &pred, credential_uid(p->cred), p->now_us);
	(void)sources_want(s->all, p->cred, &pred, p->now_us);
}

static void next_begins(struct source *s, const struct passed *p)
{
	(void)p;
	((struct next *)s)->begun++;
}

static bool next_turn(struct source *s, uint64_t now_us)
{
	(void)now_us;
	return ++((struct next *)s)->turns == 1;
}

static const struct source_ops next = {.open = next_open,
    .passed = next_passed,
    .begins = next_begins,
    .turn = next_turn};

FIXTURE(struct source_world, setup, teardown);

TEST(test_hears, struct source_world *s)
{
	struct passed p = {
	    .obs = {.kind = PREDICTOR_READ, .object = FILE_A}, .cred = s->cred};
	struct want *w;

	rooms_add(&s->pf, &next);
	rooms_begin(&s->pf, &p, T0);
	assert_int_equal(the_next->begun, 1);
	assert_null(queue_next(s->pf.queue));
	rooms_hear(&s->pf, &p, T0);
	assert_int_equal(the_next->passed, 1);
	w = queue_next(s->pf.queue);
	assert_non_null(w);
	assert_int_equal(want_wish(w)->object, FILE_B);
	assert_true(wish_is_guess(want_wish(w)));
	assert_int_equal(notes_find(s->pf.notes, FILE_B)->state, NOTE_WANTED);
	/* There is more to be done, and then no more. */
	assert_true(sources_turn(s->pf.sources, T0));
	assert_false(sources_turn(s->pf.sources, T0));
}

TEST(test_hears_reads_only, struct source_world *s)
{
	static const struct source_ops reads = {
	    .open = next_open, .passed = next_passed, .of_reads = true};
	struct passed p = {.obs = {.kind = PREDICTOR_LOOKUP, .object = FILE_A},
	    .cred = s->cred};

	rooms_add(&s->pf, &reads);
	rooms_hear(&s->pf, &p, T0);
	assert_int_equal(the_next->passed, 0);
	p.obs.kind = PREDICTOR_READ;
	rooms_hear(&s->pf, &p, T0);
	assert_int_equal(the_next->passed, 1);
}

/* One that is not worth a call is noted, and not wanted. */
TEST(test_unlikely, struct source_world *s)
{
	struct prediction pred = {.object = FILE_B,
	    .p = 0.001f,
	    .lead = 1,
	    .needs = PREDICTOR_NEEDS_DATA,
	    .source = NOTE_FROM_KIND};

	notes_predicted(s->pf.notes, &pred, 0, T0);
	assert_false(sources_want(s->pf.sources, s->cred, &pred, T0));
	assert_null(queue_next(s->pf.queue));
	assert_int_equal(notes_find(s->pf.notes, FILE_B)->state, NOTE_UNLIKELY);
}
