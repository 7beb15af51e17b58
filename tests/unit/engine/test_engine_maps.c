/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cluster whose nodes lie: maps, MOVED and ASK, in virtual time. */
#include "unittest.h"
#include "engine/engine_private.h"
#include "engine/engine_fixture.h"
#include "engine/fake_engine.h"
#include "scenario/vclock.h"

static const char id_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char id_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
static const char id_c[] = "cccccccccccccccccccccccccccccccccccccccc";

/* ---- slots of keys ----------------------------------------------------- */

/* Redis Cluster specification: CRC16("123456789") is 0x31C3. Slots as
 * CLUSTER KEYSLOT of redis-server 7 says. */
TEST(test_slots)
{
	static const struct {
		const char *key;
		unsigned slot;
	} known[] = {{"", 0}, {"foo", 12182}, {"bar", 5061},
	    {"123456789", 0x31c3}, {"{foo}bar", 12182}, {"a{foo}{bar}", 12182},
	    {"foo{}{bar}", 8363}, {"foo{{bar}}zap", 4015}, {"{}", 15257}};

	assert_int_equal(crc16("123456789", 9), 0x31c3);
	for (size_t i = 0; i < LENGTH(known); i++)
		assert_int_equal(crc16_slot(known[i].key, strlen(known[i].key)),
		    known[i].slot);
	assert_int_equal(crc16_slot("foo{bar", 7), crc16("foo{bar", 7) & 16383);
}

/* ---- two nodes ----------------------------------------------------------- */

/* Two nodes, of which one is in the configuration and has all slots. */
struct pair {
	struct farm_world w;
	struct fake_engine *a, *b;
	char map_a[256], map_b[256], moved[96];
};

/* Its answers as a node of a cluster whose slots `map` tells. */
static void be_node(struct fake_engine *f, const char *id, const char *map)
{
	static char ids[3][64];
	char *text = ids[id[0] - 'a'];

	(void)snprintf(text, sizeof(ids[0]), "$40\r\n%s\r\n", id);
	fake_say_text(f, "INFO",
	    "$41\r\nredis_version:7.0.15\r\ncluster_enabled:1\r\n\r\n");
	fake_say_text(f, "CLUSTER MYID", text);
	fake_say_text(f, "CLUSTER SLOTS", map);
}

static void write_map(
    char map[256], const struct fake_engine *f, const char *id)
{
	(void)snprintf(map, 256,
	    "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%u\r\n$"
	    "40\r\n"
	    "%s\r\n",
	    fake_port(f), id);
}

static void set_up(struct pair *p)
{
	farm_open(&p->w);
	vclock_start(p->w.base);
	p->a = fake_new(p->w.base);
	p->b = fake_new(p->w.base);
	write_map(p->map_a, p->a, id_a);
	write_map(p->map_b, p->b, id_b);
	be_node(p->a, id_a, p->map_a);
	be_node(p->b, id_b, p->map_a);
	farm_url(&p->w, fake_url(p->a));
}

static void tear_down(struct pair *p)
{
	engine_free(p->w.engine);
	p->w.engine = NULL;
	fake_free(p->a);
	fake_free(p->b);
	farm_close(&p->w);
}

static void begin_up(struct pair *p)
{
	farm_begin(&p->w);
	vclock_pass(100 * MS);
	assert_int_equal(farm_state(&p->w), ENGINE_UP);
	assert_true(farm_status(&p->w).cluster);
}

/* Asks for the key, fails unless just one answer comes, and returns its value,
 * which the test's end frees; NULL: there is none. */
static char *ask(struct pair *p, const char *key)
{
	struct question q;

	assert_true(farm_ask(&p->w, &q, key, 100 * MS));
	vclock_pass(150 * MS);
	assert_int_equal(q.answers, 1);
	return q.value;
}

/* The key has the value that the tests let a node say. */
static void assert_hi(struct pair *p, const char *key)
{
	const char *value = ask(p, key);

	assert_non_null(value);
	assert_string_equal(value, "hi");
}

