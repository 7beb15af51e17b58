/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine that lies, hangs, refuses or is something else, in virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "farm/engine_fixture.h"
#include "farm/fake_engine.h"
#include "scenario/vclock.h"

struct lies {
	struct farm_world w;
	struct fake_engine *fake;
};

static int set_up(void **state)
{
	struct lies *l = calloc(1, sizeof(*l));

	farm_open(&l->w);
	vclock_start(l->w.base);
	l->fake = fake_new(l->w.base);
	farm_url(&l->w, fake_url(l->fake));
	*state = l;
	return 0;
}

static int tear_down(void **state)
{
	struct lies *l = *state;

	engine_free(l->w.engine);
	l->w.engine = NULL;
	fake_free(l->fake);
	farm_close(&l->w);
	free(l);
	return 0;
}

static void set_url(struct lies *l, const char *url)
{
	free(l->w.urls[0]);
	l->w.urls[0] = strdup(url);
}

static void begin(struct lies *l)
{
	farm_begin(&l->w);
	vclock_pass(100 * MS);
}

static void begin_up(struct lies *l)
{
	begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_UP);
}

/* Ask, and wait until there is an answer; NULL or a string to free. */
static char *ask(struct lies *l, const char *key)
{
	struct question q;

	assert_true(farm_ask(&l->w, &q, key, 100 * MS));
	assert_int_equal(q.answers, 0);
	vclock_pass(200 * MS);
	assert_int_equal(q.answers, 1);
	return q.value;
}

static void assert_says(
    struct lies *l, enum engine_state state, const char *word)
{
	struct engine_status st = farm_status(&l->w);

	if (st.state != state || !strstr(st.error, word))
		fail_msg("it is %s (%s), not %s (%s)",
		    engine_state_name(st.state), st.error,
		    engine_state_name(state), word);
}

/* Whatever happened: once it is honest, all is well. */
static void assert_recovers(struct lies *l)
{
	char *value;

	fake_greet_with(l->fake, NULL, 0);
	fake_cut_after(l->fake, 0);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	vclock_pass(70 * S);
	assert_says(l, ENGINE_UP, "");
	value = ask(l, "key");
	assert_string_equal(value, "hi");
	free(value);
}

/* ---- an honest one ---------------------------------------------------------
 */

static void test_get_and_put(void **state)
{
	struct lies *l = *state;
	struct engine_status st;
	char *value;

	begin_up(l);
	assert_null(ask(l, "none"));
	fake_say_text(l->fake, "GET", "$5\r\na\0b\r\n\r\n");
	fake_say(l->fake, "GET", "$5\r\na\0\r\nb\r\n", 11);
	value = ask(l, "key");
	assert_memory_equal(value, "a\0\r\nb", 5);
	free(value);
	fake_say_text(l->fake, "GET", "$0\r\n\r\n");
	value = ask(l, "empty");
	assert_string_equal(value, "");
	free(value);
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(10 * MS);
	assert_int_equal(fake_asked(l->fake, "SET"), 1);
	st = farm_status(&l->w);
	assert_int_equal(st.gets, 3);
	assert_int_equal(st.hits, 2);
	assert_int_equal(st.got_bytes, 5);
	assert_int_equal(st.puts, 1);
	assert_int_equal(st.put_bytes, 5);
	assert_int_equal(st.rejected_puts + st.refused_puts, 0);
	assert_string_equal(st.version, "7.0.15");
	assert_false(st.cluster);
}

static void test_cancel_and_free(void **state)
{
	struct lies *l = *state;
	struct question cancelled, waiting;

	begin_up(l);
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
static void test_order(void **state)
{
	struct lies *l = *state;
	struct question q[20];

	begin_up(l);
	fake_say_text(l->fake, "GET", "$1\r\nx\r\n");
	for (int i = 0; i < 20; i++)
		assert_true(farm_ask(&l->w, &q[i], "key", 10 * MS));
	engine_cancel(l->w.engine, &q[7].ask);
	vclock_pass(5 * MS);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(q[i].answers, i != 7);
		question_free(&q[i]);
	}
}

static void test_round_trip(void **state)
{
	struct lies *l = *state;
	static char large[200000];
	int head = snprintf(large, sizeof(large), "$131072\r\n");
	uint64_t srtt_us, large_us;

	set_url(l, fake_path_url(l->fake));
	begin_up(l);
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
		question_free(&q);
	}
	large_us = engine_expect_us(l->w.engine, 1 << 20);
	assert_in_range(large_us, 130 * MS, 220 * MS);
}

