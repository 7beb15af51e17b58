/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lanes are fair: what one client wants stands before nothing of another's. */
#include "unittest.h"
#include "base/metrics.h"
#include "prefetch/prefetch_fixture.h"

enum { CLIENTS = 3 };

struct lane_world {
	struct rooms pf;
	struct credential *creds[CLIENTS];
};

static void setup(struct lane_world *s)
{
	rooms_open(&s->pf, s->creds, CLIENTS);
	for (unsigned i = 0; i < CLIENTS; i++)
		s->creds[i]->actor = rooms_actor_of(i);
}

static void teardown(struct lane_world *s)
{
	rooms_close(&s->pf, s->creds, CLIENTS);
}

/* `n` objects from `first` on, all as soon. */
static void wants(
    struct lane_world *s, unsigned client, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_non_null(
		    rooms_want_attr(&s->pf, s->creds[client], first + i, 1));
}

/* Takes the next one and drops it; its object. */
static uint64_t take(struct lane_world *s)
{
	struct want *w = queue_next(s->pf.queue);
	uint64_t object = w ? w->wish.object : 0;

	if (w)
		want_drop(w);
	return object;
}

FIXTURE(struct lane_world, setup, teardown);

TEST(test_one_client_in_its_order, struct lane_world *s)
{
	wants(s, 0, 100, 20);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(take(s), 100 + i);
	assert_int_equal(take(s), 0);
}

/* A build's wants go out in turn with those of a find that came before. */
TEST(test_clients_take_turns, struct lane_world *s)
{
	unsigned of_build = 0;

	wants(s, 0, 1000, 500);
	wants(s, 1, 5000, 10);
	wants(s, 2, 6000, 10);
	for (unsigned i = 0; i < 30; i++)
		of_build += take(s) >= 5000;
	assert_int_equal(of_build, 20);
}

/* Where there is no room, the client that has most gives way. */
TEST(test_room_of_who_has_most, struct lane_world *s)
{
	wants(s, 0, 10000, WANTS_MAX);
	assert_int_equal(s->pf.queue->nwants, WANTS_MAX);
	wants(s, 1, 50000, 10);
	assert_int_equal(s->pf.queue->nwants, WANTS_MAX);
	assert_int_equal(
	    metrics_get(s->pf.g.metrics, METRICS_PREFETCH_CROWDED), 10);
	wants(s, 1, 50000, 10);
	/* The first of those who have most is still there, and so are all ten.
	 */
	assert_int_equal(take(s), 10000);
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(take(s), 50000 + i);
		assert_in_range(take(s), 10001, 10001 + WANTS_MAX);
	}
}

/* A want that had to wait is the first that is tried again. */
TEST(test_blocked_keeps_its_turn, struct lane_world *s)
{
	struct want *w;

	wants(s, 0, 100, 3);
	wants(s, 1, 200, 3);
	s->pf.queue->turn = 1;
	assert_int_equal(take(s), 100);
	w = queue_next(s->pf.queue);
	assert_int_equal(w->wish.object, 200);
	queue_put_blocked(w);
	s->pf.queue->turn = 2;
	assert_int_equal(take(s), 200);
	assert_int_equal(take(s), 101);
	assert_int_equal(take(s), 201);
}
