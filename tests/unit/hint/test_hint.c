/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints to wants: names, then bytes, in their order; what is passed, cancelled
 * and left behind; and what bounds them. */
#include <errno.h>
#include <time.h>
#include "unittest.h"

#include <event2/event.h>

#include "cache/caches.h"
#include "hint/hint_fixture.h"

enum { BYTES = 1000 };

static uint64_t now_ms = 1000000;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(now_ms / 1000);
	ts->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

static void turn(struct hint_world *w)
{
	event_base_loop(w->base, EVLOOP_NONBLOCK);
}

static void add(
    struct hint_stream *s, uint64_t seq, const char *path, uint64_t offset)
{
	struct hint h = {
	    .seq = seq, .path = path, .offset = offset, .length = BYTES};

	assert_int_equal(hint_add(s, &h), 0);
}

/* So many files in the root, known: "f0" and so on. */
static void make_files(struct hint_world *w, int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		hint_world_tell(w, "root", name, name, 1 << 20);
	}
}

/* It is there until the test is over. */
static struct hint_stream *stream(struct hint_world *w, const char *path)
{
	return AFTER(hint_end, hint_world_stream(w, path));
}

static struct hint_stream *add_files(
    struct hint_world *w, struct hint_stream *s, int n)
{
	char name[16];

	assert_non_null(s);
	make_files(w, n);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		add(s, (uint64_t)i + 1, name, 0);
	}
	turn(w);
	return s;
}

/* The next want is for bytes of that file; it is done. */
static void expect_bytes(
    struct hint_world *w, const char *fh, uint64_t offset, uint32_t count)
{
	struct want *want = queue_next(w->pf.queue);

	assert_non_null(want);
	assert_null(want->wish.name);
	assert_true(want->wish.object == hint_world_key(fh));
	assert_true(want->wish.offset == offset);
	assert_int_equal(want->wish.count, count);
	want_drop(want);
	turn(w);
}

static void expect_name(struct hint_world *w, const char *dir, const char *name)
{
	struct want *want = queue_next(w->pf.queue);

	assert_non_null(want);
	assert_int_equal(want->wish.name_len, strlen(name));
	assert_memory_equal(want->wish.name, name, strlen(name));
	assert_true(want->wish.parent == hint_world_key(dir));
	want_drop(want);
	turn(w);
}

static void read_at(
    struct hint_world *w, uint64_t uid, const char *fh, uint64_t offset)
{
	struct predictor_obs obs = {.kind = PREDICTOR_READ,
	    .uid = uid,
	    .object = hint_world_key(fh),
	    .offset_bytes = offset,
	    .count_bytes = BYTES};

	(void)hints_seen(w->hints, &obs);
	turn(w);
}

static struct hint_progress told(struct hint_stream *s)
{
	struct hint_progress p;

	hint_get_progress(s, &p);
	return p;
}

FIXTURE(struct hint_world, hint_world_open, hint_world_close);

/* ---- the way to the bytes --------------------------------------------- */

TEST(test_names, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "a");

	add(s, 1, "b/c", 8192);
	turn(w);
	hint_world_tell(w, "root", "a", "A", UINT64_MAX);
	expect_name(w, "root", "a");
	hint_world_tell(w, "A", "b", "B", UINT64_MAX);
	expect_name(w, "A", "b");
	hint_world_tell(w, "B", "c", "C", 100000);
	expect_name(w, "B", "c");
	expect_bytes(w, "C", 8192, BYTES);
	assert_int_equal(told(s).waiting, 0);
	assert_int_equal(told(s).ahead, 1);
}

/* A stream does not ask a second time for a name whose LOOKUP was answered
 * without a file. */
TEST(test_no_answer, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");

	add(s, 1, "refused", 0);
	add(s, 2, "absent", 0);
	turn(w);
	expect_name(w, "root", "refused");
	hint_world_tell(w, "root", "absent", NULL, 0);
	expect_name(w, "root", "absent");
	assert_null(queue_next(w->pf.queue));
	assert_int_equal(told(s).failed, 2);
}

/* A stream asks again where its want was given up before anybody was asked. */
TEST(test_given_up, struct hint_world *w)
{
	struct want *want;

	add_files(w, stream(w, ""), 1);
	want = queue_next(w->pf.queue);
	want_give_up(want);
	turn(w);
	expect_bytes(w, "f0", 0, BYTES);
	assert_null(queue_next(w->pf.queue));
}

TEST(test_order, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, stream(w, ""), 40);
	char name[16];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		expect_bytes(w, name, 0, BYTES);
	}
	assert_int_equal(told(s).ahead, 40);
}

/* The later ones are nearer by then, and go behind those that wait all the
 * same. */
