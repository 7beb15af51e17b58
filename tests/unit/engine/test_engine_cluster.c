/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real cluster of six: all slots, slots that move, a master that dies. */
#include "unittest.h"
#include "engine/engine_private.h"
#include "engine/engine_fixture.h"
#include "engine/redis_fixture.h"

enum { KEYS = 600 };

/* The tests are one story of one cluster. */
struct story {
	struct redis *nodes[REDIS_NODES];
	struct farm_world w;
};

static int set_up(void **state)
{
	struct story *s = calloc(1, sizeof(*s));

	redis_cluster_start(s->nodes);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct story *s = *state;

	if (s->w.base)
		farm_close(&s->w);
	for (int i = 0; i < REDIS_NODES; i++)
		redis_free(s->nodes[i]);
	free(s);
	return 0;
}

static bool has_all_masters(void *arg)
{
	struct farm_world *w = arg;
	struct engine_node_status nodes[REDIS_NODES];
	size_t n = engine_get_nodes(w->engine, nodes, REDIS_NODES);
	unsigned slots = 0;

	for (size_t i = 0; i < n && i < REDIS_NODES; i++)
		if (nodes[i].state == ENGINE_UP)
			slots += nodes[i].slots;
	return slots == 16384;
}

static void name_key(char key[16], int i)
{
	(void)snprintf(key, 16, "ff:%d", i);
}

static long long keys_of(struct redis *r)
{
	return redis_number(r, "DBSIZE");
}

/* One URL is enough; the nodes say the rest. */
TEST(test_all_slots, struct story *s)
{
	char key[16];

	farm_open(&s->w);
	farm_url(&s->w, redis_url(s->nodes[0]));
	farm_begin(&s->w);
	farm_until(&s->w, has_all_masters, &s->w);
	assert_true(farm_status(&s->w).cluster);
	for (int i = 0; i < KEYS; i++) {
		name_key(key, i);
		assert_true(farm_put(&s->w, key, key));
	}
	for (int i = 0; i < KEYS; i++) {
		name_key(key, i);
		assert_true(farm_has(&s->w, key, key));
	}
	for (int i = 0; i < REDIS_MASTERS; i++)
		assert_in_range(keys_of(s->nodes[i]), KEYS / 5, KEYS / 2);
	assert_int_equal(farm_status(&s->w).redirects, 0);
	assert_int_equal(engine_get_nodes(s->w.engine, NULL, 0), REDIS_MASTERS);
	farm_close(&s->w);
}

/* By all addresses, a path and replicas among them: each is known once. */
TEST(test_seeds, struct story *s)
{
	farm_open(&s->w);
	farm_url(&s->w, redis_path_url(s->nodes[1]));
	for (int i = 0; i < REDIS_NODES; i += 2)
		farm_url(&s->w, redis_url(s->nodes[i]));
	farm_begin(&s->w);
	farm_until(&s->w, has_all_masters, &s->w);
	assert_true(farm_has(&s->w, "ff:1", "ff:1"));
	assert_true(engine_get_nodes(s->w.engine, NULL, 0) <= 5);
	farm_until_state(&s->w, ENGINE_UP);
}

/* ---- slots that move --------------------------------------------------- */

static void node_id(struct redis *r, char id[41])
{
	redisReply *reply = redis_ask(r, "CLUSTER MYID");

	(void)snprintf(id, 41, "%s", reply->str);
	freeReplyObject(reply);
}

static struct redis *owner(struct story *s, unsigned slot)
{
	return s->nodes[slot * REDIS_MASTERS / 16384];
}

/* While a slot moves, its keys are here or there (ASK); afterwards all there
 * (MOVED). */
