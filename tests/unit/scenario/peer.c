/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record marking over a bufferevent. */
#include "scenario/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#define LAST_FRAGMENT 0x80000000u

struct peer {
	struct bufferevent *bev;
	const struct peer_ops *ops;
	void *arg;
};

static bool take_record(struct peer *p, struct evbuffer *in)
{
	uint32_t mark;
	size_t len;
	void *data;

	if (evbuffer_copyout(in, &mark, sizeof(mark)) < (ssize_t)sizeof(mark))
		return false;
	len = ntohl(mark) & ~LAST_FRAGMENT;
	if (evbuffer_get_length(in) < sizeof(mark) + len)
		return false;
	evbuffer_drain(in, sizeof(mark));
	data = malloc(len + 1);
	evbuffer_remove(in, data, len);
	p->ops->on_record(p->arg, data, len);
	free(data);
	return true;
}

static void on_read(struct bufferevent *bev, void *arg)
{
	while (take_record(arg, bufferevent_get_input(bev)))
		continue;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct peer *p = arg;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_disable(bev, EV_READ | EV_WRITE);
	p->ops->on_closed(p->arg);
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
	p->ops = ops;
	p->arg = arg;
	p->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(p->bev, on_read, NULL, on_event, p);
	bufferevent_enable(p->bev, EV_READ | EV_WRITE);
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
	bufferevent_free(p->bev);
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
	bufferevent_write(p->bev, bytes, len);
}
