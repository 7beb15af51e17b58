/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon: the event loop and what all servers share, signals, reloading,
 * and stopping.
 *
 * This folder puts everything together, so it may use all others, and none may
 * use it:
 *
 *	main ──▶ daemon ──▶ servers ──▶ server (one a section) ──▶ clients
 *	           │           ▲  │        │                          │
 *	           └─▶ reload ─┘  shares   ├─▶ cachehome: its part    listens
 *	                                   │   of cache_dir           │
 *	                                   └─▶ what it is made of     portowner
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/loopwatch.h"
#include "base/netmatch.h"
#include "base/notify.h"
#include "base/statedir.h"
#include "config/config.h"
#include "control/control.h"
#include "daemon/hostwatch.h"
#include "daemon/lastgood.h"
#include "daemon/listens.h"
#include "daemon/pending.h"
#include "daemon/reclaim.h"
#include "daemon/reload.h"
#include "daemon/server.h"
#include "daemon/servers.h"
#include "daemon/shares.h"
#include "farm/farm.h"
#include "nfsproto/rbuf.h"
#include "svc/room.h"
#include "web/web.h"

enum {
	POOL_KEEP = 16, /* idle buffers of each size, beside the reserve */
	IO_THREADS = 8,
	/* Of libevent: 0 is for the control socket, so that a daemon that is
	 * too busy for anything else still says why; 2 is for laying data out,
	 * which everything else precedes; all else has the middle, libevent's
	 * default. */
	PRIORITIES = 3,
	/* If the disk of cache_dir does not answer within this time, the start
	 * goes on without it. */
	DISK_WAIT_US = 5000000,
	DRAIN_STEP_US = 20000,
	/* A stop waits for calls in flight no longer than this: calls to a
	 * server that is away would never end. */
	DRAIN_MAX_US = 5000000,
};

struct daemon {
	struct config *config; /* until `servers` has it */
	struct config_source source;
	struct event_base *base;
	struct loopwatch *loop;
	struct rbuf_pool *pool;
	struct room *room;
	struct farm *farm;               /* NULL: none */
	char farm_error[CONFIG_ERR_MAX]; /* why, where there is to be one */
	struct iopool *iopool;
	struct listens *listens;
	struct statedir *state;
	struct servers *servers;
	struct reload *reload;
	struct control *control;
	struct web *web;
	struct hostwatch *hostwatch;
	struct event *ev_signals[3];
	struct event *ev_drain;
	struct event *ev_alive; /* NULL: nobody watches */
	uint64_t started_us;
	uint64_t draining_us; /* since when; 0 while serving */
};

/* ---- what control asks ------------------------------------------------- */

static Forefetch__FarmStatus *farm_status(struct daemon *d, struct arena *a)
{
	if (d->farm)
		return control_farm_status(a, d->farm);
	if (d->farm_error[0])
		return control_farm_off(
		    a, &servers_config(d->servers)->farm, d->farm_error);
	return NULL;
}

static void fill_daemon(void *ctx, struct arena *a, Forefetch__Status *out)
{
	struct daemon *d = ctx;

	out->version = FF_VERSION;
	out->config_file = arena_bytes(a, "%s", d->source.file);
	out->cache_dir =
	    arena_bytes(a, "%s", servers_config(d->servers)->cache_dir);
	if (d->source.run_dir)
		out->run_dir = arena_bytes(a, "%s", d->source.run_dir);
	out->pid = (uint32_t)getpid();
	out->clients_bytes = room_bytes(d->room);
	out->clients_limit_bytes = room_limit(d->room);
	out->uptime_us = clock_now_us() - d->started_us;
	out->reload_error = arena_bytes(a, "%s", reload_error(d->reload));
	out->reload_restart = arena_bytes(a, "%s", reload_restart(d->reload));
	if (reload_time_us(d->reload))
		out->reload_age_us = clock_now_us() - reload_time_us(d->reload);
	out->farm = farm_status(d, a);
}

static void fill_server(
    void *ctx, size_t i, struct arena *a, Forefetch__ServerStatus *out)
{
	struct daemon *d = ctx;

	server_fill_status(servers_at(d->servers, i), a, out);
}

