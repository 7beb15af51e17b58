/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers read in virtual time as programs do, and the patterns foretell them.
 */
#include "unittest.h"
#include "predictor/pattern/pattern.h"

enum { KIB = 1024, BLOCK = 4 * KIB, MOST = 4096 };

/* A reader, and a server that takes 10 ms; what was told is there at once. */
struct world {
	struct patterns *ps;
	struct pattern_news news;
	uint64_t now_us;
	uint64_t size_bytes;
	uint64_t pipe_bytes;
	uint64_t reader;
	uint32_t run;
	bool overlaps; /* the next read is sent before the reply */
	/* Blocks that were told and not dropped. */
	bool told[MOST];
	unsigned hits, wanted, dropped, broken;
	/* The order that is asked for. */
	struct predictor_extent order[MOST];
	size_t norder;
};

static size_t give_order(
    void *ctx, uint64_t object, struct predictor_extent *out, size_t max)
{
	const struct world *w = ctx;
	size_t n = w->norder < max ? w->norder : max;

	(void)object;
	memcpy(out, w->order, n * sizeof(*out));
	return n;
}

static void setup(struct world *w)
{
	w->ps = patterns_new(give_order, w);
	w->size_bytes = (uint64_t)MOST * BLOCK;
	w->pipe_bytes = 6 * BLOCK;
	w->reader = 1;
	assert_non_null(w->ps);
}

static void teardown(struct world *w)
{
	patterns_free(w->ps);
}

static void tell(struct world *w, const struct pattern_read *r)
{
	patterns_read(w->ps, r, &w->news);
	w->hits += w->news.hit;
	w->broken += w->news.broken;
	for (size_t i = 0; i < w->news.ndrop; i++)
		w->told[w->news.drop[i].offset_bytes / BLOCK] = false;
	w->dropped += (unsigned)w->news.ndrop;
	for (size_t i = 0; i < w->news.nwant; i++) {
		assert_true(w->news.want[i].offset_bytes < w->size_bytes);
		assert_true(w->news.want[i].count_bytes > 0);
		w->told[w->news.want[i].offset_bytes / BLOCK] = true;
	}
	w->wanted += (unsigned)w->news.nwant;
}

static struct pattern_read a_read(
    const struct world *w, uint64_t offset, uint32_t count)
{
	uint64_t block = offset / BLOCK;

	return (struct pattern_read){.object = 7,
	    .reader = w->reader,
	    .offset_bytes = offset,
	    .size_bytes = w->size_bytes,
	    .count_bytes = count,
	    .run = w->run,
	    .now_us = w->now_us,
	    .latency_us = block < MOST && w->told[block] ? 0 : 10000,
	    .pipe_bytes = w->pipe_bytes,
	    .fetch_us = 10000};
}

static void read_bytes(struct world *w, uint64_t offset, uint32_t count)
{
	struct pattern_read r = a_read(w, offset, count);

	tell(w, &r);
	w->now_us += w->overlaps ? 100 : r.latency_us + 100;
}

static void read_block(struct world *w, uint64_t block)
{
	read_bytes(w, block * BLOCK, BLOCK);
}

/* ---- lines ------------------------------------------------------------ */

static void line(struct world *w, int64_t from, int64_t stride, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		read_block(w, (uint64_t)(from + stride * (int64_t)i));
}

FIXTURE(struct world, setup, teardown);

TEST(test_backward, struct world *w)
{
	line(w, 1000, -1, 3);
	assert_int_equal(w->wanted, 0);
	/* Three equal steps, and not two. */
	line(w, 997, -1, 1);
	assert_int_equal(w->wanted, 2);
	assert_int_equal(w->news.lead, 1);
	assert_int_equal(w->news.want[0].offset_bytes, 996 * BLOCK);
	assert_int_equal(w->news.want[1].offset_bytes, 995 * BLOCK);
	line(w, 996, -1, 96);
	assert_int_equal(w->hits, 96);
	assert_int_equal(w->broken, 0);
	/* As much as the link holds, and two. */
	assert_int_equal(w->wanted - w->hits, 8);
}

TEST(test_start_of_file, struct world *w)
{
	line(w, 20, -1, 21);
	assert_int_equal(w->wanted, 17);
	assert_int_equal(w->hits, 17);
}

TEST(test_strides, struct world *w)
{
	static const int64_t strides[] = {16, -16, 3, -7, 2, 100};

	for (unsigned i = 0; i < 6; i++) {
		w->reader = 10 + i;
		w->hits = 0;
		line(w, strides[i] > 0 ? 0 : 4000, strides[i], 30);
		assert_int_equal(w->hits, 26);
	}
	assert_int_equal(w->broken, 0);
}