static void say_redirect(struct pair *p, struct fake_engine *from,
    const char *what, const struct fake_engine *to)
{
	(void)snprintf(p->moved, sizeof(p->moved), "-%s %u 127.0.0.1:%u\r\n",
	    what, crc16_slot("key", 3), fake_port(to));
	fake_say_text(from, "GET", p->moved);
}

static size_t count_nodes(struct pair *p)
{
	return engine_get_nodes(p->w.engine, NULL, 0);
}

FIXTURE(struct pair, set_up, tear_down);

TEST(test_one_node, struct pair *p)
{
	begin_up(p);
	assert_null(ask(p, "key"));
	assert_int_equal(count_nodes(p), 1);
}

/* It is connected to a node for the first time; no question waits meanwhile. */
TEST(test_moved, struct pair *p)
{
	begin_up(p);
	say_redirect(p, p->a, "MOVED", p->b);
	fake_say_text(p->a, "CLUSTER SLOTS", p->map_b);
	fake_say_text(p->b, "CLUSTER SLOTS", p->map_b);
	fake_say_text(p->b, "GET", "$2\r\nhi\r\n");
	assert_null(ask(p, "key"));
	assert_hi(p, "key");
	/* The map was asked for: that holds for all other keys, too. */
	assert_hi(p, "other");
	assert_int_equal(farm_status(&p->w).redirects, 1);
}

/* The map of a node that takes no part does not know yet of a slot that has
 * just moved. That node is not asked, though it is its turn. */
TEST(test_moved_lately, struct pair *p)
{
	struct fake_engine *c = AFTER(fake_free, fake_new(p->w.base));
	char map_c[256];

	write_map(map_c, c, id_c);
	be_node(c, id_c, map_c);
	farm_url(&p->w, fake_url(p->b));
	begin_up(p);
	fake_say_text(c, "GET", "$2\r\nhi\r\n");
	/* The map that the engine asks for every 30 s has come from the first
	 * node, so it is the bystander's turn. */
	vclock_pass(31 * S);
	say_redirect(p, p->a, "MOVED", c);
	fake_say_text(p->a, "CLUSTER SLOTS", map_c);
	assert_null(ask(p, "key"));
	assert_hi(p, "key");
	assert_hi(p, "other");
	assert_int_equal(farm_status(&p->w).redirects, 1);
}

TEST(test_ask, struct pair *p)
{
	begin_up(p);
	say_redirect(p, p->a, "ASK", p->b);
	fake_say_text(p->b, "GET", "$2\r\nhi\r\n");
	assert_null(ask(p, "key"));
	vclock_pass(S);
	for (unsigned i = 1; i < 4; i++) {
		assert_hi(p, "key");
		assert_int_equal(fake_asked(p->b, "ASKING"), i);
	}
}

/* Each says that the other has it. */
TEST(test_circle, struct pair *p)
{
	char to_a[96];
	unsigned before;

	begin_up(p);
	say_redirect(p, p->a, "MOVED", p->b);
	(void)snprintf(to_a, sizeof(to_a), "-MOVED %u 127.0.0.1:%u\r\n",
	    crc16_slot("key", 3), fake_port(p->a));
	fake_say_text(p->b, "GET", to_a);
	assert_null(ask(p, "key"));
	vclock_pass(S);
	before = fake_asked(p->a, "GET") + fake_asked(p->b, "GET");
	assert_null(ask(p, "key"));
	assert_int_equal(
	    fake_asked(p->a, "GET") + fake_asked(p->b, "GET"), before + 4);
}

/* However often it says so, a map is asked for now and then only. */
TEST(test_moved_storm, struct pair *p)
{
	FREED struct question *q = calloc(1000, sizeof(*q));

	begin_up(p);
	say_redirect(p, p->a, "MOVED", p->a);
	for (int i = 0; i < 1000; i++) {
		assert_true(farm_ask(&p->w, &q[i], "key", 100 * MS));
		vclock_pass(MS);
	}
	vclock_pass(S);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(q[i].answers, 1);
	assert_in_range(fake_asked(p->a, "CLUSTER SLOTS"), 5, 30);
}