/* ---- what it says of itself ------------------------------------------------
 */

struct refusal {
	const char *command, *reply;
	enum engine_state state;
	const char *word;
};

static const struct refusal refusals[] = {
    {"INFO", "-NOAUTH Authentication required.\r\n", ENGINE_REFUSES,
	"set password_file in [farm]"},
    {"INFO", "-DENIED Redis is running in protected mode\r\n", ENGINE_REFUSES,
	"protected mode"},
    {"INFO", "-LOADING Redis is loading the dataset in memory\r\n", ENGINE_DOWN,
	"loading"},
    {"INFO", "-ERR max number of clients reached\r\n", ENGINE_DOWN,
	"maxclients"},
    {"INFO", "$22\r\nredis_version:5.0.14\r\n\r\n", ENGINE_REFUSES, "5.0.14"},
    {"INFO", "$19\r\nserver:memcached\r\n.\r\n", ENGINE_REFUSES, "no Redis"},
    {"INFO", "$0\r\n\r\n", ENGINE_REFUSES, "no Redis"},
    {"INFO", "+OK\r\n", ENGINE_REFUSES, "no Redis"},
    {"INFO", "$43\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n\r\n",
	ENGINE_REFUSES, "Sentinel"},
    {"COMMAND INFO", "*3\r\n*0\r\n*-1\r\n*0\r\n", ENGINE_REFUSES, "SET"},
    {"GET", "-NOPERM this user has no permissions\r\n", ENGINE_REFUSES,
	"+get +set"},
    {"GET", "-ERR unknown command 'GET'\r\n", ENGINE_REFUSES, "lacks commands"},
    {"GET", "-MASTERDOWN Link with MASTER is down\r\n", ENGINE_DOWN,
	"lost its master"},
    {"GET", "-CLUSTERDOWN Hash slot not served\r\n", ENGINE_DOWN,
	"cluster is down"},
    {"GET", "-BUSY Redis is busy running a script\r\n", ENGINE_DOWN, "script"},
    {"GET", "-MOVED 1234 10.0.0.1:6379\r\n", ENGINE_REFUSES, "Redis Cluster"},
    {"GET", ":1\r\n", ENGINE_REFUSES, "no Redis"},
    {"PING", "-NOAUTH Authentication required.\r\n", ENGINE_REFUSES,
	"password_file"},
};

/* Each is one state and says what to do; it goes when its cause does. */
static void test_refusals(void **state)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct lies *l = *state;
		struct question q;

		fake_say_text(l->fake, r->command, r->reply);
		begin(l);
		assert_says(l, r->state, r->word);
		assert_false(engine_is_up(l->w.engine));
		assert_false(farm_ask(&l->w, &q, "key", MS));
		assert_false(farm_put(&l->w, "key", "value"));
		fake_forget(l->fake, r->command);
		vclock_pass(10 * S);
		assert_says(l, ENGINE_UP, "");
		tear_down(state);
		set_up(state);
	}
}

/* The same, of one that was well. */
static void test_refuses_later(void **state)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct lies *l = *state;

		if (strcmp(r->command, "GET") != 0 || r->reply[0] != '-')
			continue;
		begin_up(l);
		fake_say_text(l->fake, "GET", r->reply);
		assert_null(ask(l, "key"));
		assert_says(l, r->state, r->word);
		fake_forget(l->fake, "GET");
		vclock_pass(10 * S);
		assert_says(l, ENGINE_UP, "");
		tear_down(state);
		set_up(state);
	}
}

/* Without rights to INFO, COMMAND and CLUSTER it is asked all the same. */
static void test_few_rights(void **state)
{
	static const char noperm[] = "-NOPERM this user has no permissions\r\n";
	struct lies *l = *state;

	fake_say_text(l->fake, "INFO", noperm);
	fake_say_text(l->fake, "COMMAND INFO", noperm);
	fake_say_text(l->fake, "CLUSTER MYID", noperm);
	fake_say_text(l->fake, "CLUSTER SLOTS", noperm);
	begin_up(l);
	assert_null(ask(l, "key"));
	fake_say_text(l->fake, "SET", noperm);
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	assert_says(l, ENGINE_UP, "may not SET");
	assert_false(farm_put(&l->w, "key", "value"));
	assert_null(ask(l, "key"));
	assert_int_equal(farm_status(&l->w).rejected_puts, 1);
	assert_int_equal(farm_status(&l->w).refused_puts, 1);
}

