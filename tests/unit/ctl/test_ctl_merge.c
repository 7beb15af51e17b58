/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch trees merge FILE... -o OUT. */
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"
#include "commands/command_list.h"
#include "predictor/persist/trees.h"

#define MS 1000000ull

struct files {
	char dir[64];
	char a[96], b[96], out[96];
};

/* A uid reads files of a directory, `first` and nine behind it, in turn. */
static void use(struct predictor *p, uint64_t uid, uint64_t dir, unsigned first)
{
	uint64_t now_ns = 1000 * MS;

	for (unsigned turn = 0; turn < 3; turn++) {
		now_ns += 60000 * MS;
		for (unsigned i = first; i < first + 10; i++) {
			struct predictor_obs o = {.now_ns = now_ns,
			    .kind = PREDICTOR_LOOKUP,
			    .uid = uid,
			    .actor = uid,
			    .object = dir + 1 + i,
			    .parent = dir,
			    .name_hash = 0x900 + i};

			predictor_observe(p, &o);
			o.kind = PREDICTOR_READ;
			o.count_bytes = 4096;
			predictor_observe(p, &o);
			now_ns += MS;
		}
	}
}

static void put(const char *file, const void *data, size_t len)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void *get(const char *file, size_t *len)
{
	FILE *f = fopen(file, "r");
	char *data = malloc(1 << 20);

	assert_true(f && data);
	*len = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static void export(const char *file, uint64_t uid, uint64_t dir, unsigned first)
{
	const struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&opt);
	FREED void *data;
	size_t len;

	use(p, uid, dir, first);
	data = predictor_export_trees(p, TREES_ALL, &len);
	assert_non_null(data);
	put(file, data, len);
	predictor_free(p);
}

static ssize_t trees_in(const char *file, uint64_t uid)
{
	const struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&opt);
	size_t len;
	void *data = get(file, &len);
	ssize_t n;

	assert_int_equal(predictor_import_trees(p, TREES_ALL, data, len), 0);
	n = predictor_trees(p, uid, NULL, 0);
	free(data);
	predictor_free(p);
	return n;
}

static void set_up(struct files *f)
{
	strcpy(f->dir, "/tmp/ff-merge-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->a, sizeof(f->a), "%s/a", f->dir);
	snprintf(f->b, sizeof(f->b), "%s/b", f->dir);
	snprintf(f->out, sizeof(f->out), "%s/out", f->dir);
	/* Two machines: the keys of one mean nothing to the other. */
	export(f->a, 10, 1 << 20, 0);
	export(f->b, 20, 5 << 20, 50);
}

static void tear_down(struct files *f)
{
	unlink(f->a);
	unlink(f->b);
	unlink(f->out);
	/* Nothing else was left behind. */
	assert_int_equal(rmdir(f->dir), 0);
}

static int merge(struct files *f, int n)
{
	char *args[] = {"merge", f->a, f->b, f->b};
	struct ctl_options opt = {
	    .arg = args[0], .args = args, .nargs = n, .output = f->out};

	return trees_merge(&opt);
}

FIXTURE(struct files, set_up, tear_down);

TEST(test_merge, struct files *f)
{
	assert_true(trees_in(f->a, 10) > 0);
	assert_int_equal(trees_in(f->a, 20), 0);
	for (int n = 2; n <= 4; n++) {
		assert_int_equal(merge(f, n), 0);
		assert_int_equal(trees_in(f->out, 10), trees_in(f->a, 10));
		assert_int_equal(
		    trees_in(f->out, 20), n > 2 ? trees_in(f->b, 20) : 0);
	}
	/* A result is as good as what it was made of. */
	assert_int_equal(rename(f->out, f->a), 0);
	assert_int_equal(merge(f, 2), 0);
	assert_int_equal(trees_in(f->out, 20), trees_in(f->b, 20));
}

TEST(test_refused, struct files *f)
{
	struct stat st;
	size_t len;
	FREED char *data = get(f->b, &len);

	assert_int_equal(merge(f, 1), CTL_EXIT_USAGE);
	for (size_t cut = 0; cut < len; cut += 11) {
		put(f->b, data, cut);
		assert_int_equal(merge(f, 3), EXIT_FAILURE);
		put(f->b, data, len);
		data[cut] ^= 4;
		put(f->b, data, len);
		assert_int_equal(merge(f, 3), EXIT_FAILURE);
		data[cut] ^= 4;
	}
	unlink(f->b);
	assert_int_equal(merge(f, 3), EXIT_FAILURE);
	/* Nothing was written then, and what was there stays. */
	assert_int_not_equal(stat(f->out, &st), 0);
	put(f->out, "old", 3);
	assert_int_equal(merge(f, 3), EXIT_FAILURE);
	assert_int_equal(stat(f->out, &st), 0);
	assert_int_equal(st.st_size, 3);
}
