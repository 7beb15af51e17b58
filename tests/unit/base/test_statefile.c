/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are replaced as a whole: what is there after each kind of end. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unittest.h"
#include "base/statefile.h"

struct place {
	char dir[32], path[64], tmp[72];
};

static void setup(struct place *p)
{
	strcpy(p->dir, "/tmp/statefile.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/kept", p->dir);
	snprintf(p->tmp, sizeof(p->tmp), "%s.new", p->path);
}

static void teardown(struct place *p)
{
	unlink(p->path);
	assert_int_equal(rmdir(p->dir), 0); /* nothing else is left behind */
}

static void assert_holds(const struct place *p, const char *text)
{
	char buf[64] = "";
	int fd = open(p->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, buf, sizeof(buf) - 1) >= 0);
	close(fd);
	assert_string_equal(buf, text);
}

FIXTURE(struct place, setup, teardown);

TEST(test_replaces, const struct place *p)
{
	struct stat st;

	assert_int_equal(statefile_write(p->path, "first", 5), 0);
	assert_int_equal(statefile_write(p->path, "2nd", 3), 0);
	assert_holds(p, "2nd");
	assert_int_equal(stat(p->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_not_equal(access(p->tmp, F_OK), 0);
}

TEST(test_parts, const struct place *p)
{
	struct statefile f;

	assert_int_equal(statefile_write(p->path, "old", 3), 0);
	assert_int_equal(statefile_begin(&f, p->path), 0);
	assert_int_equal(statefile_append(&f, "one ", 4), 0);
	assert_holds(p, "old");
	assert_int_equal(statefile_append(&f, "two", 3), 0);
	assert_int_equal(statefile_commit(&f), 0);
	assert_int_equal(f.fd, -1);
	assert_holds(p, "one two");
	statefile_abandon(&f); /* harmless by now */
	assert_holds(p, "one two");
}

TEST(test_abandoned, const struct place *p)
{
	struct statefile f;

	assert_int_equal(statefile_write(p->path, "old", 3), 0);
	assert_int_equal(statefile_begin(&f, p->path), 0);
	assert_int_equal(statefile_append(&f, "half", 4), 0);
	statefile_abandon(&f);
	assert_holds(p, "old");
	assert_int_not_equal(access(p->tmp, F_OK), 0);
}

/* The next daemon writes over a file that a killed one left half written. */
TEST(test_left_over, const struct place *p)
{
	struct statefile f;

	assert_int_equal(statefile_begin(&f, p->path), 0);
	assert_int_equal(statefile_append(&f, "much longer", 11), 0);
	close(f.fd);
	assert_int_equal(statefile_write(p->path, "new", 3), 0);
	assert_holds(p, "new");
}

TEST(test_fails, const struct place *p)
{
	char long_path[5000];

	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(statefile_write(long_path, "x", 1), -ENAMETOOLONG);
	assert_int_equal(
	    statefile_write("/nonexistent/dir/file", "x", 1), -ENOENT);
	/* A directory in its place: the rename fails. */
	assert_int_equal(mkdir(p->path, 0700), 0);
	assert_int_equal(statefile_write(p->path, "x", 1), -EISDIR);
	assert_int_not_equal(access(p->tmp, F_OK), 0);
	assert_int_equal(rmdir(p->path), 0);
}

/* A symbolic link is not followed to a file of somebody else. */
TEST(test_link, const struct place *p)
{
	assert_int_equal(symlink("/etc/passwd", p->tmp), 0);
	assert_int_equal(statefile_write(p->path, "x", 1), -ELOOP);
	assert_int_equal(unlink(p->tmp), 0);
}

TEST(test_read, const struct place *p)
{
	struct statefile_text text;

	statefile_read(p->path, 64, &text);
	assert_int_equal(text.error, -ENOENT);
	assert_null(statefile_first_line(&text));
	assert_int_equal(statefile_write(p->path, "a line\nmore", 11), 0);
	statefile_read(p->path, 10, &text);
	assert_int_equal(text.error, -EBADMSG);
	statefile_read(p->path, 11, &text);
	assert_int_equal(text.error, 0);
	assert_int_equal(text.len, 11);
	assert_string_equal(text.data, "a line\nmore");
	assert_string_equal(statefile_first_line(&text), "a line");
	statefile_free_text(&text);
	statefile_free_text(&text);
	statefile_read(p->dir, 64, &text);
	assert_int_equal(text.error, -EBADMSG);
	/* Opening a pipe would wait for somebody who writes. */
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(mkfifo(p->path, 0600), 0);
	statefile_read(p->path, 64, &text);
	assert_int_equal(text.error, -EBADMSG);
}

TEST(test_set_aside, const struct place *p)
{
	char aside[80];

	snprintf(aside, sizeof(aside), "%s.damaged", p->path);
	assert_int_equal(statefile_set_aside(p->path), -ENOENT);
	assert_int_equal(statefile_write(p->path, "x", 1), 0);
	assert_int_equal(statefile_set_aside(p->path), 0);
	assert_int_not_equal(access(p->path, F_OK), 0);
	assert_int_equal(unlink(aside), 0);
}

/* A directory that may be written and not read: the file is in place, so it is
 * no error that the directory cannot be synced. */
TEST(test_unreadable_dir, const struct place *p)
{
	bool root = geteuid() == 0;

	assert_int_equal(chmod(p->dir, 0300), 0);
	if (root) {
		assert_int_equal(chown(p->dir, 65534, 65534), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(statefile_write(p->path, "new", 3), 0);
	assert_holds(p, "new");
	assert_int_equal(statefile_sync_dir(p->path), -EACCES);
	if (root)
		assert_int_equal(seteuid(0), 0);
}
