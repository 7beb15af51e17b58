/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes say what became of predictions, and what follows from it: when one
 * counts as made in vain, what of it is renewed, and how much of a guess is
 * read. */
#include "unittest.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/flight.h"
#include "prefetch/prefetch_fixture.h"
#include "prefetch/prefetch_private.h"

enum {
	SECOND = 1000000,
	DATA = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
	USER = 1000,
};

struct note_world {
	struct world *w;
	struct rooms pf;
	struct credential *cred;
};

static void setup(struct note_world *s)
{
	s->w = calloc(1, sizeof(*s->w));
	set_up(s->w);
	s->pf.g.caches = s->w->caches;
	s->pf.g.config = &s->w->config;
	rooms_open(&s->pf, &s->cred, 1);
	rooms_add(&s->pf, &source_renew);
	s->cred->id = s->w->cred;
	s->cred->uid = USER;
}

static void teardown(struct note_world *s)
{
	rooms_close(&s->pf, &s->cred, 1);
	tear_down(s->w);
	free(s->w);
}

/* It came ahead. */
static void came(struct note_world *s, uint64_t object, uint8_t source,
    uint32_t uid, uint64_t now_us)
{
	struct prediction pred = {
	    .object = object, .p = 0.5f, .needs = DATA, .source = source};

	notes_predicted(s->pf.notes, &pred, uid, now_us);
	notes_set(s->pf.notes, object, NOTE_ASKED, now_us);
	notes_came(s->pf.notes, object, 1000);
	notes_set(s->pf.notes, object, NOTE_READY, now_us);
}

static enum note_state state_of(struct note_world *s, uint64_t object)
{
	return notes_find(s->pf.notes, object)->state;
}

/* As often as all notes are looked at. */
static void age(struct note_world *s, uint64_t now_us)
{
	for (int i = 0; i < 4096; i++)
		notes_age(s->pf.notes, now_us);
}

/* ---- in vain ---------------------------------------------------------- */

FIXTURE(struct note_world, setup, teardown);

/* An object that is asked for again and again does not delay the verdict on the
 * others. */
TEST(test_each_by_its_own_age, struct note_world *s)
{
	came(s, 1, NOTE_FROM_PATTERN, USER, T0);
	came(s, 2, NOTE_FROM_PATTERN, USER, T0);
	notes_set(s->pf.notes, 1, NOTE_ASKED, T0 + 9 * SECOND);
	notes_set(s->pf.notes, 1, NOTE_READY, T0 + 9 * SECOND);
	age(s, T0 + 9 * SECOND);
	assert_int_equal(state_of(s, 2), NOTE_READY);
	age(s, T0 + 10 * SECOND);
	assert_int_equal(state_of(s, 1), NOTE_READY);
	assert_int_equal(state_of(s, 2), NOTE_UNUSED);
}

TEST(test_guesses_are_judged_sooner, struct note_world *s)
{
	came(s, 1, NOTE_FROM_PATTERN, USER, T0);
	came(s, 2, NOTE_FROM_WALK, USER, T0);
	came(s, 3, NOTE_FROM_MENTION, USER, T0);
	age(s, T0 + 5 * SECOND);
	assert_int_equal(state_of(s, 1), NOTE_READY);
	assert_int_equal(state_of(s, 2), NOTE_UNUSED);
	assert_int_equal(state_of(s, 3), NOTE_UNUSED);
}

/* ---- what is renewed -------------------------------------------------- */

static void look_up(struct note_world *s, const char *name, uint64_t now_us)
{
	struct passed seen = {.obs = {.kind = PREDICTOR_LOOKUP,
				  .object = key_of(name),
				  .parent = key_of("dir")},
	    .cred = s->cred};

	rooms_hear(&s->pf, &seen, now_us);
}

static void assert_renewed(struct note_world *s, const char *name)
{
	struct want *w = queue_next(s->pf.queue);

	assert_non_null(w);
	assert_int_equal(w->wish.object, key_of(name));
	assert_int_equal(w->wish.needs, PREDICTOR_NEEDS_ACCESS);
	want_drop(w);
	assert_int_equal(s->pf.queue->nwants, 0);
}

static void use(struct note_world *s, const char *name, uint64_t now_us)
{
	struct note_use use = {.object = key_of(name), .uid = USER};

	notes_used(s->pf.notes, &use, now_us);
}

TEST(test_renewed, struct note_world *s)
{
	static const struct entry entries[] = {{"a", "a", NF3REG},
	    {"b", "b", NF3REG}, {"c", "c", NF3REG}, {"d", "d", NF3REG}};

	say_dir(s->w);
	say_page(s->w, entries, 4, 0, true);
	came(s, key_of("b"), NOTE_FROM_MENTION, USER, T0);
	came(s, key_of("c"), NOTE_FROM_MENTION, USER + 1, T0);
	use(s, "d", T0);
	/* Nothing has grown old yet. */
	look_up(s, "a", T0);
	assert_int_equal(s->pf.queue->nwants, 0);
	/* An entry that came for this user and is not used yet, is renewed. */
	look_up(s, "a", T0 + 3 * SECOND);
	assert_renewed(s, "b");
	/* It is one visit. */
	look_up(s, "d", T0 + 3 * SECOND + SECOND / 2);
	assert_int_equal(s->pf.queue->nwants, 0);
	look_up(s, "a", T0 + 5 * SECOND);
	assert_renewed(s, "b");
	use(s, "b", T0 + 6 * SECOND);
	look_up(s, "a", T0 + 7 * SECOND);
	assert_int_equal(s->pf.queue->nwants, 0);
}

