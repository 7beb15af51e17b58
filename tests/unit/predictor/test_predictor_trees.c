/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access trees: listed, shown, carried to another machine, forgotten. */
#include "predictor/persist/trees.h"

#include <errno.h>

#include "unittest.h"
#include "predictor/tree_text.h"
#include "predictor/persist/persist.h"

#define MS 1000000ull

/*
 * A machine has its own keys for the same paths:
 *
 *	/proj           directory 1
 *	/proj/src       directory 2, files 0, 2, 4, …
 *	/proj/src/inc   directory 3, files 1, 3, 5, …
 *
 * A job reads some of them in an order that no listing has.
 */
enum { FILES = 200, JOB = 40, DIRS = 3 };

struct machine {
	struct predictor *p;
	uint64_t key; /* of its first directory */
	uint64_t uid;
	uint64_t now_ns;
	unsigned foretold; /* reads that were predicted before */
	bool told[FILES];
};

static struct predictor *predictor_make(void)
{
	struct predictor_options opt = {.budget_bytes = 4 << 20};
	struct predictor *p = predictor_new(&opt);

	assert_non_null(p);
	return AFTER(predictor_free, p);
}

static struct machine machine_make(
    struct predictor *p, uint64_t key, uint64_t uid)
{
	return (struct machine){
	    .p = p, .key = key, .uid = uid, .now_ns = 1000 * MS};
}

static uint64_t dir_of(const struct machine *m, unsigned file)
{
	return m->key + 1 + file % 2;
}

static uint64_t file_key(const struct machine *m, unsigned file)
{
	return m->key + 1000 + file;
}

static uint64_t file_name(unsigned file)
{
	return 0x9000 + file * 7;
}

/* A listing of all of its files, by name; of one directory. */
static void machine_list(struct machine *m, uint64_t dir)
{
	struct predictor_dirent ents[FILES];
	size_t n = 0;

	for (unsigned i = 0; i < FILES; i++) {
		if (dir_of(m, i) != dir)
			continue;
		ents[n] = (struct predictor_dirent){.object = file_key(m, i),
		    .name_hash = file_name(i),
		    .size_bytes = 100,
		    .rank = (uint32_t)n};
		n++;
	}
	if (n > 0)
		predictor_list(m->p, m->uid, dir, ents, n);
}

static void machine_hear(
    struct machine *m, const struct prediction *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t file = out[i].object - m->key - 1000;

		if (out[i].needs & PREDICTOR_NEEDS_LISTING)
			machine_list(m, out[i].object);
		if (file < FILES)
			m->told[file] = true;
	}
}

static void machine_see(struct machine *m, uint64_t object, uint64_t parent,
    uint64_t name, bool exec, bool directory)
{
	struct prediction out[256];
	struct predictor_obs o = {
	    .kind = directory ? PREDICTOR_LOOKUP : PREDICTOR_READ,
	    .now_ns = m->now_ns,
	    .latency_ns = MS,
	    .actor = m->uid + 1,
	    .uid = m->uid,
	    .exec = exec,
	    .directory = directory,
	    .object = object,
	    .parent = parent,
	    .name_hash = name,
	    .size_bytes = 100};

	predictor_observe(m->p, &o);
	machine_hear(m, out, predictor_predict(m->p, out, 256));
	m->now_ns += MS + MS / 5;
}

static void machine_read(struct machine *m, unsigned file, bool exec)
{
	m->foretold += m->told[file];
	machine_see(
	    m, file_key(m, file), dir_of(m, file), file_name(file), exec, 0);
}

static void machine_look_up(struct machine *m)
{
	machine_see(m, m->key, m->key + 500, 0x70, false, true);
	machine_see(m, m->key + 1, m->key, 0x71, false, true);
	machine_see(m, m->key + 2, m->key + 1, 0x72, false, true);
}

static void machine_pause(struct machine *m)
{
	m->now_ns += 2000 * MS;
}

