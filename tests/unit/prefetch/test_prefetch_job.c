/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs in the queue of wants: when they have their turns, what they count as,
 * and how they end. */
#include "unittest.h"
#include "cache/attrcache.h"
#include "prefetch/prefetch_fixture.h"

enum { CREDS = 1 };

struct job {
	struct want_owner owner;
	unsigned ended;
};

struct world {
	struct rooms pf;
	struct credential *creds[CREDS];
	struct job jobs[2];
};

static void on_end(struct want_owner *o, bool given_up)
{
	struct job *j = (struct job *)o;

	assert_false(given_up);
	assert_null(o->want);
	j->ended++;
}

static enum step on_turn(
    struct want_owner *o, uint64_t now_us, uint64_t *wait_us)
{
	(void)o;
	(void)now_us;
	(void)wait_us;
	return STEP_DONE;
}

static void setup(struct world *w)
{
	rooms_open(&w->pf, w->creds, CREDS);
	for (int i = 0; i < 2; i++) {
		w->jobs[i].owner.on_end = on_end;
		w->jobs[i].owner.on_turn = on_turn;
		assert_true(
		    want_add_job(w->pf.queue, w->creds[0], &w->jobs[i].owner));
	}
}

static void teardown(struct world *w)
{
	for (int i = 0; i < 2; i++)
		want_disown(&w->jobs[i].owner);
	rooms_close(&w->pf, w->creds, CREDS);
}

static struct want *add(struct world *w, uint64_t object, uint32_t lead)
{
	return rooms_want_attr(&w->pf, w->creds[0], object, lead);
}

FIXTURE(struct world, setup, teardown);

/* One that is blocked stands back for the rest of the turn, and no longer. */
TEST(test_blocked, struct world *w)
{
	struct want *job;

	w->pf.queue->turn = 7;
	job = queue_next(w->pf.queue);
	job->blocked_turn = 7;
	queue_put(job, false);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(
		    queue_next(w->pf.queue), w->jobs[1].owner.want);
		queue_put(w->jobs[1].owner.want, false);
	}
	w->jobs[1].owner.want->blocked_turn = 7;
	assert_null(queue_next(w->pf.queue));
	w->pf.queue->turn++;
	assert_ptr_equal(queue_next(w->pf.queue), job);
	queue_put(job, false);
}

/* Whatever else is wanted goes first, however far ahead it is. */
TEST(test_last, struct world *w)
{
	struct want *far = add(w, 10, UINT32_MAX);

	assert_true(want_begins_tail(far));
	assert_ptr_equal(queue_next(w->pf.queue), far);
	want_drop(far);
	assert_ptr_equal(queue_next(w->pf.queue), w->jobs[0].owner.want);
	assert_ptr_equal(queue_next(w->pf.queue), w->jobs[1].owner.want);
	assert_null(queue_next(w->pf.queue));
}

/* Who asks how much is wanted does not mean jobs. */
TEST(test_not_counted, struct world *w)
{
	assert_int_equal(w->pf.queue->nqueued, 0);
	assert_int_equal(w->pf.queue->nwants, 0);
	(void)add(w, 10, 1);
	assert_int_equal(w->pf.queue->nqueued, 1);
	want_drop(queue_next(w->pf.queue));
	(void)queue_next(w->pf.queue);
	assert_int_equal(w->pf.queue->nqueued, 0);
}

/* As the pump does it where a job has more to ask. */
TEST(test_by_turns, struct world *w)
{
	for (int i = 0; i < 6; i++) {
		struct want *want = queue_next(w->pf.queue);

		assert_ptr_equal(want, w->jobs[i % 2].owner.want);
		queue_put(want, false);
	}
}

/* A job that waits goes on when its owner says so, and is in the queue once. */
TEST(test_go_on, struct world *w)
{
	struct want_owner *o = &w->jobs[0].owner;

	want_go_on(o);
	assert_ptr_equal(queue_next(w->pf.queue), o->want);
	assert_ptr_equal(queue_next(w->pf.queue), w->jobs[1].owner.want);
	want_go_on(o);
	want_go_on(o);
	assert_ptr_equal(queue_next(w->pf.queue), o->want);
	assert_null(queue_next(w->pf.queue));
}

/* While it is too early for it, nothing else brings it back. */
TEST(test_later, struct world *w)
{
	struct want_owner *o = &w->jobs[0].owner;

	queue_put_later(queue_next(w->pf.queue), T0);
	want_go_on(o);
	assert_ptr_equal(queue_next(w->pf.queue), w->jobs[1].owner.want);
	assert_null(queue_next(w->pf.queue));
	assert_int_equal(queue_ripen(w->pf.queue, T0 + GRAIN_US), 0);
	assert_ptr_equal(queue_next(w->pf.queue), o->want);
}

/* Its owner hears of the end, but for one that has lost interest. */
TEST(test_end, struct world *w)
{
	want_drop(queue_next(w->pf.queue));
	assert_int_equal(w->jobs[0].ended, 1);
	assert_null(w->jobs[0].owner.want);
	want_disown(&w->jobs[1].owner);
	assert_int_equal(w->jobs[1].ended, 0);
	assert_null(queue_next(w->pf.queue));
	want_go_on(&w->jobs[0].owner);
	assert_null(queue_next(w->pf.queue));
	/* Nothing is left to be used again for wants. */
	assert_int_equal(w->pf.queue->nmade, 0);
}
