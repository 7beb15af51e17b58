/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a server: its parts, in the order in which they need each other.
 * server_new() makes what needs no disk, and begins to open that; server_open()
 * makes the rest, whether or not the disk has answered by then, and the clients
 * last, since they may call at once. */
#include "daemon/server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "cache/caches.h"
#include "config/config.h"
#include "control/balance.h"
#include "control/history.h"
#include "daemon/cachehome.h"
#include "daemon/clients.h"
#include "daemon/server_private.h"
#include "datacache/compact.h"
#include "explain/tracer.h"
#include "farm/farm.h"
#include "hint/hint.h"
#include "link/linkest.h"
#include "link/linkkeep.h"
#include "prefetch/prefetch.h"
#include "svc/drc.h"
#include "svc/svc.h"
#include "upstream/fetch.h"
#include "upstream/linkwatch.h"
#include "warm/pins.h"
#include "warm/warm.h"

/* DRC_SLOTS and WRITE_DRC_SLOTS are replies that are kept for copies of a
 * change or a WRITE (svc/drc.h). */
enum {
	DRC_SLOTS = 4096,
	WRITE_DRC_SLOTS = 1024,
	/* How often what depends on time is looked after. */
	SWEEP_US = 1000000,
};

/* The file of replies to changes: beside the control socket, which by default
 * is on a tmpfs, so that they survive when the daemon is killed. */
void server_drc_path(const struct server *s, char *path, size_t size)
{
	const char *control = s->p.control, *slash = strrchr(control, '/');
	int dir = slash ? (int)(slash - control) : 0;

	snprintf(path, size, "%.*s/%s.drc", dir, control, s->name);
}

/* Falls back to memory, with a warning: the daemon then serves as any NFS
 * server without a persistent reply cache does. */
static struct drc *open_change_drc(const struct server *s)
{
	char path[PATH_MAX];
	struct drc *drc;

	server_drc_path(s, path, sizeof(path));
	drc = drc_open(path, DRC_SLOTS);
	if (drc)
		return drc;
	log_warn(
	    "server server=%s file=%s: %s: replies to changes are kept "
	    "in memory only, so a change that is under way when the "
	    "daemon is killed may be done twice; set `control_socket` to a "
	    "path on a tmpfs, such as /run/forefetch/control.sock",
	    s->name, path,
	    errno == ENOTSUP ? "its directory is not on a tmpfs"
			     : strerror(errno));
	return drc_open(NULL, DRC_SLOTS);
}

/* Replies to WRITEs are kept in memory only. False without memory. */
static bool open_drc(struct server *s)
{
	s->drc = open_change_drc(s);
	s->write_drc = drc_open(NULL, WRITE_DRC_SLOTS);
	if (!s->drc || !s->write_drc)
		return false;
	metrics_add(s->metrics, METRICS_DRC_RECOVERED, drc_recovered(s->drc));
	return true;
}

/* The path of a file in cache_dir; "" while its disk is not available. */
static void kept_path(
    const struct server *s, const char *file, char *path, size_t size)
{
	if (!cachehome_on_disk(s->home) ||
	    statedir_path(s->p.state, s->name, file, path, size) < 0)
		path[0] = '\0';
}

/* The disk answers, after the start went on without it: the modules get their
 * files now. By now the addresses are found anew and the link is measured; the
 * totals of this run are not kept (balance.h). */
static void on_disk(void *ctx)
{
	struct server *s = ctx;
	struct datacache *data = cachehome_caches(s->home)->data;
	char path[PATH_MAX];

	drc_set_detached(s->drc, false);
	kept_path(s, PINS_FILE, path, sizeof(path));
	pins_set_file(s->pins, path, cachehome_text(s->home, CACHEHOME_PINS));
	kept_path(s, "trees", path, sizeof(path));
	prefetch_set_file(s->prefetch, path);
	if (data && compact_set_data(s->compact, data) < 0)
		log_warn("server server=%s: data will not be put in the order "
			 "of its use: %s",
		    s->name, strerror(ENOMEM));
}

