/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions: what is recorded of a user's work, what three of them are made
 * into, and what is told when of the next one.
 */
#include "predictor/sessions_fixture.h"

/* ---- recording -------------------------------------------------------- */

TEST(test_first_session)
{
	struct desk *d = desk_new();

	desk_work(d, 100, JOB);
	assert_int_equal(desk_look(d), 0);
	assert_int_equal(predictor_session(d->p), 0);
	assert_int_equal(stats(d).recorded, 0);
	desk_leave(d);
	desk_use(d, 100);
	assert_int_equal(stats(d).recorded, 1);
}

/* In the order of first use, with all that each was needed for. */
TEST(test_order)
{
	struct desk *d = desk_new();

	for (uint64_t i = 0; i < 40; i++) {
		desk_call(d, 100 + i, PREDICTOR_LOOKUP);
		desk_call(d, 100, PREDICTOR_GETATTR);
	}
	desk_call(d, 120, PREDICTOR_ACCESS);
	desk_leave(d);
	desk_use(d, 1);
	assert_int_equal(desk_look(d), 40);
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(d->got[i].object, 100 + i);
	assert_true(d->got[20].needs & PREDICTOR_NEEDS_ACCESS);
	assert_false(d->got[21].needs & PREDICTOR_NEEDS_ACCESS);
	assert_int_equal(d->got[0].source, PREDICTOR_FROM_SESSION);
	assert_int_equal(d->got[0].parent, 1 + 100 % 3);
	assert_true(d->got[39].lead > d->got[0].lead);
}

TEST(test_short)
{
	struct desk *d = desk_taught(100, 30);

	/* Somebody only looks in, again and again. */
	for (int i = 0; i < 5; i++) {
		desk_work(d, 5000, SESSION_MIN - 1);
		desk_leave(d);
	}
	assert_int_equal(stats(d).recorded, 3);
	desk_use(d, 100);
	desk_look(d);
	assert_non_null(told(d, 129));
	assert_null(told(d, 5000));
}

TEST(test_time_over)
{
	struct desk *d = desk_new();

	desk_work(d, 100, 30);
	d->now_ns += TIME;
	desk_work(d, 1000, 30);
	assert_int_equal(stats(d).recorded, 1);
	desk_leave(d);
	desk_use(d, 100);
	desk_look(d);
	assert_non_null(told(d, 101));
	assert_null(told(d, 1000));
}

TEST(test_off)
{
	struct desk *d = desk_taught(100, JOB);

	predictor_set_sessions(d->p, PAUSE, 0);
	desk_work(d, 100, 50);
	assert_int_equal(desk_look(d), 0);
	/* A session that was recorded before is still there. */
	predictor_set_sessions(d->p, PAUSE, TIME);
	desk_use(d, 100);
	assert_true(desk_look(d) > 0);
}

/* A scan of anything must not grow a session for ever. */
TEST(test_large)
{
	struct desk *d = desk_new();
	struct predictor_stats before, after;

	predictor_set_sessions(d->p, PAUSE, 3600 * SECOND);
	desk_work(d, 100, SESSION_OBJECTS);
	predictor_get_stats(d->p, &before);
	desk_work(d, 100 + SESSION_OBJECTS, SESSION_OBJECTS);
	predictor_get_stats(d->p, &after);
	assert_true(after.memory_bytes < before.memory_bytes + (8 << 20));
	desk_leave(d);
	for (uint64_t i = 0; i < SESSION_OBJECTS; i++)
		desk_call(d, 100 + i, PREDICTOR_LOOKUP);
	desk_look(d);
	assert_null(told(d, 100 + SESSION_OBJECTS));
}

/* ---- three into one --------------------------------------------------- */

static struct session_use *uses_of(const uint32_t *objects, uint32_t n)
{
	struct session_use *u = calloc(n, sizeof(*u));

	for (uint32_t i = 0; i < n; i++)
		u[i] = (struct session_use){.object = objects[i], .needs = 1};
	return u;
}

static void book_fill(
    struct session_book *b, const uint32_t *objects, uint32_t n)
{
	b->kept[b->n++] = (struct session_record){
	    .uses = uses_of(objects, n), .n = n, .at = 9};
}

static void book_free(struct session_book *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		free(b->kept[i].uses);
}

