/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One server: its addresses, connecting, and when it is tried again.
 *
 *	IDLE ─▶ RESOLVING ─▶ CONNECTING ─▶ GREETING ─▶ READY
 *	  ▲                                  │  ▲        │
 *	  │                                  ▼  │        │ CLUSTERDOWN, …
 *	  └────── node_fail() of any      UNREADY ◀──────┘
 */
#include "farm/engine_private.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "upstream/dial.h"
#include "upstream/hostname.h"

enum {
	RESOLVE_US = 30000000,
	CONNECT_US = 5000000,
	GREET_US = 5000000,
	BACKOFF_MIN_US = 100000,
	BACKOFF_MAX_US = 30000000,
	/* Asking again on a connection that is there costs little. */
	UNREADY_MAX_US = 1000000,
	/* A connection that held for so long was a good one. */
	STABLE_US = 10000000,
};

static void node_connect(struct node *n);

/* Grows from try to try, and is between half of it and all. */
static void node_wait(struct node *n, uint64_t max_us)
{
	uint64_t us = (uint64_t)BACKOFF_MIN_US
		      << (n->tries < 10 ? n->tries : 10);
	struct timeval tv;
	uint32_t chance;

	n->tries++;
	if (us > max_us)
		us = max_us;
	evutil_secure_rng_get_bytes(&chance, sizeof(chance));
	tv = clock_timeval(us / 2 + us / 2 * (chance >> 16) / 0xffff);
	(void)evtimer_add(n->timer, &tv);
}

enum engine_state node_state(const struct node *n)
{
	if (n->phase != NODE_READY)
		return n->away;
	if (n->slow)
		return ENGINE_SLOW;
	return n->full ? ENGINE_FULL : ENGINE_UP;
}

const char *node_error(const struct node *n)
{
	if (n->phase != NODE_READY)
		return n->error;
	if (n->slow)
		return "it does not answer in time";
	if (n->full)
		return n->full;
	return n->keeps_nothing ? n->keeps_nothing : "";
}

void node_note(struct node *n)
{
	enum engine_state state = node_state(n);
	unsigned suppressed;

	if (state == n->shown)
		return;
	n->shown = state;
	if (!log_limit_ok(&n->e->limit, clock_sending_us(), &suppressed))
		return;
	if (state == ENGINE_UP)
		log_info(
		    "farm engine=%s suppressed=%u: up", n->name, suppressed);
	else
		log_warn("farm engine=%s suppressed=%u: %s: %s", n->name,
		    suppressed, engine_state_name(state), node_error(n));
}

/* Close what there is; all who asked are told that there is nothing. */
static void node_close(struct node *n)
{
	wire_free(n->wire);
	n->wire = NULL;
	hostname_cancel(n->resolving);
	n->resolving = NULL;
	evtimer_del(n->timer);
	n->phase = NODE_IDLE;
	n->watched = n->slow = false;
	n->full = n->keeps_nothing = NULL;
	n->misses = 0;
	n->pause_us = n->paused_until_us = 0;
	put_drop_all(n);
	call_drop_all(n);
}

void node_fail(struct node *n, enum engine_state state, const char *why)
{
	uint64_t now_us = clock_sending_us();
	bool was_ready = n->phase == NODE_READY;

	if (was_ready && now_us - n->ready_us >= STABLE_US)
		n->tries = 0;
	/* Those who hear of it in node_close() must see what it is now. */
	n->phase = NODE_IDLE;
	n->away = state;
	(void)snprintf(n->error, sizeof(n->error), "%s", why);
	node_close(n);
	node_note(n);
	node_wait(n, BACKOFF_MAX_US);
	if (n->slots > 0)
		cluster_want_map(n->e);
}

void node_unready(struct node *n, const char *why)
{
	n->phase = NODE_UNREADY;
	n->away = ENGINE_DOWN;
	n->watched = n->slow = false;
	n->full = n->keeps_nothing = NULL;
	(void)snprintf(n->error, sizeof(n->error), "%s", why);
	put_drop_all(n);
	node_note(n);
	node_wait(n, UNREADY_MAX_US);
}

