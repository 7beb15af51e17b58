/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clients of one server. A connection that is over is freed by an event of
 * its own, since whoever says that it is over still works with it.
 */
#include "daemon/clients.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/netmatch.h"
#include "config/config.h"
#include "daemon/listens.h"
#include "svc/conn.h"
#include "svc/svc.h"
#include "upstream/dial.h"

enum {
	/* No connection is taken while so many changes go on whose clients have
	 * left: each connection may leave some behind. */
	ORPHANS_MAX = 4096,
	/* A connection on which calls came is closed for a new one only after
	 * it has been idle for so long. */
	IDLE_MIN_US = 120000000,
	/* A client waits some seconds before it connects again. */
	ASK_AGAIN_US = 10000000,
};

/* One connection, in the list of the open ones or of those to be freed. */
struct clients_entry {
	LIST_ENTRY(clients_entry) link;
	struct conn *conn;
};

LIST_HEAD(client_list, clients_entry);

/* One for each server. */
struct clients {
	struct clients_params p;
	struct evconnlistener **listeners;
	size_t nlisteners;
	struct client_list open;
	struct client_list closed; /* to be freed by ev_reap */
	unsigned n;                /* open ones */
	/* When clients had to ask again last; 0: never. */
	uint64_t asked_us;
	struct event *ev_reap;
	/* Limits what peers can have logged: connections that are refused, and,
	 * below, those that are closed. */
	struct log_limit refused;
	struct log_limit closed_log;
	/* Nothing is accepted any more. */
	bool draining;
};

/* Always finds it: a connection is in the list until it says that it is
 * over. */
static struct clients_entry *find_conn(struct clients *c, struct conn *conn)
{
	struct clients_entry *cl;

	LIST_FOREACH (cl, &c->open, link)
		if (cl->conn == conn)
			return cl;
	return NULL;
}

/* The connection is over. It is freed later, as its caller still works with
 * it. */
static void on_conn_close(void *ctx, struct conn *conn)
{
	struct clients *c = ctx;
	struct clients_entry *cl = find_conn(c, conn);

	LIST_REMOVE(cl, link);
	LIST_INSERT_HEAD(&c->closed, cl, link);
	c->n--;
	event_active(c->ev_reap, EV_TIMEOUT, 1);
}

static void free_conns(struct client_list *list)
{
	struct clients_entry *cl;

	while ((cl = LIST_FIRST(list)) != NULL) {
		LIST_REMOVE(cl, link);
		conn_free(cl->conn);
		free(cl);
	}
}

static void on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct clients *c = arg;

	(void)fd;
	(void)what;
	free_conns(&c->closed);
}

/* Counts and logs a connection that is refused. */
static void refuse(struct clients *c, const struct sockaddr *peer,
    enum metrics_counter counter, const char *why)
{
	char text[NETMATCH_TEXT_MAX];
	unsigned suppressed;

	metrics_add(c->p.metrics, counter, 1);
	netmatch_format(peer, text);
	if (log_limit_ok(&c->refused, clock_now_us(), &suppressed))
		log_warn("server server=%s client=%s suppressed=%u: connection "
			 "refused: %s",
		    c->p.server, text, suppressed, why);
}

/* Close the connection that has been idle for longest: one that never called,
 * or else one that has not for minutes, whose client will connect again. */
static bool close_idle(struct clients *c)
{
	struct clients_entry *cl, *best = NULL;
	uint64_t now_us = clock_now_us(), idle_us, best_us = 0;
	bool used, best_used = true;

	LIST_FOREACH (cl, &c->open, link) {
		idle_us = conn_idle_us(cl->conn, now_us, &used);
		if (idle_us == 0 || (used && idle_us < IDLE_MIN_US) ||
		    (used && !best_used) ||
		    (used == best_used && idle_us <= best_us))
			continue;
		best = cl;
		best_us = idle_us;
		best_used = used;
	}
	if (best)
		conn_close_idle(best->conn);
	return best != NULL;
}

/* Whether the peer may connect; if not, it was refused. Orphans count, since a
 * client could otherwise leave changes behind, connect again, and so have any
 * number of them under way. */