static void fill_status(void *ctx, struct arena *a, Forefetch__Status *out)
{
	struct daemon *d = ctx;

	fill_daemon(ctx, a, out);
	out->servers = arena_messages(a, &forefetch__server_status__descriptor,
	    servers_count(d->servers));
	for (size_t i = 0; out->servers && i < servers_count(d->servers); i++)
		server_fill_status(servers_at(d->servers, i), a,
		    out->servers[out->n_servers++]);
}

static bool find_server(void *ctx, size_t i, struct control_server *out)
{
	struct daemon *d = ctx;

	if (i >= servers_count(d->servers))
		return false;
	server_modules(servers_at(d->servers, i), out);
	return true;
}

static bool find_server_at(
    void *ctx, const struct control_place *at, struct control_server *out)
{
	struct daemon *d = ctx;
	struct netmatch_addr addr;

	if (netmatch_addr_parse(at->listen, &addr))
		return false;
	for (size_t i = 0; i < servers_count(d->servers); i++)
		if (server_listens(servers_at(d->servers, i), &addr))
			return find_server(ctx, i, out);
	return false;
}

static void fill_activity(void *ctx, size_t i, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out)
{
	const struct daemon *d = ctx;

	server_fill_activity(servers_at(d->servers, i), uid, a, out);
}

static int flush(void *ctx, size_t i)
{
	struct daemon *d = ctx;

	return server_flush(servers_at(d->servers, i));
}

static void pause_all(void *ctx, uint64_t until_us)
{
	struct daemon *d = ctx;

	servers_pause(d->servers, until_us);
}

static struct farm *find_farm(void *ctx)
{
	const struct daemon *d = ctx;

	return d->farm;
}

static void submit(void *ctx, struct iopool_job *job)
{
	struct daemon *d = ctx;

	iopool_submit(d->iopool, job);
}

static bool reload(
    void *ctx, uint64_t *ticket, struct arena *a, Forefetch__Reloaded *out)
{
	struct daemon *d = ctx;

	if (d->draining_us)
		return false; /* its connection ends soon */
	if (*ticket == 0)
		*ticket = reload_begin(d->reload);
	return reload_answer(d->reload, *ticket, a, out);
}

static const struct control_ops control_ops = {
    .fill_status = fill_status,
    .fill_daemon = fill_daemon,
    .fill_server = fill_server,
    .server = find_server,
    .server_at = find_server_at,
    .flush = flush,
    .reload = reload,
    .fill_activity = fill_activity,
    .pause = pause_all,
    .farm = find_farm,
    .submit = submit,
};

/* ---- signals ---------------------------------------------------------- */

static bool all_idle(const struct daemon *d)
{
	for (size_t i = 0; i < servers_count(d->servers); i++)
		if (!server_idle(servers_at(d->servers, i)))
			return false;
	return true;
}

static void on_drain(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *d = arg;
	struct timeval tv = clock_timeval(DRAIN_STEP_US);
	bool late = clock_now_us() - d->draining_us > DRAIN_MAX_US;

	(void)fd;
	(void)what;
	if (!late && !(all_idle(d) && farm_settle(d->farm))) {
		event_add(d->ev_drain, &tv);
		return;
	}
	if (!all_idle(d))
		log_warn("daemon: calls are still in flight; clients will "
			 "repeat them");
	event_base_loopbreak(d->base);
}

static void on_stop(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)what;
	if (d->draining_us) {
		event_base_loopbreak(d->base);
		return;
	}
	log_info("daemon signal=%d: stopping", (int)sig);
	notify_stopping();
	d->draining_us = clock_now_us();
	for (size_t i = 0; i < servers_count(d->servers); i++)
		server_drain(servers_at(d->servers, i));
	on_drain(-1, 0, d);
}

static void on_reload(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;

	(void)sig;
	(void)what;
	if (!d->draining_us)
		reload_begin(d->reload);
}

