/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/server.h"

#include <errno.h>
#include <limits.h>
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
#include "base/loopwatch.h"
#include "base/metrics.h"
#include "base/netmatch.h"
#include "base/statedir.h"
#include "cache/caches.h"
#include "config/config.h"
#include "config/exportpath.h"
#include "control/control.h"
#include "daemon/cachehome.h"
#include "daemon/listens.h"
#include "daemon/server_caches.h"
#include "daemon/server_prefetch.h"
#include "datacache/compact.h"
#include "explain/explain.h"
#include "explain/tracer.h"
#include "hint/hint.h"
#include "link/linkest.h"
#include "link/linkkeep.h"
#include "prefetch/prefetch.h"
#include "svc/conn.h"
#include "svc/drc.h"
#include "svc/room.h"
#include "svc/svc.h"
#include "upstream/dial.h"
#include "upstream/fetch.h"
#include "upstream/linkwatch.h"
#include "upstream/resolve.h"
#include "upstream/rpcbind.h"
#include "upstream/upstream.h"
#include "warm/pins.h"
#include "warm/warm.h"

enum {
	DRC_SLOTS = 4096,
	WRITE_DRC_SLOTS = 1024,
	/* Changes without a client; more would come with each connection. */
	ORPHANS_MAX = 4096,
	SWEEP_US = 1000000,
	/* A connection on which calls came is closed for another after. */
	IDLE_MIN_US = 120000000,
	/* Between two parts of what was flushed. */
	BURY_US = 1000,
	LEARN_SHARE = 4,
	LEARN_MIN = 1 << 20,
	LEARN_MAX = 64 << 20,
};

struct server_conn {
	LIST_ENTRY(server_conn) link;
	struct conn *conn;
};

LIST_HEAD(server_conns, server_conn);

struct server {
	struct server_params p;
	char *name; /* outlives reloads */
	struct metrics *metrics;
	struct upstream *up[RESOLVE_COUNT];
	struct resolve *resolve;
	struct fetch *fetch;
	struct drc *drc;
	struct drc *write_drc;
	struct cachehome *home;
	struct linkest *estimate;
	struct linkkeep *linkkeep;
	struct linkwatch *link;
	struct prefetch *prefetch;
	struct tracer *tracer;
	struct warm *warm;
	struct pins *pins;
	struct compact *compact;
	struct hints *hints;
	uint64_t calls; /* of clients, at the last sweep */
	struct svc *svc;
	struct evconnlistener **listeners;
	size_t nlisteners;
	struct server_conns conns;
	struct server_conns closed; /* to be freed by ev_reap */
	unsigned nconns;
	struct event *ev_reap;
	struct event *ev_sweep;
	struct event *ev_bury; /* what was flushed */
	struct log_limit refused;
	struct log_limit closed_log;
	struct netmatch_addr found[RESOLVE_COUNT]; /* len 0: not known */
	uint64_t offline_us;   /* since when it serves alone */
	unsigned unregistered; /* programs, with the local rpcbind */
	bool draining;
};

static const char *const addr_files[RESOLVE_COUNT] = {
    [RESOLVE_NFS] = "address-nfs",
    [RESOLVE_MOUNT] = "address-mount",
};

const char *server_name(const struct server *s)
{
	return s->name;
}

/* What all its clients hold, and their calls in flight. */
static uint64_t clients_bytes(const struct server *s, uint64_t *calls)
{
	const struct server_conn *sc;
	struct conn_status st;
	uint64_t bytes = 0;

	*calls = 0;
	LIST_FOREACH (sc, &s->conns, link) {
		conn_get_status(sc->conn, &st);
		bytes += st.in_flight_bytes;
		*calls += st.in_flight;
	}
	return bytes;
}

static void server_measure_state(struct server *s)
{
	struct upstream_status st;
	struct metrics *m = s->metrics;
	uint64_t calls, bytes = clients_bytes(s, &calls);

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	metrics_set_gauge(m, METRICS_GAUGE_UP,
	    st.state == UPSTREAM_UP && st.served != UPSTREAM_UNSERVED);
	metrics_set_gauge(m, METRICS_GAUGE_OFFLINE, svc_offline(s->svc));
	metrics_set_gauge(m, METRICS_GAUGE_CALLS_IN_FLIGHT, calls);
	metrics_set_gauge(m, METRICS_GAUGE_CLIENTS, s->nconns);
	metrics_set_gauge(m, METRICS_GAUGE_CLIENTS_BYTES, bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_CLIENTS_LIMIT_BYTES, room_limit(s->p.room));
}