static bool may_connect(struct clients *c, const struct sockaddr *peer)
{
	if (!config_server_allows(c->p.config, peer))
		refuse(c, peer, METRICS_CONNECTIONS_REFUSED_ALLOW,
		    "its address is not in `allow`");
	else if (c->p.config->secure && dial_addr_port(peer) >= IPPORT_RESERVED)
		refuse(c, peer, METRICS_CONNECTIONS_REFUSED_SECURE,
		    "its port is not below 1024 (see `secure`)");
	else if (svc_orphans(c->p.svc) >= ORPHANS_MAX ||
		 (c->n >= CLIENTS_MAX && !close_idle(c)))
		refuse(c, peer, METRICS_CONNECTIONS_REFUSED_LIMIT,
		    "there are too many connections");
	else
		return true;
	return false;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *peer, int socklen, void *ctx)
{
	struct clients *c = ctx;
	struct conn_params cp = {.base = c->p.base,
	    .pool = c->p.pool,
	    .svc = c->p.svc,
	    .metrics = c->p.metrics,
	    .room = c->p.room,
	    .closed = &c->closed_log,
	    .on_close = on_conn_close,
	    .ctx = c};
	struct clients_entry *cl = NULL;

	(void)listener;
	(void)socklen;
	if (may_connect(c, peer))
		cl = calloc(1, sizeof(*cl));
	if (cl)
		cl->conn = conn_new(&cp, fd, peer);
	if (!cl || !cl->conn) {
		free(cl);
		close(fd);
		return;
	}
	metrics_add(c->p.metrics, METRICS_CONNECTIONS_ACCEPTED, 1);
	LIST_INSERT_HEAD(&c->open, cl, link);
	c->n++;
}

/* Accepting fails mostly for lack of descriptors. It stops then, since the
 * socket stays readable and the loop would do nothing else; clients_sweep()
 * begins again. */
static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
	struct clients *c = ctx;
	unsigned suppressed;

	if (log_limit_ok(&c->refused, clock_now_us(), &suppressed))
		log_warn("server server=%s suppressed=%u: accept: %s",
		    c->p.server, suppressed, strerror(errno));
	evconnlistener_disable(listener);
}

/* Listens at one address: 0, or -errno and a sentence in `text`. An address
 * that this machine may lack (may_lack) is left out. */
static int open_listener(struct clients *c, const struct netmatch_addr *na,
    char text[LISTENS_TEXT_MAX])
{
	struct evconnlistener *l;
	int fd = listens_open(c->p.listens, na, text);

	if (na->may_lack && (fd == -EADDRNOTAVAIL || fd == -EAFNOSUPPORT))
		return 0;
	if (fd < 0)
		return fd;
	l = evconnlistener_new(c->p.base, on_accept, c,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, fd);
	if (!l) {
		close(fd);
		snprintf(text, LISTENS_TEXT_MAX, "out of memory");
		return -ENOMEM;
	}
	evconnlistener_set_error_cb(l, on_accept_error);
	c->listeners[c->nlisteners++] = l;
	return 0;
}

/* False, with a sentence and errno, if one cannot be had: a server that listens
 * at some of its addresses only would look to its clients as if it were
 * down. */
static bool open_listeners(struct clients *c, char *err, size_t errlen)
{
	const struct config_addrs *list = &c->p.config->listen;
	char at[NETMATCH_TEXT_MAX], text[LISTENS_TEXT_MAX];

	c->listeners = calloc(list->n, sizeof(struct evconnlistener *));
	if (!c->listeners)
		return false;
	for (size_t i = 0; i < list->n; i++) {
		int rc = open_listener(c, &list->list[i], text);

		if (rc == 0)
			continue;
		netmatch_addr_format(&list->list[i], at);
		snprintf(err, errlen, "server %s: listen = %s: %s", c->p.server,
		    at, text);
		/* That one is for a configuration that is wrong. */
		errno = rc == -EINVAL ? EIO : -rc;
		return false;
	}
	return true;
}

/* The sockets go back to `listens`, for the server that comes in this one's
 * place or for a restart, so that no client is refused meanwhile. */
static void give_back(struct clients *c)
{
	for (size_t i = 0; i < c->nlisteners; i++) {
		listens_give_back(
		    c->p.listens, evconnlistener_get_fd(c->listeners[i]));
		evconnlistener_free(c->listeners[i]);
	}
	c->nlisteners = 0;
}