static bool catch_signals(struct daemon *d)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		d->ev_signals[i] = evsignal_new(d->base, numbers[i],
		    numbers[i] == SIGHUP ? on_reload : on_stop, d);
		if (!d->ev_signals[i] || event_add(d->ev_signals[i], NULL) < 0)
			return false;
	}
	d->ev_drain = evtimer_new(d->base, on_drain, d);
	return d->ev_drain != NULL;
}

/* ---- making one ------------------------------------------------------- */

static void on_config(void *ctx, const struct config *config)
{
	struct daemon *d = ctx;

	log_set_level(config->log_level);
	room_set_limit(d->room, shares_clients_bytes(config));
	statedir_set_need(d->state, shares_disk_bytes(config));
}

static void on_leave(void *ctx, struct server *server)
{
	struct daemon *d = ctx;

	control_end_server(d->control, server_name(server));
}

static void on_list(void *ctx)
{
	struct daemon *d = ctx;

	control_servers_changed(d->control);
	web_forget(d->web);
}

static void on_serves(void *ctx, const char *server)
{
	struct daemon *d = ctx;

	hostwatch_server_serves(d->hostwatch, server);
	reload_on_serves(d->reload, server);
}

static void on_failed(void *ctx, const char *server, const char *why)
{
	struct daemon *d = ctx;

	reload_on_failed(d->reload, server, why);
}

static void on_used(void *ctx)
{
	struct daemon *d = ctx;

	reload_on_used(d->reload);
}

/* For `open_control()`, too, where there are none yet. */
static bool make_servers(struct daemon *d)
{
	const struct servers_params sp = {.base = d->base,
	    .loop = d->loop,
	    .pool = d->pool,
	    .room = d->room,
	    .farm = d->farm,
	    .state = d->state,
	    .iopool = d->iopool,
	    .listens = d->listens,
	    .on_leave = on_leave,
	    .on_list = on_list,
	    .on_serves = on_serves,
	    .on_failed = on_failed,
	    .on_used = on_used,
	    .ctx = d};
	struct reload_params rp = {.base = d->base,
	    .source = d->source,
	    .on_config = on_config,
	    .ctx = d};

	d->servers = servers_new(&sp, d->config);
	d->config = NULL;
	rp.servers = d->servers;
	d->reload = d->servers ? reload_new(&rp) : NULL;
	return d->reload != NULL;
}

/* Without its key, say, the daemon serves as if there were none. */
static void open_farm(struct daemon *d)
{
	if (d->config->farm.engine.n == 0)
		return;
	d->farm = farm_new(
	    d->base, &d->config->farm, d->farm_error, sizeof(d->farm_error));
	if (!d->farm)
		log_error("farm: %s; nothing is shared", d->farm_error);
}

static bool open_control(struct daemon *d, char *err, size_t errlen)
{
	const struct config *c = servers_config(d->servers);

	d->control =
	    control_new(d->base, c->control, &control_ops, d, err, errlen);
	if (!d->control)
		return false;
	if (c->metrics.n == 0)
		return true;
	d->web =
	    web_new(d->base, (const struct sockaddr *)&c->metrics.list[0].addr,
		(const char *const *)c->metrics_names.list, c->metrics_names.n,
		&control_ops, d, err, errlen);
	return d->web != NULL;
}

/* Lines of libevent go to our log. A peer can cause them, so they are rate
 * limited; the limit is static, since libevent passes no context. */
static void on_library_line(int severity, const char *text)
{
	static struct log_limit limit;
	unsigned suppressed;

	if (!log_limit_ok(&limit, clock_now_us(), &suppressed))
		return;
	if (severity == EVENT_LOG_ERR)
		log_error("libevent suppressed=%u: %s", suppressed, text);
	else if (severity == EVENT_LOG_WARN)
		log_warn("libevent suppressed=%u: %s", suppressed, text);
	else if (severity == EVENT_LOG_MSG)
		log_info("libevent suppressed=%u: %s", suppressed, text);
	else
		log_debug("libevent suppressed=%u: %s", suppressed, text);
}

static void on_alive(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	notify_alive();
}