const struct metrics *server_measure(struct server *s)
{
	server_caches_measure(
	    cachehome_caches(s->home), s->p.disk_bytes, s->metrics);
	server_prefetch_measure(s->prefetch, s->estimate, s->metrics);
	server_measure_state(s);
	metrics_set_gauge(s->metrics, METRICS_GAUGE_LOOP_LONGEST_TURN_US,
	    loopwatch_longest_us(s->p.loop));
	metrics_set(s->metrics, METRICS_LOOP_LONG_TURNS,
	    loopwatch_long_turns(s->p.loop));
	metrics_settle(s->metrics);
	return s->metrics;
}

/* ---- clients ---------------------------------------------------------- */

static struct server_conn *find_conn(struct server *s, struct conn *conn)
{
	struct server_conn *sc;

	LIST_FOREACH (sc, &s->conns, link)
		if (sc->conn == conn)
			return sc;
	return NULL;
}

static void on_conn_close(void *ctx, struct conn *conn)
{
	struct server *s = ctx;
	struct server_conn *sc = find_conn(s, conn);

	LIST_REMOVE(sc, link);
	LIST_INSERT_HEAD(&s->closed, sc, link);
	s->nconns--;
	event_active(s->ev_reap, EV_TIMEOUT, 1);
}

static void free_conns(struct server_conns *list)
{
	struct server_conn *sc;

	while ((sc = LIST_FIRST(list)) != NULL) {
		LIST_REMOVE(sc, link);
		conn_free(sc->conn);
		free(sc);
	}
}

static void on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	free_conns(&s->closed);
}

static void on_bury(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = clock_timeval(BURY_US);
	struct server *s = arg;

	(void)fd;
	(void)what;
	if (caches_bury(cachehome_caches(s->home)))
		event_add(s->ev_bury, &soon);
}

/* Where `offline = serve`: whether the server is away. */
static void check_offline(struct server *s, uint64_t now_us)
{
	bool away = s->p.config->offline == CONFIG_OFFLINE_SERVE &&
		    linkwatch_away(s->link, svc_waiting_us(s->svc), now_us);

	if (away != svc_offline(s->svc))
		log_warn("server server=%s: %s", s->name,
		    away ? "it cannot be reached; what is cached is served"
			 : "it is back");
	if (away && !svc_offline(s->svc))
		s->offline_us = now_us; /* for status */
	svc_set_offline(s->svc, away);
}

/* Calls of clients until now, however they were answered. */
static uint64_t client_calls(const struct server *s)
{
	struct metrics_row row;
	uint64_t calls = 0;

	for (size_t i = 0; i < metrics_row_count(); i++) {
		metrics_get_row(s->metrics, METRICS_CLIENT, i, &row);
		calls += row.calls;
	}
	return calls;
}

/* Pinned trees are looked after while somebody uses the server, so that the
 * link is silent when nobody does. */
static void check_pins(struct server *s, uint64_t now_us)
{
	uint64_t calls = client_calls(s);

	pins_tick(s->pins, calls != s->calls, now_us);
	s->calls = calls;
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct server_conn *sc, *next;
	uint64_t now_us = clock_now_us();

	(void)fd;
	(void)what;
	for (sc = LIST_FIRST(&s->conns); sc; sc = next) {
		next = LIST_NEXT(sc, link);
		conn_check(sc->conn, now_us);
	}
	svc_expire(s->svc, now_us);
	check_offline(s, now_us);
	cachehome_tick(s->home, now_us, svc_offline(s->svc));
	/* Not only the user flushes: data is, too, where the disk failed, or
	 * held that of another server. */
	on_bury(-1, 0, s);
	check_pins(s, now_us);
	linkkeep_tick(s->linkkeep, now_us);
	/* Accepting stops when descriptors run out; there may be some now. */
	for (size_t i = 0; !s->draining && i < s->nlisteners; i++)
		evconnlistener_enable(s->listeners[i]);
}

static void refuse(struct server *s, const struct sockaddr *peer,
    enum metrics_counter counter, const char *why)
{
	char text[NETMATCH_TEXT_MAX];
	unsigned suppressed;

	metrics_add(s->metrics, counter, 1);
	netmatch_format(peer, text);
	if (log_limit_ok(&s->refused, clock_now_us(), &suppressed))
		log_warn("server server=%s client=%s suppressed=%u: connection "
			 "refused: %s",
		    s->name, text, suppressed, why);
}

/* Close the connection that has been idle for longest: one that never called,
 * or else one that has not for minutes, whose client will connect again. */
