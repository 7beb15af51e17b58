/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lookup makes wants by what followed other lookups. */
#include "unittest.h"
#include "prefetch/prefetch_fixture.h"

enum {
	CREDS = 2,
	DIR = 5,       /* an object: where all names are */
	TYPE_H = 1111, /* hashes of what names end in */
	TYPE_C = 2222,
	LOOKED = 256, /* that wait for a READ */
	LOOKED_MAX = 512,
	FILE_NEEDS = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA,
	DIR_NEEDS = PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_LISTING,
};

struct world {
	struct rooms pf;
	struct credential *creds[CREDS];
	uint64_t next; /* object */
	uint64_t now_us;
};

static void setup(struct world *w)
{
	rooms_open(&w->pf, w->creds, CREDS);
	rooms_add(&w->pf, &source_habit);
	w->next = 1000;
	w->now_us = T0;
}

static void teardown(struct world *w)
{
	rooms_close(&w->pf, w->creds, CREDS);
}

/* ---- calls that are seen ---------------------------------------------- */

static void see(struct world *w, int cred, struct predictor_obs obs)
{
	struct passed seen = {.obs = obs, .cred = w->creds[cred]};

	rooms_hear(&w->pf, &seen, w->now_us);
}

static uint64_t look_up(struct world *w, int cred, uint64_t type)
{
	see(w, cred,
	    (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
		.object = w->next,
		.parent = DIR,
		.type_hash = type});
	return w->next++;
}

/* A READ has no name, and so no type. */
static void read_it(struct world *w, int cred, uint64_t object)
{
	see(w, cred,
	    (struct predictor_obs){.kind = PREDICTOR_READ, .object = object});
}

/* Tells the predictor of which kind the file is, as a listing would. */
static void know(struct world *w, uint64_t object, uint64_t type)
{
	predictor_observe(
	    w->pf.g.predictor, &(struct predictor_obs){.kind = PREDICTOR_LOOKUP,
				   .object = object,
				   .parent = DIR,
				   .name_hash = object,
				   .type_hash = type});
}

static uint64_t look_up_dir(struct world *w, int cred)
{
	see(w, cred,
	    (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
		.object = w->next,
		.parent = DIR,
		.directory = true});
	return w->next++;
}

static void enter(struct world *w, int cred, uint64_t object)
{
	see(w, cred,
	    (struct predictor_obs){
		.kind = PREDICTOR_ACCESS, .object = object, .directory = true});
}

/* ---- what is wanted then ---------------------------------------------- */

static void forget_wants(struct world *w)
{
	struct want *want;

	while ((want = queue_next(w->pf.queue)) != NULL)
		want_drop(want);
}

static void assert_none(struct world *w)
{
	assert_int_equal(w->pf.queue->nwants, 0);
}

static void assert_some(struct world *w)
{
	assert_int_equal(w->pf.queue->nwants, 1);
	forget_wants(w);
}

/* How likely what comes next is, after so many of one kind, and none of
 * another: a kind of file leans on all kinds. */
static double p_of(uint8_t needs, unsigned followed, unsigned looked)
{
	double p = (followed + 1.0) / (looked + 3.0);

	if (needs & PREDICTOR_NEEDS_LISTING)
		return p;
	return (followed + 2 * p) / (looked + 2.0);
}

/* The only one. */
static void assert_want(struct world *w, int cred, uint64_t object,
    uint8_t needs, unsigned followed, unsigned looked)
{
	struct want *want = queue_next(w->pf.queue);
	double p = p_of(needs, followed, looked);

	assert_non_null(want);
	assert_int_equal(want->wish.object, object);
	assert_int_equal(want->wish.parent, DIR);
	assert_int_equal(want->wish.needs, needs);
	assert_ptr_equal(want->wish.cred, w->creds[cred]);
	assert_true(
	    (double)want->wish.p > p - 1e-4 && (double)want->wish.p < p + 1e-4);
	/* It is the very next thing; what is unlikely goes behind what is
	 * likelier and not much further away. */
	assert_int_equal(want->lane, p >= 0.5     ? 0
				     : p >= 0.25  ? 1
				     : p >= 0.125 ? 2
						  : 3);
	want_drop(want);
	assert_none(w);
}

/* `n` lookups, and the first `followed` of them with a READ each. */
static void teach(
    struct world *w, int cred, uint64_t type, unsigned n, unsigned followed)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t object = look_up(w, cred, type);

		if (i < followed)
			read_it(w, cred, object);
	}
	forget_wants(w);
}

FIXTURE(struct world, setup, teardown);

/* ---- files ------------------------------------------------------------ */

TEST(test_read_before, struct world *w)
{
	teach(w, 0, TYPE_H, 4, 4);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 4, 4);
	/* That one was looked up, and not read yet. */
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 4, 5);
}

/* Some dozens in a row that nothing followed are enough: an idle link carries
 * much that is unlikely. */
