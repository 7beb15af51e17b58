/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache in a directory of its own, and files whose bytes are known: they
 * follow from the file's number, its version and the offset.
 */
#ifndef FOREFETCH_DATACACHE_FIXTURE_H
#define FOREFETCH_DATACACHE_FIXTURE_H

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "datacache/datacache.h"
#include "datacache/datacache_layout.h"
#include "nfsproto/rbuf.h"

enum { KIB = 1024, MIB = 1 << 20, FIRM = DATACACHE_FIRM };

struct fixture {
	char dir[64];
	struct event_base *base;
	struct iopool *pool;
	struct rbuf_pool *bufs;
	struct datacache *dc;
	uint64_t size;
	uint64_t most_disk; /* that was seen */
	unsigned woken;
	bool gathers; /* writes wait for more */
};

static inline uint64_t pattern_word(
    uint64_t file, uint64_t version, uint64_t at)
{
	uint64_t x = file * 0x9e3779b97f4a7c15u +
		     version * 0xd6e8feb86659fd93u + at * 0xca5a826395121157u;

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 29;
}

static inline unsigned char pattern_byte(
    uint64_t file, uint64_t version, uint64_t at)
{
	return (
	    unsigned char)(pattern_word(file, version, at / 8) >> at % 8 * 8);
}

static inline void pattern_fill(
    unsigned char *to, uint64_t file, uint64_t version, uint64_t at, size_t len)
{
	size_t i = 0;

	while (i < len && (at + i) % 8 != 0) {
		to[i] = pattern_byte(file, version, at + i);
		i++;
	}
	for (; i + 8 <= len; i += 8) {
		uint64_t word =
		    htole64(pattern_word(file, version, (at + i) / 8));

		memcpy(to + i, &word, 8);
	}
	for (; i < len; i++)
		to[i] = pattern_byte(file, version, at + i);
}

static inline struct data_key key_of(uint64_t file)
{
	return (struct data_key){
	    {pattern_word(file, 77, 1), pattern_word(file, 78, 2)}};
}

static inline struct data_version version_of(uint64_t version)
{
	return (struct data_version){
	    .fsid = 1, .size = UINT64_C(1) << 40, .mtime_s = (uint32_t)version};
}

static inline void fixture_open(struct fixture *fx)
{
	struct datacache_params p = {.dir = fx->dir,
	    .server = "nas",
	    .size_bytes = fx->size,
	    .iopool = fx->pool,
	    .gathers = fx->gathers};
	char err[256];

	fx->dc = datacache_load(&p, err, sizeof(err));
	if (!fx->dc)
		fail_msg("%s", err);
	datacache_begin(fx->dc);
}

static inline void fixture_close(struct fixture *fx)
{
	datacache_close(fx->dc);
	fx->dc = NULL;
}

static inline void fixture_reopen(struct fixture *fx)
{
	fixture_close(fx);
	fixture_open(fx);
}

/* The loop, the pool and the buffers; no cache yet. */
static inline void fixture_prepare(struct fixture *fx, uint64_t size)
{
	memset(fx, 0, sizeof(*fx));
	snprintf(fx->dir, sizeof(fx->dir), "/tmp/ff-datacache-XXXXXX");
	assert_non_null(mkdtemp(fx->dir));
	fx->base = event_base_new();
	fx->pool = iopool_new(fx->base, 2);
	fx->bufs = rbuf_pool_new(0, 8);
	fx->size = size;
	assert_true(fx->base && fx->pool && fx->bufs);
}

static inline void fixture_begin(struct fixture *fx, uint64_t size)
{
	fixture_prepare(fx, size);
	fixture_open(fx);
}

static inline void path_of(
    const struct fixture *fx, const char *name, char path[384])
{
	snprintf(path, 384, "%s/%s", fx->dir, name);
}

/* Calls `each` with every file whose name ends so. */
static inline unsigned each_file(const struct fixture *fx, const char *end,
    void (*each)(const char *path, void *arg), void *arg)
{
	DIR *dir = opendir(fx->dir);
	struct dirent *de;
	char path[384];
	unsigned n = 0;

	assert_non_null(dir);
	while ((de = readdir(dir))) {
		size_t len = strlen(de->d_name), tail = strlen(end);

		if (de->d_name[0] == '.' || len < tail ||
		    strcmp(de->d_name + len - tail, end) != 0)
			continue;
		path_of(fx, de->d_name, path);
		n++;
		if (each)
			each(path, arg);
	}
	closedir(dir);
	return n;
}

static inline void unlink_one(const char *path, void *arg)
{
	(void)arg;
	unlink(path);
}

static inline void fixture_end(struct fixture *fx)
{
	fixture_close(fx);
	iopool_free(fx->pool);
	rbuf_pool_free(fx->bufs);
	event_base_free(fx->base);
	each_file(fx, "", unlink_one, NULL);
	assert_int_equal(rmdir(fx->dir), 0);
}

static inline void fixture_of_16m(struct fixture *fx)
{
	fixture_begin(fx, 16 * MIB);
}

static inline void fixture_of_64m(struct fixture *fx)
{
	fixture_begin(fx, 64 * MIB);
}