static bool close_idle(struct server *s)
{
	struct server_conn *sc, *best = NULL;
	uint64_t now_us = clock_now_us(), idle_us, best_us = 0;
	bool used, best_used = true;

	LIST_FOREACH (sc, &s->conns, link) {
		idle_us = conn_idle_us(sc->conn, now_us, &used);
		if (idle_us == 0 || (used && idle_us < IDLE_MIN_US) ||
		    (used && !best_used) ||
		    (used == best_used && idle_us <= best_us))
			continue;
		best = sc;
		best_us = idle_us;
		best_used = used;
	}
	if (best)
		conn_close_idle(best->conn);
	return best != NULL;
}

static bool may_connect(struct server *s, const struct sockaddr *peer)
{
	if (!config_server_allows(s->p.config, peer))
		refuse(s, peer, METRICS_CONNECTIONS_REFUSED_ALLOW,
		    "its address is not in `allow`");
	else if (s->p.config->secure && dial_addr_port(peer) >= IPPORT_RESERVED)
		refuse(s, peer, METRICS_CONNECTIONS_REFUSED_SECURE,
		    "its port is not below 1024 (see `secure`)");
	else if (svc_orphans(s->svc) >= ORPHANS_MAX ||
		 (s->nconns >= SERVER_CONNECTIONS_MAX && !close_idle(s)))
		refuse(s, peer, METRICS_CONNECTIONS_REFUSED_LIMIT,
		    "there are too many");
	else
		return true;
	return false;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *peer, int socklen, void *ctx)
{
	struct server *s = ctx;
	struct conn_params cp = {.base = s->p.base,
	    .pool = s->p.pool,
	    .svc = s->svc,
	    .metrics = s->metrics,
	    .room = s->p.room,
	    .closed = &s->closed_log,
	    .on_close = on_conn_close,
	    .ctx = s};
	struct server_conn *sc = NULL;

	(void)listener;
	(void)socklen;
	if (may_connect(s, peer))
		sc = calloc(1, sizeof(*sc));
	if (sc)
		sc->conn = conn_new(&cp, fd, peer);
	if (!sc || !sc->conn) {
		free(sc);
		close(fd);
		return;
	}
	metrics_add(s->metrics, METRICS_CONNECTIONS_ACCEPTED, 1);
	LIST_INSERT_HEAD(&s->conns, sc, link);
	s->nconns++;
}

static void on_accept_error(struct evconnlistener *listener, void *ctx)
{
	struct server *s = ctx;
	unsigned suppressed;

	if (log_limit_ok(&s->refused, clock_now_us(), &suppressed))
		log_warn("server server=%s suppressed=%u: accept: %s", s->name,
		    suppressed, strerror(errno));
	evconnlistener_disable(listener);
}

/* ---- the way to the server -------------------------------------------- */

static void set_address(
    struct server *s, enum resolve_what what, const struct netmatch_addr *na)
{
	s->found[what] = *na;
	upstream_set_address(s->up[what], (const struct sockaddr *)&na->addr);
}

static void on_found(
    void *ctx, enum resolve_what what, const struct sockaddr *sa)
{
	struct server *s = ctx;
	struct netmatch_addr na = {0};
	struct upstream_status st;

	/* It was the other program that did not answer: a connection that
	 * works is worth more than the next of the host's addresses. */
	upstream_get_status(s->up[what], &st);
	if (st.state == UPSTREAM_UP)
		return;
	na.len = dial_addr_len(sa);
	memcpy(&na.addr, sa, na.len);
	if (na.len != s->found[what].len ||
	    memcmp(&na.addr, &s->found[what].addr, na.len) != 0)
		statedir_save_addr(s->p.state, s->name, addr_files[what], &na);
	set_address(s, what, &na);
}

static void on_unreachable(void *ctx)
{
	struct server *s = ctx;

	resolve_again(s->resolve);
}

static void on_nfs_port(void *ctx, unsigned conn, uint16_t port)
{
	struct server *s = ctx;

	drc_set_port(s->drc, conn, port);
}

static void on_nfs_received(
    void *ctx, size_t bytes, bool begun, uint64_t now_us)
{
	const struct server *s = ctx;

	if (s->estimate)
		linkest_arrived(s->estimate, bytes, begun, now_us);
}

static void on_mount_port(void *ctx, unsigned conn, uint16_t port)
{
	(void)ctx;
	(void)conn;
	(void)port;
}

void server_network_changed(struct server *s, bool woke)
{
	for (int i = 0; i < RESOLVE_COUNT; i++)
		upstream_kick(s->up[i], woke);
	/* Another link, perhaps: it tells soon. */
	linkest_forget(s->estimate);
}