void node_ready(struct node *n)
{
	n->phase = NODE_READY;
	n->ready_us = n->used_us = clock_now_us();
	n->watched = true;
	n->error[0] = '\0';
	node_note(n);
	call_watch(n, n->ready_us);
}

void node_judge(struct node *n, const redisReply *r)
{
	const char *why = NULL;

	switch (fault_of(r, &why)) {
	case FAULT_REFUSE:
	case FAULT_RIGHTS:
		node_fail(n, ENGINE_REFUSES, why);
		break;
	case FAULT_WAIT:
		if (n->phase == NODE_GREETING || n->phase == NODE_READY)
			node_unready(n, why);
		break;
	case FAULT_MOVED:
		if (!n->e->slots)
			node_fail(n, ENGINE_REFUSES,
			    "it is a node of a Redis Cluster, and its user "
			    "may not ask for CLUSTER SLOTS");
		break;
	default:
		break;
	}
}

static void node_on_open(void *ctx)
{
	struct node *n = ctx;
	struct timeval tv = clock_timeval(GREET_US);

	n->phase = NODE_GREETING;
	(void)evtimer_add(n->timer, &tv);
	greet_begin(n);
}

static void node_on_reply(void *ctx, const redisReply *r)
{
	call_on_reply(ctx, r);
}

/* The peer of a connection that is new is no Redis, it seems. */
static void node_on_stranger(struct node *n, enum wire_end end, const char *why)
{
	int first = wire_first_byte(n->wire);
	char text[160];

	if (end == WIRE_END_CLOSED && first < 0) {
		(void)snprintf(text, sizeof(text),
		    "it does not talk (%s): is it Redis, and without TLS?",
		    why);
		node_fail(n, ENGINE_DOWN, text);
	} else if (end == WIRE_END_CLOSED) {
		node_fail(n, ENGINE_DOWN, why);
	} else if (first == 'H') {
		node_fail(n, ENGINE_REFUSES,
		    "it is no Redis, it speaks HTTP: see engine in [farm]");
	} else if (first == 0x15 || first == 0x16) {
		node_fail(n, ENGINE_REFUSES,
		    "it speaks TLS, which is not known here: name a port "
		    "without it in engine");
	} else {
		(void)snprintf(text, sizeof(text),
		    "it is no Redis: see engine in [farm] (%s)", why);
		node_fail(n, ENGINE_REFUSES, text);
	}
}

static void node_on_end(void *ctx, enum wire_end end, const char *why)
{
	struct node *n = ctx;
	char text[160];

	if (n->phase == NODE_CONNECTING) {
		(void)snprintf(n->error, sizeof(n->error), "%s", why);
		wire_free(n->wire);
		n->wire = NULL;
		node_connect(n);
	} else if (n->phase == NODE_GREETING) {
		node_on_stranger(n, end, why);
	} else {
		(void)snprintf(text, sizeof(text), "%s%s",
		    end == WIRE_END_BAD ? "it sent " : "", why);
		node_fail(n, ENGINE_DOWN, text);
	}
}

static const struct wire_ops ops = {node_on_open, node_on_reply, node_on_end};

/* To the next of its addresses. */
static void node_connect(struct node *n)
{
	struct timeval tv = clock_timeval(CONNECT_US);
	char why[160];

	n->phase = NODE_CONNECTING;
	while (n->next_addr < n->naddrs) {
		const struct sockaddr *to =
		    (struct sockaddr *)&n->addrs[n->next_addr++];

		n->wire = wire_new(n->e->base, to, &ops, n, &n->e->held_bytes);
		if (n->wire) {
			(void)evtimer_add(n->timer, &tv);
			return;
		}
		(void)snprintf(n->error, sizeof(n->error), "%s",
		    errno == ENOENT ? "no such socket" : strerror(errno));
	}
	(void)snprintf(why, sizeof(why), "cannot connect: %.120s", n->error);
	node_fail(n, ENGINE_DOWN, why);
}

static void node_take_addrs(struct node *n, const struct addrinfo *list)
{
	n->naddrs = n->next_addr = 0;
	for (; list && n->naddrs < ADDRS_MAX; list = list->ai_next) {
		struct sockaddr_storage *to = &n->addrs[n->naddrs];

		if (list->ai_family != AF_INET && list->ai_family != AF_INET6)
			continue;
		memset(to, 0, sizeof(*to));
		memcpy(to, list->ai_addr, list->ai_addrlen);
		dial_addr_set_port((struct sockaddr *)to, n->port);
		n->naddrs++;
	}
}

