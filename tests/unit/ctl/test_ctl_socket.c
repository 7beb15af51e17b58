/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which control sockets root takes from its environment. */
#include <sys/stat.h>
#include <unistd.h>
#include "unittest.h"
#include "ctl/ctl_socket.h"

enum { SOMEBODY = 1000, DAEMON = 999 };

static const char *dir;

static int set_up(void **state)
{
	(void)state;
	dir = unittest_folder();
	return chmod(dir, 0755);
}

/* DIR/NAME of that owner and mode; a directory if it ends in a slash. */
static const char *make(const char *name, uid_t owner, mode_t mode)
{
	static char path[128];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	len = strlen(path);
	if (path[len - 1] == '/') {
		path[len - 1] = '\0';
		assert_int_equal(mkdir(path, 0755), 0);
	} else {
		f = fopen(path, "w");
		assert_non_null(f);
		fclose(f);
	}
	assert_int_equal(chown(path, owner, (gid_t)owner), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

FIXTURE_OF_STATE(set_up, NULL);

TEST(test_safe)
{
	if (geteuid() != 0)
		skip();
	assert_true(ctl_socket_is_safe(make("of-root", 0, 0666)));
	assert_true(ctl_socket_is_safe("/nowhere/there/is/one"));
	make("daemon/", DAEMON, 0755);
	assert_true(ctl_socket_is_safe(make("daemon/sock", DAEMON, 0666)));
}

TEST(test_unsafe)
{
	char link[160];

	if (geteuid() != 0)
		skip();
	assert_false(ctl_socket_is_safe(make("of-somebody", SOMEBODY, 0666)));
	make("home/", SOMEBODY, 0755);
	/* Root's today, and renamed tomorrow. */
	assert_false(ctl_socket_is_safe(make("home/sock", 0, 0666)));
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink("home/sock", link), 0);
	assert_false(ctl_socket_is_safe(link));
	snprintf(link, sizeof(link), "%s/home/later/sock", dir);
	assert_false(ctl_socket_is_safe(link));
	/* Where everybody may make it before the daemon does. */
	assert_false(ctl_socket_is_safe("/tmp/there-is-none/sock"));
	make("open/", 0, 0777);
	assert_false(ctl_socket_is_safe(make("open/sock", 0, 0666)));
	assert_false(ctl_socket_is_safe(""));
}

/* The variable is heeded where it is safe, and everybody else's always is. */
TEST(test_environment)
{
	char path[160];

	unsetenv("FOREFETCH_SOCKET");
	assert_string_equal(ctl_socket_path(), "/run/forefetch/control.sock");
	snprintf(path, sizeof(path), "%s/home/sock", dir);
	if (geteuid() == 0) {
		make("home/", SOMEBODY, 0755);
		make("home/sock", 0, 0666);
	}
	setenv("FOREFETCH_SOCKET", path, 1);
	assert_string_equal(ctl_socket_path(),
	    geteuid() == 0 ? "/run/forefetch/control.sock" : path);
	setenv("FOREFETCH_SOCKET", "/nowhere/sock", 1);
	assert_string_equal(ctl_socket_path(), "/nowhere/sock");
}
