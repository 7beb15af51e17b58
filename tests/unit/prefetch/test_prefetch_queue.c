/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue gives each want its turn: the nearest first, those that are too
 * early later, and no more of them than it may hold. Nothing is sent.
 */
#include "unittest.h"
#include "base/metrics.h"
#include "cache/attrcache.h"
#include "prefetch/prefetch_fixture.h"

struct queue_world {
	struct rooms pf;
	struct credential *cred;
};

static void setup(struct queue_world *w)
{
	rooms_open(&w->pf, &w->cred, 1);
}

static void teardown(struct queue_world *w)
{
	rooms_close(&w->pf, &w->cred, 1);
}

static struct want *add(struct queue_world *w, uint64_t object, uint32_t lead)
{
	return rooms_want_attr(&w->pf, w->cred, object, lead);
}

static void assert_next(struct queue_world *w, uint64_t object)
{
	struct want *want = queue_next(w->pf.queue);

	assert_non_null(want);
	assert_int_equal(want->wish.object, object);
	want_drop(want);
}

FIXTURE(struct queue_world, setup, teardown);

/* ---- lanes ------------------------------------------------------------ */

/* The nearest come first; of those that are equally near, the first that came.
 */
TEST(test_order, struct queue_world *w)
{
	static const uint32_t leads[] = {500, 64, 3, 1, 2, 0, 5, 64};
	static const uint64_t order[] = {3, 5, 2, 4, 6, 1, 7, 0};

	for (uint64_t i = 0; i < 8; i++)
		assert_non_null(add(w, 10 + i, leads[i]));
	assert_int_equal(w->pf.queue->nwants, 8);
	assert_int_equal(w->pf.queue->nqueued, 8);
	for (int i = 0; i < 8; i++)
		assert_next(w, 10 + order[i]);
	assert_null(queue_next(w->pf.queue));
	assert_int_equal(w->pf.queue->nwants, 0);
}

/* The bytes that follow a file's first ones stand behind the first bytes of
 * files that are not much further away; a file that is wanted next is wanted
 * whole.
 */
TEST(test_tail, struct queue_world *w)
{
	struct want *tail = add(w, 10, 8);

	assert_ptr_equal(queue_next(w->pf.queue), tail);
	assert_true(want_begins_tail(tail));
	queue_put(tail, false);
	add(w, 11, 64);
	add(w, 12, 31);
	assert_next(w, 12);
	assert_next(w, 10);
	assert_next(w, 11);

	tail = add(w, 13, 1);
	assert_ptr_equal(queue_next(w->pf.queue), tail);
	assert_false(want_begins_tail(tail));
	queue_put(tail, false);
	add(w, 14, 2);
	assert_next(w, 13);
	assert_next(w, 14);

	/* The furthest away has its tail behind all others. */
	tail = add(w, 15, UINT32_MAX);
	assert_ptr_equal(queue_next(w->pf.queue), tail);
	assert_true(want_begins_tail(tail));
	queue_put(tail, false);
	add(w, 16, UINT32_MAX);
	assert_next(w, 16);
	assert_ptr_equal(queue_next(w->pf.queue), tail);
	queue_put(tail, false);
	add(w, 17, 4);
	/* It has come near. */
	add(w, 15, 1);
	assert_next(w, 15);
	assert_next(w, 17);
}

/* Where only the kind of a file says that it will be read on, its further bytes
 * stand behind those of a file that is opened later. */
TEST(test_tail_of_what_was_left, struct queue_world *w)
{
	struct want *left, *opened;

	want_opened(w->pf.queue, w->cred, 10);
	left = add(w, 10, 1);
	left->wish.rest_p = .8f;
	assert_ptr_equal(queue_next(w->pf.queue), left);
	assert_false(want_begins_tail(left));
	queue_put(left, false);
	want_opened(w->pf.queue, w->cred, 11);
	opened = add(w, 11, 1);
	opened->wish.rest_p = .8f;
	assert_ptr_equal(queue_next(w->pf.queue), opened);
	assert_false(want_begins_tail(opened));
	queue_put(opened, false);
	assert_ptr_equal(queue_next(w->pf.queue), opened);
	want_drop(opened);
	assert_ptr_equal(queue_next(w->pf.queue), left);
	want_drop(left);
	/* Of what the predictor knows, it stays as urgent. */
	left = add(w, 12, 1);
	assert_ptr_equal(queue_next(w->pf.queue), left);
	assert_false(want_begins_tail(left));
	want_drop(left);
}

