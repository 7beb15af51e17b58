/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine that lies, refuses or is something else, in virtual time. */
#include <event2/event.h>

#include "unittest.h"
#include "engine/lies_fixture.h"
#include "scenario/vclock.h"

/* ---- what it says of itself -------------------------------------------- */

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

FIXTURE(struct lies, lies_open, lies_close);

/* Each is one state and says what to do; it goes when its cause does. */
TEST(test_refusals, struct lies *l)
{
	for (size_t i = 0; i < LENGTH(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct question q;

		fake_say_text(l->fake, r->command, r->reply);
		lies_begin(l);
		lies_expect(l, r->state, r->word);
		assert_false(engine_is_up(l->w.engine));
		assert_false(farm_ask(&l->w, &q, "key", MS));
		assert_false(farm_put(&l->w, "key", "value"));
		fake_forget(l->fake, r->command);
		vclock_pass(10 * S);
		lies_expect(l, ENGINE_UP, "");
		lies_again(l);
	}
}

/* The same, of one that was well. */
TEST(test_refuses_later, struct lies *l)
{
	for (size_t i = 0; i < LENGTH(refusals); i++) {
		const struct refusal *r = &refusals[i];
		if (strcmp(r->command, "GET") != 0 || r->reply[0] != '-')
			continue;
		lies_begin_up(l);
		fake_say_text(l->fake, "GET", r->reply);
		assert_null(lies_ask(l, "key"));
		lies_expect(l, r->state, r->word);
		fake_forget(l->fake, "GET");
		vclock_pass(10 * S);
		lies_expect(l, ENGINE_UP, "");
		lies_again(l);
	}
}

/* Without rights to INFO, COMMAND and CLUSTER it is asked all the same. */
TEST(test_few_rights, struct lies *l)
{
	static const char noperm[] = "-NOPERM this user has no permissions\r\n";

	fake_say_text(l->fake, "INFO", noperm);
	fake_say_text(l->fake, "COMMAND INFO", noperm);
	fake_say_text(l->fake, "CLUSTER MYID", noperm);
	fake_say_text(l->fake, "CLUSTER SLOTS", noperm);
	lies_begin_up(l);
	assert_null(lies_ask(l, "key"));
	fake_say_text(l->fake, "SET", noperm);
	assert_true(farm_put(&l->w, "key", "value"));
	vclock_pass(MS);
	lies_expect(l, ENGINE_UP, "may not SET");
	assert_false(farm_put(&l->w, "key", "value"));
	assert_null(lies_ask(l, "key"));
	assert_int_equal(farm_status(&l->w).rejected_puts, 1);
	assert_int_equal(farm_status(&l->w).refused_puts, 1);
}

/* It says that it is down again while it is greeted: it is greeted once more,
 * and the answers to both greetings come. */
TEST(test_greetings_overlap, struct lies *l)
{
	static const char down[] = "-CLUSTERDOWN Hash slot not served\r\n";
	static const char info[] = "$22\r\nredis_version:7.0.15\r\n\r\n";
	struct question q[2];
	unsigned asked;

	lies_begin_up(l);
	fake_say(l->fake, "GET", NULL, 0);
	fake_say(l->fake, "INFO", NULL, 0);
	asked = fake_asked(l->fake, "INFO");
	for (int i = 0; i < 2; i++)
		assert_true(farm_ask(&l->w, &q[i], "key", 10 * S));
	for (unsigned i = 1; i <= 2; i++) {
		fake_send(l->fake, down, strlen(down));
		vclock_pass(500 * MS);
		assert_int_equal(fake_asked(l->fake, "INFO"), asked + i);
	}
	fake_forget(l->fake, "GET");
	for (int i = 0; i < 2; i++)
		fake_send(l->fake, info, strlen(info));
	vclock_pass(10 * MS);
	lies_expect(l, ENGINE_UP, "");
	assert_int_equal(fake_connections(l->fake), 1);
}

TEST(test_password, struct lies *l)
{
	static char none[] = "/none/at/all";
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/secret", unittest_folder());
	f = fopen(path, "w");
	assert_non_null(f);
	l->w.farm.password_file = none;
	lies_begin(l);
	lies_expect(l, ENGINE_REFUSES, "No such file");
	l->w.farm.password_file = path;
	vclock_pass(10 * S);
	lies_expect(l, ENGINE_REFUSES, "no password in its first line");
	assert_true(fputs("secret\nmore\n", f) >= 0);
	fclose(f);
	fake_say_text(l->fake, "AUTH", "-WRONGPASS invalid pair\r\n");
	vclock_pass(20 * S);
	lies_expect(l, ENGINE_REFUSES, "does not take the password");
	fake_say_text(l->fake, "AUTH", "$2\r\nhi\r\n");
	vclock_pass(60 * S);
	lies_expect(l, ENGINE_REFUSES, "no Redis");
	fake_forget(l->fake, "AUTH");
	vclock_pass(60 * S);
	lies_expect(l, ENGINE_UP, "");
}

/* ---- something else ---------------------------------------------------- */

TEST(test_strangers, struct lies *l)
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

	for (size_t i = 0; i < LENGTH(strangers); i++) {
		fake_greet_with(l->fake, strangers[i].bytes, strangers[i].len);
		lies_begin(l);
		lies_expect(l, ENGINE_REFUSES, strangers[i].word);
		lies_recover(l);
		lies_again(l);
	}
}

