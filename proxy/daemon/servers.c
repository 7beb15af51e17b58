/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of servers. Each entry refers to the configuration that its server
 * has, so that one that leaves has its own for as long as it takes. A timer
 * moves on what is not at rest.
 */
#include "daemon/servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/uint.h"
#include "config/config.h"
#include "daemon/listens.h"
#include "daemon/server.h"
#include "daemon/shares.h"

/* STEP_US is how often what is not at rest is moved on. */
enum {
	STEP_US = 5000,
	/* Microseconds between two steps while one opens; half of that is the
	 * load. */
	LOAD_US = 1000,
	/* How often the shares of memory and disk are divided anew. */
	SHARES_US = 1000000,
	/* A server opens without the disk if that does not answer so long. */
	DISK_WAIT_US = 5000000,
	/* systemd holds a socket a little longer than we do, so one that is in
	 * use is tried again, for so long. To say whose it is takes a
	 * millisecond or two. */
	LISTEN_AGAIN_US = 100000,
	LISTEN_MAX_US = 2000000,
	/* One that waits for so long is told of as failed, and goes on
	 * waiting. */
	WAIT_MAX_US = 30000000,
	/* Where the disk hangs, servers cannot be put away. */
	LEAVING_MAX = 64,
};

/* A configuration, freed with the last entry that refers to it. */
struct held_config {
	struct config *config;
	unsigned refs;
};

enum entry_state { ENTRY_WAITS, ENTRY_OPENS, ENTRY_SERVES, ENTRY_LEAVES };

/* A section's server, from the time when it is to be to when it is gone. Two
 * may have one name, of which one leaves. */
struct servers_entry {
	TAILQ_ENTRY(servers_entry) link;
	enum entry_state state;
	char *name;
	/* NULL while it waits. */
	struct server *server;
	struct held_config *held;
	/* When it came into this state. */
	uint64_t since_us;
	/* It is not tried again before that. */
	uint64_t again_us;
	/* It waits so long that on_failed() was called; it goes on waiting. */
	bool late;
	uint64_t paused_until_us; /* for its server, when that is made */
};

/* All servers. */
struct servers {
	struct servers_params p;
	struct held_config *held;
	TAILQ_HEAD(, servers_entry) entries;
	/* The servers that serve, in the order of the configuration, which is
	 * that of all who look at them. */
	struct server **serving;
	size_t nserving;
	struct event *ev_step;
	struct event *ev_shares;
	/* How many servers were made until now; the serial of the last. */
	uint64_t made;
	/* on_used() is still to be called. */
	bool using;
	bool metered;
	/* The pause of those that come. */
	uint64_t paused_until_us;
};

/* ---- configurations ---------------------------------------------------- */

static struct held_config *held_new(struct config *config)
{
	struct held_config *held = calloc(1, sizeof(*held));

	if (held) {
		held->config = config;
		held->refs = 1;
	}
	return held;
}

static void held_unref(struct held_config *held)
{
	if (!held || --held->refs > 0)
		return;
	config_free(held->config);
	free(held);
}

static void entry_hold(struct servers_entry *e, struct held_config *held)
{
	held->refs++;
	held_unref(e->held);
	e->held = held;
}

const struct config *servers_config(const struct servers *ss)
{
	return ss->held->config;
}

static const struct config_server *entry_config(const struct servers_entry *e)
{
	return config_server_find(e->held->config, e->name);
}

/* ---- the list ---------------------------------------------------------- */

/* The entry of that name that leaves, or else the one that does not; NULL. */
static struct servers_entry *find_entry(
    const struct servers *ss, const char *name, bool leaving)
{
	struct servers_entry *e;

	TAILQ_FOREACH (e, &ss->entries, link)
		if ((e->state == ENTRY_LEAVES) == leaving &&
		    strcmp(e->name, name) == 0)
			return e;
	return NULL;
}

/* Whether any is in this state. */
static bool any(const struct servers *ss, enum entry_state state)
{
	const struct servers_entry *e;

	TAILQ_FOREACH (e, &ss->entries, link)
		if (e->state == state)
			return true;
	return false;
}

static void set_state(struct servers_entry *e, enum entry_state state)
{
	e->state = state;
	e->since_us = clock_now_us();
}