/* A want that found no room on the link is the first when there is some. */
TEST(test_back_to_head, struct queue_world *w)
{
	struct want *first;

	add(w, 10, 1);
	add(w, 11, 1);
	first = queue_next(w->pf.queue);
	assert_false(first->state == WANT_QUEUED);
	assert_int_equal(w->pf.queue->nqueued, 1);
	queue_put(first, true);
	assert_next(w, 10);
	assert_next(w, 11);
}

/* ---- the limit -------------------------------------------------------- */

/* The queue takes so many wants, and not one more. */
TEST(test_limit, struct queue_world *w)
{
	for (uint64_t i = 0; i < WANTS_MAX; i++)
		assert_non_null(add(w, 1000 + i, 1));
	assert_null(add(w, 10, 1));
	assert_int_equal(
	    metrics_get(w->pf.g.metrics, METRICS_PREFETCH_CROWDED), 1);
	/* One that is there is not one more. */
	assert_non_null(add(w, 1000, 1));
	assert_next(w, 1000);
	assert_non_null(add(w, 10, 1));
	assert_null(add(w, 11, 1));
	assert_int_equal(w->pf.queue->nwants, WANTS_MAX);
	assert_int_equal(w->pf.queue->nmade, WANTS_MAX);
	for (uint64_t i = 1; i < WANTS_MAX; i++)
		assert_next(w, 1000 + i);
	assert_next(w, 10);
}

/* ---- too early -------------------------------------------------------- */

/* A want that is too early comes back after a grain of the server's clock,
 * before those that came after it. */
TEST(test_delay, struct queue_world *w)
{
	struct want *want = add(w, 10, 1);

	assert_ptr_equal(queue_next(w->pf.queue), want);
	queue_put_later(want, T0);
	add(w, 11, 1);
	assert_int_equal(queue_ripen(w->pf.queue, T0), T0 + GRAIN_US);
	assert_int_equal(
	    queue_ripen(w->pf.queue, T0 + GRAIN_US - 1), T0 + GRAIN_US);
	assert_int_equal(w->pf.queue->nqueued, 1);
	assert_int_equal(queue_ripen(w->pf.queue, T0 + GRAIN_US), 0);
	assert_int_equal(w->pf.queue->nqueued, 2);
	/* It has waited for longer. */
	assert_next(w, 10);
	assert_next(w, 11);
}

/* Two at different times, and one of them wanted sooner meanwhile. */
TEST(test_ripen_in_order, struct queue_world *w)
{
	struct want *a = add(w, 10, 100), *b = add(w, 11, 100);

	assert_ptr_equal(queue_next(w->pf.queue), a);
	assert_ptr_equal(queue_next(w->pf.queue), b);
	queue_put_later(a, T0);
	queue_put_later(b, T0 + 5);
	assert_ptr_equal(add(w, 11, 1), b);
	assert_int_equal(w->pf.queue->nqueued, 0);
	assert_int_equal(
	    queue_ripen(w->pf.queue, T0 + GRAIN_US), T0 + 5 + GRAIN_US);
	assert_int_equal(w->pf.queue->nqueued, 1);
	assert_int_equal(queue_ripen(w->pf.queue, T0 + 5 + GRAIN_US), 0);
	assert_next(w, 11);
	assert_next(w, 10);
}

/* A want may be dropped while it is too early. */
TEST(test_drop_delayed, struct queue_world *w)
{
	struct want *want = add(w, 10, 1);

	assert_ptr_equal(queue_next(w->pf.queue), want);
	queue_put_later(want, T0);
	want_drop(want);
	assert_int_equal(queue_ripen(w->pf.queue, T0 + GRAIN_US), 0);
	assert_null(queue_next(w->pf.queue));
	/* Its memory serves another, without what it was. */
	want = add(w, 11, 1);
	assert_false(want->state == WANT_LATER);
	assert_int_equal(w->pf.queue->nmade, 1);
	assert_next(w, 11);
}