/* Until the disk works, the file of replies says that this daemon serves
 * without it, so that the next one does not believe its names. */
static bool begin_caches(struct server *s)
{
	struct cachehome_params hp = {.base = s->p.base,
	    .iopool = s->iopool,
	    .state = s->p.state,
	    .config = s->p.config,
	    .name = s->name,
	    .metrics = s->metrics,
	    .disk_bytes = s->p.disk_bytes,
	    .memory_bytes = s->p.memory_bytes,
	    .detached = drc_detached(s->drc),
	    .on_disk = on_disk,
	    .ctx = s};

	drc_set_detached(s->drc, true);
	s->home = cachehome_new(&hp);
	return s->home != NULL;
}

/* errno is EINVAL where the configuration is wrong. */
static bool open_caches(
    struct server *s, uint64_t disk_wait_us, char *err, size_t errlen)
{
	errno = -cachehome_wait(s->home, disk_wait_us, err, errlen);
	if (cachehome_on_disk(s->home))
		drc_set_detached(s->drc, false);
	return errno == 0;
}

/* Whether a call may be sent ahead of its use now: not while the server is not
 * connected, nor while calls of clients wait. */
static bool may_ask_ahead(void *ctx)
{
	const struct server *s = ctx;
	struct upstream_status st;

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	return st.state == UPSTREAM_UP && st.queued == 0 &&
	       !(s->svc && svc_demand_waits(s->svc));
}

/* Called for each access that the prefetch observes. True where a hint was
 * about it. */
static bool on_seen(void *ctx, const struct predictor_obs *obs)
{
	const struct server *s = ctx;

	tracer_observe(s->tracer, obs);
	return hints_seen(s->hints, obs);
}

/* The server's part in the farm; without memory for it there is none. */
static void open_farm(struct server *s)
{
	struct farm_server_params fp = {.farm = s->p.farm,
	    .caches = cachehome_caches(s->home),
	    .fetch = s->fetch,
	    .link = s->estimate,
	    .metrics = s->metrics,
	    .address = s->p.config->address,
	    .port = s->p.config->nfs_port};

	if (s->p.farm)
		s->farm = farm_server_new(&fp);
}

static bool open_prefetch(struct server *s)
{
	char path[PATH_MAX] = "";
	struct prefetch_params pp = {.ground = {.base = s->p.base,
					 .iopool = s->iopool,
					 .fetch = s->fetch,
					 .caches = cachehome_caches(s->home),
					 .link = s->estimate,
					 .metrics = s->metrics,
					 .farm = s->farm,
					 .config = s->p.config,
					 .memory_bytes = s->p.learn_bytes,
					 .ready = may_ask_ahead,
					 .ready_ctx = s},
	    .name = s->name,
	    .path = path,
	    .on_seen = on_seen,
	    .ctx = s};

	kept_path(s, "trees", path, sizeof(path));
	s->tracer = tracer_new();
	s->prefetch = prefetch_new(&pp);
	return s->prefetch && s->tracer;
}

static bool open_warm(struct server *s)
{
	struct warm_params wp = {.prefetch = s->prefetch,
	    .caches = cachehome_caches(s->home),
	    .link = s->estimate,
	    .config = s->p.config,
	    .disk_bytes = s->p.disk_bytes};

	s->warm = warm_new(&wp);
	return s->warm != NULL;
}

static bool open_pins(struct server *s)
{
	char path[PATH_MAX];
	struct pins_params pp = {.iopool = s->iopool,
	    .caches = cachehome_caches(s->home),
	    .warm = s->warm,
	    .path = path,
	    .text = cachehome_text(s->home, CACHEHOME_PINS),
	    .server = s->name};

	kept_path(s, PINS_FILE, path, sizeof(path));
	s->pins = pins_new(&pp);
	return s->pins != NULL;
}

static uint64_t compact_calls(void *ctx)
{
	return server_client_calls(ctx);
}

static bool link_busy(void *ctx)
{
	const struct server *s = ctx;

	return fetch_in_flight(s->fetch) > 0;
}