TEST(test_plan)
{
	static const uint32_t newest[] = {1, 2, 3, 4, 5};
	static const uint32_t middle[] = {1, 2, 20, 21, 4, 5, 22};
	static const uint32_t oldest[] = {1, 20, 30, 3, 3, 5};
	/* Objects that only older sessions have come behind their predecessor
	 * there. */
	static const uint32_t want[] = {1, 2, 20, 21, 30, 3, 4, 5, 22};
	static const float p[] = {7, 5, 5, 3, 3, 5, 5, 7, 3};
	ENDS_BY(book_free) struct session_book b = {0};
	struct session_step *plan;
	uint32_t n;

	book_fill(&b, newest, 5);
	book_fill(&b, middle, 7);
	book_fill(&b, oldest, 6);
	plan = session_plan(&b, 100, &n);
	assert_int_equal(n, 9);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(plan[i].object, want[i]);
		assert_float_equal(plan[i].p, p[i] / 8, 0.001);
	}
	free(plan);
	plan = session_plan(&b, 4, &n);
	assert_int_equal(n, 4);
	free(plan);
}

TEST(test_plan_empty)
{
	struct session_book b = {0};
	uint32_t n = 1;

	assert_null(session_plan(&b, 100, &n));
	assert_int_equal(n, 0);
}

/* Only the last three count. */
TEST(test_kept)
{
	struct desk *d = desk_new();

	for (uint64_t i = 0; i < 4; i++) {
		desk_work(d, 100, 20);
		desk_work(d, 1000 * (i + 1), 20);
		desk_leave(d);
	}
	desk_work(d, 100, 3);
	desk_look(d);
	assert_null(told(d, 1000));
	for (uint64_t i = 1; i < 4; i++)
		assert_non_null(told(d, 1000 * (i + 1)));
	assert_true(told(d, 110)->p > told(d, 2000)->p);
}

/* ---- replay ----------------------------------------------------------- */

