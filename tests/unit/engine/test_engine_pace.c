/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon asks an engine and puts values at a bounded pace: there are
 * deadlines, engines that hang, bounds, a full engine, and removal; all in
 * virtual time. */
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "engine/lies_fixture.h"
#include "scenario/vclock.h"

FIXTURE(struct lies, lies_open, lies_close);

/* ---- an honest one ----------------------------------------------------- */

TEST(test_get_and_put, struct lies *l)
{
	struct engine_status st;
	char *value;

	lies_begin_up(l);
	assert_null(lies_ask(l, "none"));
	fake_say_text(l->fake, "GET", "$5\r\na\0b\r\n\r\n");
	fake_say(l->fake, "GET", "$5\r\na\0\r\nb\r\n", 11);
	value = lies_ask(l, "key");
	assert_memory_equal(value, "a\0\r\nb", 5);
	fake_say_text(l->fake, "GET", "$0\r\n\r\n");
	value = lies_ask(l, "empty");
	assert_string_equal(value, "");
	fake_say_text(
	    l->fake, "GET", "$36\r\n0123456789abcdefghijklmnopqrstuvwxyz\r\n");
	value = lies_ask(l, "long");
	assert_string_equal(value, "0123456789abcdefghijklmnopqrstuvwxyz");
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(10 * MS);
	assert_int_equal(fake_asked(l->fake, "SET"), 1);
	st = farm_status(&l->w);
	assert_int_equal(st.gets, 4);
	/* A value that is as short as a mark counts as none. */
	assert_int_equal(st.hits, 1);
	assert_int_equal(st.got_bytes, 41);
	assert_int_equal(st.puts, 1);
	assert_int_equal(st.put_bytes, 5);
	assert_int_equal(st.rejected_puts + st.refused_puts, 0);
	assert_string_equal(st.version, "7.0.15");
	assert_false(st.cluster);
}

TEST(test_cancel_and_free, struct lies *l)
{
	struct question cancelled, waiting;

	lies_begin_up(l);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	assert_true(farm_ask(&l->w, &cancelled, "a", 10 * MS));
	engine_cancel(l->w.engine, &cancelled.ask);
	engine_cancel(l->w.engine, &cancelled.ask);
	vclock_pass(100 * MS);
	assert_int_equal(cancelled.answers, 0);
	assert_int_equal(fake_asked(l->fake, "GET"), 2);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &waiting, "b", 10 * MS));
	vclock_settle();
	engine_free(l->w.engine);
	l->w.engine = NULL;
	assert_int_equal(waiting.answers, 0);
}

/* Each answer belongs to its question, late ones too. */
TEST(test_order, struct lies *l)
{
	struct question q[20];

	lies_begin_up(l);
	fake_say_text(l->fake, "GET", "$1\r\nx\r\n");
	for (int i = 0; i < 20; i++)
		assert_true(farm_ask(&l->w, &q[i], "key", 10 * MS));
	engine_cancel(l->w.engine, &q[7].ask);
	vclock_pass(5 * MS);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(q[i].answers, i != 7);
	}
}

TEST(test_round_trip, struct lies *l)
{
	static char large[200000];
	int head = snprintf(large, sizeof(large), "$131072\r\n");
	uint64_t srtt_us, large_us;

	lies_set_url(l, fake_path_url(l->fake));
	lies_begin_up(l);
	for (int i = 0; i < 40; i++) {
		struct question q;

		fake_hang(l->fake, true);
		assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
		vclock_pass(8 * MS);
		fake_hang(l->fake, false);
		vclock_pass(1 * MS);
		assert_int_equal(q.answers, 1);
	}
	srtt_us = engine_srtt_us(l->w.engine);
	assert_in_range(srtt_us, 7 * MS, 10 * MS);
	assert_int_equal(engine_expect_us(l->w.engine, 1 << 20), srtt_us);
	/* 128 KiB that take 20 ms more: a MiB takes 160. */
	memset(large + head, 'x', 131072);
	memcpy(large + head + 131072, "\r\n", 2);
	fake_say(l->fake, "GET", large, (size_t)head + 131074);
	for (int i = 0; i < 40; i++) {
		struct question q;

		fake_hang(l->fake, true);
		assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
		vclock_pass(28 * MS);
		fake_hang(l->fake, false);
		vclock_pass(2 * MS);
		assert_int_equal(q.len, 131072);
	}
	large_us = engine_expect_us(l->w.engine, 1 << 20);
	assert_in_range(large_us, 130 * MS, 220 * MS);
}