/* What a former daemon found out serves until the resolver knows better. */
static void use_known_addresses(struct server *s)
{
	struct netmatch_addr na;

	for (int i = 0; i < RESOLVE_COUNT && cachehome_on_disk(s->home); i++)
		if (statedir_load_addr(
			s->p.state, s->name, addr_files[i], &na) == 0)
			set_address(s, (enum resolve_what)i, &na);
}

/* ---- making one ------------------------------------------------------- */

static bool open_listener(struct server *s, const struct netmatch_addr *na,
    char text[LISTENS_TEXT_MAX])
{
	struct evconnlistener *l;
	int fd = listens_open(s->p.listens, na, text);

	if (fd < 0)
		return false;
	l = evconnlistener_new(s->p.base, on_accept, s,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, -1, fd);
	if (!l) {
		close(fd);
		snprintf(text, LISTENS_TEXT_MAX, "out of memory");
		return false;
	}
	evconnlistener_set_error_cb(l, on_accept_error);
	s->listeners[s->nlisteners++] = l;
	return true;
}

static bool open_listeners(struct server *s, char *err, size_t errlen)
{
	const struct config_addrs *list = &s->p.config->listen;
	char at[NETMATCH_TEXT_MAX], text[LISTENS_TEXT_MAX];

	s->listeners = calloc(list->n, sizeof(struct evconnlistener *));
	if (!s->listeners)
		return false;
	for (size_t i = 0; i < list->n; i++) {
		if (open_listener(s, &list->list[i], text))
			continue;
		netmatch_addr_format(&list->list[i], at);
		snprintf(err, errlen, "server %s: listen = %s: %s", s->name, at,
		    text);
		return false;
	}
	return true;
}

/* Beside the control socket, which by default is on a tmpfs that outlives the
 * daemon. */
static struct drc *open_change_drc(const struct server *s)
{
	const char *control = s->p.control, *slash = strrchr(control, '/');
	int dir = slash ? (int)(slash - control) : 0;
	char path[PATH_MAX];
	struct drc *drc;

	snprintf(path, sizeof(path), "%.*s/%s.drc", dir, control, s->name);
	drc = drc_open(path, DRC_SLOTS);
	if (drc)
		return drc;
	log_warn("server server=%s file=%s: %s: replies to changes are kept "
		 "in memory only, so a change that is under way when the "
		 "daemon is killed may be done twice; set `control` to a path "
		 "on a tmpfs, such as /run/forefetch/control.sock",
	    s->name, path,
	    errno == ENOTSUP ? "its directory is not on a tmpfs"
			     : strerror(errno));
	return drc_open(NULL, DRC_SLOTS);
}

static bool open_drc(struct server *s)
{
	s->drc = open_change_drc(s);
	s->write_drc = drc_open(NULL, WRITE_DRC_SLOTS);
	if (!s->drc || !s->write_drc)
		return false;
	metrics_add(s->metrics, METRICS_DRC_RECOVERED, drc_recovered(s->drc));
	return true;
}

static struct upstream *new_upstream(struct server *s, enum resolve_what what)
{
	bool nfs = what == RESOLVE_NFS;
	struct upstream_params up = {.base = s->p.base,
	    .pool = s->p.pool,
	    .metrics = s->metrics,
	    .name = s->name,
	    .program = nfs ? "nfs" : "mount",
	    .connections = nfs ? s->p.config->connections : 1,
	    .lazy = !nfs,
	    .on_unreachable = on_unreachable,
	    .on_port = nfs ? on_nfs_port : on_mount_port,
	    .on_received = nfs ? on_nfs_received : NULL,
	    .ctx = s};

	return upstream_new(&up);
}

static bool open_upstreams(struct server *s)
{
	const struct config_server *cfg = s->p.config;
	struct resolve_params rp = {.base = s->p.base,
	    .dns = s->p.dns,
	    .pool = s->p.pool,
	    .name = s->name,
	    .host = cfg->address,
	    .ports = {cfg->nfs_port, cfg->mount_port},
	    .on_found = on_found,
	    .ctx = s};

	s->up[RESOLVE_NFS] = new_upstream(s, RESOLVE_NFS);
	s->up[RESOLVE_MOUNT] = new_upstream(s, RESOLVE_MOUNT);
	s->resolve = resolve_new(&rp);
	if (!s->up[RESOLVE_NFS] || !s->up[RESOLVE_MOUNT] || !s->resolve)
		return false;
	for (unsigned i = 0; i < cfg->connections; i++)
		upstream_set_port(s->up[RESOLVE_NFS], i, drc_port(s->drc, i));
	return true;
}