TEST(test_silence, struct lies *l)
{
	fake_hang(l->fake, true);
	lies_begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_CONNECTING);
	vclock_pass(6 * S);
	lies_expect(l, ENGINE_SLOW, "answers nothing");
	fake_hang(l->fake, false);
	lies_recover(l);
}

TEST(test_closes_at_once, struct lies *l)
{
	fake_greet_with(l->fake, "+", 1);
	fake_cut_after(l->fake, 1);
	lies_begin(l);
	assert_int_equal(farm_state(&l->w), ENGINE_DOWN);
	lies_recover(l);
}

TEST(test_nobody_listens, struct lies *l)
{
	struct fake_engine *gone = fake_new(l->w.base);

	lies_set_url(l, fake_url(gone));
	fake_free(gone);
	lies_begin(l);
	lies_expect(l, ENGINE_DOWN, "cannot connect: Connection refused");
	vclock_pass(120 * S);
	/* 100 ms, 200 ms, … 30 s, each between a half of it and all. */
	assert_in_range(farm_status(&l->w).reconnects, 10, 22);
	engine_free(l->w.engine);
	lies_set_url(l, "redis+unix:///none/at/all");
	lies_begin(l);
	lies_expect(l, ENGINE_DOWN, "no such socket");
}

/* ---- replies that are none --------------------------------------------- */