static void test_password(void **state)
{
	struct lies *l = *state;
	static char path[] = "/tmp/test_engine.XXXXXX", none[] = "/none/at/all";
	int fd = mkstemp(path);

	l->w.farm.password_file = none;
	begin(l);
	assert_says(l, ENGINE_REFUSES, "No such file");
	l->w.farm.password_file = path;
	vclock_pass(10 * S);
	assert_says(l, ENGINE_REFUSES, "no password in its first line");
	assert_int_equal(write(fd, "secret\nmore\n", 12), 12);
	close(fd);
	fake_say_text(l->fake, "AUTH", "-WRONGPASS invalid pair\r\n");
	vclock_pass(20 * S);
	assert_says(l, ENGINE_REFUSES, "does not take the password");
	fake_say_text(l->fake, "AUTH", "$2\r\nhi\r\n");
	vclock_pass(60 * S);
	assert_says(l, ENGINE_REFUSES, "no Redis");
	fake_forget(l->fake, "AUTH");
	vclock_pass(60 * S);
	assert_says(l, ENGINE_UP, "");
	unlink(path);
}

/* ---- something else --------------------------------------------------------
 */

static void test_strangers(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *word;
	} strangers[] = {
	    {"HTTP/1.1 400 Bad Request\r\n\r\n", 28, "HTTP"},
	    {"\x15\x03\x01\x00\x02\x02\x0a", 7, "TLS"},
	    {"SSH-2.0-OpenSSH_9.2\r\n", 21, "no Redis"},
	    {"\0\0\0\0\0\0", 6, "no Redis"},
	    {">2\r\n+invalidate\r\n*0\r\n", 21, "no Redis"},
	    {"%1\r\n+a\r\n+b\r\n", 12, "no Redis"},
	};

	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		struct lies *l = *state;

		fake_greet_with(l->fake, strangers[i].bytes, strangers[i].len);
		begin(l);
		assert_says(l, ENGINE_REFUSES, strangers[i].word);
		assert_recovers(l);
		tear_down(state);
		set_up(state);
	}
}

static void test_silence(void **state)
{
	struct lies *l = *state;

	fake_hang(l->fake, true);
	begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_CONNECTING);
	vclock_pass(6 * S);
	assert_says(l, ENGINE_SLOW, "answers nothing");
	fake_hang(l->fake, false);
	assert_recovers(l);
}

static void test_closes_at_once(void **state)
{
	struct lies *l = *state;

	fake_greet_with(l->fake, "+", 1);
	fake_cut_after(l->fake, 1);
	begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_DOWN);
	assert_recovers(l);
}

static void test_nobody_listens(void **state)
{
	struct lies *l = *state;
	struct fake_engine *gone = fake_new(l->w.base);

	set_url(l, fake_url(gone));
	fake_free(gone);
	begin(l);
	assert_says(l, ENGINE_DOWN, "cannot connect: Connection refused");
	vclock_pass(120 * S);
	/* 100 ms, 200 ms, … 30 s, each between a half of it and all. */
	assert_in_range(farm_status(&l->w).reconnects, 10, 22);
	engine_free(l->w.engine);
	set_url(l, "redis+unix:///none/at/all");
	begin(l);
	assert_says(l, ENGINE_DOWN, "no such socket");
}

/* ---- replies that are none -------------------------------------------------
 */

static void test_unasked(void **state)
{
	static const char *const texts[] = {"+OK\r\n", "$-1\r\n", ":1\r\n",
	    "*1\r\n+x\r\n", "-ERR max number of clients reached\r\n",
	    "$3\r\nabc\r\n", "+OK\r\n+OK\r\n+OK\r\n",
	    "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct lies *l = *state;

		begin_up(l);
		fake_send(l->fake, texts[i], strlen(texts[i]));
		vclock_pass(10 * MS);
		assert_says(l, ENGINE_DOWN, "nobody asked for");
		assert_recovers(l);
		tear_down(state);
		set_up(state);
	}
}

struct lie {
	const char *bytes;
	size_t len;
};
#define LIE(text)                                                              \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}

/* To a question: it ends once, with nothing, and the daemon goes on. */
static void try_lie(void **state, const char *bytes, size_t len)
{
	struct lies *l = *state;
	struct question q;

	begin_up(l);
	fake_say(l->fake, "GET", bytes, len);
	assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
	vclock_pass(200 * MS);
	assert_int_equal(q.answers, 1);
	assert_null(q.value);
	if (farm_state(&l->w) == ENGINE_UP)
		fail_msg("it is up after %.20s", bytes);
	assert_recovers(l);
	tear_down(state);
	set_up(state);
}

