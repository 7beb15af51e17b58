/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mount says why the daemon closed its connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unittest.h"
#include "mount/mount_ask.h"
#include "mount/mount_job.h"

uid_t __wrap_geteuid(void);
int __wrap_bindresvport_sa(int fd, struct sockaddr *sa);

static int port_err; /* why root gets no port below 1024 */

uid_t __wrap_geteuid(void)
{
	return 0;
}

int __wrap_bindresvport_sa(int fd, struct sockaddr *sa)
{
	(void)fd;
	(void)sa;
	errno = port_err;
	return port_err ? -1 : 0;
}

static void assert_said(const char *why, const char *text)
{
	if (!strstr(why, text))
		fail_msg("`%s` does not say `%s`", why, text);
}

/* Of a daemon that closes the connection. */
static void refuse(int err, struct mount_why *why)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	pid = fork();
	if (pid == 0) {
		close(accept(fd, NULL, NULL));
		_exit(0);
	}
	assert_true(pid > 0);
	close(fd);
	port_err = err;
	assert_false(
	    mount_ask("127.0.0.1", ntohs(at.sin_port), "/export", 5, why));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(test_no_port_is_free)
{
	struct mount_why why;

	refuse(EADDRINUSE, &why);
	assert_said(why.text, "no port below 1024 is free here");
}

TEST(test_no_port_is_allowed)
{
	struct mount_why why;

	refuse(EACCES, &why);
	assert_said(why.text, "ports below 1024 only: Permission denied");
}

TEST(test_host_is_not_allowed)
{
	struct mount_why why;

	refuse(0, &why);
	assert_said(why.text, "check that `allow` in its section");
}
