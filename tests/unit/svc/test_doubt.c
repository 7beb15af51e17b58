/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes in doubt, the parts that ask nobody: which object a change is about
 * before it is sent, and which errors of a repeat may stem from the first try's
 * success. What is looked at, and what follows from that, stands in the
 * scenarios (tests/unit/scenario/change).
 */
#include "svc/doubt.h"

#include "unittest.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_object.h"

static const struct nfs_proc *proc_of(uint32_t proc)
{
	return nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
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

FIXTURE(struct world, set_up, tear_down);

/* A procedure that takes a name away is about the object that the name leads
 * to. */
TEST(test_object_of_a_name, struct world *w)
{
	know_file(w);
	assert_int_equal(
	    object_of_name(w, NFSPROC3_REMOVE, "name"), key_of("file"));
	assert_int_equal(
	    object_of_name(w, NFSPROC3_RMDIR, "name"), key_of("file"));
	assert_int_equal(
	    object_of_name(w, NFSPROC3_RENAME, "name"), key_of("file"));
}

TEST(test_object_that_is_not_known, struct world *w)
{
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
	know_file(w);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "other"), 0);
}

TEST(test_object_of_an_absent_name, struct world *w)
{
	say_dir(w);
	say_name(w, "name", NULL, NF3REG);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
}

/* The directory has changed: the name may lead elsewhere now. */
TEST(test_object_of_an_old_name, struct world *w)
{
	know_file(w);
	w->version++;
	say_dir(w);
	assert_int_equal(object_of_name(w, NFSPROC3_REMOVE, "name"), 0);
}

/* An object that a procedure makes has no identity before. */
TEST(test_object_that_is_made, struct world *w)
{
	static const uint32_t procs[] = {
	    NFSPROC3_CREATE, NFSPROC3_MKDIR, NFSPROC3_SYMLINK, NFSPROC3_MKNOD};

	know_file(w);
	for (int i = 0; i < 4; i++)
		assert_int_equal(object_of_name(w, procs[i], "name"), 0);
}

/* Of LINK it is the file, with the number of its names; not where the new name
 * is there already. */
TEST(test_object_of_a_link, struct world *w)
{
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

TEST(test_errors)
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

	for (size_t i = 0; i < LENGTH(doubtful); i++) {
		assert_true(ambiguous(doubtful[i].proc, doubtful[i].status));
		assert_false(ambiguous(doubtful[i].proc, NFS3_OK));
		assert_false(ambiguous(doubtful[i].proc, NFS3ERR_ACCES));
	}
	assert_false(ambiguous(NFSPROC3_MKDIR, NFS3ERR_NOENT));
	assert_false(ambiguous(NFSPROC3_REMOVE, NFS3ERR_EXIST));
	assert_false(ambiguous(NFSPROC3_LOOKUP, NFS3ERR_NOENT));
}

/* The server knows the repeat of an exclusive CREATE by its verifier. */
TEST(test_exclusive)
{
	union nfs_args args = {.create = {.how = {.mode = EXCLUSIVE}}};
	union nfs_res res = {.status = NFS3ERR_EXIST};

	assert_false(doubt_ambiguous(proc_of(NFSPROC3_CREATE), &args, &res));
	args.create.how.mode = GUARDED;
	assert_true(doubt_ambiguous(proc_of(NFSPROC3_CREATE), &args, &res));
}

/* ---- SETATTR ------------------------------------------------------------ */

/* A file, and a change of it as it was asked for and noted. */
struct set {
	SETATTR3args asked;
	struct drc_object was;
	fattr3 is;
};

static struct set set_of(struct world *w)
{
	struct set s = {.asked = {.object = fh_of("file")}};

	say_attr(w, "file", NF3REG, 7);
	attrcache_fattr(w->caches->attr, node_of(w, "file"), &s.is);
	return s;
}

static void set_note(struct world *w, struct set *s)
{
	union nfs_args args = {.setattr = s->asked};

	s->was = doubt_object(w->caches, proc_of(NFSPROC3_SETATTR), &args);
	assert_true(s->was.key != 0);
}

static void assert_found(const struct set *s, enum doubt_set found)
{
	assert_int_equal(doubt_set_found(&s->asked, &s->was, &s->is), found);
}

static void ask_time(set_time *t, uint32_t seconds, uint32_t nseconds)
{
	t->set_it = SET_TO_CLIENT_TIME;
	t->set_time_u.time.seconds = seconds;
	t->set_time_u.time.nseconds = nseconds;
}

TEST(test_set_not_known, struct world *w)
{
	union nfs_args args = {.setattr = {.object = fh_of("file")}};

	assert_int_equal(
	    doubt_object(w->caches, proc_of(NFSPROC3_SETATTR), &args).key, 0);
	say_attr(w, "file", NF3REG, 7);
	/* A change whose outcome is open. */
	attrcache_changed(
	    w->caches->attr, node_of(w, "file"), w->now_us, w->now_us);
	assert_int_equal(
	    doubt_object(w->caches, proc_of(NFSPROC3_SETATTR), &args).key, 0);
}

TEST(test_set_mode, struct world *w)
{
	struct set s = set_of(w);
	unsigned mode = s.is.mode;

	s.asked.new_attributes.mode.set_it = TRUE;
	s.asked.new_attributes.mode.set_uint32_u.value = mode ^ 1;
	set_note(w, &s);
	assert_found(&s, DOUBT_SET_NOT_DONE);
	s.is.ctime.seconds++;
	s.is.size++;
	assert_found(&s, DOUBT_SET_NOT_DONE);
	s.is.mode = mode ^ 1;
	assert_found(&s, DOUBT_SET_DONE);
	s.is.mode = mode ^ 2;
	assert_found(&s, DOUBT_SET_UNKNOWN);
	/* With a guard the server decides. */
	s.asked.guard.check = TRUE;
	assert_found(&s, DOUBT_SET_NOT_DONE);
}

TEST(test_set_size, struct world *w)
{
	struct set s = set_of(w);

	s.asked.new_attributes.size.set_it = TRUE;
	s.asked.new_attributes.size.set_size3_u.size = s.is.size + 5;
	set_note(w, &s);
	s.is.ctime.seconds++;
	s.is.mode ^= 1;
	assert_found(&s, DOUBT_SET_NOT_DONE);
	/* As long as before, but of other data. */
	s.is.mtime.seconds++;
	assert_found(&s, DOUBT_SET_UNKNOWN);
	s.is.size += 5;
	assert_found(&s, DOUBT_SET_DONE);
}

TEST(test_set_times, struct world *w)
{
	struct set s = set_of(w);

	ask_time(&s.asked.new_attributes.atime, 5, 0);
	ask_time(&s.asked.new_attributes.mtime, 6, 123456789);
	set_note(w, &s);
	s.is.ctime.seconds++;
	/* Somebody read it since, and the server keeps microseconds. */
	s.is.atime.seconds = 99;
	s.is.mtime = (nfstime3){.seconds = 6, .nseconds = 123456000};
	assert_found(&s, DOUBT_SET_DONE);
	s.is.mtime.nseconds = 0;
	assert_found(&s, DOUBT_SET_DONE);
	s.is.mtime.nseconds = 123456788;
	assert_found(&s, DOUBT_SET_UNKNOWN);
}

TEST(test_set_to_the_servers_time, struct world *w)
{
	struct set s = set_of(w);

	s.asked.new_attributes.mtime.set_it = SET_TO_SERVER_TIME;
	set_note(w, &s);
	s.is.ctime.seconds++;
	s.is.mtime.seconds++;
	assert_found(&s, DOUBT_SET_NOT_DONE);
}