static void test_lies(void **state)
{
	static const struct lie lies[] = {LIE("+OK\r\n"), LIE(":5\r\n"),
	    LIE("*0\r\n"), LIE("*1\r\n$1\r\nx\r\n"), LIE(">1\r\n+x\r\n"),
	    LIE("_\r\n"), LIE("#t\r\n"), LIE(",1.5\r\n"), LIE("(12\r\n"),
	    LIE("$16777217\r\n"), LIE("$3000000000\r\n"),
	    LIE("$9223372036854775807\r\n"), LIE("$-2\r\n"), LIE("$x\r\n"),
	    LIE("$?\r\n;4\r\n"), LIE("$111111111111111111111111111111"),
	    LIE("*2147483647\r\n"), LIE("*2147483648\r\n"), LIE("*-5\r\n"),
	    LIE("*4000000000000\r\n"), LIE("*262145\r\n"),
	    LIE("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
	    LIE("*200000\r\n*200000\r\n*200000\r\n"), LIE("garbage"),
	    LIE("\r\n"), LIE("\0"), LIE(":12x\r\n"), LIE("*1\r\n*-1\r\n")};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		try_lie(state, lies[i].bytes, lies[i].len);
}

/* What comes behind a value is no reply. */
static void test_value_and_lie(void **state)
{
	static const char *const texts[] = {
	    "$1\r\nx\r\n+OK\r\n", "$1\r\nxyz\r\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct lies *l = *state;
		struct question q;

		begin_up(l);
		fake_say_text(l->fake, "GET", texts[i]);
		assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
		vclock_pass(10 * MS);
		assert_int_equal(q.answers, 1);
		assert_string_equal(q.value, "x");
		question_free(&q);
		assert_says(l, ENGINE_DOWN, "it sent");
		assert_recovers(l);
		tear_down(state);
		set_up(state);
	}
}

static void test_large_lies(void **state)
{
	enum { BYTES = 40 << 20 };
	char *text = malloc(BYTES + 1);
	size_t len = 0;

	/* A line without an end. */
	memset(text, 'x', BYTES);
	text[0] = '+';
	try_lie(state, text, BYTES);
	text[0] = '-';
	try_lie(state, text, BYTES);
	/* Many values that are small, in an array that is too large. */
	len = (size_t)sprintf(text, "*200000\r\n");
	for (int i = 0; i < 90000; i++)
		len += (size_t)sprintf(text + len, "$400\r\n%0400d\r\n", i);
	try_lie(state, text, len);
	free(text);
}

/* The largest value that may be, and one byte more. */
static void test_largest_value(void **state)
{
	struct lies *l = *state;
	char *text = malloc(ENGINE_VALUE_MAX + 100);
	size_t head = (size_t)sprintf(text, "$%d\r\n", ENGINE_VALUE_MAX);
	struct question q;

	memset(text + head, 'x', ENGINE_VALUE_MAX);
	memcpy(text + head + ENGINE_VALUE_MAX, "\r\n", 2);
	set_url(l, fake_path_url(l->fake));
	begin_up(l);
	fake_say(l->fake, "GET", text, head + ENGINE_VALUE_MAX + 2);
	for (int i = 0; i < 3; i++) {
		assert_true(farm_ask(&l->w, &q, "key", 10 * S));
		vclock_pass(S);
		assert_int_equal(q.answers, 1);
		assert_int_equal(q.len, ENGINE_VALUE_MAX);
		question_free(&q);
	}
	assert_recovers(l);
	free(text);
}

/* The connection ends at each byte of all that it says. */
static void test_cut(void **state)
{
	for (size_t cut = 1; cut < 140; cut++) {
		struct lies *l = *state;
		struct question q = {0};
		bool asked;

		fake_say_text(
		    l->fake, "GET", "$20\r\n12345678901234567890\r\n");
		fake_cut_after(l->fake, cut);
		begin(l);
		asked = farm_ask(&l->w, &q, "key", 10 * MS);
		vclock_pass(20 * MS);
		assert_int_equal(q.answers, asked);
		question_free(&q);
		assert_recovers(l);
		tear_down(state);
		set_up(state);
	}
}

/* ---- slowness --------------------------------------------------------------
 */

static void test_deadline(void **state)
{
	struct lies *l = *state;
	struct question q[3];

	begin_up(l);
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
	question_free(&q[0]);
	assert_int_equal(q[1].answers + q[2].answers, 2);
	assert_null(q[1].value);
	assert_int_equal(farm_status(&l->w).timeouts, 2);
}

/* A job asks again and again: few of its questions wait for nothing. */
static void test_hang(void **state)
{
	struct lies *l = *state;
	unsigned waited = 0, connections = fake_connections(l->fake);
	struct question q;

	begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 900; i++) {
		waited += farm_ask(&l->w, &q, "key", 2 * MS);
		vclock_pass(5 * MS);
	}
	assert_in_range(waited, 4, 8);
	assert_says(l, ENGINE_SLOW, "in time");
	assert_false(engine_is_up(l->w.engine));
	assert_false(farm_put(&l->w, "key", "value"));
	assert_int_equal(fake_open(l->fake), 1);
	fake_hang(l->fake, false);
	vclock_pass(10 * MS);
	assert_says(l, ENGINE_UP, "");
	assert_int_equal(fake_connections(l->fake), connections + 1);
	fake_say_text(l->fake, "GET", "$2\r\nhi\r\n");
	vclock_pass(2 * S);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(5 * MS);
	assert_string_equal(q.value, "hi");
	question_free(&q);
}