/* Blocks of other sizes, and pages that overlap as those of a fault. */
TEST(test_sizes, struct world *w)
{
	for (unsigned i = 0; i < 20; i++)
		read_bytes(w, (uint64_t)(100 - i) * 32 * KIB, 32 * KIB);
	assert_int_equal(w->hits, 16);
	assert_int_equal(w->news.want[0].count_bytes, 32 * KIB);
	w->reader = 2;
	w->hits = 0;
	for (unsigned i = 0; i < 20; i++)
		read_bytes(w, (1000 - 17 * (uint64_t)i) * BLOCK, 32 * BLOCK);
	assert_int_equal(w->hits, 16);
}

/* It ends at once, and what was told is taken back. */
TEST(test_break, struct world *w)
{
	unsigned left = 0;

	line(w, 1000, -1, 50);
	w->dropped = 0;
	read_block(w, 3000);
	assert_int_equal(w->broken, 1);
	assert_int_equal(w->dropped, 8);
	assert_int_equal(w->news.nwant, 0);
	for (unsigned i = 0; i < MOST; i++)
		left += w->told[i];
	assert_int_equal(left, 0);
}

/* One left out, two that change places, one twice. */
TEST(test_jumble, struct world *w)
{
	line(w, 1000, -1, 20);
	read_block(w, 979);
	read_block(w, 980);
	line(w, 978, -1, 5);
	read_block(w, 974);
	read_block(w, 972);
	line(w, 971, -1, 5);
	assert_int_equal(w->broken, 0);
}

/* ---- forward ---------------------------------------------------------- */

/* A client that reads ahead itself. */
TEST(test_forward_overlapping, struct world *w)
{
	w->overlaps = true;
	line(w, 0, 1, 200);
	assert_int_equal(w->wanted, 0);
}

/* `n` reads are under way at once; they come in the file's order, and those of
 * every other one are answered first. */
static void at_once(struct world *w, uint64_t from, uint64_t stride, unsigned n)
{
	struct pattern_read r[MOST];

	for (unsigned i = 0; i < n; i++, w->now_us += 100) {
		r[i] = a_read(w, (from + i * stride) * BLOCK, BLOCK);
		r[i].begins = r[i].latency_us > 0;
		tell(w, &r[i]);
	}
	w->now_us += 10000;
	for (unsigned odd = 0; odd < 2; odd++)
		for (unsigned i = odd; i < n; i += 2) {
			if (!r[i].begins)
				continue;
			r[i].begins = false;
			tell(w, &r[i]);
		}
}

/* Replies that change places make no stride of what is read through. */
TEST(test_forward_jumbled, struct world *w)
{
	for (unsigned i = 0; i < 10; i++)
		at_once(w, 40 * i, 1, 40);
	assert_int_equal(w->wanted, 0);
}

/* Nor do they hide one. */
TEST(test_stride_jumbled, struct world *w)
{
	for (unsigned i = 0; i < 10; i++)
		at_once(w, 80 * i, 16, 5);
	assert_int_equal(w->broken, 0);
	assert_true(w->hits > 30);
}

/* A read fails, and nothing is heard of its reply: the others count. */
TEST(test_unanswered, struct world *w)
{
	struct pattern_read r = a_read(w, 2000 * BLOCK, BLOCK);

	r.begins = true;
	tell(w, &r);
	assert_int_equal(w->wanted, 0);
	line(w, 1000, -1, 20);
	assert_int_equal(w->hits, 16);
}

/* Of reads that wait for one another each begins, although its data turns out
 * to be there. One may be repeated, and others be answered at once. */
TEST(test_lockstep_begun, struct world *w)
{
	struct pattern_read r;

	for (uint64_t i = 0; i < 100; i++) {
		r = a_read(w, i * BLOCK, BLOCK);
		r.begins = i % 3 > 0;
		r.latency_us = 0;
		tell(w, &r);
		w->now_us += 100;
		if (!r.begins)
			continue;
		r.begins = false;
		r.latency_us = i % 3 > 1 ? 100 : 0;
		tell(w, &r);
		if (i % 7 == 0)
			tell(w, &r);
	}
	assert_true(w->hits >= 94);
	assert_int_equal(w->broken, 0);
}

/* A client does not read ahead itself: each of its reads waits for the reply
 * before it, and nearly all find their data. */