TEST(test_unasked, struct lies *l)
{
	static const char *const texts[] = {"+OK\r\n", "$-1\r\n", ":1\r\n",
	    "*1\r\n+x\r\n", "-ERR max number of clients reached\r\n",
	    "$3\r\nabc\r\n", "+OK\r\n+OK\r\n+OK\r\n",
	    "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n"};

	for (size_t i = 0; i < LENGTH(texts); i++) {
		lies_begin_up(l);
		fake_send(l->fake, texts[i], strlen(texts[i]));
		vclock_pass(10 * MS);
		lies_expect(l, ENGINE_DOWN, "nobody asked for");
		lies_recover(l);
		lies_again(l);
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
static void try_lie(struct lies *l, const char *bytes, size_t len)
{
	struct question q;

	lies_begin_up(l);
	fake_say(l->fake, "GET", bytes, len);
	assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
	vclock_pass(200 * MS);
	assert_int_equal(q.answers, 1);
	assert_null(q.value);
	if (farm_state(&l->w) == ENGINE_UP)
		fail_msg("it is up after %.20s", bytes);
	lies_recover(l);
	lies_again(l);
}

TEST(test_lies, struct lies *l)
{
	static const struct lie lies[] = {LIE("+OK\r\n"), LIE(":5\r\n"),
	    LIE("*0\r\n"), LIE("*1\r\n$1\r\nx\r\n"), LIE(">1\r\n+x\r\n"),
	    LIE("_\r\n"), LIE("#t\r\n"), LIE(",1.5\r\n"), LIE("(12\r\n"),
	    LIE("$16777217\r\n"), LIE("$3000000000\r\n"),
	    LIE("$9223372036854775807\r\n"), LIE("$-2\r\n"), LIE("$x\r\n"),
	    LIE("$?\r\n;4\r\n"), LIE("$111111111111111111111111111111"),
	    LIE("*2147483647\r\n"), LIE("*2147483648\r\n"), LIE("*-5\r\n"),
	    LIE("*4000000000000\r\n"), LIE("*262145\r\n"),
	    LIE("$536870912\r\nx"), LIE("*2\r\n_\r\n_\r\n"),
	    LIE("*1\r\n>1\r\n+x\r\n"), LIE("*1\r\n#t\r\n"),
	    LIE("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
	    LIE("*200000\r\n*200000\r\n*200000\r\n"), LIE("garbage"),
	    LIE("\r\n"), LIE("\0"), LIE(":12x\r\n"), LIE("*1\r\n*-1\r\n"),
	    LIE("$\r\n"), LIE("$1-\r\n"), LIE("$1\n1\r\n"), LIE("+a\rb\r\n"),
	    LIE("+a\nb\r\n"), LIE("$1 \r\nx\r\n")};

	for (size_t i = 0; i < LENGTH(lies); i++)
		try_lie(l, lies[i].bytes, lies[i].len);
}

/* Bytes that follow a value answer no question: the value is taken, and then
 * the engine is left as one that lies. */
TEST(test_value_and_lie, struct lies *l)
{
	static const char *const texts[] = {
	    "$1\r\nx\r\n+OK\r\n", "$1\r\nxyz\r\n"};

	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct question q;

		lies_begin_up(l);
		fake_say_text(l->fake, "GET", texts[i]);
		assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
		vclock_pass(10 * MS);
		assert_int_equal(q.answers, 1);
		assert_string_equal(q.value, "x");
		lies_expect(l, ENGINE_DOWN, "it sent");
		lies_recover(l);
		lies_again(l);
	}
}

TEST(test_large_lies, struct lies *l)
{
	enum { BYTES = 40 << 20 };
	FREED char *text = malloc(BYTES + 1);
	size_t len = 0;

	/* A line without an end. */
	memset(text, 'x', BYTES);
	text[0] = '+';
	try_lie(l, text, BYTES);
	text[0] = '-';
	try_lie(l, text, BYTES);
	/* Many values that are small, in an array that is too large. */
	len = (size_t)sprintf(text, "*200000\r\n");
	for (int i = 0; i < 90000; i++)
		len += (size_t)sprintf(text + len, "$400\r\n%0400d\r\n", i);
	try_lie(l, text, len);
	/* Arrays within arrays, which libhiredis 1.0 and later would take. */
	for (len = 0; len < 4 << 20; len += 4)
		memcpy(text + len, "*1\r\n", 4);
	try_lie(l, text, len);
}

/* Each byte of a reply comes alone. */
TEST(test_byte_by_byte, struct lies *l)
{
	static const struct {
		const char *reply, *value;
	} whole[] = {
	    {"$20\r\n12345678901234567890\r\n", "12345678901234567890"},
	    {"$0\r\n\r\n", ""}, {"$-1\r\n", NULL}};

	lies_begin_up(l);
	fake_say(l->fake, "GET", NULL, 0);
	for (size_t i = 0; i < LENGTH(whole); i++) {
		const char *reply = whole[i].reply;
		struct question q;

		assert_true(farm_ask(&l->w, &q, "key", 100 * MS));
		vclock_settle();
		for (; *reply; reply++) {
			assert_int_equal(q.answers, 0);
			fake_send(l->fake, reply, 1);
			vclock_settle();
		}
		assert_int_equal(q.answers, 1);
		if (whole[i].value)
			assert_string_equal(q.value, whole[i].value);
		else
			assert_null(q.value);
		lies_expect(l, ENGINE_UP, "");
	}
}

/* The largest value that may be, and one byte more. */
TEST(test_largest_value, struct lies *l)
{
	FREED char *text = malloc(ENGINE_VALUE_MAX + 100);
	size_t head = (size_t)sprintf(text, "$%d\r\n", ENGINE_VALUE_MAX);
	struct question q;

	memset(text + head, 'x', ENGINE_VALUE_MAX);
	memcpy(text + head + ENGINE_VALUE_MAX, "\r\n", 2);
	lies_set_url(l, fake_path_url(l->fake));
	lies_begin_up(l);
	fake_say(l->fake, "GET", text, head + ENGINE_VALUE_MAX + 2);
	for (int i = 0; i < 3; i++) {
		assert_true(farm_ask(&l->w, &q, "key", 10 * S));
		vclock_pass(S);
		assert_int_equal(q.answers, 1);
		assert_int_equal(q.len, ENGINE_VALUE_MAX);
	}
	lies_recover(l);
}

/* Three questions wait, and no answer comes but what the test sends. */
static void ask_three(struct lies *l, struct question q[3])
{
	lies_begin_up(l);
	fake_say(l->fake, "GET", NULL, 0);
	for (int i = 0; i < 3; i++)
		assert_true(farm_ask(&l->w, &q[i], "key", S));
	vclock_settle();
}

/* The connection ends at one of them, and more is there already than anybody
 * asked for: with a value before it, of one read(2) or of several. */
TEST(test_more_behind_lie, struct lies *l)
{
	static const int sizes[] = {1, 20 << 10, 40 << 10, 200 << 10};
	static char text[256 << 10];

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct question q[3];
		int len =
		    sprintf(text, "$%d\r\n%0*d\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
			sizes[i], sizes[i], 7);

		lies_set_url(l, fake_path_url(l->fake));
		ask_three(l, q);
		fake_send(l->fake, text, (size_t)len);
		vclock_pass(10 * MS);
		assert_int_equal(q[0].len, sizes[i]);
		for (int k = 0; k < 3; k++)
			assert_int_equal(q[k].answers, 1);
		assert_null(q[1].value);
		assert_null(q[2].value);
		lies_recover(l);
		lies_again(l);
	}
}

/* The first byte of an answer comes with the end of a large one. */
TEST(test_large_and_first_byte, struct lies *l)
{
	static char text[256 << 10];
	static const char rest[] = "2\r\nhi\r\n$-1\r\n";
	struct question q[3];
	int len = sprintf(text, "$%d\r\n%0*d\r\n$", 200 << 10, 200 << 10, 7);

	ask_three(l, q);
	fake_send(l->fake, text, (size_t)len);
	vclock_settle();
	fake_send(l->fake, rest, strlen(rest));
	vclock_settle();
	assert_int_equal(q[0].len, 200 << 10);
	assert_int_equal(q[1].len, 2);
	assert_int_equal(q[2].answers, 1);
	lies_expect(l, ENGINE_UP, "");
}

/* While much comes from the engine at once, the loop serves others in between.
 */
TEST(test_shares_the_loop, struct lies *l)
{
	enum { BYTES = 320 << 10 };
	static char text[BYTES + 100];
	int len = sprintf(text, "$%d\r\n%0*d\r\n", BYTES, BYTES, 7);
	struct question q;
	unsigned turns = 0;

	lies_set_url(l, fake_path_url(l->fake));
	lies_begin_up(l);
	fake_say(l->fake, "GET", NULL, 0);
	assert_true(farm_ask(&l->w, &q, "key", S));
	vclock_settle();
	fake_send(l->fake, text, (size_t)len);
	/* It is sent in the first. */
	for (; q.answers == 0; turns++)
		event_base_loop(l->w.base, EVLOOP_ONCE);
	assert_int_equal(q.len, BYTES);
	assert_true(turns >= 3);
}

/* The connection ends at each byte of all that it says. */
TEST(test_cut, struct lies *l)
{
	for (size_t cut = 1; cut < 140; cut++) {
		struct question q = {0};
		bool asked;

		fake_say_text(
		    l->fake, "GET", "$20\r\n12345678901234567890\r\n");
		fake_cut_after(l->fake, cut);
		lies_begin(l);
		asked = farm_ask(&l->w, &q, "key", 10 * MS);
		vclock_pass(20 * MS);
		assert_int_equal(q.answers, asked);
		lies_recover(l);
		lies_again(l);
	}
}