/* It is connected to anew, and what is silent then is no better. */
static void test_long_hang(void **state)
{
	struct lies *l = *state;
	unsigned connections;
	struct question q;

	begin_up(l);
	connections = fake_connections(l->fake);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(60 * S);
	assert_int_equal(farm_state(&l->w), ENGINE_SLOW);
	assert_in_range(
	    fake_connections(l->fake), connections + 2, connections + 10);
	assert_int_equal(fake_open(l->fake) <= 1, true);
	fake_hang(l->fake, false);
	assert_recovers(l);
}

/* Late each time: it is asked less and less, until it is in time. */
static void test_always_late(void **state)
{
	struct lies *l = *state;
	unsigned waited = 0;
	struct question q;

	begin_up(l);
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
		assert_null(ask(l, "key"));
	assert_true(engine_is_up(l->w.engine));
}

/* A long hiccup must not be believed for long. */
static void test_estimate_recovers(void **state)
{
	struct lies *l = *state;
	struct question q;

	begin_up(l);
	fake_hang(l->fake, true);
	assert_true(farm_ask(&l->w, &q, "key", 2 * MS));
	vclock_pass(900 * MS);
	fake_hang(l->fake, false);
	vclock_pass(60 * S);
	assert_true(engine_srtt_us(l->w.engine) < 2 * MS);
}

/* ---- bounds of what is asked and put ---------------------------------------
 */

static void test_many_asks(void **state)
{
	struct lies *l = *state;
	struct question *q = calloc(2000, sizeof(*q));
	unsigned asked = 0, answers = 0;

	begin_up(l);
	fake_hang(l->fake, true);
	for (int i = 0; i < 2000; i++)
		asked += farm_ask(&l->w, &q[i], "key", 2 * MS);
	assert_int_equal(asked, ENGINE_ASKS_MAX);
	vclock_pass(10 * MS);
	for (int i = 0; i < 2000; i++)
		answers += q[i].answers;
	assert_int_equal(answers, ENGINE_ASKS_MAX);
	fake_hang(l->fake, false);
	assert_recovers(l);
	free(q);
}

static void test_backlog(void **state)
{
	enum { EACH = 1 << 20 };
	struct lies *l = *state;
	struct engine_key key = farm_key("key");
	char *value = calloc(1, ENGINE_VALUE_MAX + 1);
	unsigned put = 0;

	begin_up(l);
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
	free(value);
}

/* A question waits behind one value at most. */
static void test_questions_go_first(void **state)
{
	struct lies *l = *state;
	struct engine_key key = farm_key("key");
	char *value = calloc(1, 1 << 20);
	struct question q;

	begin_up(l);
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
	free(value);
}

static void test_full(void **state)
{
	struct lies *l = *state;
	unsigned tried = 0;

	begin_up(l);
	fake_say_text(l->fake, "SET", "-OOM command not allowed\r\n");
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	assert_says(l, ENGINE_FULL, "allkeys-lru");
	assert_true(engine_is_up(l->w.engine));
	for (int i = 0; i < 600; i++) {
		tried += farm_put(&l->w, "key", "value");
		vclock_pass(100 * MS);
	}
	assert_in_range(tried, 3, 8);
	assert_null(ask(l, "key"));
	assert_int_equal(farm_status(&l->w).rejected_puts, tried + 1);
	fake_forget(l->fake, "SET");
	vclock_pass(31 * S);
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	assert_says(l, ENGINE_UP, "");
	fake_say_text(l->fake, "SET", "-READONLY You can't write\r\n");
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	assert_says(l, ENGINE_FULL, "name its master");
}