static unsigned job_file(unsigned job, unsigned i)
{
	return (i * 37 + job * 11) % FILES;
}

static void machine_run(struct machine *m, unsigned job)
{
	memset(m->told, 0, sizeof(m->told));
	m->foretold = 0;
	for (unsigned i = 0; i < JOB; i++)
		machine_read(m, job_file(job, i), i == 0);
	machine_pause(m);
}

static const char *on_name(void *ctx, uint64_t object)
{
	const struct machine *m = ctx;
	static char name[32];

	snprintf(
	    name, sizeof(name), "file%u", (unsigned)(object - m->key - 1000));
	return name;
}

/* A program, a file, another program, its file; twice, a pause between. No
 * job has them. */
static void machine_shell(struct machine *m)
{
	for (int i = 0; i < 2; i++) {
		machine_read(m, 12, true);
		machine_read(m, 13, false);
		machine_read(m, 20, true);
		machine_read(m, 23, false);
		machine_pause(m);
	}
}

TEST(test_list)
{
	struct machine a = machine_make(predictor_make(), 1 << 20, 10);
	struct machine b = machine_make(a.p, 1 << 20, 20);
	struct predictor_tree t[8];

	machine_shell(&a);
	machine_run(&b, 5);
	assert_int_equal(predictor_trees(a.p, 10, t, 8), 2);
	assert_int_equal(t[0].root, file_key(&a, 20));
	assert_int_equal(t[0].objects, 2);
	assert_int_equal(t[1].root, file_key(&a, 12));
	assert_int_equal(t[1].objects, 4);
	assert_int_equal(t[1].uses, 2);
	assert_int_equal(t[1].uid, 10);
	assert_true(t[0].program && t[1].program);
	assert_int_equal(t[0].age + 2, t[1].age);
	assert_int_equal(predictor_trees(a.p, 20, t, 8), 1);
	assert_int_equal(t[0].root, file_key(&b, job_file(5, 0)));
	assert_int_equal(t[0].objects, JOB);
	assert_int_equal(predictor_trees(a.p, 30, t, 8), 0);
	memset(t, 0, sizeof(t));
	assert_int_equal(predictor_trees(a.p, TREES_ALL, t, 1), 3);
	assert_int_equal(t[0].uid, 20);
	assert_int_equal(t[1].id, 0);
}

/* Over saving and loading, and a new handle. */
TEST(test_lasting_id)
{
	struct machine a = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor *q = predictor_make();
	struct predictor_tree t[2], again[2];
	size_t len;
	FREED void *data;

	machine_look_up(&a);
	machine_pause(&a);
	machine_shell(&a);
	assert_int_equal(predictor_trees(a.p, 10, t, 2), 3);
	data = predictor_export(a.p, &len);
	assert_int_equal(predictor_import(q, data, len), 0);
	assert_int_equal(predictor_trees(q, 10, again, 2), 3);
	assert_int_equal(t[0].id, again[0].id);
	assert_int_equal(t[1].id, again[1].id);
	assert_int_equal(t[1].uses, again[1].uses);
	assert_int_equal(t[1].objects, again[1].objects);
	machine_see(&a, 77, dir_of(&a, 12), file_name(12), true, false);
	assert_int_equal(predictor_trees(a.p, 10, again, 1), 3);
	assert_int_equal(again[0].root, 77);
	assert_int_equal(again[0].id, t[1].id);
}

TEST(test_show)
{
	struct machine m = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor_tree t[2];
	FREED char *text = NULL;
	size_t len;
	FILE *out;

	machine_shell(&m);
	assert_int_equal(predictor_trees(m.p, 10, t, 2), 2);
	out = open_memstream(&text, &len);
	assert_int_equal(show_tree(m.p, 10, t[1].id, out, on_name, &m), 0);
	fputs("--\n", out);
	assert_int_equal(
	    show_tree(m.p, TREES_ALL, t[0].id, out, on_name, &m), 0);
	assert_int_equal(
	    show_tree(m.p, 20, t[0].id, out, on_name, &m), -ENOENT);
	assert_int_equal(show_tree(m.p, 10, 99, out, on_name, &m), -ENOENT);
	fclose(out);
	assert_string_equal(text, "file12\n  file13\n  file20\n    file23\n"
				  "--\nfile20\n  file23\n");
}

