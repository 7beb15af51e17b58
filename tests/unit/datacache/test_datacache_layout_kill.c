/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data laid out in the order of its use, when the daemon is killed in the
 * middle, segments are lost or damaged, or data was not compared yet.
 */
#include <signal.h>
#include <sys/wait.h>

#include "datacache/layout_fixture.h"

/* ---- kills and damage ------------------------------------------------- */

static void child_lays(struct fixture *fx, unsigned steps)
{
	/* Not the parent's threads. */
	fx->base = event_base_new();
	fx->pool = iopool_new(fx->base, 2);
	fixture_open(fx);
	if (use(fx) != N || datacache_layout_begin(fx->dc, true) != 0)
		_exit(1);
	for (unsigned i = 0; i < steps; i++)
		pass_step(fx, 4 * LEN);
	(void)datacache_layout_step(fx->dc, 4 * LEN);
	kill(getpid(), SIGKILL);
}

/* Killed at any step, nothing is lost, and what is dropped later is gone. */
TEST(test_kill)
{
	for (unsigned steps = 2; steps < 60; steps += 3) {
		ENDS_BY(fixture_end) struct fixture fx;
		int status;
		pid_t pid;

		(void)state;
		fixture_begin(&fx, 64 * MIB);
		fill(&fx, 0, N);
		fixture_close(&fx);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child_lays(&fx, steps);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		fixture_open(&fx);
		assert_int_equal(stats_of(&fx).live_bytes, N * LEN);
		for (unsigned i = 0; i < N; i += 2)
			drop(&fx, i);
		iopool_drain(fx.pool);
		(void)use(&fx);
		(void)pass(&fx, true);
		fixture_reopen(&fx);
		for (unsigned i = 0; i < N; i++)
			assert_int_equal(
			    find_some(&fx, i, 1, 0, LEN), i % 2 == 1);
	}
}

struct copies {
	unsigned n;
	char path[32][384];
	char *data[32];
	long len[32];
};

static void keep_copy(const char *path, void *arg)
{
	struct copies *c = arg;
	FILE *f = fopen(path, "r");

	assert_true(f && c->n < 32);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	c->len[c->n] = ftell(f);
	rewind(f);
	c->data[c->n] = malloc((size_t)c->len[c->n]);
	assert_int_equal(
	    fread(c->data[c->n], 1, (size_t)c->len[c->n], f), c->len[c->n]);
	fclose(f);
	snprintf(c->path[c->n++], 384, "%s", path);
}

static void put_back(struct copies *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		FILE *f = fopen(c->path[i], "w");

		assert_non_null(f);
		assert_int_equal(
		    fwrite(c->data[i], 1, (size_t)c->len[i], f), c->len[i]);
		assert_int_equal(fclose(f), 0);
	}
}

static void free_copies(struct copies *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->data[i]);
}

static void unlink_newer(const char *path, void *arg)
{
	const struct copies *c = arg;

	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(path, c->path[i]) == 0)
			return;
	unlink(path);
}

/* Half of what lies in each segment is laid out, then dropped, and the segments
 * that it was moved to go, with all that they know: it must not come back from
 * where it was. `torn`: killed before the old entries were forgotten. */
static void dropped(bool torn)
{
	struct fixture *fx = fixture_new(64 * MIB);
	struct copies c = {0};

	fill(fx, 0, N);
	fixture_reopen(fx);
	for (unsigned i = 0; i < N; i++)
		if (nth(i) % 2)
			assert_true(find_some(fx, nth(i), 1, 0, LEN));
	each_file(fx, ".idx", keep_copy, &c);
	assert_int_equal(pass(fx, true).layout_moved_bytes, N / 2 * LEN);
	if (torn) {
		fixture_close(fx);
		put_back(&c);
		fixture_open(fx);
	}
	assert_int_equal(stats_of(fx).live_bytes, N * LEN);
	for (unsigned i = 1; i < N; i += 2)
		drop(fx, i);
	fixture_close(fx);
	assert_true(each_file(fx, ".idx", unlink_newer, &c) > c.n);
	free_copies(&c);
	fixture_open(fx);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(has(fx, i), i % 2 == 0);
}

TEST(test_dropped)
{
	dropped(false);
}

TEST(test_doubles)
{
	dropped(true);
}

static void flip(const char *path, void *arg)
{
	FILE *f = fopen(path, "r+");
	long at = *(const long *)arg;
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	if (c != EOF) {
		assert_int_equal(fseek(f, at, SEEK_SET), 0);
		assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	}
	fclose(f);
}

/* A pass never gives a new checksum to an extent that does not match its old
 * one. */
TEST(test_damaged)
{
	ENDS_BY(fixture_end) struct fixture fx;
	long payload = 5 * LEN + 17, entry = 9 * 72 + 30;

	begin_used(&fx);
	each_file(&fx, ".seg", flip, &payload);
	each_file(&fx, ".idx", flip, &entry);
	(void)pass(&fx, true);
	fixture_reopen(&fx);
	assert_true(use(&fx) >= N - 8);
	assert_true(use(&fx) < N);
}

/* ---- not compared yet ------------------------------------------------- */

static void flip_on_file(const char *path, void *arg)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	(void)arg;
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, 100), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
	close(fd);
}

static struct fixture torn;
static enum datacache_found torn_found;

static void torn_on_ready(struct datacache_waiter *w)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(1), .version = &v, .len = LEN};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;

	(void)w;
	torn_found = datacache_find(torn.dc, &rd, pieces, &n, NULL);
}

/* A read waits for its data to be compared when a pass begins: what is
 * damaged is not moved on as if it were good. */
TEST(test_unverified)
{
	struct datacache_waiter w = {.on_ready = torn_on_ready};
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(1), .version = &v, .len = LEN};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;

	torn_found = DATACACHE_HIT;
	fixture_begin(&torn, 64 * MIB);
	add_some(&torn, 1, 1, 0, LEN, FIRM);
	iopool_drain(torn.pool);
	fixture_close(&torn);
	each_file(&torn, ".seg", flip_on_file, NULL);
	fixture_open(&torn);
	assert_int_equal(
	    datacache_find(torn.dc, &rd, pieces, &n, &w), DATACACHE_WAIT);
	assert_int_equal(datacache_layout_begin(torn.dc, true), 0);
	/* It is planned while the disk is read. */
	for (unsigned i = 0; i < 6; i++)
		(void)datacache_layout_step(torn.dc, MIB);
	iopool_drain(torn.pool);
	assert_int_equal(torn_found, DATACACHE_MISS);
	fixture_end(&torn);
}