/* It is there until the test is over. */
static inline struct fixture *fixture_new(uint64_t size)
{
	struct fixture *fx = AFTER(free, calloc(1, sizeof(*fx)));

	assert_non_null(fx);
	fixture_begin(fx, size);
	return AFTER(fixture_end, fx);
}

static inline struct datacache_stats stats_of(struct fixture *fx)
{
	struct datacache_stats st;

	datacache_get_stats(fx->dc, &st);
	if (st.disk_bytes > fx->most_disk)
		fx->most_disk = st.disk_bytes;
	return st;
}

static inline void add_of(struct fixture *fx, uint64_t file, uint64_t version,
    uint64_t offset, uint32_t len, unsigned flags, uint64_t sent_us,
    uint64_t again_us)
{
	struct rbuf *b = rbuf_get(fx->bufs, len);
	struct data_version v = version_of(version);
	struct datacache_add add = {.key = key_of(file),
	    .version = &v,
	    .offset = offset,
	    .data = b->data,
	    .len = len,
	    .hold = b,
	    .flags = flags,
	    .sent_us = sent_us,
	    .again_us = again_us};

	pattern_fill(b->data, file, version, offset, len);
	datacache_add(fx->dc, &add);
	rbuf_unref(b);
}

static inline void add_sent(struct fixture *fx, uint64_t file, uint64_t version,
    uint64_t offset, uint32_t len, unsigned flags, uint64_t sent_us)
{
	add_of(fx, file, version, offset, len, flags, sent_us, 0);
}

static inline void add_some(struct fixture *fx, uint64_t file, uint64_t version,
    uint64_t offset, uint32_t len, unsigned flags)
{
	add_sent(fx, file, version, offset, len, flags, 0);
}

static inline void on_ready(struct datacache_waiter *w)
{
	assert_null(w->request);
	w->on_ready = NULL;
}

/* Returns the verdict of datacache_find() at once; where it is a hit, the bytes
 * must be right. */
static inline enum datacache_found find_now(struct fixture *fx, uint64_t file,
    uint64_t version, uint64_t offset, uint32_t len, uint64_t valid_us,
    struct datacache_waiter *w)
{
	struct data_version v = version_of(version);
	struct datacache_read rd = {.key = key_of(file),
	    .version = &v,
	    .offset = offset,
	    .len = len,
	    .valid_us = valid_us};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	enum datacache_found found;
	uint64_t at = offset;
	unsigned n;

	found = datacache_find(fx->dc, &rd, pieces, &n, w);
	if (found != DATACACHE_HIT)
		return found;
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *data = pieces[i].data;

		assert_true(pieces[i].hold->refs > 0);
		for (uint32_t k = 0; k < pieces[i].len; k++, at++)
			if (data[k] != pattern_byte(file, version, at))
				fail_msg("wrong byte of file %d at %d",
				    (int)file, (int)at);
	}
	assert_int_equal(at, offset + len);
	return found;
}

/* Waits where it is to be waited; whether it is a hit in the end. */
static inline bool find_at(struct fixture *fx, uint64_t file, uint64_t version,
    uint64_t offset, uint32_t len, uint64_t valid_us)
{
	struct datacache_waiter w = {.on_ready = on_ready};
	enum datacache_found found =
	    find_now(fx, file, version, offset, len, valid_us, &w);

	while (found == DATACACHE_WAIT) {
		iopool_drain(fx->pool);
		assert_null(w.on_ready);
		w.on_ready = on_ready;
		found = find_now(fx, file, version, offset, len, valid_us, &w);
	}
	return found == DATACACHE_HIT;
}

static inline bool find_some(struct fixture *fx, uint64_t file,
    uint64_t version, uint64_t offset, uint32_t len)
{
	return find_at(fx, file, version, offset, len, 0);
}

/* One extent of each of `files` files, the first of them number 0. */
static inline void add_files(struct fixture *fx, unsigned files, uint32_t len)
{
	for (unsigned i = 0; i < files; i++)
		add_some(fx, i, 1, 0, len, FIRM);
	iopool_drain(fx->pool);
}

/* How many of them are found. */
/* A job that keeps one thread of the pool until a byte comes. */
struct block {
	struct iopool_job job;
	int fds[2];
};

static inline void block_run(struct iopool_job *job)
{
	struct block *b = (struct block *)job;
	char byte;

	assert_int_equal(read(b->fds[0], &byte, 1), 1);
}

static inline void block_done(struct iopool_job *job)
{
	(void)job;
}

static inline void block_begin(struct fixture *fx, struct block *b, bool slow)
{
	b->job = (struct iopool_job){
	    .slow = slow, .run = block_run, .done = block_done};
	assert_int_equal(pipe(b->fds), 0);
	iopool_submit(fx->pool, &b->job);
}

static inline void block_release(const struct block *b)
{
	assert_int_equal(write(b->fds[1], "x", 1), 1);
}

/* Closes its pipe. The job must be done: the test drains the pool before. */
static inline void block_end(const struct block *b)
{
	close(b->fds[0]);
	close(b->fds[1]);
}

static inline unsigned count_files(
    struct fixture *fx, unsigned files, uint32_t len)
{
	unsigned n = 0;

	for (unsigned i = 0; i < files; i++)
		n += find_some(fx, i, 1, 0, len);
	return n;
}

#endif
