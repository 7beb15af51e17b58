/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A predictor is saved and loaded: whole, or not at all. */
#include "predictor/persist/persist.h"

#include <errno.h>
#include <unistd.h>

#include "unittest.h"
#include "predictor/core/core.h"
#include "predictor/tree_text.h"

static struct predictor *predictor_make(void)
{
	struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&opt);

	assert_non_null(p);
	return AFTER(predictor_free, p);
}

static size_t see(struct predictor *p, uint64_t object, uint64_t *now_ns,
    struct prediction *out)
{
	struct predictor_obs o = {.kind = PREDICTOR_READ,
	    .now_ns = *now_ns,
	    .latency_ns = 1000000,
	    .actor = 1,
	    .exec = object % 100 == 0,
	    .object = object,
	    .parent = 1 + object % 3,
	    .name_hash = object,
	    .size_bytes = 100};

	predictor_observe(p, &o);
	*now_ns += 1100000;
	return predictor_predict(p, out, 256);
}

static struct predictor *predictor_taught(uint64_t first, uint64_t n)
{
	struct predictor *p = predictor_make();
	struct prediction out[256];
	uint64_t now_ns = 1;

	predictor_place_dir(p, 0, 1, 0, 77);
	predictor_place_dir(p, 0, 2, 1, 78);
	for (int run = 0; run < 3; run++) {
		for (uint64_t i = 0; i < n; i++)
			see(p, first + i, &now_ns, out);
		now_ns += 2000000000;
	}
	return p;
}

static bool foretells(struct predictor *p, uint64_t first, uint64_t then)
{
	struct prediction out[256];
	uint64_t now_ns = 1ull << 50;
	size_t n = see(p, first, &now_ns, out);

	for (size_t i = 0; i < n; i++)
		if (out[i].object == then && out[i].p > 0.2f)
			return true;
	return false;
}

static size_t count_objects(const struct predictor *p)
{
	struct predictor_stats st;

	predictor_get_stats(p, &st);
	return st.objects;
}

TEST(test_round_trip)
{
	struct predictor *p = predictor_taught(100, 30), *q = predictor_make();
	size_t len, again_len;
	void *data = AFTER(free, predictor_export(p, &len)), *again;

	assert_non_null(data);
	assert_int_equal(predictor_import(q, data, len), 0);
	assert_int_equal(count_objects(q), 30);
	again = AFTER(free, predictor_export(q, &again_len));
	assert_int_equal(len, again_len);
	assert_memory_equal(data, again, len);
	assert_true(foretells(q, 100, 103));
}

TEST(test_merge_and_clear)
{
	struct predictor *p = predictor_taught(100, 30);
	struct predictor *q = predictor_taught(500, 20);
	size_t len;
	FREED void *data = predictor_export(q, &len);

	assert_int_equal(predictor_import(p, data, len), 0);
	assert_int_equal(count_objects(p), 50);
	assert_true(foretells(p, 500, 503));
	assert_true(foretells(p, 100, 103));
	assert_int_equal(predictor_clear(p), 0);
	assert_int_equal(count_objects(p), 0);
	assert_false(foretells(p, 500, 503));
}

/* A file cut anywhere loads as nothing. */
TEST(test_cut)
{
	struct predictor *p = predictor_taught(100, 10), *q = predictor_make();
	size_t len;
	FREED char *data = predictor_export(p, &len);

	for (size_t cut = 0; cut < len; cut++) {
		/* In memory of its own, for the sanitizer to see. */
		FREED char *part = malloc(cut + 1);

		memcpy(part, data, cut);
		assert_int_equal(predictor_import(q, part, cut), -EBADMSG);
	}
	assert_int_equal(count_objects(q), 0);
}

/* So does one with any bit flipped. */
TEST(test_flip)
{
	struct predictor *p = predictor_taught(100, 10), *q = predictor_make();
	size_t len;
	FREED char *data = predictor_export(p, &len);

	for (size_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
		assert_true(predictor_import(q, data, len) < 0);
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
	}
	assert_int_equal(count_objects(q), 0);
	assert_int_equal(predictor_import(q, data, len), 0);
}

static void write_file(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

TEST(test_file)
{
	char path[64], other[80];
	char err[PERSIST_ERR_MAX] = "";
	struct predictor *p = predictor_taught(100, 10), *q = predictor_make();
	size_t len;
	void *data;

	snprintf(path, sizeof(path), "%s/trees", unittest_folder());
	assert_int_equal(predictor_load(q, path, err), -ENOENT);
	data = AFTER(free, predictor_export(p, &len));
	write_file(path, data, len);
	assert_int_equal(predictor_load(q, path, err), 0);
	assert_int_equal(count_objects(q), 10);

	write_file(path, "nonsense", 8);
	assert_int_equal(predictor_load(q, path, err), -EBADMSG);
	assert_non_null(strstr(err, "damaged"));
	assert_int_not_equal(access(path, F_OK), 0);
	snprintf(other, sizeof(other), "%s.damaged", path);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(count_objects(q), 10);
}

/* Each object that was used is in the trails, and the tree shows a program's
 * uses below it. */
TEST(test_show)
{
	struct predictor *p = predictor_taught(100, 3);
	struct predictor_tree tree;
	struct trail_part part;
	struct trails_at at;
	uint64_t sum = 0;
	FREED char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	trails_begin(p->trails, &at);
	while (trails_part(p->trails, &at, &part))
		for (uint32_t i = 0; i < part.n; i++)
			sum += objects_at(p->objects, part.objects[i])->key;
	assert_int_equal(sum, 3 * (100 + 101 + 102));
	assert_int_equal(predictor_trees(p, 0, &tree, 1), 1);
	assert_int_equal(show_tree(p, 0, tree.id, out, NULL, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "0000000000000064\n"
				     "  0000000000000065\n"));
}
