/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches with a million entries: what one of them takes, that the bound of
 * memory holds, and that what is used stays.
 */
#include "datacache_fixture.h"

enum {
	MILLION = 1000000,
	BLOCK = 64, /* bytes: what an extent holds does not matter */
};

static const uint64_t T0 = UINT64_C(1) << 40;

/* ---- blocks ----------------------------------------------------------- */

static void add_block(struct fixture *fx, unsigned file, unsigned at)
{
	unsigned char data[BLOCK] = {0};
	struct data_version v = version_of(1);
	struct datacache_add add = {.key = key_of(file),
	    .version = &v,
	    .offset = (uint64_t)at * BLOCK,
	    .data = data,
	    .len = BLOCK,
	    .flags = FIRM,
	    .sent_us = T0};

	datacache_add(fx->dc, &add);
}

/* The disk is waited for now and then, or most were refused. */
static void add_blocks(struct fixture *fx, unsigned files, unsigned each)
{
	unsigned n = 0;

	for (unsigned f = 0; f < files; f++)
		for (unsigned k = 0; k < each; k++) {
			add_block(fx, f, k);
			if (++n % 10000 == 0)
				iopool_drain(fx->pool);
		}
	iopool_drain(fx->pool);
}

static double block_bytes(unsigned files, unsigned each)
{
	struct fixture fx;
	double bytes;

	fixture_begin(&fx, UINT64_C(4096) * MIB);
	add_blocks(&fx, files, each);
	assert_int_equal(stats_of(&fx).extents, MILLION);
	bytes = (double)datacache_memory_bytes(fx.dc) / MILLION;
	print_message("a block, %u in a file: %.1f bytes\n", each, bytes);
	fixture_end(&fx);
	return bytes;
}

static void test_block_bytes(void **state)
{
	(void)state;
	assert_true(block_bytes(1000, 1000) < 33);
	/* Most of it is the file's. */
	assert_true(block_bytes(MILLION, 1) < 112);
}

static bool uses(struct fixture *fx, unsigned file)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(file), .version = &v, .len = BLOCK};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	unsigned n;

	return datacache_find(fx->dc, &rd, pieces, &n, NULL) == DATACACHE_HIT;
}

/* Many small files: the index is full before the disk is. */
static void test_blocks_hold(void **state)
{
	enum { LIMIT = 32 * MIB, OFTEN = 1000 };
	struct fixture fx;
	uint64_t most = 0;
	unsigned known = 0;

	(void)state;
	fixture_begin(&fx, UINT64_C(256) * MIB);
	datacache_set_memory(fx.dc, LIMIT);
	for (unsigned f = 0; f < MILLION; f++) {
		add_block(&fx, f, 0);
		if (f % 1000 == 0)
			iopool_drain(fx.pool);
		if (f % 10000 == 0 && f > 0)
			for (unsigned k = 0; k < OFTEN; k++)
				uses(&fx, k);
		if (datacache_memory_bytes(fx.dc) > most)
			most = datacache_memory_bytes(fx.dc);
	}
	iopool_drain(fx.pool);
	print_message("%llu files in %d MiB, at most %.1f MiB\n",
	    (unsigned long long)stats_of(&fx).files, LIMIT / MIB,
	    (double)most / MIB);
	assert_true(most <= LIMIT / 7 * 8);
	assert_true(stats_of(&fx).files > LIMIT / 112 / 2);
	for (unsigned k = 0; k < OFTEN; k++)
		known += uses(&fx, k);
	assert_int_equal(known, OFTEN);
	assert_true(uses(&fx, MILLION - 1));
	assert_false(uses(&fx, MILLION / 2));
	fixture_end(&fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_block_bytes),
	    cmocka_unit_test(test_blocks_hold),
	};

	return cmocka_run_group_tests_name("caches_million", tests, NULL, NULL);
}
