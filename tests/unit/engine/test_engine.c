/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real redis-server: asked, refusing, full, hanging, killed. */
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "engine/engine_private.h"
#include "engine/engine_fixture.h"
#include "engine/redis_fixture.h"

/* It is there until the test is over. */
static struct redis *server(const char *const *options)
{
	return AFTER(redis_free, redis_start(options));
}

/* ---- slots of keys ----------------------------------------------------- */

/* The server's own opinion. */
TEST(test_slots_of_server)
{
	static const char *const options[] = {"--cluster-enabled", "yes", NULL};
	struct redis *r = server(options);
	char key[20];

	for (unsigned seed = 1, i = 0; i < 2000; i++) {
		size_t len = (unsigned)rand_r(&seed) % sizeof(key);

		for (size_t j = 0; j < len; j++)
			key[j] = "{}ab\n\xff"[rand_r(&seed) % 6];
		assert_int_equal(crc16_slot(key, len),
		    redis_number(r, "CLUSTER KEYSLOT %b", key, len));
	}
}

/* ---- one server -------------------------------------------------------- */

static void open_up(struct farm_world *w, const char *url)
{
	farm_url(w, url);
	farm_begin(w);
	farm_until_state(w, ENGINE_UP);
}

static bool is_put(void *arg)
{
	return redis_number(arg, "EXISTS key") == 1;
}

static void use_it(struct farm_world *w, struct redis *r)
{
	struct engine_key key = farm_key("key");
	FREED char *value = calloc(1, 1 << 20);
	struct question q;

	assert_false(farm_has(w, "key", "value"));
	memset(value, 'v', 1 << 20);
	assert_true(engine_put(w->engine, &key, value, 1 << 20, 100));
	farm_until(w, is_put, r);
	assert_in_range(redis_number(r, "TTL key"), 1, 100);
	assert_true(farm_ask(w, &q, "key", 10 * S));
	farm_until_answered(w, &q);
	assert_int_equal(q.len, 1 << 20);
	assert_memory_equal(q.value, value, 1 << 20);
}

FIXTURE(struct farm_world, farm_open, farm_close);

TEST(test_tcp, struct farm_world *w)
{
	struct redis *r = server(NULL);
	struct engine_node_status node;
	char name[32];

	open_up(w, redis_url(r));
	use_it(w, r);
	/* The test runs on Debian 12, which brings Redis 7.0, and on Debian 13,
	 * which brings 8.0. */
	assert_in_range(farm_status(w).version[0], '7', '9');
	assert_int_equal(engine_get_nodes(w->engine, &node, 1), 1);
	snprintf(name, sizeof(name), "127.0.0.1:%u", redis_port(r));
	assert_string_equal(node.name, name);
	assert_true(node.srtt_us > 0 && node.slots == 0);
}

TEST(test_unix_socket, struct farm_world *w)
{
	struct redis *r = server(NULL);

	open_up(w, redis_path_url(r));
	use_it(w, r);
}

TEST(test_name, struct farm_world *w)
{
	struct redis *r = server(NULL);
	char url[64];

	snprintf(url, sizeof(url), "redis://localhost:%u", redis_port(r));
	open_up(w, url);
	use_it(w, r);
}

/* A mark gives way to a value, and never takes the place of anything. */
TEST(test_marks, struct farm_world *w)
{
	struct redis *r = server(NULL);

	open_up(w, redis_url(r));
	farm_mark(w, "key", "first");
	assert_true(farm_has(w, "key", "first"));
	assert_in_range(redis_number(r, "PTTL key"), 1, 10000);
	farm_mark(w, "key", "second");
	assert_true(farm_has(w, "key", "first"));
	assert_true(farm_put(w, "key", "value"));
	farm_mark(w, "key", "third");
	assert_true(farm_has(w, "key", "value"));
	assert_int_equal(redis_number(r, "PTTL key"), -1);
	assert_int_equal(farm_status(w).rejected_puts, 0);
}

/* ---- who may ----------------------------------------------------------- */

static void write_secret(const char *path, const char *secret)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s\n", secret);
	fclose(f);
}

