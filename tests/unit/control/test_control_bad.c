/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket and clients that are wrong, slow or too many. */
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "unittest.h"
#include "control/control.h"
#include "control/control_fixture.h"

FIXTURE(struct fixture, set_up, tear_down);

TEST(test_wrong_requests, struct fixture *fx)
{
	static const uint8_t empty[4] = {0};
	static const uint8_t garbage[] = {0, 0, 0, 3, 0xff, 0xff, 0xff};
	static const uint8_t newer[] = {0, 0, 0, 2, 0x08, CONTROL_VERSION + 1};
	static const uint8_t status1[] = {
	    0, 0, 0, 5, 0x08, 0x01, 0x82, 0x01, 0};
	static const uint8_t hint2[] = {0, 0, 0, 5, 0x08, 0x02, 0xc2, 0x01, 0};
	static const uint8_t hint1[] = {0, 0, 0, 5, 0x08, 0x01, 0xc2, 0x01, 0};
	static const uint8_t command[] = {
	    0, 0, 0, 5, 0x08, CONTROL_VERSION, 0x9a, 0x06, 0};
	int fd = client(fx);

	client_send(fd, empty, sizeof(empty));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_VERSION);
	client_send(fd, garbage, sizeof(garbage));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	client_send(fd, newer, sizeof(newer));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_VERSION);
	client_send(fd, status1, sizeof(status1));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_VERSION);
	/* Understood, but there is no stream to ask about. */
	client_send(fd, hint1, sizeof(hint1));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	client_send(fd, hint2, sizeof(hint2));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	client_send(fd, command, sizeof(command));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND);
	send_status(fd);
	expect_status(fx, fd);
}