/* What may be learned takes a part of the server's memory. */
static uint64_t learn_bytes(const struct server *s)
{
	uint64_t bytes = s->p.memory_bytes / LEARN_SHARE;

	if (bytes < LEARN_MIN)
		return LEARN_MIN;
	return bytes < LEARN_MAX ? bytes : LEARN_MAX;
}

static uint64_t cache_bytes(const struct server *s)
{
	uint64_t learn = learn_bytes(s), all = s->p.memory_bytes;

	/* Where all is less than the least that learning takes. */
	return all > 2 * learn ? all - learn : all / 2;
}

/* The path of a file that is kept, or nothing while the disk is not had. */
static void kept_path(
    const struct server *s, const char *file, char *path, size_t size)
{
	if (!cachehome_on_disk(s->home) ||
	    statedir_path(s->p.state, s->name, file, path, size) < 0)
		path[0] = '\0';
}

/* The start did not wait for it. */
static void on_disk(void *ctx)
{
	struct server *s = ctx;
	struct datacache *data = cachehome_caches(s->home)->data;
	char path[PATH_MAX];

	drc_set_detached(s->drc, false);
	kept_path(s, "pins", path, sizeof(path));
	pins_set_file(s->pins, path);
	kept_path(s, "trees", path, sizeof(path));
	prefetch_set_file(s->prefetch, path);
	if (data && compact_set_data(s->compact, data) < 0)
		log_warn("server server=%s: data is not laid out: %s", s->name,
		    strerror(ENOMEM));
}

/* errno is EINVAL where the configuration is wrong. */
static bool open_caches(struct server *s, char *err, size_t errlen)
{
	struct cachehome_params hp = {.base = s->p.base,
	    .iopool = s->p.iopool,
	    .state = s->p.state,
	    .config = s->p.config,
	    .name = s->name,
	    .metrics = s->metrics,
	    .disk_bytes = s->p.disk_bytes,
	    .memory_bytes = cache_bytes(s),
	    .detached = drc_detached(s->drc),
	    .on_disk = on_disk,
	    .ctx = s};

	drc_set_detached(s->drc, true);
	s->home = cachehome_new(&hp);
	if (!s->home)
		return false;
	errno = -cachehome_wait(s->home, s->p.disk_wait_us, err, errlen);
	if (cachehome_on_disk(s->home))
		drc_set_detached(s->drc, false);
	return errno == 0;
}

/* Calls ahead neither wait for a connection nor in front of one. */
static bool may_ask_ahead(void *ctx)
{
	const struct server *s = ctx;
	struct upstream_status st;

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	return st.state == UPSTREAM_UP && st.queued == 0 &&
	       !(s->svc && svc_demand_waits(s->svc));
}

static bool on_seen(void *ctx, const struct predictor_obs *obs)
{
	const struct server *s = ctx;

	tracer_observe(s->tracer, obs);
	return hints_seen(s->hints, obs);
}

static bool open_prefetch(struct server *s)
{
	char path[PATH_MAX] = "";
	struct prefetch_params pp = {.base = s->p.base,
	    .iopool = s->p.iopool,
	    .fetch = s->fetch,
	    .caches = cachehome_caches(s->home),
	    .link = s->estimate,
	    .metrics = s->metrics,
	    .config = s->p.config,
	    .name = s->name,
	    .path = path,
	    .memory_bytes = learn_bytes(s),
	    .on_seen = on_seen,
	    .ready = may_ask_ahead,
	    .ctx = s};

	kept_path(s, "trees", path, sizeof(path));
	s->tracer = tracer_new();
	s->prefetch = prefetch_new(&pp);
	return s->prefetch && s->tracer;
}

/* Predictions go first: what they bring is wanted sooner. */
static bool may_warm(void *ctx)
{
	struct server *s = ctx;

	return may_ask_ahead(s) && !prefetch_waits(s->prefetch);
}

static unsigned demand(void *ctx)
{
	const struct server *s = ctx;
	struct prefetch_stats st;
	unsigned all = fetch_in_flight(s->fetch);

	prefetch_get_stats(s->prefetch, &st);
	return all > st.flights ? all - st.flights : 0;
}

static bool open_warm(struct server *s)
{
	struct warm_params wp = {.base = s->p.base,
	    .fetch = s->fetch,
	    .caches = cachehome_caches(s->home),
	    .link = s->estimate,
	    .budget = prefetch_budget(s->prefetch),
	    .metrics = s->metrics,
	    .config = s->p.config,
	    .disk_bytes = s->p.disk_bytes,
	    .ready = may_warm,
	    .demand = demand,
	    .ctx = s};

	s->warm = warm_new(&wp);
	return s->warm != NULL;
}

