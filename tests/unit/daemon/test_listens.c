/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that systemd kept, as its sd_listen_fds(3) hands them to a process.
 */
#include "unittest.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/listens.h"

enum { FIRST = 3, KEPT = 2 }; /* sd_listen_fds(3) */

/* ---- memory ------------------------------------------------------------ */

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__real_reallocarray(void *old, size_t n, size_t bytes);
void *__wrap_reallocarray(void *old, size_t n, size_t bytes);

enum { ENOUGH = 1000000 };

static unsigned calls_left = ENOUGH; /* before memory is out */

static bool may_allocate(void)
{
	if (calls_left == 0)
		return false;
	calls_left--;
	return true;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return may_allocate() ? __real_calloc(n, bytes) : NULL;
}

void *__wrap_reallocarray(void *old, size_t n, size_t bytes)
{
	return may_allocate() ? __real_reallocarray(old, n, bytes) : NULL;
}

/* ---- systemd ----------------------------------------------------------- */

/* systemd hands over two sockets that listen; at any port. */
static void keep(void)
{
	char pid[16];

#ifndef FF_SYSTEMD
	skip();
#endif
	for (int i = 0; i < KEPT; i++) {
		struct sockaddr_in at = {.sin_family = AF_INET,
		    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		assert_int_equal(bind(fd, (void *)&at, sizeof(at)), 0);
		assert_int_equal(listen(fd, 1), 0);
		if (fd == FIRST + i)
			continue;
		assert_int_equal(dup2(fd, FIRST + i), FIRST + i);
		close(fd);
	}
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "2", 1);
	setenv("LISTEN_FDNAMES", "listen-a:listen-b", 1);
}

static void address_of(int fd, struct netmatch_addr *na)
{
	na->len = sizeof(na->addr);
	assert_int_equal(getsockname(fd, (void *)&na->addr, &na->len), 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(test_kept_are_handed_out)
{
	char why[LISTENS_TEXT_MAX];
	struct netmatch_addr na = {0};
	struct listens *l;

	keep();
	address_of(FIRST + 1, &na);
	l = listens_new();
	assert_non_null(l);
	assert_int_equal(listens_open(l, &na, why), FIRST + 1);
	listens_free(l);
	assert_false(is_open(FIRST));
	assert_true(is_open(FIRST + 1));
	close(FIRST + 1);
}

/* A socket that listens, and that nobody serves, would hold up whoever connects
 * to it. */
TEST(test_out_of_memory)
{
	struct listens *l;

	for (unsigned i = 1; i <= 1 + KEPT; i++) {
		keep();
		calls_left = i;
		l = listens_new();
		calls_left = ENOUGH;
		assert_non_null(l);
		listens_free(l);
		assert_false(is_open(FIRST));
		assert_false(is_open(FIRST + 1));
	}
}

TEST(test_none_kept)
{
	struct listens *l = listens_new();

	assert_non_null(l);
	listens_free(l);
}