TEST(test_bad_redirects, struct pair *p)
{
	static const char *const lies[] = {"-MOVED \r\n", "-MOVED x y\r\n",
	    "-MOVED 1\r\n", "-MOVED 16384 127.0.0.1:1\r\n",
	    "-MOVED -1 127.0.0.1:1\r\n", "-MOVED 1 127.0.0.1:0\r\n",
	    "-MOVED 1 127.0.0.1:65536\r\n", "-MOVED 1 a b:1\r\n",
	    "-MOVED 1 :\r\n", "-MOVED 99999999999999999999 a:1\r\n",
	    "-MOVED 1 127.0.0.1\r\n", "-ASK 1 \x01\x02:5\r\n", "-ASK :::\r\n",
	    "-TRYAGAIN Multiple keys\r\n", "-CROSSSLOT Keys\r\n"};

	begin_up(p);
	for (size_t i = 0; i < LENGTH(lies); i++) {
		fake_say_text(p->a, "GET", lies[i]);
		assert_null(ask(p, "key"));
		assert_int_equal(count_nodes(p), 1);
		assert_int_equal(farm_state(&p->w), ENGINE_UP);
	}
}

TEST(test_bad_maps, struct pair *p)
{
	static const char *const lies[] = {"*0\r\n", "+OK\r\n", "*1\r\n*0\r\n",
	    "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
	    "*1\r\n*3\r\n:-1\r\n:4\r\n*2\r\n$1\r\na\r\n:1\r\n",
	    "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
	    "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\na\r\n:0\r\n",
	    "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\n \r\n:1\r\n",
	    "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n*0\r\n:1\r\n",
	    "*1\r\n*3\r\n:0\r\n:5\r\n*1\r\n$1\r\na\r\n", "$-1\r\n",
	    "*1\r\n*2\r\n:0\r\n:5\r\n"};

	for (size_t i = 0; i < LENGTH(lies); i++) {
		fake_say_text(p->a, "CLUSTER SLOTS", lies[i]);
		farm_begin(&p->w);
		vclock_pass(100 * MS);
		assert_int_equal(farm_state(&p->w), ENGINE_DOWN);
		assert_non_null(strstr(farm_status(&p->w).error, "no slots"));
		/* One that is well keeps its map. */
		fake_say_text(p->a, "CLUSTER SLOTS", p->map_a);
		vclock_pass(3 * S);
		assert_int_equal(farm_state(&p->w), ENGINE_UP);
		fake_say_text(p->a, "CLUSTER SLOTS", lies[i]);
		vclock_pass(60 * S);
		assert_null(ask(p, "key"));
		tear_down(p);
		memset(p, 0, sizeof(*p));
		set_up(p);
	}
}

/* A slot each for so many nodes, of which none is there. */
TEST(test_too_many_nodes, struct pair *p)
{
	enum { NODES = 400, SIZE = 80 };
	FREED char *map = malloc(NODES * SIZE + 32);
	size_t len = (size_t)sprintf(map, "*%d\r\n", NODES + 1);

	len += (size_t)sprintf(map + len,
	    "*3\r\n:%d\r\n:16383\r\n*2\r\n$0\r\n\r\n:%u\r\n", NODES,
	    fake_port(p->a));
	for (int i = 0; i < NODES; i++)
		len += (size_t)sprintf(map + len,
		    "*3\r\n:%d\r\n:%d\r\n*2\r\n$9\r\n127.0.0.2\r\n:%d\r\n", i,
		    i, i + 1);
	fake_say(p->a, "CLUSTER SLOTS", map, len);
	begin_up(p);
	assert_in_range(count_nodes(p), 200, 256);
	assert_null(ask(p, "key"));
	/* They go when the map does. */
	fake_say_text(p->a, "CLUSTER SLOTS", p->map_a);
	vclock_pass(200 * S);
	assert_int_equal(count_nodes(p), 1);
	assert_int_equal(farm_state(&p->w), ENGINE_UP);
}