TEST(test_never_read, struct world *w)
{
	uint64_t object = look_up(w, 0, TYPE_H);

	assert_want(w, 0, object, FILE_NEEDS, 0, 0);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 0, 1);
	teach(w, 0, TYPE_H, 50, 0);
	(void)look_up(w, 0, TYPE_H);
	assert_none(w);
	/* One that is read does not change that. */
	read_it(w, 0, look_up(w, 0, TYPE_H));
	(void)look_up(w, 0, TYPE_H);
	assert_none(w);
}

/* Of a user who looks at many files and opens none, nobody expects that he
 * opens the first one of another kind. */
TEST(test_new_kind, struct world *w)
{
	teach(w, 0, TYPE_H, 50, 0);
	(void)look_up(w, 0, TYPE_C);
	assert_none(w);
	teach(w, 0, TYPE_C, 2, 2);
	(void)look_up(w, 0, TYPE_C);
	assert_some(w);
}

/* A client that has read a listing opens files without a LOOKUP: such opens say
 * that files of the kind are read, too. */
TEST(test_read_without_lookup, struct world *w)
{
	uint64_t object = look_up(w, 0, TYPE_H);

	know(w, object, TYPE_H);
	teach(w, 0, TYPE_C, 50, 0);
	assert_true(
	    source_habit_reads(w->pf.sources, w->creds[0], object) < .1f);
	for (int i = 0; i < 20; i++, object = w->next++) {
		know(w, object, TYPE_H);
		see(w, 0,
		    (struct predictor_obs){
			.kind = PREDICTOR_ACCESS, .object = object});
		read_it(w, 0, object);
	}
	forget_wants(w);
	assert_true(
	    source_habit_reads(w->pf.sources, w->creds[0], object - 1) > .9f);
	(void)look_up(w, 0, TYPE_H);
	assert_some(w);
	(void)look_up(w, 0, TYPE_C);
	assert_none(w);
}

/* A file is read in pieces, and others than were looked up. */
TEST(test_read_twice, struct world *w)
{
	uint64_t object = look_up(w, 0, TYPE_H);

	for (int i = 0; i < 5; i++) {
		read_it(w, 0, object);
		read_it(w, 0, object + 100);
	}
	forget_wants(w);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 1, 1);
}

/* Neither what else is asked of a file, nor a name that is not there. */
TEST(test_other_calls, struct world *w)
{
	static const enum predictor_kind kinds[] = {
	    PREDICTOR_ACCESS, PREDICTOR_GETATTR, PREDICTOR_ABSENT};

	teach(w, 0, TYPE_H, 50, 0);
	for (size_t i = 0; i < 3; i++) {
		uint64_t object = look_up(w, 0, TYPE_H);

		forget_wants(w);
		see(w, 0,
		    (struct predictor_obs){.kind = kinds[i],
			.object = object,
			.parent = DIR,
			.type_hash = TYPE_H});
		assert_none(w);
	}
	(void)look_up(w, 0, TYPE_H);
	assert_none(w);
}

/* ---- credentials ------------------------------------------------------ */

TEST(test_other_credential, struct world *w)
{
	teach(w, 0, TYPE_H, 20, 20);
	assert_want(w, 1, look_up(w, 1, TYPE_H), FILE_NEEDS, 0, 0);
	teach(w, 1, TYPE_H, 50, 0);
	(void)look_up(w, 1, TYPE_H);
	assert_none(w);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 20, 20);
}

/* One looks, another reads: nobody has done both. */
TEST(test_other_reads, struct world *w)
{
	uint64_t object;

	/* Lookups that wait for a READ have their places by object and
	 * credential: here they meet. */
	w->creds[1]->id = w->creds[0]->id + LOOKED;
	object = look_up(w, 0, TYPE_H);
	read_it(w, 1, object);
	forget_wants(w);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 0, 1);
	assert_want(w, 1, look_up(w, 1, TYPE_H), FILE_NEEDS, 0, 0);
}

/* ---- directories ------------------------------------------------------ */

TEST(test_directory, struct world *w)
{
	uint64_t object = look_up_dir(w, 0);

	assert_want(w, 0, object, DIR_NEEDS, 0, 0);
	enter(w, 0, object);
	assert_want(w, 0, look_up_dir(w, 0), DIR_NEEDS, 1, 1);
	/* Files whose names end in nothing are not of their kind. */
	assert_want(w, 0, look_up(w, 0, 0), FILE_NEEDS, 0, 0);
}

TEST(test_directory_not_entered, struct world *w)
{
	for (int i = 0; i < 50; i++)
		(void)look_up_dir(w, 0);
	forget_wants(w);
	(void)look_up_dir(w, 0);
	assert_none(w);
}

/* Somebody looks up `names` in each of `dirs` directories, and lists `listed`
 * of them, in two pages. */
static void visit(
    struct world *w, int cred, unsigned dirs, unsigned names, unsigned listed)
{
	for (unsigned i = 0; i < dirs; i++) {
		uint64_t dir = w->next++;

		for (unsigned k = 0; k < names; k++)
			see(w, cred,
			    (struct predictor_obs){.kind = PREDICTOR_LOOKUP,
				.object = w->next++,
				.parent = dir});
		for (unsigned k = 0; i < listed && k < 2; k++)
			see(w, cred,
			    (struct predictor_obs){.kind = PREDICTOR_READDIR,
				.object = dir,
				.directory = true});
	}
	forget_wants(w);
}