/* systemd restarts a daemon whose loop stands still. */
static bool watch_loop(struct daemon *d)
{
	uint64_t us = notify_watchdog_us();
	struct timeval tv = clock_timeval(us / 3);

	if (us == 0)
		return true;
	d->ev_alive = event_new(d->base, -1, EV_PERSIST, on_alive, d);
	return d->ev_alive && event_add(d->ev_alive, &tv) == 0;
}

static bool open_loop(struct daemon *d)
{
	event_set_log_callback(on_library_line);
	d->base = event_base_new();
	if (!d->base || event_base_priority_init(d->base, PRIORITIES) < 0)
		return false;
	d->loop = loopwatch_new();
	d->pool = rbuf_pool_new(RECLAIM_BUFFERS, POOL_KEEP);
	d->iopool = iopool_new(d->base, IO_THREADS);
	d->room = room_new(d->base, shares_clients_bytes(d->config));
	d->listens = listens_new();
	if (d->listens && listens_drop_unwanted(d->listens, d->config))
		notify_settle();
	return d->loop && d->pool && d->iopool && d->room && d->listens &&
	       catch_signals(d) && watch_loop(d);
}

bool daemon_check(const struct config *config, char *err, size_t errlen)
{
	uid_t uid = geteuid();

	return pending_check(err, errlen) &&
	       statedir_check(config->cache_dir,
		   uid == 0 ? STATEDIR_ANYBODY : uid, shares_disk_bytes(config),
		   err, errlen);
}

struct daemon *daemon_new(struct config *config,
    const struct config_source *source, char *err, size_t errlen)
{
	struct daemon *d = calloc(1, sizeof(*d));
	bool taken;
	int rc;

	snprintf(err, errlen, "out of memory");
	if (!d || !pending_check(err, errlen)) {
		config_free(config);
		errno = d ? EINVAL : ENOMEM;
		free(d);
		return NULL;
	}
	d->config = config;
	d->source = *source;
	d->started_us = clock_now_us();
	log_set_level(config->log_level);
	if (open_loop(d))
		d->state = statedir_new(
		    config->cache_dir, shares_disk_bytes(config), d->iopool);
	/* This locks our memory, so it comes before the data caches are mapped:
	 * else all of their data would be read into memory and stay there. */
	if (d->state) {
		reclaim_prepare();
		open_farm(d);
	}
	/* The reply caches lie beside the control socket. */
	if (!d->state || !make_servers(d) || !open_control(d, err, errlen) ||
	    !servers_open(
		d->servers, d->started_us, DISK_WAIT_US, err, errlen)) {
		taken = d->listens && listens_taken(d->listens);
		rc = errno;
		daemon_free(d);
		/* The control socket in use is neither of the two. */
		errno = taken ? EADDRINUSE : rc == EINVAL ? EINVAL : EIO;
		return NULL;
	}
	d->hostwatch = hostwatch_new(d->base, d->servers);
	return d;
}

void daemon_keep(const struct daemon *d)
{
	lastgood_save(servers_config(d->servers));
}

void daemon_refused(struct daemon *d, const char *why)
{
	reload_refused(d->reload, why);
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	hostwatch_free(d->hostwatch);
	web_free(d->web);
	control_free(d->control);
	reload_free(d->reload);
	servers_free(d->servers);
	farm_free(d->farm);
	iopool_free(d->iopool);
	listens_free(d->listens);
	statedir_free(d->state);
	for (int i = 0; i < 3; i++)
		if (d->ev_signals[i])
			event_free(d->ev_signals[i]);
	if (d->ev_drain)
		event_free(d->ev_drain);
	if (d->ev_alive)
		event_free(d->ev_alive);
	room_free(d->room);
	rbuf_pool_free(d->pool);
	if (d->base)
		event_base_free(d->base);
	loopwatch_free(d->loop);
	config_free(d->config);
	free(d);
}

int daemon_run(struct daemon *d)
{
	log_info("daemon version=%s file=%s servers=%zu: ready", FF_VERSION,
	    d->source.file, servers_count(d->servers));
	notify_ready();
	return event_base_dispatch(d->base) < 0 ? -EIO : 0;
}