/* ---- slowness ---------------------------------------------------------- */

TEST(test_deadline, struct lies *l)
{
	struct question q[3];

	lies_begin_up(l);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q[0], "a", 50 * MS));
	assert_true(farm_ask(&l->w, &q[1], "b", 500));
	assert_true(farm_ask(&l->w, &q[2], "c", 5 * MS));
	vclock_pass(2 * MS);
	assert_int_equal(q[1].answers, 1);
	assert_int_equal(q[2].answers, 0);
	vclock_pass(5 * MS);
	assert_int_equal(q[2].answers, 1);
	assert_int_equal(q[0].answers, 0);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	fake_hang(l->fake, false);
	vclock_pass(5 * MS);
	assert_string_equal(q[0].value, "hi");
	assert_int_equal(q[1].answers + q[2].answers, 2);
	assert_null(q[1].value);
	assert_int_equal(farm_status(&l->w).timeouts, 2);
}

/* An engine that has owed an answer for long is not asked more. */
TEST(test_owes_an_answer, struct lies *l)
{
	struct question q[4];

	lies_begin_up(l);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q[0], "a", 200 * MS));
	vclock_pass(10 * MS);
	assert_true(farm_ask(&l->w, &q[1], "b", 200 * MS));
	vclock_pass(30 * MS);
	assert_false(farm_ask(&l->w, &q[2], "c", 200 * MS));
	fake_hang(l->fake, false);
	vclock_pass(5 * MS);
	assert_true(farm_ask(&l->w, &q[3], "d", 200 * MS));
	vclock_pass(5 * MS);
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		assert_string_equal(q[i].value, "hi");
	}
}

/* A job asks again and again: few of its questions wait for nothing. */
TEST(test_hang, struct lies *l)
{
	unsigned waited = 0, connections = fake_connections(l->fake);
	struct question q;

	lies_begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 900; i++) {
		waited += farm_ask(&l->w, &q, "key", 2 * MS);
		vclock_pass(5 * MS);
	}
	assert_in_range(waited, 4, 8);
	lies_expect(l, ENGINE_SLOW, "in time");
	assert_false(engine_is_up(l->w.engine));
	assert_false(farm_put(&l->w, "key", "value"));
	assert_int_equal(fake_open(l->fake), 1);
	fake_hang(l->fake, false);
	vclock_pass(10 * MS);
	lies_expect(l, ENGINE_UP, "");
	assert_int_equal(fake_connections(l->fake), connections + 1);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	vclock_pass(2 * S);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(5 * MS);
	assert_string_equal(q.value, "hi");
}

/* It is connected to anew, and what is silent then is no better. */
TEST(test_long_hang, struct lies *l)
{
	unsigned connections;
	struct question q;

	lies_begin_up(l);
	connections = fake_connections(l->fake);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(60 * S);
	assert_int_equal(farm_state(&l->w), ENGINE_SLOW);
	assert_in_range(
	    fake_connections(l->fake), connections + 2, connections + 10);
	assert_int_equal(fake_open(l->fake) <= 1, true);
	fake_hang(l->fake, false);
	lies_recover(l);
}

/* Late each time: it is asked less and less, until it is in time. */
TEST(test_always_late, struct lies *l)
{
	unsigned waited = 0;
	struct question q;

	lies_begin_up(l);
	for (int i = 0; i < 200; i++) {
		fake_hang(l->fake, true);
		waited += farm_ask(&l->w, &q, "key", 2 * MS);
		vclock_pass(5 * MS);
		fake_hang(l->fake, false);
		vclock_pass(5 * MS);
	}
	assert_in_range(waited, 5, 15);
	assert_int_equal(farm_state(&l->w), ENGINE_UP);
	vclock_pass(2 * S);
	for (int i = 0; i < 10; i++)
		assert_null(lies_ask(l, "key"));
	assert_true(engine_is_up(l->w.engine));
}

