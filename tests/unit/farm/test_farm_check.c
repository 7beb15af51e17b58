/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `farm check` looks at a real redis-server and at an engine that lies, and a
 * flush removes the farm's keys and nothing else. */
#include "unittest.h"

#include <event2/event.h>

#include "base/clock.h"
#include "config/config.h"
#include "engine/engine.h"
#include "engine/fake_engine.h"
#include "farm/farm.h"
#include "farm/farm_check.h"
#include "engine/redis_fixture.h"
#include "farm/seal.h"

/* Of another farm, and of none: the last is one character short. */
#define OTHER   "ff:AbC-_9:d:0123456789abcdefghijABCDEFGHIJ-_"
#define FOREIGN "ff:AbC-_9:d:0123456789abcdefghijABCDEFGHIJ-"

struct check_world {
	struct event_base *base;
	struct farm *farm;
	struct redis *redis;
	char key_file[64];
	char *url;
	struct config_farm config;
};

/* ---- the loop ----------------------------------------------------------- */

/* Once, for a millisecond at most. */
static void turn(struct check_world *w)
{
	const struct timeval most = {.tv_usec = 1000};

	event_base_loopexit(w->base, &most);
	event_base_dispatch(w->base);
}

static enum engine_state state_of(const struct check_world *w)
{
	struct engine_status st;

	engine_get_status(farm_engine(w->farm), &st);
	return st.state;
}

static void until(struct check_world *w, enum engine_state want)
{
	uint64_t begun_us = clock_now_us();

	while (state_of(w) != want) {
		turn(w);
		if (clock_now_us() - begun_us > 60000000)
			fail_msg("it is %s", engine_state_name(state_of(w)));
	}
}

static struct farm_check *checked(struct check_world *w)
{
	uint64_t begun_us = clock_now_us(), now_us = begun_us;
	struct farm_check *c = farm_check_new(w->farm, begun_us);

	assert_non_null(c);
	while (!farm_check_step(c, now_us)) {
		turn(w);
		now_us = clock_now_us();
		if (now_us - begun_us > 60000000)
			fail_msg("the check does not end");
	}
	return AFTER(farm_check_free, c);
}

/* The only node, and what its keys are. */
static const struct engine_sample_node *node(
    const struct farm_check *c, const struct farm_check_keys **keys)
{
	static const struct engine_sample_node *nodes;

	assert_int_equal(farm_check_nodes(c, &nodes, keys), 1);
	return nodes;
}

/* ---- worlds ------------------------------------------------------------- */

static void world_open(struct check_world *w)
{
	w->base = event_base_new();
	assert_non_null(w->base);
}

static void begin(struct check_world *w, const char *url)
{
	char err[256];

	snprintf(w->key_file, sizeof(w->key_file), "%s/key", unittest_folder());
	assert_int_equal(seal_make_file(w->key_file), 0);
	w->url = strdup(url);
	assert_non_null(w->url);
	w->config = (struct config_farm){.engine = {.list = &w->url, .n = 1},
	    .key_file = w->key_file,
	    .publish_cap = 1000000,
	    .share = CONFIG_SHARE_DATA};
	w->farm = farm_new(w->base, &w->config, err, sizeof(err));
	if (!w->farm)
		fail_msg("%s", err);
}

static void world_close(struct check_world *w)
{
	farm_free(w->farm);
	redis_free(w->redis);
	event_base_free(w->base);
	free(w->url);
}

/* Ends the test where there is no redis-server. */
static void begin_redis(struct check_world *w, const char *const *options)
{
	if (!redis_installed())
		skip();
	w->redis = redis_start(options);
	begin(w, redis_url(w->redis));
}

static const char *const as_it_should_be[] = {
    "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", NULL};

/* A key of this farm, of no value that anybody asks for. */
static void own_key(const struct check_world *w, unsigned i, char key[64])
{
	snprintf(key, 64, "%sd:%032u", farm_prefix(w->farm), i);
}

/* ---- checks ------------------------------------------------------------- */

FIXTURE(struct check_world, world_open, world_close);