/* A call that knows nothing takes nothing back, but another object does. */
TEST(test_sticky_exec)
{
	struct machine m = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor_tree t[4];

	machine_read(&m, 10, true);
	machine_pause(&m);
	machine_read(&m, 10, false);
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 1);
	assert_true(t[0].program);
	machine_pause(&m);
	machine_see(&m, 77, dir_of(&m, 10), file_name(10), false, false);
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 1);
	assert_int_equal(t[0].uses, 3);
	assert_false(t[0].program);
}

/* Trees that another machine learned help in the first run here. */
TEST(test_portable)
{
	struct machine a = machine_make(predictor_make(), 1 << 20, 10);
	struct machine b = machine_make(predictor_make(), 1 << 30, 20);
	struct machine c = machine_make(predictor_make(), 1 << 30, 20);
	struct predictor_tree t;
	struct predictor_stats st;
	size_t len;
	FREED void *data;

	machine_look_up(&a);
	for (int i = 0; i < 3; i++)
		machine_run(&a, 0);
	data = predictor_export_trees(a.p, 10, &len);
	assert_non_null(data);
	assert_int_equal(predictor_import_trees(b.p, 20, data, len), 0);
	assert_true(predictor_trees(b.p, 20, &t, 1) > 0);
	assert_int_equal(t.uid, 20);

	machine_look_up(&b);
	machine_pause(&b);
	machine_run(&b, 0);
	machine_look_up(&c);
	machine_pause(&c);
	machine_run(&c, 0);
	/* Two twins have to agree, and two listings to come. */
	assert_true(b.foretold > JOB * 4 / 5);
	assert_true(c.foretold < JOB / 5);
	predictor_get_stats(b.p, &st);
	assert_true(st.by_source[PREDICTOR_FROM_TRAIL].used > JOB / 2);
	assert_true(st.by_source[PREDICTOR_FROM_TRAIL].predicted >=
		    st.by_source[PREDICTOR_FROM_TRAIL].used);
}

/* Only what is the uid's; again, and nothing is there twice. */
TEST(test_portable_uid)
{
	struct machine a = machine_make(predictor_make(), 1 << 20, 10);
	struct machine b = machine_make(a.p, 1 << 20, 20);
	struct predictor *q = predictor_make();
	struct predictor_stats st, again;
	struct predictor_tree t[8];
	size_t len;
	void *data;

	machine_shell(&a);
	machine_run(&b, 5);
	assert_null(predictor_export_trees(a.p, 30, &len));
	assert_int_equal(errno, ENOENT);
	data = AFTER(free, predictor_export_trees(a.p, 10, &len));
	assert_int_equal(predictor_import_trees(q, TREES_ALL, data, len), 0);
	assert_int_equal(predictor_trees(q, TREES_ALL, t, 8), 2);
	assert_int_equal(t[0].uid, 10);
	predictor_get_stats(q, &st);
	assert_int_equal(st.objects, 4);
	assert_int_equal(predictor_import_trees(q, TREES_ALL, data, len), 0);
	predictor_get_stats(q, &again);
	assert_int_equal(again.objects, st.objects);
	assert_int_equal(predictor_trees(q, 10, t, 8), 2);
	assert_int_equal(t[0].uses, 4);
	/* Where it came from nothing of it was touched. */
	data = AFTER(free, predictor_export_trees(a.p, TREES_ALL, &len));
	assert_int_equal(predictor_import_trees(a.p, 20, data, len), 0);
	assert_int_equal(predictor_trees(a.p, 10, t, 8), 2);
	assert_int_equal(t[0].uses, 2);
	assert_int_equal(predictor_trees(a.p, 20, t, 8), 1 + 3);
}