/* ---- removal ---------------------------------------------------------------
 */

struct flushed {
	unsigned calls;
	uint64_t removed;
	char error[128];
};

static void on_flushed(void *ctx, uint64_t removed, const char *error)
{
	struct flushed *f = ctx;

	f->calls++;
	f->removed = removed;
	(void)snprintf(f->error, sizeof(f->error), "%s", error ? error : "");
}

static void test_flush(void **state)
{
	struct lies *l = *state;
	struct flushed f = {0};

	begin_up(l);
	fake_say_text(l->fake, "SCAN",
	    "*2\r\n$1\r\n0\r\n*4\r\n$4\r\nff:a\r\n$5\r\nother\r\n$4\r\nff:"
	    "b\r\n:1"
	    "\r\n");
	fake_say_text(l->fake, "UNLINK", "-ERR unknown command 'UNLINK'\r\n");
	assert_true(engine_flush(l->w.engine, "ff:", on_flushed, &f));
	assert_false(engine_flush(l->w.engine, "ff:", on_flushed, &f));
	assert_int_equal(f.calls, 0);
	vclock_pass(MS);
	assert_int_equal(f.calls, 1);
	assert_int_equal(f.removed, 2);
	assert_string_equal(f.error, "");
	assert_int_equal(fake_asked(l->fake, "DEL"), 2);
	fake_say_text(l->fake, "DEL", "-NOPERM\r\n");
	assert_true(engine_flush(l->w.engine, "ff:", on_flushed, &f));
	vclock_pass(MS);
	assert_int_equal(f.calls, 2);
	assert_non_null(strstr(f.error, "rights"));
	assert_int_equal(f.removed, 0);
}

static void test_flush_lies(void **state)
{
	static const char *const lies[] = {"+OK\r\n", "*0\r\n", "*1\r\n*0\r\n",
	    "*2\r\n:0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n+x\r\n",
	    "*2\r\n$30\r\n012345678901234567890123456789\r\n*0\r\n",
	    "-NOPERM\r\n", "-ERR what\r\n", "garbage"};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct lies *l = *state;
		struct flushed f = {0};

		begin_up(l);
		fake_say_text(l->fake, "SCAN", lies[i]);
		assert_true(engine_flush(l->w.engine, "ff:", on_flushed, &f));
		vclock_pass(MS);
		assert_int_equal(f.calls, 1);
		assert_string_not_equal(f.error, "");
		assert_recovers(l);
		tear_down(state);
		set_up(state);
	}
}

static void test_flush_ends_early(void **state)
{
	struct lies *l = *state;
	struct flushed f = {0};

	begin_up(l);
	/* It never says that it is at its end. */
	fake_say_text(l->fake, "SCAN", "*2\r\n$1\r\n7\r\n*1\r\n$3\r\nff:\r\n");
	assert_true(engine_flush(l->w.engine, "ff:", on_flushed, &f));
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
	assert_true(engine_flush(l->w.engine, "ff:", on_flushed, &f));
	engine_free(l->w.engine);
	l->w.engine = NULL;
	assert_int_equal(f.calls, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_get_and_put),
	    TEST(test_cancel_and_free),
	    TEST(test_order),
	    TEST(test_round_trip),
	    TEST(test_refusals),
	    TEST(test_refuses_later),
	    TEST(test_few_rights),
	    TEST(test_password),
	    TEST(test_strangers),
	    TEST(test_silence),
	    TEST(test_closes_at_once),
	    TEST(test_nobody_listens),
	    TEST(test_unasked),
	    TEST(test_lies),
	    TEST(test_value_and_lie),
	    TEST(test_large_lies),
	    TEST(test_largest_value),
	    TEST(test_cut),
	    TEST(test_deadline),
	    TEST(test_hang),
	    TEST(test_long_hang),
	    TEST(test_always_late),
	    TEST(test_estimate_recovers),
	    TEST(test_many_asks),
	    TEST(test_backlog),
	    TEST(test_questions_go_first),
	    TEST(test_full),
	    TEST(test_flush),
	    TEST(test_flush_lies),
	    TEST(test_flush_ends_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
