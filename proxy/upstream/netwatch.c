/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink and a timer tell of changes of the network and of sleep. daemon/ has
 * all servers look again at their connections then (upstream_kick()). */
#include "upstream/netwatch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"

enum {
	SETTLE_US = 200000, /* several changes at once make one call */
	SLEPT_US = 1000000, /* a shorter sleep breaks no connection */
};

struct netwatch {
	netwatch_cb cb;
	void *arg;
	int netlink_fd;
	int timer_fd;
	struct event *ev_netlink;
	struct event *ev_timer;
	struct event *ev_settle;
	int64_t slept_us; /* all sleep since the boot */
	bool woke;
};

/* Returns how long the machine has slept since its boot, in microseconds: only
 * one of the two clocks goes on meanwhile. */
static int64_t slept_us(void)
{
	struct timespec b, m;

	clock_gettime(CLOCK_BOOTTIME, &b);
	clock_gettime(CLOCK_MONOTONIC, &m);
	return (int64_t)(b.tv_sec - m.tv_sec) * 1000000 +
	       (b.tv_nsec - m.tv_nsec) / 1000;
}

/* Arms a timer that never expires, but is cancelled when the wall clock is set,
 * as it is at waking up (timerfd_create(2)): so nothing has to poll for that.
 */
static void timer_arm(struct netwatch *nw)
{
	struct itimerspec never = {.it_value = {.tv_sec = (time_t)1 << 40}};

	(void)timerfd_settime(nw->timer_fd,
	    TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* Tells the owner a little later, together with what else changes meanwhile. */
static void netwatch_settle(struct netwatch *nw)
{
	struct timeval tv = clock_timeval(SETTLE_US);

	if (!event_pending(nw->ev_settle, EV_TIMEOUT, NULL))
		event_add(nw->ev_settle, &tv);
}

static void on_settle(evutil_socket_t fd, short what, void *arg)
{
	struct netwatch *nw = arg;
	bool woke = nw->woke;

	(void)fd;
	(void)what;
	nw->woke = false;
	nw->cb(nw->arg, woke);
}

static void on_netlink(evutil_socket_t fd, short what, void *arg)
{
	char buf[8192];

	(void)what;
	/* Any message means that something changed; ENOBUFS means that there
	 * were many. */
	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		errno = 0;
	netwatch_settle(arg);
}

/* The wall clock was set: it is news only if the machine slept. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct netwatch *nw = arg;
	int64_t now = slept_us();
	uint64_t expired;

	(void)what;
	(void)!read(fd, &expired, sizeof(expired));
	timer_arm(nw);
	if (now - nw->slept_us > SLEPT_US) {
		nw->woke = true;
		netwatch_settle(nw);
	}
	nw->slept_us = now;
}

static int netlink_open(void)
{
	struct sockaddr_nl sa = {.nl_family = AF_NETLINK,
	    .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE |
			 RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE};
	int fd = socket(
	    AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool netwatch_open(struct netwatch *nw, struct event_base *base)
{
	nw->netlink_fd = netlink_open();
	nw->timer_fd =
	    timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (nw->netlink_fd < 0 || nw->timer_fd < 0)
		return false;
	timer_arm(nw);
	nw->ev_netlink = event_new(
	    base, nw->netlink_fd, EV_READ | EV_PERSIST, on_netlink, nw);
	nw->ev_timer =
	    event_new(base, nw->timer_fd, EV_READ | EV_PERSIST, on_timer, nw);
	nw->ev_settle = evtimer_new(base, on_settle, nw);
	return nw->ev_netlink && nw->ev_timer && nw->ev_settle &&
	       event_add(nw->ev_netlink, NULL) == 0 &&
	       event_add(nw->ev_timer, NULL) == 0;
}

struct netwatch *netwatch_new(
    struct event_base *base, netwatch_cb cb, void *arg)
{
	struct netwatch *nw = calloc(1, sizeof(*nw));

	if (!nw)
		return NULL;
	nw->cb = cb;
	nw->arg = arg;
	nw->slept_us = slept_us();
	if (!netwatch_open(nw, base)) {
		int err = errno;

		netwatch_free(nw);
		errno = err;
		return NULL;
	}
	return nw;
}

void netwatch_free(struct netwatch *nw)
{
	if (!nw)
		return;
	if (nw->ev_netlink)
		event_free(nw->ev_netlink);
	if (nw->ev_timer)
		event_free(nw->ev_timer);
	if (nw->ev_settle)
		event_free(nw->ev_settle);
	if (nw->netlink_fd >= 0)
		close(nw->netlink_fd);
	if (nw->timer_fd >= 0)
		close(nw->timer_fd);
	free(nw);
}