TEST(test_order_while_reading, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, stream(w, ""), 60);
	char name[16];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		expect_bytes(w, name, 0, BYTES);
	}
	read_at(w, HINT_WORLD_UID, "f11", 0);
	assert_int_equal(told(s).passed, 11);
	for (int i = 12; i < 60; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		expect_bytes(w, name, 0, BYTES);
	}
}

/* All of a file, by chunks; its size was not known when the hint came. */
TEST(test_whole_file, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");
	struct hint h = {.seq = 1, .path = "f"};

	assert_int_equal(hint_add(s, &h), 0);
	turn(w);
	hint_world_tell(w, "root", "f", "F", 40000);
	expect_name(w, "root", "f");
	expect_bytes(w, "F", 0, 16384);
	expect_bytes(w, "F", 16384, 16384);
	expect_bytes(w, "F", 32768, 40000 - 32768);
	assert_null(queue_next(w->pf.queue));
	assert_int_equal(told(s).ahead, 1);
}

/* ---- the reader ------------------------------------------------------- */

TEST(test_reader, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, stream(w, ""), 40);

	read_at(w, 1001, "f5", 0);
	read_at(
	    w, HINT_WORLD_UID, "f5", 4096); /* of that file, but not there */
	assert_int_equal(told(s).used, 0);
	read_at(w, HINT_WORLD_UID, "f5", 999);
	assert_int_equal(told(s).used, 1);
	assert_int_equal(told(s).reached, 6);
	assert_int_equal(told(s).passed, 5);
	/* Back again: it is gone, and nothing happens. */
	read_at(w, HINT_WORLD_UID, "f2", 0);
	assert_int_equal(told(s).used, 1);
	/* A stream does not ask for places that its reader has passed. */
	expect_bytes(w, "f5", 0, BYTES);
	read_at(w, HINT_WORLD_UID, "f6", 0);
	expect_bytes(w, "f7", 0, BYTES);
}

/* One read far ahead may be readahead of the client; two are not. */
TEST(test_far, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, stream(w, ""), 48);

	read_at(w, HINT_WORLD_UID, "f30", 0);
	read_at(w, HINT_WORLD_UID, "f47", 0);
	assert_int_equal(told(s).used, 2);
	assert_int_equal(told(s).passed, 0);
	read_at(w, HINT_WORLD_UID, "f1", 0);
	assert_int_equal(told(s).passed, 1);
	read_at(w, HINT_WORLD_UID, "f31", 0);
	assert_int_equal(told(s).passed, 1);
	read_at(w, HINT_WORLD_UID, "f32", 0);
	assert_int_equal(told(s).reached, 33);
}

/* The reader is there before it is known where that is. */
TEST(test_reader_first, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");

	add(s, 1, "a", 0);
	add(s, 2, "b", 0);
	add(s, 3, "c", 0);
	turn(w);
	read_at(w, HINT_WORLD_UID, "B", 0);
	hint_world_tell(w, "root", "a", "A", 5000);
	hint_world_tell(w, "root", "b", "B", 5000);
	hint_world_tell(w, "root", "c", "C", 5000);
	expect_name(w, "root", "a");
	expect_name(w, "root", "b");
	assert_int_equal(told(s).reached, 2);
	assert_int_equal(told(s).passed, 1);
	expect_name(w, "root", "c");
	expect_bytes(w, "C", 0, BYTES);
	assert_null(queue_next(w->pf.queue));
}

/* Of a file that is hinted as a whole, what is behind the reader. */
TEST(test_reader_inside, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");
	struct hint h = {.seq = 1, .path = "f0"};

	make_files(w, 1);
	assert_int_equal(hint_add(s, &h), 0);
	turn(w);
	read_at(w, HINT_WORLD_UID, "f0", 0);
	expect_bytes(w, "f0", 0, 16384);
	for (uint64_t at = BYTES; at < 40000; at += BYTES)
		read_at(w, HINT_WORLD_UID, "f0", at);
	expect_bytes(w, "f0", 33000, 16384);
}

/* One READ may be as long as many hints. */
TEST(test_long_reads, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");
	struct predictor_obs obs = {.kind = PREDICTOR_READ,
	    .uid = HINT_WORLD_UID,
	    .object = hint_world_key("f0"),
	    .count_bytes = 100 * BYTES};

	make_files(w, 1);
	for (uint64_t i = 0; i < 200; i++)
		add(s, i + 1, "f0", i * BYTES);
	turn(w);
	for (; obs.offset_bytes < 200 * BYTES; obs.offset_bytes += 50 * BYTES) {
		(void)hints_seen(w->hints, &obs);
		turn(w);
	}
	for (struct want *want; (want = queue_next(w->pf.queue)) != NULL;
	     turn(w))
		want_drop(want);
	assert_int_equal(told(s).used, 200);
	assert_int_equal(told(s).reached, 200);
}