struct clients *clients_new(
    const struct clients_params *p, char *err, size_t errlen)
{
	struct clients *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return NULL;
	c->p = *p;
	LIST_INIT(&c->open);
	LIST_INIT(&c->closed);
	c->ev_reap = evtimer_new(p->base, on_reap, c);
	if (c->ev_reap && open_listeners(c, err, errlen))
		return c;
	rc = errno;
	give_back(c);
	clients_free(c);
	errno = rc;
	return NULL;
}

void clients_free(struct clients *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nlisteners; i++)
		evconnlistener_free(c->listeners[i]);
	free(c->listeners);
	free_conns(&c->open);
	free_conns(&c->closed);
	if (c->ev_reap)
		event_free(c->ev_reap);
	free(c);
}

void clients_set_config(struct clients *c, const struct config_server *config)
{
	c->p.config = config;
}

/* Closes connections whose clients wait for a change that was held too long, so
 * that they connect and send it again. */
static void ask_again(struct clients *c, uint64_t now_us)
{
	struct clients_entry *cl, *next;

	if (c->asked_us != 0 && now_us - c->asked_us < ASK_AGAIN_US)
		return;
	for (cl = LIST_FIRST(&c->open); cl; cl = next) {
		next = LIST_NEXT(cl, link);
		if (conn_ask_again(cl->conn))
			c->asked_us = now_us;
	}
}

void clients_ask_again(struct clients *c, uint64_t now_us)
{
	svc_hold_changes(c->p.svc, now_us);
	ask_again(c, now_us);
}

void clients_sweep(struct clients *c, uint64_t now_us)
{
	struct clients_entry *cl, *next;

	for (cl = LIST_FIRST(&c->open); cl; cl = next) {
		next = LIST_NEXT(cl, link);
		conn_check(cl->conn, now_us);
	}
	ask_again(c, now_us);
	/* Accepting stops when descriptors run out; there may be some now. */
	for (size_t i = 0; !c->draining && i < c->nlisteners; i++)
		evconnlistener_enable(c->listeners[i]);
}

void clients_drain(struct clients *c)
{
	struct clients_entry *cl;

	c->draining = true;
	for (size_t i = 0; i < c->nlisteners; i++)
		evconnlistener_disable(c->listeners[i]);
	LIST_FOREACH (cl, &c->open, link)
		conn_drain(cl->conn);
}

void clients_leave(struct clients *c)
{
	give_back(c);
	clients_drain(c);
}

bool clients_idle(const struct clients *c)
{
	const struct clients_entry *cl;

	LIST_FOREACH (cl, &c->open, link)
		if (!conn_idle(cl->conn))
			return false;
	return true;
}

void clients_get_load(const struct clients *c, struct clients_load *out)
{
	const struct clients_entry *cl;
	struct conn_status st;

	*out = (struct clients_load){.connections = c->n};
	LIST_FOREACH (cl, &c->open, link) {
		conn_get_status(cl->conn, &st);
		out->bytes += st.in_flight_bytes;
		out->calls += st.in_flight;
	}
}

void clients_fill_status(
    const struct clients *c, struct arena *a, Forefetch__ServerStatus *out)
{
	size_t n = c->n < CONTROL_LIST_MAX ? c->n : CONTROL_LIST_MAX;
	Forefetch__ClientStatus *msg;
	const struct clients_entry *cl;
	struct conn_status st;

	out->clients_omitted = c->n - n;
	out->clients =
	    arena_messages(a, &forefetch__client_status__descriptor, n);
	LIST_FOREACH (cl, &c->open, link) {
		if (!out->clients || out->n_clients == n)
			return;
		msg = out->clients[out->n_clients++];
		conn_get_status(cl->conn, &st);
		msg->address = arena_bytes(a, "%s", st.peer);
		msg->age_us = clock_now_us() - st.since_us;
		msg->in_flight = st.in_flight;
		msg->bytes_in_flight = st.in_flight_bytes;
		msg->bytes_in = st.received_bytes;
		msg->bytes_out = st.sent_bytes;
	}
}
