/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One server: its addresses, connecting, when it is tried again, and when its
 * silence is too long.
 *
 *	IDLE ─▶ RESOLVING ─▶ CONNECTING ─▶ GREETING ─▶ READY
 *	  ▲                                  │  ▲        │
 *	  │                                  ▼  │        │ CLUSTERDOWN, …
 *	  └── redis_node_fail() of any    UNREADY ◀──────┘
 */
#include "engine/redis_private.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <event2/event.h>
#include <event2/util.h>

#include "base/clock.h"
#include "base/uint.h"
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
	WATCH_US = 200000,
	SILENCE_US = 1000000, /* and SILENCE_RTTS round trips */
	SILENCE_RTTS = 16,
	HANG_US = 10000000,   /* of silence, until it is connected to anew */
	ANSWER_US = 30000000, /* until one answer is complete */
	IDLE_PING_US = 30000000,
	/* While the round trip is far above the best one: else a hiccup would
	 * be believed for as long as nobody asks. */
	SLOW_PING_US = 500000,
};

static void node_connect(struct redis_node *n);

/* Waits before the next try: longer from try to try, and between half of it and
 * all, so that not all machines of a farm come back at the same moment. */
static void node_wait(struct redis_node *n, uint64_t max_us)
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

enum engine_state redis_node_state(const struct redis_node *n)
{
	if (n->phase != NODE_READY)
		return n->away;
	if (n->slow)
		return ENGINE_SLOW;
	return n->full ? ENGINE_FULL : ENGINE_UP;
}

/* A node that is ready may still have something to tell. */
const char *redis_node_error(const struct redis_node *n)
{
	if (n->phase != NODE_READY)
		return n->error;
	if (n->slow)
		return "it does not answer in time";
	if (n->full)
		return n->full;
	return n->keeps_nothing ? n->keeps_nothing : "";
}

const char *engine_state_name(enum engine_state state)
{
	static const char *const names[] = {[ENGINE_CONNECTING] = "connecting",
	    [ENGINE_UP] = "up",
	    [ENGINE_FULL] = "full",
	    [ENGINE_SLOW] = "slow",
	    [ENGINE_DOWN] = "down",
	    [ENGINE_REFUSES] = "refuses"};

	return names[state];
}

/* One line for each change, in the order of the changes; a node that comes and
 * goes is rate limited. */
void redis_node_note(struct redis_node *n)
{
	enum engine_state state = redis_node_state(n);
	unsigned suppressed;

	if (state == n->shown)
		return;
	n->shown = state;
	if (!log_limit_ok(&n->all->limit, clock_now_us(), &suppressed))
		return;
	if (state == ENGINE_UP)
		log_info(
		    "farm engine=%s suppressed=%u: up", n->name, suppressed);
	else
		log_warn("farm engine=%s suppressed=%u: %s: %s", n->name,
		    suppressed, engine_state_name(state), redis_node_error(n));
}

/* Closes what there is, and tells all who asked that there is nothing. */
static void node_close(struct redis_node *n)
{
	redis_conn_free(n->conn);
	n->conn = NULL;
	hostname_cancel(n->resolving);
	n->resolving = NULL;
	evtimer_del(n->timer);
	n->phase = NODE_IDLE;
	n->watched = n->slow = false;
	n->full = n->keeps_nothing = NULL;
	n->misses = 0;
	n->pause_us = n->paused_until_us = 0;
	n->all->ops->on_away(n);
	redis_call_drop_all(n);
}

void redis_node_fail(
    struct redis_node *n, enum engine_state state, const char *why)
{
	uint64_t now_us = clock_now_us();
	bool was_ready = n->phase == NODE_READY;

	if (was_ready && now_us - n->ready_us >= STABLE_US)
		n->tries = 0;
	/* Those who hear of it in node_close() must see what it is now. */
	n->phase = NODE_IDLE;
	n->away = state;
	(void)snprintf(n->error, sizeof(n->error), "%s", why);
	node_close(n);
	redis_node_note(n);
	node_wait(n, BACKOFF_MAX_US);
}

void redis_node_unready(struct redis_node *n, const char *why)
{
	n->phase = NODE_UNREADY;
	n->away = ENGINE_DOWN;
	n->watched = n->slow = false;
	n->full = n->keeps_nothing = NULL;
	(void)snprintf(n->error, sizeof(n->error), "%s", why);
	n->all->ops->on_away(n);
	redis_node_note(n);
	node_wait(n, UNREADY_MAX_US);
}

/* ---- silence ----------------------------------------------------------- */

static void node_arm(struct redis_node *n, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	(void)evtimer_add(n->timer, &tv);
}

/* A node that refuses a PING refuses more. */
static void on_ping(struct redis_call *c, const redisReply *r)
{
	if (r && r->type == REDIS_REPLY_ERROR)
		redis_node_judge(c->node, r);
}