TEST(test_moving_slot, struct story *s)
{
	const char *key = "ff:1";
	unsigned slot = crc16_slot(key, strlen(key));
	struct redis *from = owner(s, slot);
	struct redis *to = from == s->nodes[0] ? s->nodes[1] : s->nodes[0];
	char from_id[41], to_id[41];
	uint64_t redirects = farm_status(&s->w).redirects;

	node_id(from, from_id);
	node_id(to, to_id);
	redis_do(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, from_id);
	redis_do(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, to_id);
	assert_true(farm_has(&s->w, key, key));
	assert_int_equal(farm_status(&s->w).redirects, redirects);
	redis_do(from, "MIGRATE 127.0.0.1 %u %s 0 5000", redis_port(to), key);
	assert_true(farm_has(&s->w, key, key));
	assert_int_equal(farm_status(&s->w).redirects, redirects + 1);
	/* The others hear of it a while later. */
	redis_do(to, "CLUSTER SETSLOT %u NODE %s", slot, to_id);
	redis_do(from, "CLUSTER SETSLOT %u NODE %s", slot, to_id);
	assert_true(farm_has(&s->w, key, key));
	assert_int_equal(farm_status(&s->w).redirects, redirects + 2);
	/* From now on it is known. */
	assert_true(farm_has(&s->w, key, key));
	assert_int_equal(farm_status(&s->w).redirects, redirects + 2);
}

/* ---- a master that dies ------------------------------------------------ */

static bool all_answer(void *arg)
{
	struct story *s = arg;

	for (int i = 0; i < KEYS; i++) {
		struct question q;
		char key[16];
		bool is;

		name_key(key, i);
		if (!farm_ask(&s->w, &q, key, S))
			return false;
		farm_until_answered(&s->w, &q);
		is = q.value && strcmp(q.value, key) == 0;
		if (!is)
			return false;
	}
	return true;
}

TEST(test_master_dies, struct story *s)
{
	struct question q;
	unsigned slot = crc16_slot("ff:2", 4);
	struct redis *dead = owner(s, slot);

	farm_until(&s->w, all_answer, s);
	redis_stop(dead);
	assert_true(farm_ask(&s->w, &q, "ff:2", 30 * S));
	redis_kill(dead);
	farm_until_answered(&s->w, &q);
	assert_null(q.value);
	assert_false(farm_ask(&s->w, &q, "ff:2", S));
	assert_string_not_equal(farm_status(&s->w).error, "");
	farm_until(&s->w, all_answer, s);
	assert_int_equal(farm_state(&s->w), ENGINE_UP);
	/* It comes back as a replica. */
	redis_restart(dead);
	assert_true(farm_has(&s->w, "ff:2", "ff:2"));
}

/* ---- removal ----------------------------------------------------------- */

TEST(test_flush, struct story *s)
{
	struct flushed f = {0};

	farm_until(&s->w, has_all_masters, &s->w);
	assert_true(farm_put(&s->w, "other", "other"));
	assert_true(farm_has(&s->w, "other", "other"));
	assert_true(farm_flush(&s->w, "ff:", &f));
	farm_until_flushed(&s->w, &f);
	assert_string_equal(f.error, "");
	assert_int_equal(f.removed, KEYS);
	assert_false(farm_has(&s->w, "ff:3", "ff:3"));
	assert_true(farm_has(&s->w, "other", "other"));
}

/* ---- who is no member -------------------------------------------------- */

TEST(test_no_cluster)
{
	struct redis *a = redis_start(NULL), *b = redis_start(NULL);
	struct farm_world w;

	farm_open(&w);
	farm_url(&w, redis_url(a));
	farm_url(&w, redis_url(b));
	farm_begin(&w);
	farm_until_state(&w, ENGINE_REFUSES);
	farm_until_error(&w, "is it in cluster mode");
	farm_close(&w);
	redis_free(a);
	redis_free(b);
}

TEST(test_no_slots)
{
	static const char *const options[] = {"--cluster-enabled", "yes", NULL};
	struct redis *r = AFTER(redis_free, redis_start(options));
	ENDS_BY(farm_close) struct farm_world w;

	farm_open(&w);
	farm_url(&w, redis_url(r));
	farm_begin(&w);
	farm_until_error(&w, "no slots of a cluster yet");
	redis_do(r, "CLUSTER ADDSLOTSRANGE 0 16383");
	farm_until_state(&w, ENGINE_UP);
	farm_until(&w, has_all_masters, &w);
	assert_true(farm_put(&w, "key", "value"));
	assert_true(farm_has(&w, "key", "value"));
}

int main(void)
{
	return redis_installed() ? unittest_run(set_up, tear_down) : 0;
}