static bool open_pins(struct server *s)
{
	char path[PATH_MAX];
	struct pins_params pp = {.iopool = s->p.iopool,
	    .caches = cachehome_caches(s->home),
	    .warm = s->warm,
	    .path = path,
	    .server = s->name};

	kept_path(s, "pins", path, sizeof(path));
	s->pins = pins_new(&pp);
	return s->pins != NULL;
}

static uint64_t compact_calls(void *ctx)
{
	return client_calls(ctx);
}

static bool link_busy(void *ctx)
{
	const struct server *s = ctx;

	return fetch_in_flight(s->fetch) > 0;
}

static bool open_compact(struct server *s)
{
	struct compact_params cp = {.base = s->p.base,
	    .data = cachehome_caches(s->home)->data,
	    .rate_bytes = s->p.compact_rate,
	    .calls = compact_calls,
	    .busy = link_busy,
	    .ctx = s};

	s->compact = compact_new(&cp, clock_now_us());
	return s->compact != NULL;
}

static bool open_hints(struct server *s)
{
	struct hint_params hp = {.base = s->p.base,
	    .prefetch = s->prefetch,
	    .caches = cachehome_caches(s->home),
	    .link = s->estimate,
	    .metrics = s->metrics,
	    .config = s->p.config,
	    .disk_bytes = s->p.disk_bytes};

	s->hints = hints_new(&hp);
	return s->hints != NULL;
}

static bool open_service(struct server *s)
{
	struct svc_params sp = {.config = s->p.config,
	    .metrics = s->metrics,
	    .drc = s->drc,
	    .write_drc = s->write_drc,
	    .caches = cachehome_caches(s->home)};
	struct timeval sweep = clock_timeval(SWEEP_US);

	s->estimate = linkest_new();
	if (s->estimate) {
		linkest_set_kind(s->estimate, s->p.config->link);
		s->linkkeep = linkkeep_new(s->p.state, s->name, s->estimate);
		s->fetch = fetch_new(s->up[RESOLVE_NFS], s->up[RESOLVE_MOUNT],
		    s->metrics, s->estimate);
	}
	if (!s->fetch || !s->linkkeep || !open_prefetch(s) || !open_warm(s) ||
	    !open_pins(s) || !open_compact(s) || !open_hints(s))
		return false;
	sp.fetch = s->fetch;
	sp.link = s->estimate;
	sp.prefetch = s->prefetch;
	s->svc = svc_new(&sp);
	s->link = linkwatch_new(
	    s->fetch, s->up[RESOLVE_NFS], s->up[RESOLVE_MOUNT], clock_now_us());
	s->ev_reap = evtimer_new(s->p.base, on_reap, s);
	s->ev_bury = evtimer_new(s->p.base, on_bury, s);
	s->ev_sweep = event_new(s->p.base, -1, EV_PERSIST, on_sweep, s);
	return s->svc && s->link && s->ev_reap && s->ev_bury && s->ev_sweep &&
	       event_add(s->ev_sweep, &sweep) == 0;
}

struct server *server_new(
    const struct server_params *p, char *err, size_t errlen)
{
	struct server *s = calloc(1, sizeof(*s));
	int rc;

	snprintf(err, errlen, "out of memory");
	if (!s)
		return NULL;
	s->p = *p;
	LIST_INIT(&s->conns);
	LIST_INIT(&s->closed);
	s->name = strdup(p->config->name);
	s->metrics = s->name ? metrics_new() : NULL;
	if (!s->metrics || !open_drc(s) || !open_upstreams(s) ||
	    !open_caches(s, err, errlen) || !open_service(s) ||
	    !open_listeners(s, err, errlen)) {
		rc = errno;
		server_free(s);
		errno = rc;
		return NULL;
	}
	if (p->config->rpcbind)
		s->unregistered = rpcbind_register(
		    s->name, p->config->listen.list, p->config->listen.n);
	use_known_addresses(s);
	resolve_start(s->resolve);
	return s;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	cachehome_stop(s->home);
	for (size_t i = 0; i < s->nlisteners; i++)
		evconnlistener_free(s->listeners[i]);
	free(s->listeners);
	if (s->p.config->rpcbind && s->nlisteners > 0)
		rpcbind_unregister();
	free_conns(&s->conns);
	free_conns(&s->closed);
	if (s->ev_reap)
		event_free(s->ev_reap);
	if (s->ev_bury)
		event_free(s->ev_bury);
	if (s->ev_sweep)
		event_free(s->ev_sweep);
	svc_free(s->svc);
	linkwatch_free(s->link);
	compact_free(s->compact);
	hints_free(s->hints);
	pins_free(s->pins);
	warm_free(s->warm);
	prefetch_free(s->prefetch);
	tracer_free(s->tracer);
	cachehome_free(s->home);
	fetch_free(s->fetch);
	linkkeep_free(s->linkkeep);
	linkest_free(s->estimate);
	resolve_free(s->resolve);
	for (int i = 0; i < RESOLVE_COUNT; i++)
		upstream_free(s->up[i]);
	drc_close(s->drc);
	drc_close(s->write_drc);
	metrics_free(s->metrics);
	free(s->name);
	free(s);
}

