/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP connection in the making: its source port, and how soon a dead peer
 * shows. upstream_conn.c dials the server's programs, portmap.c its rpcbind. */
#include "upstream/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/util.h>

#include <xxhash.h>

#include "base/clock.h"

enum {
	/* As the Linux NFS client has it (sunrpc.min_resvport): below lie the
	 * ports of well-known services. */
	RESERVED_FIRST = 665,
	RESERVED_LAST = 1023,
	KEEPALIVE_IDLE_S = 10,
	KEEPALIVE_EVERY_S = 5,
	KEEPALIVE_COUNT = 3,
	/* When the kernel gives a connection up by itself (TCP_USER_TIMEOUT,
	 * tcp(7)). It is long, since a server that takes no more bytes is slow,
	 * not dead, and dial_silent() tells these apart. */
	USER_TIMEOUT_MS = 120000,
	SILENT_MS = 12000,
	STALLS_MS = 2000,
};

struct dial {
	int fd;
	struct event *ev;
	dial_cb cb;
	void *arg;
};

socklen_t dial_addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in);
}

uint16_t dial_addr_port(const struct sockaddr *sa)
{
	in_port_t port;

	/* Both families have the port at the same place, behind the family. */
	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
			   offsetof(struct sockaddr_in6, sin6_port),
	    "sin_port");
	memcpy(&port, (const char *)sa + offsetof(struct sockaddr_in, sin_port),
	    sizeof(port));
	return ntohs(port);
}

void dial_addr_set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

uint16_t dial_local_port(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	return dial_addr_port((struct sockaddr *)&ss);
}

uint32_t dial_source(int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	return (uint32_t)XXH3_64bits(&ss, sizeof(ss)) | 1;
}

bool dial_source_changed(int fd, const struct sockaddr *to)
{
	struct sockaddr_storage now = {0}, was = {0};
	socklen_t now_len = sizeof(now), was_len = sizeof(was);
	int probe = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	if (probe < 0)
		return false;
	/* Connecting a datagram socket sends nothing, it only asks the
	 * routing table. */
	known = connect(probe, to, dial_addr_len(to)) == 0 &&
		getsockname(probe, (struct sockaddr *)&now, &now_len) == 0 &&
		getsockname(fd, (struct sockaddr *)&was, &was_len) == 0;
	close(probe);
	dial_addr_set_port((struct sockaddr *)&now, 0);
	dial_addr_set_port((struct sockaddr *)&was, 0);
	return known && memcmp(&now, &was, sizeof(now)) != 0;
}

bool dial_silent(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return false;
	return (info.tcpi_unacked > 0 || info.tcpi_probes > 0) &&
	       info.tcpi_last_ack_recv > SILENT_MS;
}

bool dial_stalls(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	/* That the last acknowledgement is old says nothing where nothing was
	 * sent since; that the kernel sent again, or probes anew, does. Where
	 * there is no route, it only probes. */
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       ((info.tcpi_unacked > 0 && info.tcpi_retransmits > 0) ||
		   info.tcpi_probes > 1) &&
	       info.tcpi_last_ack_recv > STALLS_MS;
}

static void set_int(int fd, int level, int name, int value)
{
	/* Each of these makes a failure show sooner; none is vital. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

void dial_keep_alive(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
}

static int dial_socket(int family)
{
	struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	dial_keep_alive(fd);
	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

static int dial_bind(int fd, int family, uint16_t port)
{
	struct sockaddr_storage ss = {.ss_family = (sa_family_t)family};

	dial_addr_set_port((struct sockaddr *)&ss, port);
	return bind(fd, (struct sockaddr *)&ss, dial_addr_len((void *)&ss));
}

/* Binds a socket to `port` and begins to connect; returns the socket, or -1 and
 * errno. */
static int dial_try(const struct sockaddr *to, uint16_t port)
{
	int fd = dial_socket(to->sa_family);
	int err;

	if (fd < 0)
		return -1;
	/* Port 0 is bound, too: a port that connect() takes by itself may be
	 * shared with connections to elsewhere, and then it cannot be had
	 * again. */
	if (dial_bind(fd, to->sa_family, port) == 0 &&
	    (connect(fd, to, dial_addr_len(to)) == 0 || errno == EINPROGRESS))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* Tries the port that is wished for first, then the reserved ones from a random
 * one on, then any. Reserved ports need CAP_NET_BIND_SERVICE; a server may
 * insist on them (exports(5), "secure"). */
static int dial_open(const struct sockaddr *to, uint16_t port)
{
	unsigned count = RESERVED_LAST - RESERVED_FIRST + 1;
	uint32_t offset;
	int fd;

	if (port != 0) {
		fd = dial_try(to, port);
		if (fd >= 0)
			return fd;
	}
	evutil_secure_rng_get_bytes(&offset, sizeof(offset));
	for (unsigned i = 0; i < count; i++) {
		port = (uint16_t)(RESERVED_FIRST + (offset + i) % count);
		fd = dial_try(to, port);
		if (fd >= 0)
			return fd;
		if (errno == EACCES || errno == EPERM)
			break;
		if (errno != EADDRINUSE && errno != EADDRNOTAVAIL)
			return -1;
	}
	return dial_try(to, 0);
}

/* The socket is connected, or never will be: hands it over, or closes it. */
static void dial_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;
	dial_cb cb = d->cb;
	void *cb_arg = d->arg;
	int err = 0;
	socklen_t len = sizeof(err);

	if (what & EV_TIMEOUT)
		err = ETIMEDOUT;
	else if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err == 0)
		d->fd = -1;
	dial_cancel(d);
	cb(cb_arg, err ? -1 : fd, err);
}

struct dial *dial_start(struct event_base *base, const struct sockaddr *to,
    uint16_t port, uint64_t timeout_us, dial_cb cb, void *arg)
{
	struct dial *d = calloc(1, sizeof(*d));
	struct timeval tv = clock_timeval(timeout_us);
	int err;

	if (!d)
		return NULL;
	d->cb = cb;
	d->arg = arg;
	d->fd = dial_open(to, port);
	if (d->fd >= 0)
		d->ev = event_new(base, d->fd, EV_WRITE, dial_on_event, d);
	if (d->fd >= 0 && d->ev && event_add(d->ev, &tv) == 0)
		return d;
	err = d->fd >= 0 ? ENOMEM : errno;
	dial_cancel(d);
	errno = err;
	return NULL;
}

void dial_cancel(struct dial *d)
{
	if (!d)
		return;
	if (d->ev)
		event_free(d->ev);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}
