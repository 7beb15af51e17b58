/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates between samples, also where counters begin anew. */
#include "unittest.h"
#include "top/top_fixture.h"
#include "top/top_json.h"
#include "top/top_model.h"

static bool near(double a, double b)
{
	return a > b - 1e-6 && a < b + 1e-6;
}

static struct saying say(uint64_t uptime_ms, uint64_t count)
{
	return (struct saying){.servers = 1,
	    .rows = 1,
	    .uptime_ms = uptime_ms,
	    .count = count,
	    .pid = 7};
}

static void update(struct top_model *m, struct saying what)
{
	top_model_update(m, sample_make(&what));
}

TEST(test_rates)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	const struct top_rates *r;

	update(&m, say(1000, 100));
	assert_false(m.servers[0].rates.known);
	update(&m, say(3000, 300));
	r = &m.servers[0].rates;
	assert_true(r->known);
	assert_true(near(r->calls, 100));
	assert_true(near(r->client_bytes, 300));
	assert_true(near(r->link_bytes, 500));
	assert_true(near(r->hit_share, 0.5));
	assert_true(near(r->ahead_share, 0.5));
	/* 100 a second, of 40 ms each. */
	assert_true(near(r->saved_s, 4));
	assert_true(near(r->waited_s, 0.1));
	assert_true(near(m.servers[0].mounts[0].calls, 100));
	/* A half are changes, a quarter was asked for. */
	assert_true(near(m.servers[0].mounts[0].hit_share, 0.5));
}

/* Neither less than nothing nor all since the start. */
TEST(test_restart)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct saying other = say(5000, 1000);

	update(&m, say(4000, 900));
	/* The same number of the process, but it has begun anew. */
	update(&m, say(1000, 5));
	assert_false(m.servers[0].rates.known);
	assert_true(near(m.servers[0].rates.calls, 0));
	assert_false(m.servers[0].mounts[0].known);
	/* Another process that counts more by now. */
	other.pid = 8;
	update(&m, other);
	assert_false(m.servers[0].rates.known);
	update(&m, say(6000, 2000));
	assert_false(m.servers[0].rates.known);
	update(&m, say(7000, 2001));
	assert_true(near(m.servers[0].rates.calls, 1));
}

/* Counters of a server that was removed and added again, in one daemon. */
TEST(test_counter_goes_back)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};

	update(&m, say(1000, 500));
	update(&m, say(2000, 3));
	assert_false(m.servers[0].rates.known);
	assert_true(near(m.servers[0].rates.hit_share, -1));
	update(&m, say(3000, 5));
	assert_true(near(m.servers[0].rates.calls, 2));
}

/* Nothing happens, and then the greatest counter there is. */
TEST(test_bounds)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};

	update(&m, say(1000, 5));
	update(&m, say(2000, 5));
	assert_true(m.servers[0].rates.known);
	assert_true(near(m.servers[0].rates.calls, 0));
	assert_true(near(m.servers[0].rates.hit_share, -1));
	assert_true(near(m.servers[0].mounts[0].hit_share, -1));
	update(&m, say(3000, UINT64_MAX));
	/* The same moment once more. */
	update(&m, say(3000, UINT64_MAX));
	assert_false(m.servers[0].rates.known);
}

TEST(test_servers_come_and_go)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct saying more = say(2000, 20);

	update(&m, say(1000, 10));
	more.servers = 3;
	update(&m, more);
	assert_int_equal(m.nservers, 3);
	assert_true(m.servers[0].rates.known);
	assert_false(m.servers[2].rates.known);
	more.servers = 0;
	more.uptime_ms = 3000;
	update(&m, more);
	assert_int_equal(m.nservers, 0);
	update(&m, say(4000, 30));
	assert_false(m.servers[0].rates.known);
}

/* The last figures stay while the daemon is away, and the next rate is that
 * since the last sample. */
TEST(test_away)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct top_sample *none = calloc(1, sizeof(*none));

	strcpy(none->error, "it is not running");
	update(&m, say(1000, 10));
	update(&m, say(2000, 20));
	top_model_update(&m, none);
	assert_true(m.away);
	assert_string_equal(m.why, "it is not running");
	assert_int_equal(m.nservers, 1);
	/* Without memory for a sample, too. */
	top_model_update(&m, NULL);
	assert_true(m.away);
	update(&m, say(4000, 60));
	assert_false(m.away);
	assert_true(near(m.servers[0].rates.calls, 20));
}

TEST(test_past)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct saying what = say(1000, 1);

	what.past = TOP_PAST + 3; /* a newer daemon might */
	update(&m, what);
	assert_int_equal(m.servers[0].npast, TOP_PAST);
	/* The last ones; the i-th has had 10 (i + 1) calls. */
	assert_true(near(m.servers[0].past[0], 4));
	assert_true(near(m.servers[0].past[TOP_PAST - 1], TOP_PAST + 3));
	/* One that took no time tells nothing. */
	what.past = 2;
	update(&m, what);
	assert_int_equal(m.servers[0].npast, 1);
	assert_true(near(m.servers[0].past[0], 2));
}

static char *json_of(const struct top_model *m)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	top_json_print(out, m);
	fclose(out);
	return text;
}

TEST(test_json)
{
	ENDS_BY(top_model_clear) struct top_model m = {0};
	struct saying farm;
	char *text;

	update(&m, say(1000, 10));
	text = json_of(&m);
	assert_non_null(strstr(text, "\"calls_per_second\":null"));
	free(text);
	farm = say(2000, 30);
	farm.farm = true;
	update(&m, farm);
	text = json_of(&m);
	assert_non_null(strstr(text, "\"away\":false"));
	assert_non_null(strstr(text, "\"farm\":\"full\""));
	assert_non_null(strstr(text, "\"calls_per_second\":20,"));
	assert_non_null(strstr(text, "\"saved_us_per_second\":800000,"));
	assert_non_null(strstr(text, "\"strict_us\":7500000"));
	free(text);
	top_model_update(&m, NULL);
	text = json_of(&m);
	assert_string_equal(text,
	    "{\"away\":true,\"away_reason\":\"out of memory\","
	    "\"farm\":null,\"servers\":[]}\n");
	free(text);
}
