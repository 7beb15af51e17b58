/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes in doubt, the parts that ask nobody: which object a change is about
 * before it is sent, and which errors of a repeat may stem from the first try's
 * success. What is looked at, and what follows from that, stands in the
 * scenarios (tests/unit/scenario/change).
 */
#include "svc/doubt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"

static const struct nfs_proc *proc_of(uint32_t proc)
{
	return nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
}

static uint64_t key_of(const char *fh)
{
	nfs3_fh handle = fh_of(fh);

	return fh_key(&handle);
}

/* ---- the object -------------------------------------------------------- */

static diropargs3 name_in_dir(const char *name)
{
	return (diropargs3){.dir = fh_of("dir"), .name = name_of(name)};
}

static uint64_t object_of_name(struct world *w, uint32_t proc, const char *name)
{
	union nfs_args args = {.dirop = name_in_dir(name)};

	return doubt_object(w->caches, proc_of(proc), &args).key;
}

static struct drc_object object_of_link(
    struct world *w, const char *file, const char *name)
{
	union nfs_args args = {
	    .link = {.file = fh_of(file), .link = name_in_dir(name)}};

	return doubt_object(w->caches, proc_of(NFSPROC3_LINK), &args);
}

static void know_file(struct world *w)
{
	say_dir(w);
	say_name(w, "name", "file", NF3REG);
}

/* What the name leads to, for those that take a name away. */
static void test_object_of_a_name(void **state)
{
	struct world *w = *state;

	know_file(w);
	assert_int_equal(
	    object_of_name(w, NFSPROC3_REMOVE, "name"), key_of("file"));
	assert_int_equal(
	    object_of_name(w, NFSPROC3_RMDIR, "name"), key_of("file"));
	assert_int_equal(
	    object_of_name(w, NFSPROC3_RENAME, "name"), key_of("file"));
}

static void test_object_that_is_not_known(void **state)
{
	struct world *w = *state;

	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
	know_file(w);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "other"), 0);
}

static void test_object_of_an_absent_name(void **state)
{
	struct world *w = *state;

	say_dir(w);
	say_name(w, "name", NULL, NF3REG);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
}

/* The directory has changed: the name may lead elsewhere now. */
static void test_object_of_an_old_name(void **state)
{
	struct world *w = *state;

	know_file(w);
	w->version++;
	say_dir(w);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
}

/* What is made has no identity before. */
static void test_object_that_is_made(void **state)
{
	static const uint32_t procs[] = {
	    NFSPROC3_CREATE, NFSPROC3_MKDIR, NFSPROC3_SYMLINK, NFSPROC3_MKNOD};
	struct world *w = *state;

	know_file(w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(object_of_name(w, procs[i], "name"), 0);
}

/* Of LINK it is the file, with the number of its names; not where the new name
 * is there already. */
static void test_object_of_a_link(void **state)
{
	struct world *w = *state;
	struct drc_object object;

	know_file(w);
	object = object_of_link(w, "file", "second");
	assert_int_equal(object.key, key_of("file"));
	assert_int_equal(object.nlink, 1);
	assert_int_equal(object_of_link(w, "file", "name").key, 0);
	assert_int_equal(object_of_link(w, "stranger", "second").key, 0);
}

/* ---- errors ------------------------------------------------------------ */

static bool ambiguous(uint32_t proc, nfsstat3 status)
{
	union nfs_args args;
	union nfs_res res;

	memset(&args, 0, sizeof(args));
	memset(&res, 0, sizeof(res));
	res.status = status;
	return doubt_ambiguous(proc_of(proc), &args, &res);
}

static void test_errors(void **state)
{
	static const struct {
		uint32_t proc;
		nfsstat3 status;
	} doubtful[] = {
	    {NFSPROC3_CREATE, NFS3ERR_EXIST},
	    {NFSPROC3_MKDIR, NFS3ERR_EXIST},
	    {NFSPROC3_SYMLINK, NFS3ERR_EXIST},
	    {NFSPROC3_MKNOD, NFS3ERR_EXIST},
	    {NFSPROC3_LINK, NFS3ERR_EXIST},
	    {NFSPROC3_REMOVE, NFS3ERR_NOENT},
	    {NFSPROC3_RMDIR, NFS3ERR_NOENT},
	    {NFSPROC3_RENAME, NFS3ERR_NOENT},
	    {NFSPROC3_SETATTR, NFS3ERR_NOT_SYNC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++) {
		assert_true(ambiguous(doubtful[i].proc, doubtful[i].status));
		assert_false(ambiguous(doubtful[i].proc, NFS3_OK));
		assert_false(ambiguous(doubtful[i].proc, NFS3ERR_ACCES));
	}
	assert_false(ambiguous(NFSPROC3_MKDIR, NFS3ERR_NOENT));
	assert_false(ambiguous(NFSPROC3_REMOVE, NFS3ERR_EXIST));
	assert_false(ambiguous(NFSPROC3_LOOKUP, NFS3ERR_NOENT));
}

/* The server knows the repeat of an exclusive CREATE by its verifier. */
static void test_exclusive(void **state)
{
	union nfs_args args = {.create = {.how = {.mode = EXCLUSIVE}}};
	union nfs_res res = {.status = NFS3ERR_EXIST};

	(void)state;
	assert_false(doubt_ambiguous(proc_of(NFSPROC3_CREATE), &args, &res));
	args.create.how.mode = GUARDED;
	assert_true(doubt_ambiguous(proc_of(NFSPROC3_CREATE), &args, &res));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_object_of_a_name),
	    TEST(test_object_that_is_not_known),
	    TEST(test_object_of_an_absent_name),
	    TEST(test_object_of_an_old_name),
	    TEST(test_object_that_is_made),
	    TEST(test_object_of_a_link),
	    cmocka_unit_test(test_errors),
	    cmocka_unit_test(test_exclusive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
