/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Items do not overlap, are zero at first, and their memory is used again. */
#include "unittest.h"
#include "base/slab.h"

enum { ITEMS = 20000, TURNS = 400000 };

struct item {
	slab_ref ref;
	uint16_t size;
	unsigned char mark;
};

static void item_check(const struct slab *s, const struct item *it)
{
	const unsigned char *p = slab_ptr(s, it->ref);

	for (unsigned i = 0; i < it->size; i++)
		assert_int_equal(p[i], it->mark);
}

static void item_make(struct slab *s, struct item *it, unsigned random)
{
	it->size = (uint16_t)(1 + random % SLAB_ITEM_MAX);
	it->mark = 0;
	it->ref = slab_alloc(s, it->size);
	assert_int_not_equal(it->ref, 0);
	assert_int_equal(slab_ref_of(slab_ptr(s, it->ref)), it->ref);
	item_check(s, it);
	it->mark = (unsigned char)(1 + random / SLAB_ITEM_MAX % 255);
	memset(slab_ptr(s, it->ref), it->mark, it->size);
}

TEST(test_contents)
{
	FREED struct item *items = calloc(ITEMS, sizeof(*items));
	struct slab *s = AFTER(slab_delete, slab_new());
	uint32_t x = 1;

	for (unsigned i = 0; i < TURNS; i++) {
		struct item *it;

		x = x * 1664525 + 1013904223;
		it = &items[(x >> 8) % ITEMS];
		if (!it->ref) {
			item_make(s, it, (x ^ i) >> 4);
			continue;
		}
		item_check(s, it);
		slab_free(s, it->ref, it->size);
		it->ref = 0;
	}
	for (unsigned i = 0; i < ITEMS; i++) {
		if (!items[i].ref)
			continue;
		item_check(s, &items[i]);
		slab_free(s, items[i].ref, items[i].size);
	}
	assert_int_equal(slab_used_bytes(s), 0);
}

/* The highest reference, which counts the memory that was taken. */
static slab_ref fill(struct slab *s, slab_ref *refs, unsigned n, size_t size)
{
	slab_ref most = 0;

	for (unsigned i = 0; i < n; i++) {
		refs[i] = slab_alloc(s, size);
		most = refs[i] > most ? refs[i] : most;
	}
	for (unsigned i = 0; i < n; i++)
		slab_free(s, refs[i], size);
	return most;
}

/* Memory that items of one size took serves items of another, once they are
 * freed. */
TEST(test_reuse)
{
	enum { BYTES = 16 << 20 };
	slab_ref *refs = calloc(BYTES / 8, sizeof(*refs)), first;
	struct slab *s = slab_new();

	first = fill(s, refs, BYTES / 8, 8);
	for (size_t size = 16; size <= SLAB_ITEM_MAX; size += 8)
		assert_true(fill(s, refs, (unsigned)(BYTES / size), size) <
			    first + first / 16);
	slab_delete(s);
	free(refs);
}