TEST(test_good, struct check_world *w)
{
	const struct engine_sample_node *n;
	const struct farm_check_keys *keys;
	struct farm_check *c;
	char key[64];

	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	for (unsigned i = 0; i < 7; i++) {
		own_key(w, i, key);
		redis_do(w->redis, "SET %s x", key);
	}
	redis_do(w->redis, "SET %s x", OTHER);
	redis_do(w->redis, "SET %s x", FOREIGN);
	redis_do(w->redis, "SET session:4711 x");
	redis_do(w->redis, "SET %b x", "\0\r\n", (size_t)3);
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_GOOD);
	assert_true(farm_check_round_trip_us(c) > 0);
	n = node(c, &keys);
	assert_string_equal(n->error, "");
	assert_string_equal(n->policy, "allkeys-lru");
	assert_int_equal(n->memory_limit_bytes, 100 << 20);
	assert_true(n->memory_bytes > 0);
	assert_int_equal(n->evicted, 0);
	/* The value of the check is gone by now. */
	assert_int_equal(n->keys, 11);
	assert_int_equal(n->sampled, 11);
	assert_int_equal(keys->own, 7);
	assert_int_equal(keys->others, 1);
	assert_int_equal(keys->foreign, 3);
	assert_string_equal(farm_check_other(c, 0), "AbC-_9");
	assert_null(farm_check_other(c, 1));
}

/* Of many keys it looks at some. */
TEST(test_sample, struct check_world *w)
{
	const struct farm_check_keys *keys;
	const struct engine_sample_node *n;
	struct farm_check *c;
	redisReply *r;

	begin_redis(w, as_it_should_be);
	r = redis_ask(w->redis, "EVAL %s 0",
	    "for i = 1, 50000 do redis.call('SET', 'app:' .. i, 'x') end");
	freeReplyObject(r);
	until(w, ENGINE_UP);
	c = checked(w);
	n = node(c, &keys);
	assert_int_equal(n->keys, 50000);
	assert_true(n->sampled >= 1000 && n->sampled < 10000);
	assert_int_equal(keys->foreign, n->sampled);
}

TEST(test_no_rights, struct check_world *w)
{
	const struct farm_check_keys *keys;
	struct farm_check *c;

	begin_redis(w, as_it_should_be);
	redis_do(w->redis, "SET %s x", OTHER);
	redis_do(w->redis, "ACL SETUSER default -info -del");
	until(w, ENGINE_UP);
	c = checked(w);
	/* Nothing of that is needed for the farm itself. */
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_GOOD);
	assert_non_null(strstr(node(c, &keys)->error, "+info"));
	assert_string_equal(node(c, &keys)->policy, "");
	assert_int_equal(keys->others, 1);
	redis_do(w->redis, "ACL SETUSER default +info -scan");
	c = checked(w);
	assert_non_null(strstr(node(c, &keys)->error, "+scan"));
	assert_string_equal(node(c, &keys)->policy, "allkeys-lru");
	assert_int_equal(node(c, &keys)->sampled, 0);
}

TEST(test_full, struct check_world *w)
{
	static const char *const options[] = {
	    "--maxmemory", "1mb", "--maxmemory-policy", "noeviction", NULL};
	const struct farm_check_keys *keys;
	struct farm_check *c;

	begin_redis(w, options);
	redis_do(w->redis, "CONFIG SET maxmemory 1");
	until(w, ENGINE_UP);
	c = checked(w);
	assert_true(farm_check_trial(c) == FARM_TRIAL_NOT_THERE ||
		    farm_check_trial(c) == FARM_TRIAL_NOT_SENT);
	assert_string_equal(node(c, &keys)->policy, "noeviction");
}

/* Each master is looked at, and no replica. */
TEST(test_cluster, struct check_world *w)
{
	const struct engine_sample_node *nodes;
	const struct farm_check_keys *keys;
	struct redis *all[REDIS_NODES];
	struct farm_check *c;
	size_t n;

	if (!redis_installed())
		skip();
	redis_cluster_start(all);
	for (size_t i = 0; i < REDIS_NODES; i++)
		AFTER(redis_free, all[i]);
	begin(w, redis_url(all[0]));
	until(w, ENGINE_UP);
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_GOOD);
	n = farm_check_nodes(c, &nodes, &keys);
	assert_int_equal(n, REDIS_MASTERS);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(nodes[i].error, "");
		assert_string_equal(nodes[i].policy, "noeviction");
		/* The value of the check is gone by now. */
		assert_int_equal(nodes[i].keys, 0);
	}
}