static struct passed read_of(struct note_world *s, const char *name, bool exec)
{
	return (struct passed){.obs = {.kind = PREDICTOR_READ,
				   .object = key_of(name),
				   .exec = exec},
	    .cred = s->cred};
}

static void read_it(
    struct note_world *s, const char *name, bool exec, uint64_t now_us)
{
	struct passed seen = read_of(s, name, exec);

	rooms_hear(&s->pf, &seen, now_us);
}

static void read_waits(struct note_world *s, const char *name, uint64_t now_us)
{
	struct passed seen = read_of(s, name, true);

	rooms_begin(&s->pf, &seen, now_us);
}

/* A program comes back to one of its libraries: then it will come back to the
 * others, but not to data, nor to those of another user. */
TEST(test_mapped, struct note_world *s)
{
	static const struct entry entries[] = {{"a", "a", NF3REG},
	    {"b", "b", NF3REG}, {"c", "c", NF3REG}, {"d", "d", NF3REG}};

	say_dir(s->w);
	say_page(s->w, entries, 4, 0, true);
	read_it(s, "a", true, T0);
	read_it(s, "b", true, T0);
	read_it(s, "c", false, T0);
	s->cred->id++;
	read_it(s, "d", true, T0);
	s->cred->id--;
	read_waits(s, "a", T0 + 4 * SECOND);
	assert_renewed(s, "b");
	/* It is another program's, most likely. */
	read_it(s, "b", true, T0 + 20 * SECOND);
	read_waits(s, "a", T0 + 24 * SECOND);
	assert_int_equal(s->pf.queue->nwants, 0);
}

/* ---- what is read of a guess ------------------------------------------ */

static void looks(struct note_world *s, unsigned n, bool reads)
{
	for (unsigned i = 0; i < n; i++) {
		struct passed seen = {.obs = {.kind = PREDICTOR_LOOKUP,
					  .object = 100 + i,
					  .parent = key_of("dir")},
		    .cred = s->cred};

		rooms_hear(&s->pf, &seen, T0);
		seen.obs.kind = PREDICTOR_READ;
		if (reads)
			rooms_hear(&s->pf, &seen, T0);
	}
	for (struct want *w; (w = queue_next(s->pf.queue)) != NULL;)
		want_drop(w);
}

static double data_p(struct note_world *s, uint8_t source)
{
	struct prediction pred = {
	    .object = 7, .p = 0.5f, .lead = 1, .needs = DATA, .source = source};
	struct want *w;
	double p;

	assert_true(sources_want(s->pf.sources, s->cred, &pred, T0));
	w = queue_next(s->pf.queue);
	p = (double)w->wish.data_p;
	assert_true((double)w->wish.p > 0.49);
	want_drop(w);
	return p;
}

/* Who looks at all files of a tree reads few of them; who says that one will be
 * read has counted that. */
TEST(test_data_of_what_is_looked_at, struct note_world *s)
{
	rooms_add(&s->pf, &source_habit);
	assert_true(data_p(s, PREDICTOR_FROM_NAMES) > 0.4);
	looks(s, 100, false);
	assert_true(data_p(s, PREDICTOR_FROM_NAMES) < 0.05);
	assert_true(data_p(s, NOTE_FROM_MENTION) > 0.49);
	assert_true(data_p(s, PREDICTOR_FROM_TRAIL) > 0.49);
	looks(s, 100, true);
	assert_true(data_p(s, PREDICTOR_FROM_NAMES) > 0.2);
}

/* ---- who is told ------------------------------------------------------ */

/* A user's rows do not tell that another one's hint is for the same file. */
TEST(test_source_is_the_users_own, struct note_world *s)
{
	struct prediction hint = {
	    .object = 7, .p = 0.9f, .needs = DATA, .source = NOTE_FROM_HINT};
	struct prediction guess = {.object = 7,
	    .p = 0.5f,
	    .needs = DATA,
	    .source = PREDICTOR_FROM_NAMES};
	struct prefetch_ahead rows[PREFETCH_SHOW_MAX];
	struct calls *calls = AFTER(calls_free, calls_new(&s->pf.g));
	struct prefetch pf = {.g = s->pf.g,
	    .notes = s->pf.notes,
	    .queue = s->pf.queue,
	    .calls = calls};
	struct want *w = want_add(s->pf.queue, s->cred, &guess, 1, T0);
	uint64_t omitted;

	notes_predicted(s->pf.notes, &hint, USER + 1, T0);
	assert_int_equal(prefetch_list_ahead(&pf, USER, T0, rows, &omitted), 1);
	assert_string_equal(rows[0].source, "names");
	assert_true(rows[0].p < 0.6);
	notes_predicted(s->pf.notes, &hint, USER, T0);
	assert_int_equal(prefetch_list_ahead(&pf, USER, T0, rows, &omitted), 1);
	assert_string_equal(rows[0].source, "hint");
	want_drop(w);
}