static void node_on_hostname(
    void *arg, int err, int sys, const struct addrinfo *list)
{
	struct node *n = arg;
	char why[160];

	n->resolving = NULL;
	if (err == 0) {
		node_take_addrs(n, list);
		node_connect(n);
		return;
	}
	(void)snprintf(why, sizeof(why), "cannot find %.80s: %.60s", n->host,
	    err == EAI_SYSTEM ? strerror(sys) : gai_strerror(err));
	node_fail(n, ENGINE_DOWN, why);
}

static void node_begin(struct node *n)
{
	struct timeval tv = clock_timeval(RESOLVE_US);
	struct sockaddr_un *un = (struct sockaddr_un *)&n->addrs[0];
	struct hostname *asked;

	if (n->tries > 0)
		n->e->reconnects++;
	n->phase = NODE_RESOLVING;
	(void)evtimer_add(n->timer, &tv);
	if (n->host[0]) {
		asked = hostname_ask(n->e->base, n->host, node_on_hostname, n);
		if (asked)
			n->resolving = asked;
		return;
	}
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	(void)snprintf(un->sun_path, sizeof(un->sun_path), "%s", n->path);
	n->naddrs = 1;
	n->next_addr = 0;
	node_connect(n);
}

static void node_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;

	(void)fd;
	(void)what;
	switch (n->phase) {
	case NODE_IDLE:
		node_begin(n);
		break;
	case NODE_RESOLVING:
		node_fail(n, ENGINE_DOWN, "its name is not found in time");
		break;
	case NODE_CONNECTING:
		node_on_end(n, WIRE_END_CLOSED, strerror(ETIMEDOUT));
		break;
	case NODE_GREETING:
		node_fail(n, ENGINE_SLOW,
		    "it takes connections and answers nothing: does it hang, "
		    "or is it no Redis?");
		break;
	case NODE_UNREADY:
		node_on_open(n);
		break;
	case NODE_READY:
		call_watch(n, clock_now_us());
		break;
	}
}

static bool node_set_name(
    struct node *n, const char *host, uint16_t port, const char *path)
{
	int len = snprintf(n->host, sizeof(n->host), "%s", host);
	const char *form = strchr(host, ':') ? "[%s]:%u" : "%s:%u";

	n->port = port;
	if (path) {
		(void)snprintf(n->name, sizeof(n->name), "%s", path);
		len = snprintf(n->path, sizeof(n->path), "%s", path);
		return (size_t)len < sizeof(n->path);
	}
	(void)snprintf(n->name, sizeof(n->name), form, host, port);
	return (size_t)len < sizeof(n->host);
}

void node_move(struct node *n, const char *host, uint16_t port)
{
	(void)node_set_name(n, host, port, NULL);
}

/* A place for it; false where there are too many. */
static bool node_place(struct engine *e, struct node *n)
{
	unsigned i = 0;

	while (i < NODES_MAX && e->nodes[i])
		i++;
	if (i == NODES_MAX)
		return false;
	n->index = i;
	e->nodes[i] = n;
	if (i >= e->nnodes)
		e->nnodes = i + 1;
	return true;
}

struct node *node_new(
    struct engine *e, const char *host, uint16_t port, const char *path)
{
	static const struct timeval at_once = {0};
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	TAILQ_INIT(&n->calls);
	TAILQ_INIT(&n->puts);
	n->e = e;
	n->away = n->shown = ENGINE_CONNECTING;
	n->used_us = clock_sending_us();
	n->timer = evtimer_new(e->base, node_on_timer, n);
	errno = n->timer ? ENAMETOOLONG : ENOMEM;
	if (n->timer && node_set_name(n, host, port, path) &&
	    node_place(e, n)) {
		(void)evtimer_add(n->timer, &at_once);
		return n;
	}
	if (n->timer)
		event_free(n->timer);
	free(n);
	return NULL;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	node_close(n);
	n->e->nodes[n->index] = NULL;
	event_free(n->timer);
	free(n);
}