/* A long hiccup must not be believed for long. */
TEST(test_estimate_recovers, struct lies *l)
{
	struct question q;

	lies_begin_up(l);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(900 * MS);
	fake_hang(l->fake, false);
	vclock_pass(60 * S);
	assert_true(engine_srtt_us(l->w.engine) < 2 * MS);
}

/* ---- bounds of what is asked and put ----------------------------------- */

TEST(test_many_asks, struct lies *l)
{
	FREED struct question *q = calloc(2000, sizeof(*q));
	unsigned asked = 0, answers = 0;

	lies_begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 2000; i++)
		asked += farm_ask(&l->w, &q[i], "key", 2 * MS);
	assert_int_equal(asked, ENGINE_ASKS_MAX);
	vclock_pass(10 * MS);
	for (int i = 0; i < 2000; i++)
		answers += q[i].answers;
	assert_int_equal(answers, ENGINE_ASKS_MAX);
	fake_hang(l->fake, false);
	lies_recover(l);
}

TEST(test_backlog, struct lies *l)
{
	enum { EACH = 1 << 20 };
	struct engine_key key = farm_key("key");
	FREED char *value = calloc(1, ENGINE_VALUE_MAX + 1);
	unsigned put = 0;

	lies_begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 20; i++)
		put += engine_put(l->w.engine, &key, value, EACH, 60);
	assert_int_equal(put, 3);
	fake_hang(l->fake, false);
	vclock_pass(S);
	assert_int_equal(fake_asked(l->fake, "SET"), 3);
	/* A large one goes alone, one that is too large not at all. */
	assert_true(engine_put(l->w.engine, &key, value, ENGINE_VALUE_MAX, 0));
	assert_false(engine_put(l->w.engine, &key, value, EACH, 0));
	vclock_pass(S);
	assert_int_equal(fake_asked(l->fake, "SET"), 4);
	assert_false(
	    engine_put(l->w.engine, &key, value, ENGINE_VALUE_MAX + 1, 0));
	assert_int_equal(farm_status(&l->w).refused_puts, 19);
}

/* A question waits behind one value at most. */
TEST(test_questions_go_first, struct lies *l)
{
	struct engine_key key = farm_key("key");
	FREED char *value = calloc(1, 1 << 20);
	struct question q;

	lies_begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 3; i++)
		assert_true(engine_put(l->w.engine, &key, value, 1 << 20, 60));
	assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
	fake_hang(l->fake, false);
	while (q.answers == 0)
		event_base_loop(l->w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(fake_asked(l->fake, "SET"), 1);
	vclock_pass(S);
	assert_int_equal(fake_asked(l->fake, "SET"), 3);
}

TEST(test_full, struct lies *l)
{
	unsigned tried = 0;

	lies_begin_up(l);
	fake_say_text(l->fake, "SET", "-OOM command not allowed\r\n");
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	lies_expect(l, ENGINE_FULL, "allkeys-lru");
	assert_true(engine_is_up(l->w.engine));
	for (int i = 0; i < 600; i++) {
		tried += farm_put(&l->w, "key", "value");
		vclock_pass(100 * MS);
	}
	assert_in_range(tried, 3, 8);
	assert_null(lies_ask(l, "key"));
	assert_int_equal(farm_status(&l->w).rejected_puts, tried + 1);
	fake_forget(l->fake, "SET");
	vclock_pass(31 * S);
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	lies_expect(l, ENGINE_UP, "");
	fake_say_text(l->fake, "SET", "-READONLY You can't write\r\n");
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	lies_expect(l, ENGINE_FULL, "name its master");
}

/* ---- removal ----------------------------------------------------------- */