static char *secret_file(const char *secret)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/secret", unittest_folder());
	write_secret(path, secret);
	return path;
}

TEST(test_password, struct farm_world *w)
{
	static const char *const options[] = {"--requirepass", "secret", NULL};
	struct redis *r = server(options);
	char *path;

	farm_url(w, redis_url(r));
	farm_begin(w);
	farm_until_state(w, ENGINE_REFUSES);
	farm_until_error(w, "it wants a password: set password_file");
	path = secret_file("wrong");
	w->farm.password_file = path;
	farm_until_error(w, "does not take the password");
	write_secret(path, "secret");
	farm_until_state(w, ENGINE_UP);
	assert_false(farm_has(w, "key", "value"));
}

TEST(test_needless_password, struct farm_world *w)
{
	struct redis *r = server(NULL);

	farm_url(w, redis_url(r));
	w->farm.password_file = secret_file("secret");
	farm_begin(w);
	farm_until_error(w, "it has no password");
}

static bool is_rejected(void *arg)
{
	struct farm_world *w = arg;

	return farm_status(w).rejected_puts > 0;
}

static void make_users(struct redis *r)
{
	redis_do(r, "ACL SETUSER nobody on >secret -@all +ping");
	redis_do(r, "ACL SETUSER reader on >secret ~ff:* -@all +get +ping");
	redis_do(r, "ACL SETUSER all on >secret ~ff:* -@all +get +set +unlink "
		    "+scan +ping");
	/* Of one farm of several. */
	redis_do(
	    r, "ACL SETUSER one on >secret ~ff:one:* -@all +get +set +ping");
	redis_do(r, "SET ff:a value");
}

TEST(test_users, struct farm_world *w)
{
	static char nobody[] = "nobody", reader[] = "reader", all[] = "all";
	static char one[] = "one";
	struct redis *r = server(NULL);

	make_users(r);
	farm_url(w, redis_url(r));
	w->farm.password_file = secret_file("secret");
	w->farm.user = nobody;
	farm_begin(w);
	farm_until_error(w, "its user lacks rights");
	assert_int_equal(farm_state(w), ENGINE_REFUSES);
	w->farm.user = reader;
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_has(w, "ff:a", "value"));
	assert_true(farm_put(w, "ff:a", "other"));
	farm_until(w, is_rejected, w);
	farm_until_error(w, "may not SET");
	assert_true(farm_has(w, "ff:a", "value"));
	/* A mark that is refused tells as much, and is not counted. */
	redis_do(r, "CLIENT KILL TYPE normal SKIPME yes");
	farm_until_state(w, ENGINE_DOWN);
	farm_until_state(w, ENGINE_UP);
	farm_mark(w, "ff:b", "mark");
	farm_until_error(w, "may not SET");
	assert_int_equal(farm_status(w).rejected_puts, 1);
	w->farm.user = all;
	redis_do(r, "CLIENT KILL TYPE normal SKIPME yes");
	farm_until_state(w, ENGINE_DOWN);
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_put(w, "ff:a", "other"));
	assert_true(farm_has(w, "ff:a", "other"));
	assert_string_equal(farm_status(w).error, "");
	w->farm.user = one;
	redis_do(r, "CLIENT KILL TYPE normal SKIPME yes");
	farm_until_state(w, ENGINE_DOWN);
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_put(w, "ff:one:a", "mine"));
	assert_true(farm_has(w, "ff:one:a", "mine"));
	assert_false(farm_has(w, "ff:a", "other"));
	farm_until_error(w, "its user lacks rights");
}

TEST(test_commands_missing, struct farm_world *w)
{
	static const char *const options[] = {
	    "--rename-command", "SET", "XSET", NULL};
	struct redis *r = server(options);

	farm_url(w, redis_url(r));
	farm_begin(w);
	farm_until_error(w, "it lacks the command SET");
}

/* ---- full, hung, gone -------------------------------------------------- */