TEST(test_forward_lockstep, struct world *w)
{
	line(w, 0, 1, 100);
	assert_true(w->hits >= 94);
	assert_int_equal(w->broken, 0);
}

/* ---- volumes ---------------------------------------------------------- */

/* Steps in the file along a ray, from ray to ray, from plane to plane. */
static unsigned walk(struct world *w, unsigned n, const unsigned *step)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < n; j++)
			for (unsigned k = 0; k < n; k++)
				read_block(
				    w, i * step[2] + j * step[1] + k * step[0]);
	return n * n * n;
}

TEST(test_volume, struct world *w)
{
	static const unsigned y[] = {12, 1, 144}, z[] = {144, 1, 12};
	unsigned all = walk(w, 12, z);

	assert_true(w->hits > all * 97 / 100);
	assert_true(w->wanted - w->hits < all / 20);
	w->hits = w->wanted = 0;
	w->reader = 2;
	all = walk(w, 12, y);
	assert_true(w->hits > all * 97 / 100);
	assert_true(w->wanted - w->hits < all / 20);
}

/* Two halves of a file by turns, as a butterfly has them. */
TEST(test_two_streams, struct world *w)
{
	for (uint64_t i = 0; i < 100; i++) {
		read_block(w, i);
		read_block(w, 2048 + i);
	}
	assert_true(w->hits > 185);
	assert_int_equal(w->broken, 0);
}

/* ---- no pattern ------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

TEST(test_random, struct world *w)
{
	static const unsigned blocks[] = {3, 8, 64, 4096};

	for (unsigned b = 0; b < 4; b++) {
		w->reader = 20 + b;
		w->wanted = 0;
		for (uint64_t i = 1; i <= 5000; i++)
			read_block(w, mix(i * 77 + b) % blocks[b]);
		assert_true(w->wanted < 600);
	}
}

/* ---- orders ----------------------------------------------------------- */

static void irregular(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		w->order[i] = (struct predictor_extent){
		    .offset_bytes = mix(i + 1) % MOST * BLOCK,
		    .length_bytes = BLOCK,
		    .count = 1};
	w->norder = n;
}

TEST(test_order, struct world *w)
{
	irregular(w, 500);
	for (unsigned i = 0; i < 500; i++)
		read_bytes(w, w->order[i].offset_bytes, BLOCK);
	assert_true(w->hits > 490);
	assert_int_equal(w->broken, 0);
}

/* It goes on behind a part that the reader leaves out. */
TEST(test_order_left, struct world *w)
{
	irregular(w, 500);
	for (unsigned i = 0; i < 500; i++)
		if (i < 100 || i >= 200)
			read_bytes(w, w->order[i].offset_bytes, BLOCK);
	assert_true(w->hits > 385);
	assert_int_equal(w->broken, 1);
}

/* Another run has another order. */
TEST(test_order_anew, struct world *w)
{
	for (uint64_t i = 0; i < 100; i++)
		read_block(w, mix(i + 1) % MOST);
	assert_int_equal(w->hits, 0);
	irregular(w, 100);
	w->run++;
	for (unsigned i = 0; i < 100; i++)
		read_bytes(w, w->order[i].offset_bytes, BLOCK);
	assert_true(w->hits > 90);
}

/* ---- bounds ----------------------------------------------------------- */

/* More readers than there is room for: each begins anew, nothing is lost. */
TEST(test_many, struct world *w)
{
	size_t bytes = patterns_memory_bytes(w->ps);

	for (unsigned i = 0; i < 10; i++)
		for (w->reader = 1; w->reader < 500; w->reader++)
			line(w, 1000 - i, -1, 1);
	assert_int_equal(w->hits, 0);
	assert_int_equal(patterns_memory_bytes(w->ps), bytes);
	w->reader = 3;
	line(w, 500, -1, 20);
	assert_int_equal(w->hits, 16);
}

/* No sane client asks for such offsets and counts; they break nothing. */
TEST(test_extremes, struct world *w)
{
	static const uint64_t offsets[] = {0, UINT64_MAX, UINT64_MAX - 1,
	    INT64_MAX, (uint64_t)INT64_MAX + 1, 1, 4095};
	static const uint32_t counts[] = {0, 1, UINT32_MAX};

	w->size_bytes = 4000;
	for (unsigned i = 0; i < 5000; i++)
		read_bytes(w, offsets[mix(i) % 7], counts[mix(i + 9) % 3]);
	w->pipe_bytes = UINT64_MAX;
	w->size_bytes = 4096;
	for (unsigned i = 0; i < 5000; i++)
		read_bytes(w, i % 4096, 1);
}
