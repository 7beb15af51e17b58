/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of handles: what one machine's caches know, found by the same keys on
 * another one; and what such nodes are there.
 */
#include "farm/handles.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
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

static uint64_t key_of(const char *text)
{
	nfs3_fh fh = fh_of(text);

	return fh_key(&fh);
}

/* A table of "dir" and "file", which the caches know, and of a key that they
 * do not. */
static struct handles small_table(struct world *w)
{
	uint64_t keys[] = {key_of("dir"), key_of("nobody"), key_of("file")};
	struct handles h = {0};

	say_dir(w);
	say_name(w, "file", "file", NF3REG);
	assert_true(handles_add(&h, w->caches, keys, 3));
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

static void test_there_and_back(void **state)
{
	struct world *w = *state;
	struct caches *other = caches_other(w, 16 << 20);
	struct handles h = small_table(w);
	struct handles_view v;
	struct node *node;

	assert_int_equal(handles_open(&v, h.data, h.len), 0);
	assert_false(handles_take(&v, other, 100));
	assert_false(handles_bad(&v));
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
		struct handles again = {0};

		assert_true(handles_add(&again, other, &key, 1));
		assert_int_equal(again.n, 1);
		handles_clear(&again);
	}
	handles_clear(&h);
	caches_free(other);
}

/* What is known stays as it is. */
static void test_known(void **state)
{
	struct world *w = *state;
	struct handles h = small_table(w);
	struct handles_view v;
	uint64_t sent_us = attrcache_sent(w->caches->attr, node_of(w, "file"));

	assert_int_not_equal(sent_us, 0);
	assert_int_equal(handles_open(&v, h.data, h.len), 0);
	assert_false(handles_take(&v, w->caches, 100));
	assert_int_equal(attrcache_count(w->caches->attr), 2);
	assert_int_equal(
	    attrcache_sent(w->caches->attr, node_of(w, "file")), sent_us);
	handles_clear(&h);
}

static struct handles large_table(struct world *w, uint32_t n)
{
	struct handles h = {0};
	unsigned char fh[FH_LEN];

	for (uint32_t i = 0; i < n; i++) {
		nfs3_fh handle = made(fh, 1000 + i * 3);
		uint64_t key = fh_key(&handle);

		assert_non_null(attrcache_get(w->caches->attr, &handle));
		assert_true(handles_add(&h, w->caches, &key, 1));
	}
	return h;
}

/* What handles have in common is there once. */
static void test_size(void **state)
{
	struct world *w = *state;
	struct caches *other = caches_other(w, 16 << 20);
	struct handles h = large_table(w, MANY);
	struct handles_view v;
	unsigned turns = 0;

	assert_true(h.len < MANY * 12);
	assert_int_equal(handles_open(&v, h.data, h.len), 0);
	while (handles_take(&v, other, 100))
		turns++;
	assert_int_equal(turns, MANY / 100);
	assert_int_equal(attrcache_count(other->attr), MANY);
	handles_clear(&h);
	caches_free(other);
}

/* Cut anywhere, or with any bit flipped: what is read lies inside. */
static void test_damaged(void **state)
{
	struct world *w = *state;
	struct caches *other = caches_other(w, 16 << 20);
	struct handles h = large_table(w, 20);
	struct handles_view v;

	assert_int_equal(handles_open(&v, h.data, 0), -EBADMSG);
	for (size_t cut = 1; cut < h.len; cut++) {
		unsigned char *part = malloc(cut);

		memcpy(part, h.data, cut);
		assert_int_equal(handles_open(&v, part, cut), 0);
		assert_false(handles_take(&v, other, 100));
		free(part);
	}
	assert_true(handles_bad(&v));
	assert_int_equal(attrcache_count(other->attr), 19);
	for (size_t bit = 0; bit < h.len * 8; bit++) {
		h.data[bit / 8] =
		    (unsigned char)(h.data[bit / 8] ^ 1 << bit % 8);
		if (handles_open(&v, h.data, h.len) == 0)
			assert_false(handles_take(&v, other, 100));
		h.data[bit / 8] =
		    (unsigned char)(h.data[bit / 8] ^ 1 << bit % 8);
	}
	h.data[0] = HANDLES_VERSION + 1;
	assert_int_equal(handles_open(&v, h.data, h.len), -EPROTONOSUPPORT);
	handles_clear(&h);
	caches_free(other);
}

/* However many come, a quarter of the memory is for what is learned here. */
static void test_memory(void **state)
{
	struct world *w = *state;
	struct caches *other = caches_other(w, 1 << 20);
	struct handles h = large_table(w, 20000);
	struct handles_view v;

	assert_int_equal(handles_open(&v, h.data, h.len), 0);
	while (handles_take(&v, other, 50))
		;
	assert_true(attrcache_count(other->attr) > 1000);
	assert_true(caches_bytes(other) < (1 << 20));
	handles_clear(&h);
	caches_free(other);
}

static void nothing(void *arg, struct node *node)
{
	(void)arg;
	(void)node;
}

/* They outlast one pass of the clock's hand, and not a second. */
static void test_sweep(void **state)
{
	struct world *w = *state;
	struct caches *other = caches_other(w, 16 << 20);
	struct handles h = small_table(w);
	struct handles_view v;
	size_t buckets = 0, steps;

	assert_int_equal(handles_open(&v, h.data, h.len), 0);
	assert_false(handles_take(&v, other, 100));
	while (attrcache_each(other->attr, buckets, nothing, NULL))
		buckets++;
	steps = buckets;
	assert_null(attrcache_sweep(other->attr, &steps));
	steps = buckets;
	assert_non_null(attrcache_sweep(other->attr, &steps));
	handles_clear(&h);
	caches_free(other);
}

/* The server does not know it: it is forgotten. */
static void test_stale(void **state)
{
	struct world *w = *state;
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_there_and_back),
	    TEST(test_known),
	    TEST(test_size),
	    TEST(test_damaged),
	    TEST(test_memory),
	    TEST(test_sweep),
	    TEST(test_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