static bool add_entry(struct servers *ss, const char *name)
{
	struct servers_entry *e = calloc(1, sizeof(*e));

	if (e)
		e->name = strdup(name);
	if (!e || !e->name) {
		free(e);
		ss->p.on_failed(ss->p.ctx, name, "out of memory");
		return false;
	}
	entry_hold(e, ss->held);
	e->paused_until_us = ss->paused_until_us;
	set_state(e, ENTRY_WAITS);
	TAILQ_INSERT_TAIL(&ss->entries, e, link);
	return true;
}

static void drop_entry(struct servers *ss, struct servers_entry *e)
{
	TAILQ_REMOVE(&ss->entries, e, link);
	server_free(e->server);
	held_unref(e->held);
	free(e->name);
	free(e);
}

/* Whoever looks at the servers sees those that serve only. There is room for
 * all: it was made when they were added. */
static void list_serving(struct servers *ss)
{
	const struct config *c = ss->held->config;

	ss->nserving = 0;
	for (size_t i = 0; i < c->nservers; i++) {
		const struct servers_entry *e =
		    find_entry(ss, c->servers[i].name, false);

		if (e && e->state == ENTRY_SERVES)
			ss->serving[ss->nserving++] = e->server;
	}
	ss->p.on_list(ss->p.ctx);
}

size_t servers_count(const struct servers *ss)
{
	return ss->nserving;
}

struct server *servers_at(const struct servers *ss, size_t i)
{
	return ss->serving[i];
}

/* ---- shares ------------------------------------------------------------ */

static void set_shares(struct servers *ss)
{
	shares_set(ss->held->config, ss->serving, ss->nserving);
}

static void on_shares(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	set_shares(arg);
}

/* ---- from one state to the next ---------------------------------------- */

static struct server *new_server(
    struct servers *ss, const struct servers_entry *e)
{
	const struct config *c = e->held->config;
	struct server_params sp = {.base = ss->p.base,
	    .loop = ss->p.loop,
	    .pool = ss->p.pool,
	    .room = ss->p.room,
	    .farm = ss->p.farm,
	    .state = ss->p.state,
	    .control = c->control,
	    .iopool = ss->p.iopool,
	    .listens = ss->p.listens,
	    .reorder_rate = c->reorder_rate,
	    .serial = ++ss->made,
	    .metered = ss->metered,
	    .paused_until_us = e->paused_until_us,
	    .config = entry_config(e)};

	/* A new server may keep all, until it is known how much it has. */
	sp.disk_bytes = c->cache_size;
	sp.memory_bytes = c->memory_size;
	sp.learn_bytes = shares_learn(c, ss->serving, ss->nserving);
	return server_new(&sp);
}

static void warn_of_ports(const struct config_server *config)
{
	char text[LISTENS_TEXT_MAX];

	for (size_t i = 0; i < config->listen.n; i++)
		if (listens_unsafe(&config->listen.list[i], text))
			log_warn("daemon server=%s: %s", config->name, text);
}

/* Begins to put a server away; one that was never made is just gone. */
static void leave(struct servers *ss, struct servers_entry *e)
{
	if (e->state == ENTRY_WAITS) {
		drop_entry(ss, e);
		return;
	}
	if (e->state == ENTRY_SERVES)
		ss->p.on_leave(ss->p.ctx, e->server);
	set_state(e, ENTRY_LEAVES);
	list_serving(ss);
	/* Its sockets are there for the next one now. */
	(void)server_leave(e->server, e->since_us);
}

/* Whether a server may be made now: none of its name leaves, and rpcbind, which
 * knows one server only, is free. */
static bool may_begin(const struct servers *ss, const struct servers_entry *e)
{
	const struct servers_entry *x;
	unsigned leaving = 0;

	TAILQ_FOREACH (x, &ss->entries, link) {
		if (x->state != ENTRY_LEAVES)
			continue;
		if (strcmp(x->name, e->name) == 0 ||
		    (entry_config(e)->rpcbind &&
			server_is_registered(x->server)))
			return false;
		leaving++;
	}
	return leaving < LEAVING_MAX;
}

static void fail_entry(
    struct servers *ss, struct servers_entry *e, const char *why)
{
	ss->p.on_failed(ss->p.ctx, e->name, why);
	leave(ss, e);
}