TEST(test_cancel, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, hint_world_stream(w, ""), 20);
	struct hint again = {.seq = 100, .path = "f0"};

	hint_cancel(s, 15);
	turn(w);
	assert_int_equal(told(s).passed, 15);
	expect_bytes(w, "f15", 0, BYTES);
	hint_cancel(s, 100);
	turn(w);
	assert_null(queue_next(w->pf.queue));
	assert_int_equal(hint_add(s, &again), -EINVAL);
	again.seq++;
	assert_int_equal(hint_add(s, &again), 0);
	hint_end(s);
	assert_int_equal(w->pf.queue->nwants, 0);
}

TEST(test_unused, struct hint_world *w)
{
	struct hint_stream *s = add_files(w, stream(w, ""), 2);

	expect_bytes(w, "f0", 0, BYTES);
	now_ms += 59000;
	turn(w);
	expect_bytes(w, "f1", 0, BYTES);
	assert_int_equal(told(s).unused, 0);
	now_ms += 2000;
	turn(w);
	assert_int_equal(told(s).unused, 1);
	now_ms += 60000;
	turn(w);
	assert_int_equal(told(s).unused, 2);
}

/* One that is longer than what may be ahead is not waited for for ever. */
TEST(test_long, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");
	struct hint h = {.seq = 1, .path = "f"};
	uint64_t at = 0;

	hint_world_tell(w, "root", "f", "F", 2 << 20);
	assert_int_equal(hint_add(s, &h), 0);
	turn(w);
	while (!told(s).full) {
		expect_bytes(w, "F", at, 16384);
		at += 16384;
	}
	expect_bytes(w, "F", at, 16384);
	at += 16384;
	assert_null(queue_next(w->pf.queue));
	assert_in_range(at, 1 << 20, (1 << 20) + 16384);
	now_ms += 61000;
	turn(w);
	expect_bytes(w, "F", at, 16384);
	read_at(w, HINT_WORLD_UID, "F", 0);
	assert_false(told(s).full);
}

/* ---- bounds ----------------------------------------------------------- */

TEST(test_ahead, struct hint_world *w)
{
	struct hint_stream *s = stream(w, "");
	struct want *want;
	struct hint h = {.path = "f0"};
	unsigned n = 0;

	make_files(w, 1);
	for (h.seq = 1; h.seq <= 1000; h.seq++) {
		h.offset = (1000 - h.seq) * 1000;
		h.length = 1000;
		assert_int_equal(hint_add(s, &h), 0);
	}
	turn(w);
	while ((want = queue_next(w->pf.queue)) != NULL) {
		assert_true(want->wish.offset == (999 - n) * 1000);
		want_drop(want);
		turn(w);
		n++;
	}
	/* 1 MiB, of 2024 bytes each. */
	assert_int_equal(n, (1 << 20) / 2024 + 1);
	assert_true(told(s).full);
	assert_int_equal(told(s).waiting, 1000 - n);
	read_at(w, HINT_WORLD_UID, "f0", 999000 - 5000);
	want = queue_next(w->pf.queue);
	assert_non_null(want);
	assert_true(want->wish.offset == (999 - n) * 1000);
}

TEST(test_too_many, struct hint_world *w)
{
	struct hint_stream *s = hint_world_stream(w, ""), *more[8];
	struct hint h = {.path = "f", .offset = 1, .length = 1};
	char path[4000];

	for (h.seq = 1; h.seq <= HINT_ITEMS_MAX; h.seq++)
		assert_int_equal(hint_add(s, &h), 0);
	assert_int_equal(hint_add(s, &h), -EAGAIN);
	assert_int_equal(told(s).accepted, HINT_ITEMS_MAX);
	assert_int_equal(told(s).room, 0);
	hint_end(s);
	memset(path, 'x', sizeof(path));
	for (size_t i = 200; i < sizeof(path); i += 200)
		path[i] = '/';
	path[sizeof(path) - 1] = '\0';
	s = hint_world_stream(w, "");
	h.path = path;
	for (h.seq = 1; hint_add(s, &h) == 0; h.seq++)
		assert_true(h.seq < HINT_TEXT_MAX / sizeof(path) + 2);
	hint_end(s);
	for (int i = 0; i < HINT_STREAMS_UID; i++)
		assert_non_null(more[i] = hint_world_stream(w, ""));
	assert_null(hint_world_stream(w, ""));
	assert_int_equal(errno, EBUSY);
	for (int i = 0; i < HINT_STREAMS_UID; i++)
		hint_end(more[i]);
}

TEST(test_refusals, struct hint_world *w)
{
	static const struct user user = {.uid = 1};

	assert_null(hint_world_stream(w, "../x"));
	assert_int_equal(errno, EINVAL);
	assert_null(hint_begin(w->hints, &user, "/other", ""));
	assert_int_equal(errno, ENOENT);
	w->config.policy.prefetch = CONFIG_PREFETCH_OFF;
	assert_null(hint_world_stream(w, ""));
	assert_int_equal(errno, EOPNOTSUPP);
}