TEST(test_oversized, struct fixture *fx)
{
	const uint32_t max = CONTROL_REQUEST_MAX;
	uint8_t head[4] = {0, (uint8_t)(max >> 16), (uint8_t)(max >> 8), 0};
	uint8_t *body = calloc(1, max);
	int fd = client_open(fx);
	size_t sent = 0;
	ssize_t n;

	client_send(fd, head, sizeof(head));
	while (sent < max) {
		n = send(fd, body + sent, max - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		step(fx);
	}
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	head[3] = 1; /* one more byte than may be */
	client_send(fd, head, sizeof(head));
	pass(fx, 100);
	assert_true(is_closed_now(fd));
	close(fd);
	free(body);
	fd = client_open(fx);
	client_send(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	pass(fx, 100);
	assert_true(is_closed_now(fd));
	close(fd);
}

/* Half a message, even if it trickles, has 10 s; an idle client has time. */
TEST(test_slow, struct fixture *fx)
{
	int idle = client(fx), half = client(fx);
	int slow = client(fx), i;
	uint8_t buf[REQUEST_SIZE];

	message_status(buf, "");
	client_send(half, buf, 6);
	client_send(slow, "\0\0\0\x30", 4);
	for (i = 0; i < 9; i++) {
		pass(fx, 1000);
		client_send(slow, "x", 1);
	}
	pass(fx, 500);
	assert_false(is_closed_now(half));
	assert_false(is_closed_now(slow));
	pass(fx, 700);
	assert_true(is_closed_now(half));
	assert_true(is_closed_now(slow));
	pass(fx, 40000);
	send_status(idle);
	expect_status(fx, idle);
}

TEST(test_too_many, struct fixture *fx)
{
	int fds[CONTROL_CLIENTS_MAX], fd, i;

	for (i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fds[i] = client_open(fx);
	fd = client_open(fx);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BUSY);
	assert_true(is_closed(fx, fd));
	close(fd);
	close(fds[7]);
	pass(fx, 2);
	fds[7] = client_open(fx);
	for (i = 0; i < CONTROL_CLIENTS_MAX; i++)
		send_status(fds[i]);
	for (i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		expect_status(fx, fds[i]);
		close(fds[i]);
	}
}

/* One user cannot take all the places. */
TEST(test_too_many_of_one, struct fixture *fx)
{
	int fds[CONTROL_UID_MAX + 1], i, fd;

	if (geteuid() != 0)
		skip();
	for (i = 0; i <= CONTROL_UID_MAX; i++) {
		struct sockaddr_un addr = {.sun_family = AF_UNIX};

		strcpy(addr.sun_path, fx->path);
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_int_equal(seteuid(65534), 0);
		assert_int_equal(
		    connect(fds[i], (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(seteuid(0), 0);
		pass(fx, 7);
	}
	expect_error(fx, fds[CONTROL_UID_MAX], FOREFETCH__ERROR_CODE__BUSY);
	fd = client_open(fx);
	send_status(fd);
	expect_status(fx, fd);
	send_status(fds[0]);
	expect_status(fx, fds[0]);
	for (i = 0; i <= CONTROL_UID_MAX; i++)
		close(fds[i]);
	close(fd);
}

static int client_open_as(struct fixture *fx, uid_t uid)
{
	int fd;

	assert_int_equal(seteuid(uid), 0);
	fd = client_open(fx);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

/* A user without trees has the daemon look for their names, which takes as
 * long as it takes; that of root goes on beside it. */
TEST(test_long_work_of_many, struct fixture *fx)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	int fds[20], fd;

	if (geteuid() != 0)
		skip();
	fx->names_wait = true;
	trees.server = bytes("nas");
	for (int i = 0; i < 20; i++) {
		fds[i] = client_open_as(fx, 65001 + (uid_t)i);
		send_command(fds[i], FOREFETCH__REQUEST__COMMAND_TREES, &trees);
	}
	pass(fx, 200);
	fd = client_open(fx);
	send_reload(fd);
	res = client_receive(fx, fd);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_RELOAD);
	close(fd);
	/* Those who wait have their turn, too. */
	fx->names_wait = false;
	for (int i = 0; i < 20; i++) {
		res = client_receive(fx, fds[i]);
		assert_int_equal(
		    res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
		close(fds[i]);
	}
}

/* Who asks nothing for a minute goes, unless something of his is under way. */
TEST(test_idle, struct fixture *fx)
{
	Forefetch__TraceRequest trace = FOREFETCH__TRACE_REQUEST__INIT;
	int idle = client(fx), asks = client(fx);
	int traces = client(fx);

	trace.server = bytes("nas");
	trace.action = FOREFETCH__TRACE_ACTION__BEGIN;
	send_command(traces, FOREFETCH__REQUEST__COMMAND_TRACE, &trace);
	(void)client_receive(fx, traces);
	pass(fx, CONTROL_IDLE_S * 1000 - 500);
	assert_false(is_closed_now(idle));
	send_status(asks);
	expect_status(fx, asks);
	pass(fx, 1000);
	assert_true(is_closed_now(idle));
	assert_false(is_closed_now(asks));
	assert_false(is_closed_now(traces));
	pass(fx, CONTROL_IDLE_S * 1000);
	assert_true(is_closed_now(asks));
	send_command(traces, FOREFETCH__REQUEST__COMMAND_TRACE, &trace);
	(void)client_receive(fx, traces);
}

/* Numbers are for everybody; the caches are root's and the daemon's. */
TEST(test_flush_by_others, struct fixture *fx)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	if (geteuid() != 0)
		skip();
	strcpy(addr.sun_path, fx->path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(seteuid(0), 0);
	pass(fx, 7);
	send_flush(fd, "");
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NOT_PERMITTED);
	send_flush(fd, "nosuch");
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NOT_PERMITTED);
	send_compact(fd, "", true);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NOT_PERMITTED);
	assert_string_equal(fx->flushed, "");
	send_status(fd);
	expect_status(fx, fd);
	close(fd);
}

/* Clients that send noise, cut off anywhere; one that does not is served. */
TEST(test_noise, struct fixture *fx)
{
	int good = client(fx), fd, i, k;
	uint8_t buf[REQUEST_SIZE];
	size_t len;

	srand(7);
	for (i = 0; i < 3000; i++) {
		fd = client_open(fx);
		len = i % 2 ? message_status(buf, "nas") : REQUEST_SIZE;
		for (k = 0; k < (i % 2 ? 3 : REQUEST_SIZE); k++)
			buf[i % 2 ? (size_t)rand() % len : (size_t)k] =
			    (uint8_t)rand();
		if (i % 3 == 0)
			buf[0] = buf[1] = buf[2] = 0;
		(void)!send(fd, buf, (size_t)rand() % len + 1, MSG_NOSIGNAL);
		pass(fx, i % 4 ? 1 : 6);
		close(fd);
		if (i % 50 == 0) {
			send_status(good);
			expect_status(fx, good);
		}
	}
}

/* A client that never reads is not served for ever, and is closed. */
TEST(test_unread, struct fixture *fx)
{
	int fd = client(fx), other = client(fx), i;

	fx->conns = CONTROL_LIST_MAX;
	for (i = 0; i < 100; i++)
		send_status(fd);
	pass(fx, 9000);
	assert_in_range(fx->served, 1, 5);
	send_status(other);
	expect_status(fx, other);
	pass(fx, 2000);
	while (recv(fd, (uint8_t[4096]){0}, 4096, 0) > 0)
		;
	assert_true(is_closed(fx, fd));
	send_status(other);
	expect_status(fx, other);
}
