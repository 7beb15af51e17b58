/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions as they are kept: what is there after a restart, what a damaged
 * file is worth, and how they are shown among the trees.
 */
#include "predictor/persist/persist.h"
#include "predictor/persist/persist_format.h"
#include "predictor/persist/predictor.pb-c.h"
#include "predictor/persist/trees.h"
#include "predictor/sessions_fixture.h"
#include "predictor/tree_text.h"

/* ---- what stays ------------------------------------------------------- */

static void desk_restart(struct desk *d)
{
	size_t len;
	void *data = predictor_export(d->p, &len);

	assert_non_null(data);
	predictor_free(d->p);
	d->p = predictor_make();
	assert_int_equal(predictor_import(d->p, data, len), 0);
	free(data);
	d->n = 0;
}

TEST(test_restart)
{
	struct desk *d = desk_taught(100, 60);

	/* One that goes on is there, too, and is the newest. */
	desk_work(d, 100, 30);
	desk_work(d, 5000, 30);
	desk_restart(d);
	desk_work(d, 100, 10);
	desk_look(d);
	assert_non_null(told(d, 5029));
	assert_non_null(told(d, 159));
	assert_true(told(d, 110)->p > told(d, 159)->p);
	assert_true(told(d, 159)->p > told(d, 5029)->p);
	assert_true(told(d, 110)->needs & PREDICTOR_NEEDS_DATA);
	d->uid = BOB;
	desk_work(d, 100, 30);
	assert_int_equal(predictor_session(d->p), 0);
}

/* A name that got another handle is the same object. */
TEST(test_new_handle)
{
	struct desk *d = desk_taught(100, 60);
	struct predictor_obs o = {.kind = PREDICTOR_LOOKUP,
	    .now_ns = d->now_ns,
	    .actor = 99,
	    .uid = ALICE,
	    .object = 77777,
	    .parent = 1 + 110 % 3,
	    .name_hash = 110 * 31};

	predictor_observe(d->p, &o);
	desk_use(d, 100);
	desk_look(d);
	assert_non_null(told(d, 77777));
	assert_null(told(d, 110));
	/* The predictor does not ask for an object that is gone. */
	predictor_forget(d->p, 120);
	desk_leave(d);
	desk_use(d, 100);
	desk_look(d);
	assert_null(told(d, 120));
}

/* Exported, changed by `spoil`, imported: what that returns. */
static int damaged(void (*spoil)(Forefetch__TreeFile *f))
{
	struct desk *d = desk_taught(100, 60);
	struct predictor *q = predictor_make();
	Forefetch__TreeFile *f;
	size_t len;
	unsigned char *data = predictor_export(d->p, &len);
	unsigned char *packed;
	int ret;

	assert_non_null(data);
	f = forefetch__tree_file__unpack(
	    NULL, len - HEADER_BYTES, data + HEADER_BYTES);
	assert_non_null(f);
	assert_int_equal(f->n_session_uid, 3);
	spoil(f);
	packed = malloc(forefetch__tree_file__get_packed_size(f));
	len = forefetch__tree_file__pack(f, packed);
	ret = persist_apply(q, false, TREES_ALL, packed, len);
	forefetch__tree_file__free_unpacked(f, NULL);
	free(packed);
	free(data);
	predictor_free(q);
	return ret;
}

static void spoil_nothing(Forefetch__TreeFile *f)
{
	(void)f;
}
static void spoil_object(Forefetch__TreeFile *f)
{
	f->session[5] = (uint32_t)f->n_object_key + 1;
}
static void spoil_needs(Forefetch__TreeFile *f)
{
	f->n_session_needs--;
}
static void spoil_uids(Forefetch__TreeFile *f)
{
	f->n_session_uid--;
}
static void spoil_spaces(Forefetch__TreeFile *f)
{
	f->n_session_space--;
}
static void spoil_ends(Forefetch__TreeFile *f)
{
	f->session[5] = 0;
}
static void spoil_old(Forefetch__TreeFile *f)
{
	f->n_session = f->n_session_needs = f->n_session_blocks = 0;
	f->n_session_uid = f->n_session_space = 0;
}
static void spoil_twice(Forefetch__TreeFile *f)
{
	for (size_t i = 0; i < f->n_session; i++)
		if (f->session[i])
			f->session[i] = 1;
}

TEST(test_damaged)
{
	assert_int_equal(damaged(spoil_nothing), 0);
	assert_int_equal(damaged(spoil_old), 0);
	assert_int_equal(damaged(spoil_twice), 0);
	assert_int_equal(damaged(spoil_object), -EBADMSG);
	assert_int_equal(damaged(spoil_needs), -EBADMSG);
	assert_int_equal(damaged(spoil_uids), -EBADMSG);
	assert_int_equal(damaged(spoil_spaces), -EBADMSG);
	assert_int_equal(damaged(spoil_ends), -EBADMSG);
}

/* ---- as trees --------------------------------------------------------- */

static uint64_t session_of(const struct predictor *p, uint64_t uid)
{
	struct predictor_tree t[64];
	ssize_t n = predictor_trees(p, uid, t, 64);

	assert_true(n >= 0 && n <= 64);
	for (ssize_t i = 0; i < n; i++) {
		if (!t[i].session)
			continue;
		assert_int_equal(t[i].uid, ALICE);
		assert_int_equal(t[i].uses, 3);
		assert_int_equal(t[i].objects, 60);
		assert_int_equal(t[i].root, 100);
		return t[i].id;
	}
	return 0;
}

TEST(test_trees)
{
	struct desk *d = desk_taught(100, 60);
	char *text = NULL;
	size_t len = 0;
	uint64_t id;
	FILE *out;

	desk_work(d, 100, 1);
	id = session_of(d->p, ALICE);
	assert_int_not_equal(id, 0);
	assert_true(session_of(d->p, TREES_ALL) == id);
	d->uid = BOB;
	desk_use(d, 100);
	assert_int_equal(session_of(d->p, BOB), 0);
	out = open_memstream(&text, &len);
	assert_int_equal(show_tree(d->p, BOB, id, out, NULL, NULL), -ENOENT);
	assert_int_equal(show_tree(d->p, ALICE, id, out, NULL, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "  0000000000000064\n"));
	assert_int_equal(len, 60 * 19);
	free(text);
	assert_int_equal(predictor_clear_tree(d->p, BOB, id), -ENOENT);
	assert_int_equal(predictor_clear_tree(d->p, ALICE, id), 0);
	assert_int_equal(session_of(d->p, ALICE), 0);
}

TEST(test_clear)
{
	struct desk *d = desk_taught(100, 60);

	assert_int_equal(predictor_clear_uid(d->p, ALICE), 0);
	desk_use(d, 100);
	assert_int_equal(desk_look(d), 0);
	d = desk_taught(100, 60);
	assert_int_equal(predictor_clear(d->p), 0);
	desk_work(d, 100, 60);
	assert_int_equal(desk_look(d), 0);
	/* It goes on to record. */
	desk_leave(d);
	desk_use(d, 100);
	assert_true(desk_look(d) > 0);
}