TEST(test_full, struct farm_world *w)
{
	static const char *const options[] = {
	    "--maxmemory", "3mb", "--maxmemory-policy", "noeviction", NULL};
	struct redis *r = server(options);
	struct engine_key key = farm_key("large");
	FREED char *value = calloc(1, 4 << 20);

	open_up(w, redis_url(r));
	assert_true(farm_put(w, "key", "value"));
	assert_true(farm_has(w, "key", "value"));
	assert_true(engine_put(w->engine, &key, value, 4 << 20, 0));
	farm_until_state(w, ENGINE_FULL);
	farm_until_error(w, "allkeys-lru");
	assert_false(farm_put(w, "other", "value"));
	assert_true(farm_has(w, "key", "value"));
	redis_do(r, "CONFIG SET maxmemory 100mb");
	while (!farm_put(w, "other", "value"))
		event_base_loop(w->base, EVLOOP_NONBLOCK);
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_has(w, "other", "value"));
}

static bool is_slow(void *arg)
{
	struct farm_world *w = arg;
	struct question *q = malloc(sizeof(*q));
	bool asked = farm_ask(w, q, "key", 2 * MS);

	if (asked)
		farm_until_answered(w, q);
	free(q);
	return farm_state(w) == ENGINE_SLOW;
}

/* Asked all the time while it hangs: few questions wait for their deadline. On
 * a busy machine they are fewer, since the engine is slow after a time of
 * silence; but never after a single one. */
TEST(test_hang, struct farm_world *w)
{
	struct redis *r = server(NULL);
	struct engine_status before;

	open_up(w, redis_url(r));
	assert_true(farm_put(w, "key", "value"));
	assert_true(farm_has(w, "key", "value"));
	before = farm_status(w);
	redis_stop(r);
	farm_until(w, is_slow, w);
	assert_in_range(farm_status(w).timeouts - before.timeouts, 2, 8);
	assert_false(engine_is_up(w->engine));
	redis_continue(r);
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_has(w, "key", "value"));
	assert_int_equal(farm_status(w).reconnects, before.reconnects);
}

TEST(test_kill_and_restart, struct farm_world *w)
{
	struct redis *r = server(NULL);
	struct question q;

	open_up(w, redis_url(r));
	redis_stop(r);
	assert_true(farm_ask(w, &q, "key", 30 * S));
	redis_kill(r);
	farm_until_state(w, ENGINE_DOWN);
	assert_int_equal(q.answers, 1);
	assert_null(q.value);
	assert_false(farm_ask(w, &q, "key", S));
	assert_false(farm_put(w, "key", "value"));
	redis_restart(r);
	farm_until_state(w, ENGINE_UP);
	assert_true(farm_put(w, "key", "value"));
	assert_true(farm_has(w, "key", "value"));
}

TEST(test_replica, struct farm_world *w)
{
	struct redis *master = server(NULL), *replica = server(NULL);

	redis_do(replica, "REPLICAOF 127.0.0.1 %d", redis_port(master));
	open_up(w, redis_url(replica));
	assert_true(farm_put(w, "key", "value"));
	farm_until_state(w, ENGINE_FULL);
	farm_until_error(w, "it is a replica");
	assert_false(farm_has(w, "key", "value"));
	redis_do(replica, "CONFIG SET replica-serve-stale-data no");
	redis_kill(master);
	while (farm_state(w) != ENGINE_DOWN)
		(void)farm_has(w, "key", "value");
	farm_until_error(w, "lost its master");
	redis_do(replica, "REPLICAOF NO ONE");
	farm_until_state(w, ENGINE_UP);
}

/* ---- removal ----------------------------------------------------------- */

TEST(test_flush, struct farm_world *w)
{
	struct redis *r = server(NULL);
	struct flushed f = {0};

	for (int i = 0; i < 3000; i++) {
		redis_do(r, "SET ff:mine:%d x", i);
		redis_do(r, "SET other:%d x", i);
	}
	open_up(w, redis_url(r));
	assert_true(farm_flush(w, "ff:mine:", &f));
	farm_until_flushed(w, &f);
	assert_string_equal(f.error, "");
	assert_int_equal(f.removed, 3000);
	assert_int_equal(redis_number(r, "DBSIZE"), 3000);
}

int main(void)
{
	return redis_installed() ? unittest_run(NULL, NULL) : 0;
}