static void step_waiting(
    struct servers *ss, struct servers_entry *e, uint64_t now_us)
{
	if (!may_begin(ss, e)) {
		if (e->late || now_us < e->since_us + WAIT_MAX_US)
			return;
		e->late = true;
		ss->p.on_failed(ss->p.ctx, e->name,
		    "former servers are not removed yet, perhaps because the "
		    "disk of cache_dir does not answer; this server is served "
		    "when they are");
		return;
	}
	e->server = new_server(ss, e);
	if (e->server)
		set_state(e, ENTRY_OPENS);
	else
		fail_entry(ss, e, "out of memory");
}

static void step_opening(
    struct servers *ss, struct servers_entry *e, uint64_t now_us)
{
	uint64_t age_us = now_us - e->since_us;
	char err[CONFIG_ERR_MAX];
	int rc;

	if (now_us < e->again_us)
		return;
	rc = server_load(e->server);
	if (rc == -EAGAIN || (rc == -EBUSY && age_us < DISK_WAIT_US))
		return;
	rc = server_open(e->server, false, minus_u64(DISK_WAIT_US, age_us), err,
	    sizeof(err));
	if (rc == -EAGAIN)
		return;
	if (rc == -EADDRINUSE && age_us < LISTEN_MAX_US) {
		e->again_us = now_us + LISTEN_AGAIN_US;
		return;
	}
	if (rc < 0) {
		fail_entry(ss, e, err);
		return;
	}
	server_register(e->server, false);
	set_state(e, ENTRY_SERVES);
	list_serving(ss);
	set_shares(ss);
	warn_of_ports(entry_config(e));
	ss->p.on_serves(ss->p.ctx, e->name);
}

/* ---- the timer --------------------------------------------------------- */

static void step(struct servers *ss, struct servers_entry *e, uint64_t now_us)
{
	switch (e->state) {
	case ENTRY_WAITS:
		step_waiting(ss, e, now_us);
		return;
	case ENTRY_OPENS:
		step_opening(ss, e, now_us);
		return;
	case ENTRY_SERVES:
		return;
	case ENTRY_LEAVES:
		if (server_leave(e->server, now_us))
			drop_entry(ss, e);
	}
}

/* Whether the configuration is taken up: nothing that is about to serve is on
 * its way. */
static bool is_used(const struct servers *ss)
{
	const struct servers_entry *e;

	TAILQ_FOREACH (e, &ss->entries, link)
		if (e->state == ENTRY_OPENS ||
		    (e->state == ENTRY_WAITS && !e->late))
			return false;
	return true;
}

static void arm(struct servers *ss)
{
	const struct timeval soon =
	    clock_timeval(any(ss, ENTRY_OPENS) ? LOAD_US : STEP_US);

	if (any(ss, ENTRY_WAITS) || any(ss, ENTRY_OPENS) ||
	    any(ss, ENTRY_LEAVES))
		event_add(ss->ev_step, &soon);
}

static void on_step(evutil_socket_t fd, short what, void *arg)
{
	struct servers *ss = arg;
	struct servers_entry *e, *next;
	uint64_t now_us = clock_now_us();

	(void)fd;
	(void)what;
	/* An entry that fails on the way begins to leave. It stays in the list,
	 * and is looked at once more at most. */
	for (e = TAILQ_FIRST(&ss->entries); e; e = next) {
		next = TAILQ_NEXT(e, link);
		step(ss, e, now_us);
	}
	if (ss->using && is_used(ss)) {
		ss->using = false;
		ss->p.on_used(ss->p.ctx);
	}
	arm(ss);
}

/* ---- another configuration --------------------------------------------- */

static bool stays(
    const struct servers_entry *e, const struct config_server *config)
{
	return !config_server_differs(entry_config(e), config);
}

/* Puts another server of that name in the place of one that must leave. */
static void replace(
    struct servers *ss, struct servers_entry *e, const char *name)
{
	uint64_t until_us =
	    e->server ? server_paused_until_us(e->server) : e->paused_until_us;

	leave(ss, e);
	if (add_entry(ss, name))
		find_entry(ss, name, false)->paused_until_us = until_us;
}

static void use_entry(struct servers *ss, struct servers_entry *e)
{
	const struct config_server *config =
	    config_server_find(ss->held->config, e->name);

	if (e->state == ENTRY_LEAVES)
		return;
	if (!config) {
		leave(ss, e);
		return;
	}
	if (!stays(e, config)) {
		replace(ss, e, config->name);
		return;
	}
	if (e->server)
		server_set_config(
		    e->server, config, ss->held->config->reorder_rate);
	entry_hold(e, ss->held);
}