void server_set_config(
    struct server *s, const struct config_server *config, uint64_t compact_rate)
{
	/* The caches first: they look up names in the old one. */
	caches_set_config(cachehome_caches(s->home), config);
	s->p.config = config;
	linkest_set_kind(s->estimate, config->link);
	svc_set_config(s->svc, config);
	prefetch_set_config(s->prefetch, config);
	warm_set_config(s->warm, config);
	compact_set_rate(s->compact, compact_rate);
	hints_set_config(s->hints, config);
}

int server_flush(struct server *s)
{
	int rc = server_caches_flush(cachehome_caches(s->home), clock_now_us());

	event_active(s->ev_bury, EV_TIMEOUT, 0);
	cachehome_retry(s->home);
	/* Which file system an [export] is about was forgotten, too. */
	svc_set_config(s->svc, s->p.config);
	if (rc < 0)
		log_warn("server server=%s: flush: %s", s->name, strerror(-rc));
	else
		log_info("server server=%s: caches emptied", s->name);
	cachehome_hurry(s->home);
	return rc;
}

bool server_listens(const struct server *s, const struct netmatch_addr *at)
{
	for (size_t i = 0; i < s->p.config->listen.n; i++)
		if (netmatch_addr_clash(at, &s->p.config->listen.list[i]))
			return true;
	return false;
}

struct warm *server_warm(struct server *s)
{
	return s->warm;
}

struct compact *server_compact(struct server *s)
{
	return s->compact;
}

struct pins *server_pins(struct server *s)
{
	return s->pins;
}

struct hints *server_hints(struct server *s)
{
	return s->hints;
}

struct prefetch *server_prefetch(struct server *s)
{
	return s->prefetch;
}

struct tracer *server_tracer(struct server *s)
{
	return s->tracer;
}

struct caches *server_caches(struct server *s)
{
	return cachehome_caches(s->home);
}

int server_explain(struct server *s, const struct user *user,
    const char *export, const char *path, struct explain *out)
{
	if (!exportpath_below_ok(path))
		return -EINVAL;
	explain(cachehome_caches(s->home), s->prefetch, user, export, path,
	    clock_now_us(), out);
	return 0;
}

void server_drain(struct server *s)
{
	struct server_conn *sc;

	s->draining = true;
	for (size_t i = 0; i < s->nlisteners; i++)
		evconnlistener_disable(s->listeners[i]);
	LIST_FOREACH (sc, &s->conns, link)
		conn_drain(sc->conn);
}

bool server_idle(const struct server *s)
{
	struct server_conn *sc;

	LIST_FOREACH (sc, &s->conns, link)
		if (!conn_idle(sc->conn))
			return false;
	return true;
}

/* ---- status ----------------------------------------------------------- */

static enum control_state state_of(
    const struct server *s, enum upstream_state state)
{
	switch (state) {
	case UPSTREAM_UP:
		return CONTROL_UP;
	case UPSTREAM_CONNECTING:
		return CONTROL_CONNECTING;
	case UPSTREAM_IDLE:
		return CONTROL_IDLE;
	case UPSTREAM_NO_ADDRESS:
		return resolve_busy(s->resolve) ? CONTROL_RESOLVING
						: CONTROL_DOWN;
	default:
		return CONTROL_DOWN;
	}
}

/* Why calls of a program do not get through, as far as that is known; "". */
static void fill_reason(const struct server *s, enum resolve_what what,
    const struct upstream_status *st, char **reason)
{
	const char *found = resolve_error(s->resolve, what), *error = "";
	bool up = st->state == UPSTREAM_UP;
	bool denied = what == RESOLVE_NFS && resolve_denied(s->resolve);

	/* An address that works is good, wherever it was known from. */
	if (up && !(denied && st->served == UPSTREAM_SERVED_UNKNOWN))
		found = "";
	if (up && st->served == UPSTREAM_UNSERVED && what == RESOLVE_NFS)
		error = "the server does not serve NFSv3; does it offer NFSv4 "
			"only? Switch NFSv3 on there (vers3=y in its "
			"/etc/nfs.conf)";
	else if (up && st->served == UPSTREAM_UNSERVED)
		error = "the server does not serve MOUNTv3 at that port";
	else if (!up && (st->failed || st->state != UPSTREAM_IDLE))
		error = st->last_error;
	control_set(
	    reason, "%s%s%s", error, *error && *found ? "; " : "", found);
}

