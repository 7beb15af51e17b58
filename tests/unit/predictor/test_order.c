/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of reading: packed and unpacked, and through a file of trees. */
#include "predictor/store/order.h"

#include "unittest.h"
#include "predictor/persist/persist.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* ---- alone ------------------------------------------------------------ */

TEST(test_there_and_back)
{
	static const struct order_piece in[] = {{7, 1}, {0, 3}, {1u << 30, 32},
	    {3, 2}, {200, 1}, {199, 1}, {(1u << 31) - 40, 8}, {0, 1}};
	struct order o = {0}, copy = {0};
	struct order_piece out[ORDER_MAX];
	unsigned char bytes[ORDER_PACKED];
	size_t n = LENGTH(in), len;

	for (size_t i = 0; i < n; i++)
		order_add(&o, in[i].at, in[i].length);
	assert_int_equal(order_count(&o), n);
	assert_int_equal(order_get(&o, out, ORDER_MAX), n);
	assert_memory_equal(out, in, sizeof(in));
	assert_int_equal(order_get(&o, out, 3), 3);
	len = order_pack(&o, bytes);
	assert_true(len > 0);
	assert_true(order_set(&copy, bytes, len));
	assert_int_equal(order_get(&copy, out, ORDER_MAX), n);
	assert_memory_equal(out, in, sizeof(in));
	/* It is as it was, and goes on. */
	order_add(&o, 5000, 1);
	assert_int_equal(order_get(&o, out, ORDER_MAX), n + 1);
	order_clear(&o);
	order_clear(&copy);
	assert_int_equal(order_count(&o), 0);
}

/* Blocks that follow each other are joined into one piece, up to a length. */
TEST(test_joined)
{
	ENDS_BY(order_clear) struct order o = {0};
	struct order_piece out[4];

	for (uint32_t i = 0; i < 40; i++)
		order_add(&o, 100 + i, 1);
	order_add(&o, 139, 1);
	assert_int_equal(order_get(&o, out, 4), 2);
	assert_int_equal(out[0].length, 32);
	assert_int_equal(out[1].at, 132);
	assert_int_equal(out[1].length, 8);
}

TEST(test_too_many)
{
	ENDS_BY(order_clear) struct order o = {0};
	struct order_piece out[ORDER_MAX];
	unsigned char bytes[ORDER_PACKED];

	for (uint32_t i = 0; i < ORDER_MAX; i++)
		order_add(&o, i % 2 ? 10 : 100, 1);
	assert_int_equal(order_get(&o, out, ORDER_MAX), ORDER_MAX);
	assert_true(order_pack(&o, bytes) > 0);
	for (uint32_t i = 0; i < 5 * ORDER_MAX; i++)
		order_add(&o, (uint32_t)(mix(i) & 0x7fffff), 1);
	assert_int_equal(order_count(&o), 0);
	assert_int_equal(order_get(&o, out, ORDER_MAX), 0);
	assert_int_equal(order_pack(&o, bytes), 0);
}

/* Any bytes are an order that can be read, or refused. */
TEST(test_nonsense)
{
	unsigned char bytes[ORDER_PACKED + 1] = {0};
	struct order_piece out[ORDER_MAX];
	ENDS_BY(order_clear) struct order o = {0};
	uint64_t x = 1;

	assert_false(order_set(&o, bytes, 0));
	assert_false(order_set(&o, bytes, 2)); /* of no length */
	assert_false(order_set(&o, bytes, sizeof(bytes)));
	memset(bytes, 0xff, sizeof(bytes));
	assert_false(order_set(&o, bytes, 100));
	for (int i = 0; i < 20000; i++) {
		size_t len = 1 + (x = mix(x + 1)) % 64;

		for (size_t k = 0; k < len; k++)
			bytes[k] = (unsigned char)((x = mix(x + 1)) % 40);
		if (!order_set(&o, bytes, len))
			continue;
		assert_int_equal(
		    order_get(&o, out, ORDER_MAX), order_count(&o));
		order_add(&o, 5, 1);
	}
}

/* ---- learned and saved ------------------------------------------------ */

enum { READS = 300, BLOCK = 4096, FILE_KEY = 42 };

static void read_file(struct predictor *p, uint64_t *now_ns, uint64_t seed)
{
	struct predictor_obs o = {.kind = PREDICTOR_GETATTR,
	    .latency_ns = 1000000,
	    .actor = 1,
	    .object = FILE_KEY,
	    .parent = 3,
	    .name_hash = 42,
	    .size_bytes = 100000 * BLOCK};

	*now_ns += UINT64_C(5000000000);
	o.now_ns = *now_ns;
	predictor_observe(p, &o);
	o.kind = PREDICTOR_READ;
	o.count_bytes = BLOCK;
	for (uint64_t i = 0; i < READS; i++) {
		o.now_ns = *now_ns += 2000000;
		o.offset_bytes = mix(seed + i) % 100000 * BLOCK;
		predictor_observe(p, &o);
	}
}

static void assert_order(const struct predictor *p, uint64_t seed)
{
	struct predictor_extent out[ORDER_MAX];
	size_t n = predictor_order(p, FILE_KEY, out, ORDER_MAX), k = 0;

	/* Some are but a part of the one before. */
	assert_in_range(n, READS - 3, READS);
	for (uint64_t i = 0; i < READS && k < n; i++)
		k += out[k].offset_bytes == mix(seed + i) % 100000 * BLOCK;
	assert_int_equal(k, n);
}

TEST(test_saved)
{
	struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&opt), *q = predictor_new(&opt);
	uint64_t now_ns = 1;
	uint32_t run;
	size_t len;
	FREED void *data;

	read_file(p, &now_ns, 1);
	run = predictor_run(p, FILE_KEY);
	read_file(p, &now_ns, 1000);
	assert_int_not_equal(predictor_run(p, FILE_KEY), run);
	assert_order(p, 1);
	/* A glance is no run that would count. */
	read_file(p, &now_ns, 1000);
	assert_order(p, 1000);
	data = predictor_export(p, &len);
	assert_non_null(data);
	assert_int_equal(predictor_import(q, data, len), 0);
	assert_order(q, 1000);
	predictor_forget(q, FILE_KEY);
	assert_int_equal(predictor_order(q, FILE_KEY, NULL, 0), 0);
	predictor_free(p);
	predictor_free(q);
}

/* Orders of many files: memory stays below a bound. */
TEST(test_bounded)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};
	struct predictor *p = AFTER(predictor_free, predictor_new(&opt));
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .latency_ns = 1000,
	    .actor = 1,
	    .parent = 3,
	    .count_bytes = BLOCK,
	    .size_bytes = UINT64_MAX / 2};
	struct predictor_stats st;
	size_t before;

	predictor_get_stats(p, &st);
	before = st.memory_bytes;
	for (uint64_t i = 0; i < 200; i++) {
		o.object = o.name_hash = 100 + i;
		for (uint64_t k = 0; k < ORDER_MAX; k++) {
			o.now_ns += 100000;
			o.offset_bytes = mix(i * 5000 + k) % 0x7fffffff * BLOCK;
			predictor_observe(p, &o);
		}
	}
	predictor_get_stats(p, &st);
	assert_true(st.memory_bytes < before + (100 << 10));
}