/* Asks it something where it was not asked anything for long. */
static void node_watch_idle(struct redis_node *n, uint64_t now_us)
{
	static const char *const ping[] = {"PING"};
	bool doubted = n->srtt_us > 2 * n->srtt_best_us;
	uint64_t every_us = doubted ? SLOW_PING_US : IDLE_PING_US;

	n->watched = false;
	if (now_us - n->answered_us >= every_us)
		(void)redis_node_ask(n, on_ping, 1, ping); /* arms the timer */
	else
		node_arm(n, every_us);
}

/* A node that is silent is not asked more until it has answered; the command
 * that it owes an answer to is the probe. */
static void node_become_slow(struct redis_node *n, uint64_t now_us)
{
	n->slow = true;
	n->slow_us = now_us;
	n->all->ops->on_away(n);
	redis_node_note(n);
}

/* A node that is ready and silent is slow from some time on, and then gone. */
static void node_watch(struct redis_node *n, uint64_t now_us)
{
	const struct redis_call *c = TAILQ_FIRST(&n->calls);
	uint64_t patience_us = max_u64(SILENCE_US, SILENCE_RTTS * n->srtt_us);

	if (!c) {
		node_watch_idle(n, now_us);
		return;
	}
	if (!n->slow &&
	    now_us > max_u64(redis_conn_received_us(n->conn), c->sent_us) +
			 patience_us)
		node_become_slow(n, now_us);
	if ((n->slow && now_us > n->slow_us + HANG_US) ||
	    now_us > c->sent_us + ANSWER_US)
		redis_node_fail(n, ENGINE_SLOW, "it does not answer any more");
	else
		node_arm(n, WATCH_US);
}

/* ---- its connection ---------------------------------------------------- */

void redis_node_ready(struct redis_node *n)
{
	n->phase = NODE_READY;
	n->ready_us = n->used_us = clock_now_us();
	n->watched = true;
	n->error[0] = '\0';
	redis_node_note(n);
	node_watch(n, n->ready_us);
}

bool redis_node_ask_call(struct redis_node *n, struct redis_call *c,
    redis_call_done on_done, int argc, const char *const *argv)
{
	if (c) {
		c->on_done = on_done;
		if (redis_call_send(n, c, argc, argv, NULL))
			return true;
	}
	redis_node_fail(n, ENGINE_DOWN, "out of memory");
	return false;
}

bool redis_node_ask(struct redis_node *n, redis_call_done on_done, int argc,
    const char *const *argv)
{
	return redis_node_ask_call(
	    n, calloc(1, sizeof(struct redis_call)), on_done, argc, argv);
}

void redis_node_judge(struct redis_node *n, const redisReply *r)
{
	const char *why = NULL;

	switch (redis_fault_of(r, &why)) {
	case FAULT_REFUSE:
	case FAULT_RIGHTS:
		redis_node_fail(n, ENGINE_REFUSES, why);
		break;
	case FAULT_WAIT:
		if (n->phase == NODE_GREETING || n->phase == NODE_READY)
			redis_node_unready(n, why);
		break;
	case FAULT_MOVED:
		if (!n->all->cluster)
			redis_node_fail(n, ENGINE_REFUSES,
			    "it is a node of a Redis Cluster, and its user "
			    "may not ask for CLUSTER SLOTS");
		break;
	default:
		break;
	}
}

/* It is connected: the owner greets it, in a limited time. */
static void node_on_open(void *ctx)
{
	struct redis_node *n = ctx;
	struct timeval tv = clock_timeval(GREET_US);

	n->phase = NODE_GREETING;
	(void)evtimer_add(n->timer, &tv);
	n->all->ops->on_greet(n);
}

/* Any answer ends a silence. */
static void node_on_reply(void *ctx, const redisReply *r)
{
	struct redis_node *n = ctx;
	struct redis_call *c = redis_call_answered(n, r);

	if (n->slow) {
		n->slow = false;
		redis_node_note(n);
	}
	if (c->on_done)
		c->on_done(c, r);
	free(c);
}

/* The peer of a connection that is new is no Redis, it seems. */
static void node_on_stranger(
    struct redis_node *n, enum redis_conn_end end, const char *why)
{
	int first = redis_conn_first_byte(n->conn);
	char text[160];

	if (end == REDIS_CONN_CLOSED && first < 0) {
		(void)snprintf(text, sizeof(text),
		    "it does not talk (%s): is it Redis, and without TLS?",
		    why);
		redis_node_fail(n, ENGINE_DOWN, text);
	} else if (end == REDIS_CONN_CLOSED) {
		redis_node_fail(n, ENGINE_DOWN, why);
	} else if (first == 'H') {
		redis_node_fail(n, ENGINE_REFUSES,
		    "it is no Redis, it speaks HTTP: see engine in [farm]");
	} else if (first == 0x15 || first == 0x16) {
		redis_node_fail(n, ENGINE_REFUSES,
		    "it speaks TLS, which is not known here: name a port "
		    "without it in engine");
	} else {
		(void)snprintf(text, sizeof(text),
		    "it is no Redis: see engine in [farm] (%s)", why);
		redis_node_fail(n, ENGINE_REFUSES, text);
	}
}