void servers_use(struct servers *ss, struct config *config)
{
	struct held_config *held = held_new(config);
	struct server **serving =
	    calloc(config->nservers + 1, sizeof(struct server *));
	struct servers_entry *e, *next;

	if (!held || !serving) {
		free(held);
		free(serving);
		config_free(config);
		ss->p.on_failed(ss->p.ctx, "", "out of memory");
		ss->p.on_used(ss->p.ctx);
		return;
	}
	free(ss->serving);
	ss->serving = serving;
	ss->nserving = 0;
	held_unref(ss->held);
	ss->held = held;
	for (e = TAILQ_FIRST(&ss->entries); e; e = next) {
		next = TAILQ_NEXT(e, link);
		use_entry(ss, e);
	}
	for (size_t i = 0; i < config->nservers; i++)
		if (!find_entry(ss, config->servers[i].name, false))
			add_entry(ss, config->servers[i].name);
	/* Closes sockets that no server wants any more, since others may need
	 * their address. */
	listens_drop_unwanted(ss->p.listens, config);
	list_serving(ss);
	set_shares(ss);
	ss->using = true;
	event_active(ss->ev_step, EV_TIMEOUT, 0);
}

void servers_set_metered(struct servers *ss, bool metered)
{
	struct servers_entry *e;

	ss->metered = metered;
	TAILQ_FOREACH (e, &ss->entries, link)
		if (e->server && e->state != ENTRY_LEAVES)
			server_set_metered(e->server, metered);
}

void servers_pause(struct servers *ss, uint64_t until_us)
{
	struct servers_entry *e;

	ss->paused_until_us = until_us;
	TAILQ_FOREACH (e, &ss->entries, link) {
		e->paused_until_us = until_us;
		if (e->server && e->state != ENTRY_LEAVES)
			server_pause(e->server, until_us);
	}
}

/* ---- the start and the end --------------------------------------------- */

struct servers *servers_new(
    const struct servers_params *p, struct config *config)
{
	const struct timeval often = clock_timeval(SHARES_US);
	struct servers *ss = calloc(1, sizeof(*ss));

	if (ss) {
		ss->p = *p;
		TAILQ_INIT(&ss->entries);
		ss->held = held_new(config);
		ss->serving =
		    calloc(config->nservers + 1, sizeof(struct server *));
		ss->ev_step = evtimer_new(p->base, on_step, ss);
		ss->ev_shares =
		    event_new(p->base, -1, EV_PERSIST, on_shares, ss);
	}
	if (ss && !ss->held)
		config_free(config);
	if (ss && ss->held && ss->serving && ss->ev_step && ss->ev_shares &&
	    event_add(ss->ev_shares, &often) == 0)
		return ss;
	if (!ss)
		config_free(config);
	servers_free(ss);
	errno = ENOMEM;
	return NULL;
}

static bool open_entry(struct servers *ss, struct servers_entry *e,
    uint64_t wait_us, char *err, size_t errlen)
{
	snprintf(err, errlen, "out of memory");
	e->server = new_server(ss, e);
	if (!e->server)
		return false;
	errno = -server_open(e->server, true, wait_us, err, errlen);
	if (errno != 0)
		return false;
	server_register(e->server, true);
	warn_of_ports(entry_config(e));
	set_state(e, ENTRY_SERVES);
	list_serving(ss);
	return true;
}

bool servers_open(struct servers *ss, uint64_t started_us,
    uint64_t disk_wait_us, char *err, size_t errlen)
{
	const struct config *c = ss->held->config;

	for (size_t i = 0; i < c->nservers; i++) {
		uint64_t us = clock_now_us() - started_us;

		if (!add_entry(ss, c->servers[i].name) ||
		    !open_entry(ss, find_entry(ss, c->servers[i].name, false),
			us < disk_wait_us ? disk_wait_us - us : 0, err, errlen))
			return false;
	}
	set_shares(ss);
	return true;
}

void servers_free(struct servers *ss)
{
	if (!ss)
		return;
	while (!TAILQ_EMPTY(&ss->entries))
		drop_entry(ss, TAILQ_FIRST(&ss->entries));
	if (ss->ev_step)
		event_free(ss->ev_step);
	if (ss->ev_shares)
		event_free(ss->ev_shares);
	held_unref(ss->held);
	free(ss->serving);
	free(ss);
}