TEST(test_flush, struct lies *l)
{
	struct flushed f = {0};

	lies_begin_up(l);
	fake_say_text(l->fake, "SCAN",
	    "*2\r\n$1\r\n0\r\n*4\r\n$4\r\nff:a\r\n$5\r\nother\r\n$4\r\nff:"
	    "b\r\n:1"
	    "\r\n");
	fake_say_text(l->fake, "UNLINK", "-ERR unknown command 'UNLINK'\r\n");
	assert_true(farm_flush(&l->w, "ff:", &f));
	assert_false(farm_flush(&l->w, "ff:", &f));
	assert_int_equal(f.calls, 0);
	vclock_pass(MS);
	assert_int_equal(f.calls, 1);
	assert_int_equal(f.removed, 2);
	assert_string_equal(f.error, "");
	assert_int_equal(fake_asked(l->fake, "DEL"), 2);
	fake_say_text(l->fake, "DEL", "-NOPERM\r\n");
	assert_true(farm_flush(&l->w, "ff:", &f));
	vclock_pass(MS);
	assert_int_equal(f.calls, 2);
	assert_non_null(strstr(f.error, "rights"));
	assert_int_equal(f.removed, 0);
}

TEST(test_flush_lies, struct lies *l)
{
	static const char *const lies[] = {"+OK\r\n", "*0\r\n", "*1\r\n*0\r\n",
	    "*2\r\n:0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n+x\r\n",
	    "*2\r\n$30\r\n012345678901234567890123456789\r\n*0\r\n",
	    "-NOPERM\r\n", "-ERR what\r\n", "garbage"};

	for (size_t i = 0; i < LENGTH(lies); i++) {
		struct flushed f = {0};

		lies_begin_up(l);
		fake_say_text(l->fake, "SCAN", lies[i]);
		assert_true(farm_flush(&l->w, "ff:", &f));
		vclock_pass(MS);
		assert_int_equal(f.calls, 1);
		assert_string_not_equal(f.error, "");
		lies_recover(l);
		lies_again(l);
	}
}

/* Of a page with more keys than anybody asked for, none is removed: each would
 * be a command that waits. */
TEST(test_flush_large_page, struct lies *l)
{
	enum { KEYS = 200000 };
	FREED char *text = malloc(64 + KEYS * 11);
	size_t len = (size_t)sprintf(text, "*2\r\n$1\r\n0\r\n*%d\r\n", KEYS);
	struct flushed f = {0};

	for (int i = 0; i < KEYS; i++)
		len += (size_t)sprintf(text + len, "$4\r\nff:a\r\n");
	lies_set_url(l, fake_path_url(l->fake));
	lies_begin_up(l);
	fake_say(l->fake, "SCAN", text, len);
	assert_true(farm_flush(&l->w, "ff:", &f));
	vclock_pass(S);
	assert_int_equal(f.calls, 1);
	assert_non_null(strstr(f.error, "too many keys"));
	assert_int_equal(fake_asked(l->fake, "UNLINK"), 0);
	lies_recover(l);
}

TEST(test_flush_ends_early, struct lies *l)
{
	struct flushed f = {0};

	lies_begin_up(l);
	/* It never says that it is at its end. */
	fake_say_text(l->fake, "SCAN", "*2\r\n$1\r\n7\r\n*1\r\n$3\r\nff:\r\n");
	assert_true(farm_flush(&l->w, "ff:", &f));
	for (int i = 0; i < 1000; i++)
		event_base_loop(l->w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(f.calls, 0);
	assert_true(fake_asked(l->fake, "SCAN") > 10);
	fake_close_all(l->fake);
	for (int i = 0; i < 10; i++)
		event_base_loop(l->w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	assert_int_equal(f.calls, 1);
	assert_non_null(strstr(f.error, "lost"));
	vclock_pass(S);
	assert_true(farm_flush(&l->w, "ff:", &f));
	engine_free(l->w.engine);
	l->w.engine = NULL;
	assert_int_equal(f.calls, 1);
}