static void node_on_end(void *ctx, enum redis_conn_end end, const char *why)
{
	struct redis_node *n = ctx;
	char text[160];

	if (n->phase == NODE_CONNECTING) {
		(void)snprintf(n->error, sizeof(n->error), "%s", why);
		redis_conn_free(n->conn);
		n->conn = NULL;
		node_connect(n);
	} else if (n->phase == NODE_GREETING) {
		node_on_stranger(n, end, why);
	} else {
		(void)snprintf(text, sizeof(text), "%s%s",
		    end == REDIS_CONN_BAD ? "it sent " : "", why);
		redis_node_fail(n, ENGINE_DOWN, text);
	}
}

static const struct redis_conn_ops ops = {
    node_on_open, node_on_reply, node_on_end};

/* To the next of its addresses. */
static void node_connect(struct redis_node *n)
{
	struct timeval tv = clock_timeval(CONNECT_US);
	char why[160];

	n->phase = NODE_CONNECTING;
	while (n->next_addr < n->naddrs) {
		const struct sockaddr *to =
		    (struct sockaddr *)&n->addrs[n->next_addr++];

		n->conn = redis_conn_new(
		    n->all->base, to, &ops, n, &n->all->held_bytes);
		if (n->conn) {
			(void)evtimer_add(n->timer, &tv);
			return;
		}
		(void)snprintf(n->error, sizeof(n->error), "%s",
		    errno == ENOENT ? "no such socket" : strerror(errno));
	}
	(void)snprintf(why, sizeof(why), "cannot connect: %.120s", n->error);
	redis_node_fail(n, ENGINE_DOWN, why);
}

static void node_take_addrs(struct redis_node *n, const struct addrinfo *list)
{
	n->naddrs = n->next_addr = 0;
	for (; list && n->naddrs < REDIS_ADDRS_MAX; list = list->ai_next) {
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
	struct redis_node *n = arg;
	char why[160];

	n->resolving = NULL;
	if (err == 0) {
		node_take_addrs(n, list);
		node_connect(n);
		return;
	}
	(void)snprintf(why, sizeof(why), "cannot find %.80s: %.60s", n->host,
	    err == EAI_SYSTEM ? strerror(sys) : gai_strerror(err));
	redis_node_fail(n, ENGINE_DOWN, why);
}

static void node_begin(struct redis_node *n)
{
	struct timeval tv = clock_timeval(RESOLVE_US);
	struct sockaddr_un *un = (struct sockaddr_un *)&n->addrs[0];
	struct hostname *asked;

	if (n->tries > 0)
		n->all->reconnects++;
	n->phase = NODE_RESOLVING;
	(void)evtimer_add(n->timer, &tv);
	if (n->host[0]) {
		asked =
		    hostname_ask(n->all->base, n->host, node_on_hostname, n);
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
	struct redis_node *n = arg;

	(void)fd;
	(void)what;
	switch (n->phase) {
	case NODE_IDLE:
		node_begin(n);
		break;
	case NODE_RESOLVING:
		redis_node_fail(
		    n, ENGINE_DOWN, "its name is not found in time");
		break;
	case NODE_CONNECTING:
		node_on_end(n, REDIS_CONN_CLOSED, strerror(ETIMEDOUT));
		break;
	case NODE_GREETING:
		redis_node_fail(n, ENGINE_SLOW,
		    "it takes connections and answers nothing: does it hang, "
		    "or is it no Redis?");
		break;
	case NODE_UNREADY:
		node_on_open(n);
		break;
	case NODE_READY:
		node_watch(n, clock_now_us());
		break;
	}
}

static bool node_set_name(
    struct redis_node *n, const char *host, uint16_t port, const char *path)
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

void redis_node_move(struct redis_node *n, const char *host, uint16_t port)
{
	(void)node_set_name(n, host, port, NULL);
}

struct redis_node *redis_node_new(
    struct redis_shared *all, const char *host, uint16_t port, const char *path)
{
	static const struct timeval at_once = {0};
	struct redis_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	TAILQ_INIT(&n->calls);
	TAILQ_INIT(&n->puts);
	n->all = all;
	n->away = n->shown = ENGINE_CONNECTING;
	n->used_us = clock_now_us();
	n->timer = evtimer_new(all->base, node_on_timer, n);
	errno = n->timer ? ENAMETOOLONG : ENOMEM;
	if (n->timer && node_set_name(n, host, port, path)) {
		(void)evtimer_add(n->timer, &at_once);
		return n;
	}
	if (n->timer)
		event_free(n->timer);
	free(n);
	return NULL;
}

void redis_node_free(struct redis_node *n)
{
	if (!n)
		return;
	node_close(n);
	event_free(n->timer);
	free(n);
}
