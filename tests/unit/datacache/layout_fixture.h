/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that were used in an order of their own, and a pass that lays them out.
 */
#ifndef FOREFETCH_TEST_LAYOUT_FIXTURE_H
#define FOREFETCH_TEST_LAYOUT_FIXTURE_H

#include <errno.h>

#include "datacache/datacache_fixture.h"

enum { LEN = 32 * KIB, N = 200, OTHER = 1000000, ALL = 1 << 30 };

/* The order of use: not that in which they come in. */
static inline unsigned nth(unsigned i)
{
	return i * 77 % N;
}

static inline void fill(struct fixture *fx, uint64_t first, unsigned files)
{
	for (unsigned i = 0; i < files; i++) {
		add_some(fx, first + i, 1, 0, LEN, FIRM);
		if (i % 16 == 0)
			iopool_drain(fx->pool);
		stats_of(fx);
	}
	iopool_drain(fx->pool);
	stats_of(fx);
}

/* Another run; how many were there. */
static inline unsigned use(struct fixture *fx)
{
	unsigned found = 0;

	datacache_new_run(fx->dc);
	for (unsigned i = 0; i < N; i++)
		found += find_some(fx, nth(i), 1, 0, LEN);
	return found;
}

static inline void pass_step(struct fixture *fx, uint64_t bytes)
{
	(void)datacache_layout_step(fx->dc, bytes);
	iopool_drain(fx->pool);
	stats_of(fx);
}

static inline struct datacache_stats pass(struct fixture *fx, bool force)
{
	assert_int_equal(datacache_layout_begin(fx->dc, force), 0);
	assert_int_equal(datacache_layout_begin(fx->dc, force), -EALREADY);
	while (datacache_layout_busy(fx->dc))
		pass_step(fx, MIB);
	return stats_of(fx);
}

static inline bool is_sequential(const struct datacache_sequence *s)
{
	return s->bytes > 0 && s->sequential_bytes * 10 >= s->bytes * 9;
}

static inline bool has(struct fixture *fx, uint64_t file)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(file), .version = &v, .len = LEN};

	return datacache_have(fx->dc, &rd) == LEN;
}

static inline void drop(struct fixture *fx, uint64_t file)
{
	struct data_key key = key_of(file);

	datacache_drop(fx->dc, &key);
}

/* A cache whose files were used in an order of their own. */
static inline void begin_used(struct fixture *fx)
{
	fixture_begin(fx, 64 * MIB);
	fill(fx, 0, N);
	assert_int_equal(use(fx), N);
}

#endif
