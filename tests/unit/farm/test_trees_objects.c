/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of handles: what one machine's caches know, found by the same keys on
 * another one; and what such nodes are there. And tables of absent names.
 */
#include "farm/trees_objects.h"

#include <errno.h>

#include "unittest.h"
#include "base/metrics.h"
#include "base/namemap.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "farm/farm_private.h"
#include "nfsproto/nfs3_object.h"

enum { MANY = 2000, FH_LEN = 28 };

/* As knfsd makes them: version and file system, then inode and generation. */
static nfs3_fh made(unsigned char fh[FH_LEN], uint32_t i)
{
	uint32_t gen = i * 2654435761u;

	memset(fh, 0x5a, FH_LEN);
	memcpy(fh + 20, &i, sizeof(i));
	memcpy(fh + 24, &gen, sizeof(gen));
	return (nfs3_fh){.len = FH_LEN, .data = (const char *)fh};
}

/* A table of "dir" and "file", which the caches know, and of a key that they
 * do not. */
static struct bytetable small_table(struct world *w)
{
	uint64_t keys[] = {key_of("dir"), key_of("nobody"), key_of("file")};
	struct bytetable h = {0};

	say_dir(w);
	say_name(w, "file", "file", NF3REG);
	assert_true(trees_add_handles(&h, w->caches, keys, 3));
	assert_int_equal(h.n, 2);
	return h;
}

static struct caches *caches_other(struct world *w, size_t memory_bytes)
{
	struct caches *c =
	    caches_new(&w->config, w->metrics, memory_bytes, NULL);

	assert_non_null(c);
	return c;
}

FIXTURE(struct world, set_up, tear_down);

TEST(test_there_and_back, struct world *w)
{
	struct caches *other = AFTER(caches_free, caches_other(w, 16 << 20));
	ENDS_BY(bytetable_clear) struct bytetable h = small_table(w);
	struct bytetable_view v;
	struct node *node;

	assert_int_equal(bytetable_open(&v, h.data, h.len), 0);
	assert_false(trees_take_handles(&v, other, 100));
	assert_false(bytetable_bad(&v));
	assert_int_equal(attrcache_count(other->attr), 2);
	node = attrcache_by_key(other->attr, key_of("file"));
	assert_non_null(node);
	assert_int_equal(node->fh_len, 4);
	assert_memory_equal(node->fh, "file", 4);
	/* Nothing is known of it, and nobody is granted anything. */
	assert_false(node->flags & NODE_ATTRS);
	assert_int_equal(attrcache_sent(other->attr, node), 0);
	assert_int_equal(node->grants, 0);
	assert_non_null(attrcache_by_key(other->attr, key_of("dir")));
	/* It is handed on. */
	{
		uint64_t key = key_of("file");
		ENDS_BY(bytetable_clear) struct bytetable again = {0};

		assert_true(trees_add_handles(&again, other, &key, 1));
		assert_int_equal(again.n, 1);
	}
}

/* Handles from a farm do not change objects that are known already. */
TEST(test_known, struct world *w)
{
	ENDS_BY(bytetable_clear) struct bytetable h = small_table(w);
	struct bytetable_view v;
	uint64_t sent_us = attrcache_sent(w->caches->attr, node_of(w, "file"));

	assert_int_not_equal(sent_us, 0);
	assert_int_equal(bytetable_open(&v, h.data, h.len), 0);
	assert_false(trees_take_handles(&v, w->caches, 100));
	assert_int_equal(attrcache_count(w->caches->attr), 2);
	assert_int_equal(
	    attrcache_sent(w->caches->attr, node_of(w, "file")), sent_us);
}

static struct bytetable large_table(struct world *w, uint32_t n)
{
	struct bytetable h = {0};
	unsigned char fh[FH_LEN];

	for (uint32_t i = 0; i < n; i++) {
		nfs3_fh handle = made(fh, 1000 + i * 3);
		uint64_t key = fh_key(&handle);

		assert_non_null(attrcache_get(w->caches->attr, &handle));
		assert_true(trees_add_handles(&h, w->caches, &key, 1));
	}
	return h;
}

/* The table stores the bytes that handles have in common only once. */
TEST(test_size, struct world *w)
{
	struct caches *other = AFTER(caches_free, caches_other(w, 16 << 20));
	ENDS_BY(bytetable_clear) struct bytetable h = large_table(w, MANY);
	struct bytetable_view v;
	unsigned turns = 0;

	assert_true(h.len < MANY * 12);
	assert_int_equal(bytetable_open(&v, h.data, h.len), 0);
	while (trees_take_handles(&v, other, 100))
		turns++;
	assert_int_equal(turns, MANY / 100);
	assert_int_equal(attrcache_count(other->attr), MANY);
}

/* Cut anywhere, or with any bit flipped: what is read lies inside. */
TEST(test_damaged, struct world *w)
{
	struct caches *other = AFTER(caches_free, caches_other(w, 16 << 20));
	ENDS_BY(bytetable_clear) struct bytetable h = large_table(w, 20);
	struct bytetable_view v;

	assert_int_equal(bytetable_open(&v, h.data, 0), -EBADMSG);
	for (size_t cut = 1; cut < h.len; cut++) {
		FREED unsigned char *part = malloc(cut);

		memcpy(part, h.data, cut);
		assert_int_equal(bytetable_open(&v, part, cut), 0);
		assert_false(trees_take_handles(&v, other, 100));
	}
	assert_true(bytetable_bad(&v));
	assert_int_equal(attrcache_count(other->attr), 19);
	for (size_t bit = 0; bit < h.len * 8; bit++) {
		h.data[bit / 8] =
		    (unsigned char)(h.data[bit / 8] ^ 1 << bit % 8);
		if (bytetable_open(&v, h.data, h.len) == 0)
			assert_false(trees_take_handles(&v, other, 100));
		h.data[bit / 8] =
		    (unsigned char)(h.data[bit / 8] ^ 1 << bit % 8);
	}
	h.data[0] = BYTETABLE_VERSION + 1;
	assert_int_equal(bytetable_open(&v, h.data, h.len), -EPROTONOSUPPORT);
}

