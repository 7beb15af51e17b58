/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record marking over a socket. */
#include "scenario/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/util.h>

#include "scenario/spare.h"

#define LAST_FRAGMENT 0x80000000u

enum { ROOM = 1 << 20 };

struct bytes {
	size_t len;
	unsigned char data[ROOM];
};

struct peer {
	int fd;
	struct event *ev_read, *ev_write;
	const struct peer_ops *ops;
	void *arg;
	struct bytes in, out;
};

static void drop(struct bytes *b, size_t n)
{
	b->len -= n;
	memmove(b->data, b->data + n, b->len);
}

static bool take_record(struct peer *p)
{
	uint32_t mark;
	size_t len;
	void *data;

	if (p->in.len < sizeof(mark))
		return false;
	memcpy(&mark, p->in.data, sizeof(mark));
	len = ntohl(mark) & ~LAST_FRAGMENT;
	if (p->in.len < sizeof(mark) + len)
		return false;
	data = malloc(len + 1);
	memcpy(data, p->in.data + sizeof(mark), len);
	drop(&p->in, sizeof(mark) + len);
	p->ops->on_record(p->arg, data, len);
	free(data);
	return true;
}

static bool is_over(ssize_t n)
{
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void ended(struct peer *p)
{
	event_del(p->ev_read);
	event_del(p->ev_write);
	p->ops->on_closed(p->arg);
}

static void on_read(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	ssize_t n;

	(void)what;
	spare_begin();
	n = recv(fd, p->in.data + p->in.len, ROOM - p->in.len, 0);
	p->in.len += n > 0 ? (size_t)n : 0;
	while (take_record(p))
		continue;
	if (is_over(n))
		ended(p);
	spare_end();
}

static void on_write(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	ssize_t n;

	(void)what;
	spare_begin();
	n = send(fd, p->out.data, p->out.len, MSG_NOSIGNAL);
	if (n > 0)
		drop(&p->out, (size_t)n);
	if (p->out.len > 0 && is_over(n))
		ended(p);
	else if (p->out.len > 0)
		event_add(p->ev_write, NULL);
	spare_end();
}

struct peer *peer_new(
    struct event_base *base, int fd, const struct peer_ops *ops, void *arg)
{
	struct linger reset = {.l_onoff = 1};
	struct peer *p = calloc(1, sizeof(*p));
	int one = 1;

	evutil_make_socket_nonblocking(fd);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	p->fd = fd;
	p->ops = ops;
	p->arg = arg;
	p->ev_read = event_new(base, fd, EV_READ | EV_PERSIST, on_read, p);
	p->ev_write = event_new(base, fd, EV_WRITE, on_write, p);
	event_add(p->ev_read, NULL);
	return p;
}

int peer_bind(uint32_t address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

struct peer *peer_connect(struct event_base *base, uint32_t from, uint32_t to,
    uint16_t port, const struct peer_ops *ops, void *arg)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(to)};
	int fd = peer_bind(from, 0);

	if (connect(fd, (void *)&at, sizeof(at)) == 0 || errno == EINPROGRESS)
		return peer_new(base, fd, ops, arg);
	close(fd);
	return NULL;
}

void peer_free(struct peer *p)
{
	if (!p)
		return;
	event_free(p->ev_read);
	event_free(p->ev_write);
	close(p->fd);
	free(p);
}

void peer_send(struct peer *p, const void *record, size_t len)
{
	uint32_t mark = htonl((uint32_t)len | LAST_FRAGMENT);

	peer_send_raw(p, &mark, sizeof(mark));
	peer_send_raw(p, record, len);
}

void peer_send_raw(struct peer *p, const void *bytes, size_t len)
{
	if (len > ROOM - p->out.len)
		abort();
	memcpy(p->out.data + p->out.len, bytes, len);
	p->out.len += len;
	event_add(p->ev_write, NULL);
}

size_t peer_room(const struct peer *p)
{
	return ROOM - p->out.len;
}

void peer_turn_deaf(struct peer *p)
{
	event_del(p->ev_read);
}

void peer_shut(struct peer *p)
{
	(void)shutdown(p->fd, SHUT_WR);
}