/* reorder_rate is in bits a second. */
static bool open_compact(struct server *s)
{
	struct compact_params cp = {.base = s->p.base,
	    .data = cachehome_caches(s->home)->data,
	    .rate_bytes = s->p.reorder_rate / 8,
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

/* Everything between the connections and the clients. False without memory. */
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
		s->linkkeep = linkkeep_new(s->p.state, s->name, s->estimate,
		    statefile_first_line(
			cachehome_text(s->home, CACHEHOME_LINK)));
		s->fetch = fetch_new(s->up[RESOLVE_NFS], s->up[RESOLVE_MOUNT],
		    s->metrics, s->estimate);
	}
	if (s->fetch)
		open_farm(s);
	if (!s->fetch || !s->linkkeep || !open_prefetch(s) || !open_warm(s) ||
	    !open_pins(s) || !open_compact(s) || !open_hints(s))
		return false;
	sp.fetch = s->fetch;
	sp.link = s->estimate;
	sp.prefetch = s->prefetch;
	sp.farm = s->farm;
	s->svc = svc_new(&sp);
	s->link = linkwatch_new(
	    s->fetch, s->up[RESOLVE_NFS], s->up[RESOLVE_MOUNT], clock_now_us());
	s->ev_bury = evtimer_new(s->p.base, server_on_bury, s);
	s->ev_sweep = event_new(s->p.base, -1, EV_PERSIST, server_on_sweep, s);
	return s->svc && s->link && s->ev_bury && s->ev_sweep &&
	       event_add(s->ev_sweep, &sweep) == 0;
}

static const struct metrics *on_history(void *ctx)
{
	return server_measure(ctx);
}

/* Listens, and begins to keep the history. False, with a sentence and errno. */
static bool open_clients(struct server *s, char *err, size_t errlen)
{
	struct clients_params cp = {.base = s->p.base,
	    .pool = s->p.pool,
	    .room = s->p.room,
	    .listens = s->p.listens,
	    .svc = s->svc,
	    .metrics = s->metrics,
	    .config = s->p.config,
	    .server = s->name};

	s->clients = clients_new(&cp, err, errlen);
	if (!s->clients)
		return false;
	s->history = history_new(s->p.base, on_history, s);
	if (s->history)
		s->balance = balance_new(&(struct balance_params){
		    .state = s->p.state,
		    .server = s->name,
		    .history = s->history,
		    .caches = cachehome_caches(s->home),
		    .totals = cachehome_text(s->home, CACHEHOME_TOTALS),
		    .mounts = cachehome_text(s->home, CACHEHOME_MOUNT_TOTALS),
		});
	if (!s->balance)
		snprintf(err, errlen, "out of memory");
	return s->balance != NULL;
}

struct server *server_new(const struct server_params *p)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->p = *p;
	s->name = strdup(p->config->name);
	s->iopool = iopool_share(p->iopool);
	s->metrics = s->name && s->iopool ? metrics_new() : NULL;
	if (s->metrics && open_drc(s) && server_open_upstreams(s) &&
	    begin_caches(s))
		return s;
	server_free(s);
	errno = ENOMEM;
	return NULL;
}

int server_open(struct server *s, bool blocks, uint64_t disk_wait_us, char *err,
    size_t errlen)
{
	snprintf(err, errlen, "out of memory");
	errno = ENOMEM;
	if (!s->svc &&
	    (!open_caches(s, blocks ? disk_wait_us : 0, err, errlen) ||
		!open_service(s)))
		return -errno;
	/* Clients come to what was known before. */
	if (blocks)
		prefetch_load_wait(s->prefetch, disk_wait_us);
	else if (disk_wait_us > 0 && prefetch_loads(s->prefetch))
		return -EAGAIN;
	if (!open_clients(s, err, errlen))
		return -errno;
	server_use_metered(s);
	server_pause(s, s->p.paused_until_us);
	server_resolve(s);
	cachehome_forget_texts(s->home);
	return 0;
}