/* However many come, a quarter of the memory is for what is learned here. */
TEST(test_memory, struct world *w)
{
	struct caches *other = AFTER(caches_free, caches_other(w, 1 << 20));
	ENDS_BY(bytetable_clear) struct bytetable h = large_table(w, 20000);
	struct bytetable_view v;

	assert_int_equal(bytetable_open(&v, h.data, h.len), 0);
	while (trees_take_handles(&v, other, 50))
		;
	assert_true(attrcache_count(other->attr) > 1000);
	assert_true(caches_bytes(other) < (1 << 20));
}

static void nothing(void *arg, struct node *node)
{
	(void)arg;
	(void)node;
}

/* They outlast one pass of the clock's hand, and not a second. */
TEST(test_sweep, struct world *w)
{
	struct caches *other = AFTER(caches_free, caches_other(w, 16 << 20));
	ENDS_BY(bytetable_clear) struct bytetable h = small_table(w);
	struct bytetable_view v;
	size_t buckets = 0, steps;

	assert_int_equal(bytetable_open(&v, h.data, h.len), 0);
	assert_false(trees_take_handles(&v, other, 100));
	while (attrcache_each(other->attr, buckets, nothing, NULL))
		buckets++;
	steps = buckets;
	assert_null(attrcache_sweep(other->attr, &steps));
	steps = buckets;
	assert_non_null(attrcache_sweep(other->attr, &steps));
}

/* The server does not know it: it is forgotten. */
TEST(test_stale, struct world *w)
{
	nfs3_fh fh = fh_of("gone");
	union nfs_args args = {.access = {.object = fh, .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3ERR_STALE};

	assert_non_null(attrcache_get(w->caches->attr, &fh));
	say(w, NFSPROC3_ACCESS, &args, &res);
	assert_null(attrcache_by_key(w->caches->attr, key_of("gone")));
	assert_non_null(attrcache_get(w->caches->attr, &fh));
	res.status = NFS3ERR_BADHANDLE;
	say(w, NFSPROC3_ACCESS, &args, &res);
	assert_null(attrcache_by_key(w->caches->attr, key_of("gone")));
}

/* ---- names of absences --------------------------------------------------- */

enum { NAMES = 3000 };

/* A hash as observe_absent() might make it. */
static uint64_t hash_of(uint64_t i)
{
	return (i * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static void assert_name(
    const struct namemap *names, uint64_t hash, const char *name)
{
	size_t len;
	const char *got = namemap_get(names, hash, &len);

	assert_non_null(got);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(got, name, len);
}

/* Those that are known go out, and come in, a part at a time. */
TEST(test_names_there_and_back)
{
	struct namemap *here = namemap_new(), *there = namemap_new();
	ENDS_BY(bytetable_clear) struct bytetable t = {0};
	struct bytetable_view v;
	unsigned turns = 0;
	size_t len;

	for (uint64_t i = 1; i <= NAMES; i++) {
		uint64_t hashes[] = {hash_of(i), hash_of(NAMES + i)};

		namemap_put(here, hash_of(i), ".gitignore", 10);
		assert_true(trees_add_names(&t, here, hashes, 2));
	}
	assert_int_equal(t.n, NAMES);
	/* The name, which is the same in all, is there once. */
	assert_true(t.len < NAMES * 12);
	assert_int_equal(bytetable_open(&v, t.data, t.len), 0);
	while (trees_take_names(&v, there, 100))
		turns++;
	assert_int_equal(turns, NAMES / 100);
	assert_false(bytetable_bad(&v));
	for (uint64_t i = 1; i <= NAMES; i++)
		assert_name(there, hash_of(i), ".gitignore");
	assert_null(namemap_get(there, hash_of(NAMES + 1), &len));
	namemap_free(here);
	namemap_free(there);
}

static void add_row(
    struct bytetable *t, const char *name, size_t len, uint64_t h)
{
	unsigned char row[BYTETABLE_ROW_MAX];

	memcpy(row, name, len);
	farm_put_number(row + len, h);
	assert_true(bytetable_add(t, row, len + FARM_NUMBER_BYTES));
}

/* Names that no directory can have are left out, and the good one behind them
 * is not. */
TEST(test_no_names)
{
	struct namemap *names = AFTER(namemap_free, namemap_new());
	ENDS_BY(bytetable_clear) struct bytetable t = {0};
	struct bytetable_view v;
	size_t len;

	add_row(&t, "..", 2, 1);
	add_row(&t, "a/b", 3, 3);
	add_row(&t, "a\0b", 3, 5);
	add_row(&t, "", 0, 7);
	assert_true(bytetable_add(&t, "short", 5));
	add_row(&t, "good", 4, 9);
	assert_int_equal(bytetable_open(&v, t.data, t.len), 0);
	assert_false(trees_take_names(&v, names, 100));
	assert_false(bytetable_bad(&v));
	for (uint64_t h = 1; h < 9; h++)
		assert_null(namemap_get(names, h, &len));
	assert_name(names, 9, "good");
}