TEST(test_hung, struct check_world *w)
{
	struct farm_check *c;

	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	redis_stop(w->redis);
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_NO_ANSWER);
	assert_int_equal(farm_check_round_trip_us(c), 0);
	redis_continue(w->redis);
}

TEST(test_down, struct check_world *w)
{
	const struct farm_check_keys *keys;
	struct farm_check *c;

	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	redis_kill(w->redis);
	until(w, ENGINE_DOWN);
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_NOT_ASKED);
	assert_string_not_equal(node(c, &keys)->error, "");
	assert_false(farm_flush(w->farm));
}

/* Whoever asked goes away at any moment. */
TEST(test_given_up, struct check_world *w)
{
	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	for (unsigned n = 0; n < 40; n++) {
		struct farm_check *c = farm_check_new(w->farm, clock_now_us());

		assert_non_null(c);
		for (unsigned i = 0; i < n; i++) {
			if (farm_check_step(c, clock_now_us()))
				break;
			event_base_loop(w->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		}
		farm_check_free(c);
	}
	assert_int_equal(state_of(w), ENGINE_UP);
}

TEST(test_lies, struct check_world *w)
{
	struct fake_engine *fake = AFTER(fake_free, fake_new(w->base));
	const struct farm_check_keys *keys;
	struct farm_check *c;

	begin(w, fake_url(fake));
	until(w, ENGINE_UP);
	/* It has nothing, whatever it was given. */
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_NOT_THERE);
	fake_say_text(fake, "GET", "$5\r\nhello\r\n");
	c = checked(w);
	assert_int_equal(farm_check_trial(c), FARM_TRIAL_NOT_THE_SAME);
	/* The engine answers INFO and SCAN with replies of the wrong kind. */
	fake_say_text(fake, "INFO", ":1\r\n");
	fake_say_text(fake, "SCAN", "*2\r\n$1\r\n0\r\n$1\r\nx\r\n");
	c = checked(w);
	assert_non_null(strstr(node(c, &keys)->error, "INFO"));
	assert_string_equal(node(c, &keys)->policy, "");
	assert_int_equal(node(c, &keys)->sampled, 0);
	/* One who has no end of keys, of which some are none. */
	fake_say_text(fake, "INFO", "$8\r\ndb7:keys\r\n");
	fake_say_text(
	    fake, "SCAN", "*2\r\n$1\r\n7\r\n*2\r\n$1\r\nx\r\n$-1\r\n");
	c = checked(w);
	assert_string_equal(node(c, &keys)->error, "");
	assert_int_equal(node(c, &keys)->keys, 0);
	assert_true(node(c, &keys)->sampled > 0);
	assert_int_equal(keys->foreign, node(c, &keys)->sampled);
}

/* ---- flush -------------------------------------------------------------- */

TEST(test_flush, struct check_world *w)
{
	struct farm_flush_status flush;
	char key[64];

	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	for (unsigned i = 0; i < 3000; i++) {
		own_key(w, i, key);
		redis_do(w->redis, "SET %s x", key);
	}
	redis_do(w->redis, "SET %s x", OTHER);
	redis_do(w->redis, "SET session:4711 x");
	assert_true(farm_flush(w->farm));
	farm_get_flush(w->farm, &flush);
	assert_true(flush.busy);
	assert_false(farm_flush(w->farm));
	while (flush.busy) {
		turn(w);
		farm_get_flush(w->farm, &flush);
	}
	assert_int_equal(flush.removed, 3000);
	assert_string_equal(flush.error, "");
	assert_int_equal(redis_number(w->redis, "DBSIZE"), 2);
}

TEST(test_flush_refused, struct check_world *w)
{
	struct farm_flush_status flush = {.busy = true};

	begin_redis(w, as_it_should_be);
	until(w, ENGINE_UP);
	redis_do(w->redis, "ACL SETUSER default -scan");
	assert_true(farm_flush(w->farm));
	while (flush.busy) {
		turn(w);
		farm_get_flush(w->farm, &flush);
	}
	assert_int_equal(flush.removed, 0);
	assert_non_null(strstr(flush.error, "+scan"));
}