/* Other nodes in each map. */
TEST(test_maps_that_change, struct pair *p)
{
	char map[256];

	begin_up(p);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(map, sizeof(map),
		    "*2\r\n*3\r\n:0\r\n:5\r\n*2\r\n$9\r\n127.0.0.3\r\n:%d\r\n"
		    "*3\r\n:6\r\n:16383\r\n*2\r\n$0\r\n\r\n:%u\r\n",
		    i + 1, fake_port(p->a));
		fake_say_text(p->a, "CLUSTER SLOTS", map);
		vclock_pass(S);
		assert_true(count_nodes(p) < 100);
	}
	assert_null(ask(p, "key"));
	fake_say_text(p->a, "CLUSTER SLOTS", p->map_a);
}

/* Another one answers for it while it is away. */
TEST(test_node_goes, struct pair *p)
{
	farm_url(&p->w, fake_url(p->b));
	begin_up(p);
	fake_say_text(p->b, "GET", "$2\r\nhi\r\n");
	fake_say_text(p->b, "CLUSTER SLOTS", p->map_b);
	fake_hang(p->a, true);
	fake_close_all(p->a);
	vclock_pass(10 * S);
	assert_hi(p, "key");
	/* The engine does not believe for long a node that comes back with an
	 * old map. */
	fake_hang(p->a, false);
	say_redirect(p, p->a, "MOVED", p->b);
	fake_say_text(p->a, "CLUSTER SLOTS", p->map_b);
	vclock_pass(100 * S);
	assert_hi(p, "key");
}

enum { NODES = 7 };

/* Each has its part of the slots, and says so. */
static void held_begin(struct pair *p, struct fake_engine *f[NODES], char *map,
    char ids[NODES][64])
{
	size_t len = (size_t)sprintf(map, "*%d\r\n", NODES);

	p->w.farm.engine.n = 0;
	for (int i = 0; i < NODES; i++) {
		f[i] = i == 0 ? p->a : i == 1 ? p->b : fake_new(p->w.base);
		be_node(f[i], id_a, map);
		(void)snprintf(ids[i], sizeof(ids[i]), "$40\r\n%040d\r\n", i);
		fake_say_text(f[i], "CLUSTER MYID", ids[i]);
		free(p->w.urls[i]);
		p->w.urls[i] = NULL;
		farm_url(&p->w, fake_path_url(f[i]));
		len += (size_t)sprintf(map + len,
		    "*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%u\r\n"
		    "$40\r\n%040d\r\n",
		    16384 * i / NODES, 16384 * (i + 1) / NODES - 1,
		    fake_port(f[i]), i);
	}
	for (int i = 0; i < NODES; i++)
		fake_say(f[i], "CLUSTER SLOTS", map, len);
}

/* Many of them send nearly all of a large value, and then nothing: what is held
 * of that is bounded. */
TEST(test_held, struct pair *p)
{
	enum { PART = 16 << 20 };
	struct fake_engine *f[NODES];
	struct question q[NODES];
	char *map = malloc(4096), *part = malloc(PART), ids[NODES][64];
	unsigned open = 0;

	memset(part, 'x', PART);
	memcpy(part, "$16777216\r\n", 11);
	held_begin(p, f, map, ids);
	begin_up(p);
	vclock_pass(S);
	for (int i = 0; i < NODES; i++) {
		char key[16];
		int k = 0;

		do
			(void)snprintf(key, sizeof(key), "%d", k++);
		while (crc16_slot(key, strlen(key)) * NODES / 16384 !=
		       (unsigned)i);
		fake_say(f[i], "GET", part, PART);
		assert_true(farm_ask(&p->w, &q[i], key, 100 * MS));
	}
	vclock_pass(500 * MS);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(q[i].answers, 1);
		/* Another answer of it may have completed its value. */
		open += fake_open(f[i]);
	}
	assert_in_range(open, 3, 5);
	engine_free(p->w.engine);
	p->w.engine = NULL;
	for (int i = 2; i < NODES; i++)
		fake_free(f[i]);
	free(map);
	free(part);
}