/* As far ahead as the session has proved right, and each object once. */
TEST(test_ahead)
{
	struct desk *d = desk_taught(100, JOB);
	size_t n, before;

	desk_use(d, 100);
	n = desk_look(d);
	assert_true(n >= AT_FIRST / 2 && n < 2 * AT_FIRST);
	assert_non_null(told(d, 101));
	assert_null(told(d, 100 + JOB - 1));
	assert_int_equal(desk_look(d), 0);
	before = d->n;
	desk_work(d, 101, 60);
	assert_true(desk_look(d) > 0);
	assert_int_equal(d->n, JOB - 1);
	for (size_t i = before; i < d->n; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(
			    d->got[i].object, d->got[k].object);
	assert_int_equal(stats(d).used, 60);
	assert_int_equal(stats(d).wanted, JOB - 1);
	assert_int_equal(stats(d).replayed, 1);
}

/* A step so far off that its attributes would be too old by its use is told for
 * its data alone, until the user is near. */
TEST(test_early)
{
	struct desk *d = desk_new();

	for (int i = 0; i < 3; i++) {
		desk_work(d, 100, 300);
		for (uint64_t k = 0; k < 40; k++)
			desk_call(d, 1000 + k, PREDICTOR_LOOKUP);
		desk_work(d, 2000, 60);
		desk_leave(d);
	}
	desk_work(d, 100, 60);
	desk_look(d);
	assert_false(told(d, 200)->early);
	assert_null(told(d, 1030));
	assert_true(told(d, 2000)->early);
	assert_true(told(d, 2059)->early);
	d->n = 0;
	desk_work(d, 160, 140);
	d->now_ns += SECOND / 2;
	desk_look(d);
	assert_false(told(d, 1030)->early);
	assert_false(told(d, 2000)->early);
	assert_true(told(d, 2000)->needs & PREDICTOR_NEEDS_NAME);
}

/* Half a minute of thought: what is next is confirmed again, a few times. */
TEST(test_think)
{
	struct desk *d = desk_taught(100, JOB);
	size_t again = 0;
	uint32_t session;

	desk_work(d, 100, 60);
	desk_look(d);
	session = predictor_session(d->p);
	assert_int_equal(desk_look(d), 0);
	d->now_ns += RECENT / 2;
	assert_int_equal(desk_look(d), 0);
	d->n = 0;
	for (int i = 0; i < 20; i++) {
		d->now_ns += RECENT;
		again += desk_look(d);
	}
	assert_true(predictor_session_goes_on(d->p, session));
	assert_non_null(told(d, 160));
	assert_null(told(d, 159));
	assert_null(told(d, 100 + JOB - 1));
	assert_true(again >= 256 && again <= 5 * 256);
	assert_int_equal(stats(d).wanted, JOB - 60);
}

TEST(test_over)
{
	struct desk *d = desk_taught(100, JOB);
	uint32_t session;

	desk_use(d, 100);
	session = predictor_session(d->p);
	assert_int_not_equal(session, 0);
	assert_true(predictor_session_goes_on(d->p, session));
	d->now_ns += TIME;
	assert_int_equal(desk_look(d), 0);
	assert_false(predictor_session_goes_on(d->p, session));
}

TEST(test_end)
{
	struct desk *d = desk_taught(100, 50);
	uint32_t session;

	desk_work(d, 100, 49);
	session = predictor_session(d->p);
	assert_true(predictor_session_goes_on(d->p, session));
	desk_use(d, 149);
	assert_false(predictor_session_goes_on(d->p, session));
}

/* A user begins in the middle: what comes before that is not told any more. A
 * chance hit there changes nothing. */
TEST(test_leap)
{
	struct desk *d = desk_taught(100, JOB);

	desk_use(d, 100);
	desk_use(d, 100 + JOB - 1);
	desk_look(d);
	assert_non_null(told(d, 101));
	assert_null(told(d, 300));
	desk_use(d, 300);
	desk_use(d, 301);
	d->n = 0;
	desk_look(d);
	assert_non_null(told(d, 302));
	assert_null(told(d, 299));
}

/* Something else is done: no more of it is told. */
TEST(test_strays)
{
	struct desk *d = desk_taught(100, JOB);
	uint32_t session;

	desk_work(d, 100, 10);
	session = predictor_session(d->p);
	assert_int_not_equal(session, 0);
	desk_work(d, 9000, 30);
	assert_true(predictor_session_goes_on(d->p, session));
	desk_use(d, 9030);
	assert_false(predictor_session_goes_on(d->p, session));
	assert_int_equal(predictor_session(d->p), 0);
	assert_int_equal(
	    predictor_replay(d->p, session, d->now_ns, d->got, ROOM), 0);
	assert_int_equal(stats(d).stopped, 1);
}

TEST(test_strays_little)
{
	struct desk *d = desk_taught(100, JOB);

	for (uint64_t i = 0; i < 60; i++) {
		desk_use(d, 100 + i);
		desk_use(d, 9000 + i);
	}
	assert_int_equal(stats(d).stopped, 0);
	assert_int_not_equal(predictor_session(d->p), 0);
	desk_look(d);
	/* It is worth less than it was. */
	assert_true(told(d, 170)->p < 0.7f);
}

/* Whoever only looks in costs no more than the first few. */
TEST(test_looks_in)
{
	struct desk *d = desk_taught(100, 2000);

	desk_call(d, 1, PREDICTOR_GETATTR);
	desk_call(d, 1, PREDICTOR_READDIR);
	desk_look(d);
	assert_true(stats(d).wanted <= AT_FIRST);
}

/* ---- whose it is ------------------------------------------------------ */

TEST(test_other_uid)
{
	struct desk *d = desk_taught(100, JOB);

	d->uid = BOB;
	desk_work(d, 100, 50);
	assert_int_equal(predictor_session(d->p), 0);
	assert_int_equal(desk_look(d), 0);
}

TEST(test_other_space)
{
	struct desk *d = desk_taught(100, JOB);

	d->space = SPACE + 1;
	desk_work(d, 100, 50);
	assert_int_equal(desk_look(d), 0);
	d->space = 0;
	desk_work(d, 100, 50);
	assert_int_equal(desk_look(d), 0);
}

/* A mount begins one without a pause; another client's or another file
 * system's does not. */
TEST(test_mount)
{
	struct desk *d = desk_taught(100, JOB);
	uint32_t session;

	desk_use(d, 100);
	session = predictor_session(d->p);
	predictor_mounted(d->p, CLIENT + 1, SPACE);
	predictor_mounted(d->p, CLIENT, SPACE + 1);
	desk_use(d, 101);
	assert_int_equal(predictor_session(d->p), session);
	predictor_mounted(d->p, CLIENT, SPACE);
	assert_false(predictor_session_goes_on(d->p, session));
	desk_use(d, 100);
	assert_int_not_equal(predictor_session(d->p), session);
	assert_true(desk_look(d) > 0);
}

/* More users at once than there is room for. */
TEST(test_crowd)
{
	struct desk *d = desk_new();

	for (int round = 0; round < 40; round++)
		for (d->uid = 1; d->uid <= 100; d->uid++) {
			d->client = 1 + d->uid % 7;
			desk_use(d, d->uid * 1000 + (uint64_t)round);
		}
	desk_leave(d);
	d->uid = 16;
	d->client = 1 + 16 % 7;
	desk_use(d, 16000);
	desk_look(d);
	for (size_t i = 0; i < d->n; i++)
		assert_int_equal(d->got[i].object / 1000, 16);
}