TEST(test_refused)
{
	struct machine m = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor *q = predictor_make();
	size_t len;
	char *data;

	machine_shell(&m);
	data = AFTER(free, predictor_export(m.p, &len));
	assert_int_equal(predictor_import_trees(q, 10, data, len), -EINVAL);
	data = AFTER(free, predictor_export_trees(m.p, 10, &len));
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(
		    predictor_import_trees(q, 10, data, cut), -EBADMSG);
	for (size_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
		assert_true(predictor_import_trees(q, 10, data, len) < 0);
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
	}
	assert_int_equal(predictor_trees(q, TREES_ALL, NULL, 0), 0);
	/* As the daemon's own file it is no danger. */
	assert_int_equal(predictor_import(q, data, len), 0);
	assert_int_equal(predictor_trees(q, 10, NULL, 0), 2);
}

/* One uid is not to fill the memory of all. */
TEST(test_too_large)
{
	struct predictor_options opt = {.budget_bytes = 1 << 20};
	struct machine m = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor *q = AFTER(predictor_free, predictor_new(&opt));
	size_t len;
	FREED void *data;

	for (unsigned i = 0; i < 150; i++)
		machine_run(&m, i);
	data = predictor_export_trees(m.p, 10, &len);
	assert_int_equal(predictor_import_trees(q, 10, data, len), -EFBIG);
	assert_int_equal(predictor_import_trees(q, TREES_ALL, data, len), 0);
}

TEST(test_clear_tree)
{
	struct machine m = machine_make(predictor_make(), 1 << 20, 10);
	struct predictor_tree t[4];
	uint64_t shell;

	machine_shell(&m);
	machine_run(&m, 0);
	machine_run(&m, 0);
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 3);
	shell = t[2].id;
	assert_int_equal(t[0].objects, JOB);
	assert_int_equal(predictor_clear_tree(m.p, 20, t[0].id), -ENOENT);
	assert_int_equal(predictor_clear_tree(m.p, 10, t[0].id), 0);
	assert_int_equal(predictor_clear_tree(m.p, 10, t[0].id), -ENOENT);
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 2);
	assert_int_equal(t[1].id, shell);
	assert_int_equal(t[1].uses, 2);
	assert_int_equal(t[1].objects, 4);
	machine_run(&m, 0);
	assert_true(m.foretold < JOB / 5);
	machine_run(&m, 0);
	assert_true(m.foretold > JOB / 2);
	/* A program that another one began: the rest of that stays. */
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 3);
	assert_int_equal(t[1].root, file_key(&m, 20));
	assert_int_equal(predictor_clear_tree(m.p, 10, t[1].id), 0);
	assert_int_equal(predictor_trees(m.p, 10, t, 4), 2);
	assert_int_equal(t[1].id, shell);
	assert_int_equal(t[1].objects, 2);
}

TEST(test_clear_uid)
{
	struct machine a = machine_make(predictor_make(), 1 << 20, 10);
	struct machine b = machine_make(a.p, 1 << 20, 20);
	struct predictor_stats st;

	machine_run(&a, 0);
	machine_run(&a, 0);
	machine_run(&b, 1);
	machine_run(&b, 1);
	assert_int_equal(predictor_clear_uid(a.p, 30), -ENOENT);
	assert_int_equal(predictor_clear_uid(a.p, 10), 0);
	assert_int_equal(predictor_trees(a.p, 10, NULL, 0), 0);
	assert_int_equal(predictor_trees(a.p, 20, NULL, 0), 1);
	predictor_get_stats(a.p, &st);
	assert_int_equal(st.objects, JOB);
	machine_run(&b, 1);
	assert_true(b.foretold > JOB / 2);
	machine_run(&a, 0);
	assert_true(a.foretold < JOB / 5);
	assert_int_equal(predictor_clear_uid(a.p, TREES_ALL), 0);
	assert_int_equal(predictor_trees(a.p, TREES_ALL, NULL, 0), 0);
}
