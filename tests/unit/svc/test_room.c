/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients' connections share a room, which bounds what they hold together. */
#include "unittest.h"

#include <event2/event.h>

#include "svc/room.h"

enum { LIMIT = 1000, PARTS = 4 };

struct fixture {
	struct event_base *base;
	struct room *room;
	struct room_part parts[PARTS];
	unsigned woken;
};

static struct fixture fx;

static void count(struct room_part *part)
{
	(void)part;
	fx.woken++;
}

static int setup(void **state)
{
	(void)state;
	memset(&fx, 0, sizeof(fx));
	fx.base = event_base_new();
	fx.room = fx.base ? room_new(fx.base, LIMIT) : NULL;
	for (int i = 0; i < PARTS; i++)
		fx.parts[i].on_room = count;
	return fx.room ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < PARTS; i++)
		room_leave(fx.room, &fx.parts[i]);
	room_free(fx.room);
	event_base_free(fx.base);
	return 0;
}

/* Take as much as one may, 10 at a time. */
static void take(int i)
{
	struct room_part *part = &fx.parts[i];

	while (room_ask(fx.room, part))
		room_set(fx.room, part, part->bytes + 10);
}

FIXTURE_OF_STATE(setup, teardown);

TEST(test_one_has_half)
{
	take(0);
	assert_int_equal(fx.parts[0].bytes, LIMIT / 2);
	assert_int_equal(room_bytes(fx.room), LIMIT / 2);
	assert_false(room_is_short(fx.room));
}

/* Whoever comes later finds room, and those that hold more wait. */
TEST(test_largest_wait_first)
{
	take(0);
	take(1);
	assert_int_equal(fx.parts[1].bytes, LIMIT / 4);
	room_set(fx.room, &fx.parts[2], 100);
	assert_false(room_ask(fx.room, &fx.parts[0]));
	assert_false(room_ask(fx.room, &fx.parts[1]));
	assert_true(room_ask(fx.room, &fx.parts[2]));
}

/* One that holds nothing may take something, whatever the others hold. */
TEST(test_nothing_may_always_take)
{
	room_set(fx.room, &fx.parts[0], 5 * LIMIT);
	assert_true(room_is_short(fx.room));
	assert_true(room_ask(fx.room, &fx.parts[1]));
	room_set(fx.room, &fx.parts[1], 1);
	assert_false(room_ask(fx.room, &fx.parts[1]));
}

TEST(test_woken_when_there_is_room)
{
	take(0);
	take(1);
	event_base_loop(fx.base, EVLOOP_NONBLOCK);
	assert_int_equal(fx.woken, 0);
	room_set(fx.room, &fx.parts[0], 0);
	event_base_loop(fx.base, EVLOOP_NONBLOCK);
	assert_int_equal(fx.woken, 2);
	assert_false(fx.parts[1].waiting);
	assert_true(room_ask(fx.room, &fx.parts[1]));
	/* Nobody waits now. */
	room_set(fx.room, &fx.parts[1], 0);
	event_base_loop(fx.base, EVLOOP_NONBLOCK);
	assert_int_equal(fx.woken, 2);
}