/* How many calls the listing of the next directory is taken to spare. */
static double spared(struct world *w, int cred)
{
	uint64_t object = look_up_dir(w, cred);
	struct want *want = queue_next(w->pf.queue);
	double calls;

	assert_non_null(want);
	assert_int_equal(want->wish.object, object);
	calls = (double)want->wish.calls_spared;
	forget_wants(w);
	return calls;
}

/* Nobody reads the listing of a directory in which names are looked up: it is
 * worth no more than these. */
TEST(test_directory_for_its_names, struct world *w)
{
	assert_true(spared(w, 0) == 8);
	visit(w, 0, 100, 1, 0);
	assert_true(spared(w, 0) < 1.5);
	visit(w, 0, 200, 20, 0);
	assert_true(spared(w, 0) > 10);
	assert_true(spared(w, 1) == 8);
}

/* Names of one directory that are looked up again and again, with time between,
 * are not those that whoever comes to another will look up. */
TEST(test_directory_for_long, struct world *w)
{
	for (int i = 0; i < 2000; i++) {
		see(w, 0,
		    (struct predictor_obs){
			.kind = PREDICTOR_ABSENT, .parent = DIR});
		w->now_us += 5000000;
	}
	assert_true(spared(w, 0) < 4);
}

TEST(test_directory_is_listed, struct world *w)
{
	/* One directory that was listed is not a habit yet. */
	visit(w, 0, 1, 0, 1);
	assert_true(spared(w, 0) > 1);
	visit(w, 0, 29, 2, 29);
	assert_true(spared(w, 0) == 0);
	/* A listing of two pages counts once. */
	visit(w, 0, 200, 2, 20);
	assert_true(spared(w, 0) > 1);
	/* Later visits count for more than former ones. */
	visit(w, 0, 2000, 1, 0);
	assert_true(spared(w, 0) > 0.5);
	visit(w, 0, 300, 0, 300);
	assert_true(spared(w, 0) == 0);
}

/* ---- what was foreseen ------------------------------------------------ */

static void foresee(struct world *w, uint64_t object, enum note_state state,
    float p, uint8_t needs)
{
	struct prediction pred = {
	    .object = object, .p = p, .lead = 3, .needs = needs};

	notes_predicted(w->pf.notes, &pred, 0, T0);
	if (state == NOTE_READY || state == NOTE_FAILED)
		notes_set(w->pf.notes, object, NOTE_ASKED, T0);
	if (state != NOTE_WANTED)
		notes_set(w->pf.notes, object, state, T0);
	assert_int_equal(notes_find(w->pf.notes, object)->state, state);
}

TEST(test_foreseen, struct world *w)
{
	static const enum note_state states[] = {
	    NOTE_WANTED, NOTE_ASKED, NOTE_READY, NOTE_FRESH, NOTE_FAILED};

	teach(w, 0, TYPE_H, 10, 10);
	for (size_t i = 0; i < 5; i++) {
		foresee(w, w->next, states[i], .999f, FILE_NEEDS);
		(void)look_up(w, 0, TYPE_H);
		assert_none(w);
	}
	/* They are lookups like others, and so are READs behind them. */
	read_it(w, 0, w->next - 1);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 11, 15);
}

/* Somebody guessed that it might be, or that it would be looked at: now it is
 * being opened. */
TEST(test_foreseen_weakly, struct world *w)
{
	teach(w, 0, TYPE_H, 10, 10);
	foresee(w, w->next, NOTE_ASKED, .3f, FILE_NEEDS);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 10, 10);
	foresee(w, w->next, NOTE_READY, .95f, PREDICTOR_NEEDS_ATTR);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 10, 11);
}

/* Trails thought little of it: this is another reason. */
TEST(test_unlikely, struct world *w)
{
	foresee(w, w->next, NOTE_UNLIKELY, .1f, FILE_NEEDS);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 0, 0);
}

/* ---- counts ----------------------------------------------------------- */

/* Lookups of long ago count for less and less. */
TEST(test_halved, struct world *w)
{
	teach(w, 0, TYPE_H, LOOKED_MAX - 1, 256);
	assert_want(
	    w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 256, LOOKED_MAX - 1);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 128, 256);
	teach(w, 0, TYPE_H, LOOKED_MAX - 257, 0);
	assert_want(w, 0, look_up(w, 0, TYPE_H), FILE_NEEDS, 64, 256);
}

/* A READ of a lookup that was halved already counts no more than that. */
TEST(test_never_above_one, struct world *w)
{
	uint64_t object;
	struct want *want;

	teach(w, 0, TYPE_H, LOOKED_MAX - LOOKED, LOOKED);
	object = w->next;
	teach(w, 0, TYPE_H, LOOKED, 0);
	for (; object < w->next; object++)
		read_it(w, 0, object);
	object = look_up(w, 0, TYPE_H);
	want = queue_next(w->pf.queue);
	assert_non_null(want);
	assert_int_equal(want->wish.object, object);
	assert_true(want->wish.p <= 1);
}