static void fill_mount(const struct server *s, struct control_server *out)
{
	struct upstream_status st;

	upstream_get_status(s->up[RESOLVE_MOUNT], &st);
	out->mount_state = state_of(s, st.state);
	out->mount_state_age_ms = (clock_now_us() - st.since_us) / 1000;
	fill_reason(s, RESOLVE_MOUNT, &st, &out->mount_reason);
	if (s->unregistered > 0)
		control_set(&out->rpcbind_error,
		    "the local rpcbind refused %u of its programs; is it "
		    "running, and is no other NFS server registered?",
		    s->unregistered);
}

static void fill_upstream(const struct server *s, struct control_server *out)
{
	struct upstream_status st;
	struct upstream_conn_status cs;
	struct control_upstream *cu;

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	out->state = state_of(s, st.state);
	out->state_age_ms = (clock_now_us() - st.since_us) / 1000;
	fill_reason(s, RESOLVE_NFS, &st, &out->reason);
	control_set(&out->last_error, "%s",
	    out->reason && *out->reason ? out->reason : st.last_error);
	for (unsigned i = 0; i < st.connections; i++) {
		upstream_get_conn_status(s->up[RESOLVE_NFS], i, &cs);
		cu = control_server_add_upstream(out);
		if (!cu)
			return;
		cu->state = state_of(s, cs.state);
		cu->local_port = cs.local_port;
		cu->srtt_us = cs.srtt_us;
		cu->in_flight = cs.in_flight;
		/* The common queue is shown with the first connection. */
		cu->queued = cs.waiting + (i == 0 ? st.queued : 0);
		if (cs.srtt_us && (!out->srtt_us || cs.srtt_us < out->srtt_us))
			out->srtt_us = cs.srtt_us;
	}
}

static void fill_conns(const struct server *s, struct control_server *out)
{
	struct server_conn *sc;
	struct conn_status st;
	struct control_conn *cc;

	LIST_FOREACH (sc, &s->conns, link) {
		cc = control_server_add_conn(out);
		if (!cc)
			return;
		conn_get_status(sc->conn, &st);
		control_set(&cc->address, "%s", st.peer);
		cc->age_ms = (clock_now_us() - st.since_us) / 1000;
		cc->in_flight = st.in_flight;
		cc->bytes_in_flight = st.in_flight_bytes;
		cc->bytes_in = st.received_bytes;
		cc->bytes_out = st.sent_bytes;
	}
}

static void fill_offline(const struct server *s, struct control_server *out)
{
	out->offline_serve = s->p.config->offline == CONFIG_OFFLINE_SERVE;
	out->offline_active = svc_offline(s->svc);
	if (!out->offline_active)
		return;
	out->offline_age_ms = (clock_now_us() - s->offline_us) / 1000;
	out->served_age_us = svc_served_age_us(s->svc);
}

static void fill_disk(const struct server *s, struct control_server *out)
{
	struct cachehome_problem p;

	cachehome_get_problem(s->home, &p);
	control_set(&out->disk_problem, "%s", p.text);
	out->caches.disk_on = p.text[0] == '\0';
	if (p.since_us > 0)
		out->caches.disk_problem_age_ms =
		    (clock_now_us() - p.since_us) / 1000;
}

void server_fill_status(const struct server *s, struct control_server *out)
{
	const struct config_server *cfg = s->p.config;
	char text[NETMATCH_TEXT_MAX] = "";
	uint64_t calls;

	control_set(&out->name, "%s", s->name);
	control_set(&out->address, "%s", cfg->address);
	if (s->found[RESOLVE_NFS].len > 0)
		netmatch_addr_format(&s->found[RESOLVE_NFS], text);
	control_set(&out->resolved, "%s", text);
	for (size_t i = 0; i < cfg->listen.n; i++) {
		netmatch_addr_format(&cfg->listen.list[i], text);
		control_server_add_listen(out, text);
	}
	for (size_t i = 0; i < cfg->exports.n; i++)
		control_server_add_export(out, cfg->exports.list[i]);
	server_caches_fill_status(
	    cachehome_caches(s->home), s->p.disk_bytes, out);
	server_prefetch_fill_status(s->p.config, s->estimate, out);
	fill_disk(s, out);
	fill_offline(s, out);
	fill_upstream(s, out);
	fill_mount(s, out);
	out->clients_bytes = clients_bytes(s, &calls);
	fill_conns(s, out);
}
