/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that is put away while others serve: nothing here waits.
 *
 *	drains   calls in flight get their replies
 *	settles  what was learned and pinned is saved,
 *	saves    then names,
 *	waits    for the disk and rpcbind
 *	cleans   what was made for a server that never answered
 *	empties  the caches, a part in a turn
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/uint.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/statedir.h"
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
#include "link/linkkeep.h"
#include "prefetch/prefetch.h"
#include "svc/svc.h"
#include "upstream/fetch.h"
#include "upstream/linkwatch.h"
#include "upstream/rpcbind.h"
#include "warm/pins.h"
#include "warm/warm.h"

/* Bounds of time, so that a server leaves whatever its peers do. */
enum {
	/* For calls in flight to get their replies; clients repeat the
	 * others. */
	DRAIN_MAX_US = 5000000,
	/* Where the disk answers and a step of saving takes longer than this,
	 * the disk is full or very slow, and the rest is given up. */
	SETTLE_MAX_US = 10000000,
	/* How often the disk is looked at while the server leaves. */
	TICK_US = 1000000,
};

/* ---- rpcbind ----------------------------------------------------------- */

/* A registration with the local rpcbind, or its undoing, in a thread: rpcbind
 * may not answer. The thread has copies of all that it needs. */
struct server_registering {
	struct iopool_job job;
	struct server *server;
	char *name;
	/* Addresses to register, `n` of them; NULL: it is undone. */
	struct netmatch_addr *list;
	size_t n;
	/* Programs that rpcbind has refused. */
	unsigned refused;
};

/* In a thread. */
static void registering_run(struct iopool_job *job)
{
	struct server_registering *r = (void *)job;

	if (r->list)
		r->refused = rpcbind_register(r->name, r->list, r->n);
	else
		rpcbind_unregister();
}

static void registering_free(struct server_registering *r)
{
	free(r->name);
	free(r->list);
	free(r);
}

/* On the loop. The server is there still: it waits for its jobs
 * (is_quiet()). */
static void registering_done(struct iopool_job *job)
{
	struct server_registering *r = (void *)job;

	r->server->unregistered = r->refused;
	r->server->registering = NULL;
	registering_free(r);
}

/* Has a thread register `n` addresses, or with none undo that. Without memory
 * it is left as it is. */
static void begin_registering(
    struct server *s, const struct netmatch_addr *list, size_t n)
{
	struct server_registering *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->server = s;
	r->name = strdup(s->name);
	if (n > 0)
		r->list = calloc(n, sizeof(*list));
	if (!r->name || (n > 0 && !r->list)) {
		registering_free(r);
		return;
	}
	if (n > 0)
		memcpy(r->list, list, n * sizeof(*list));
	r->n = n;
	r->job.run = registering_run;
	r->job.done = registering_done;
	s->registering = r;
	iopool_submit(s->iopool, &r->job);
}

void server_register(struct server *s, bool blocks)
{
	const struct config_addrs *listen = &s->p.config->listen;

	s->registered = s->p.config->rpcbind;
	if (s->registered && blocks)
		s->unregistered =
		    rpcbind_register(s->name, listen->list, listen->n);
	else if (s->registered)
		begin_registering(s, listen->list, listen->n);
}

bool server_is_registered(const struct server *s)
{
	return s->registered || s->registering;
}

/* ---- taking it apart --------------------------------------------------- */

/* Frees what has to do with clients: from here on none is served. What they use
 * goes after them. */
void server_stop_serving(struct server *s)
{
	cachehome_stop(s->home);
	balance_free(s->balance);
	s->balance = NULL;
	linkkeep_free(s->linkkeep);
	s->linkkeep = NULL;
	history_free(s->history);
	s->history = NULL;
	clients_free(s->clients);
	s->clients = NULL;
	if (s->ev_bury)
		event_free(s->ev_bury);
	s->ev_bury = NULL;
	if (s->ev_sweep)
		event_free(s->ev_sweep);
	s->ev_sweep = NULL;
	/* The loop goes on for other servers, so replies may still come to the
	 * requests that are freed here. */
	fetch_forget(s->fetch);
	svc_free(s->svc);
	s->svc = NULL;
	linkwatch_free(s->link);
	s->link = NULL;
	compact_free(s->compact);
	s->compact = NULL;
}

void server_free_ahead(struct server *s)
{
	fetch_forget(s->fetch);
	/* Observing tells both of these, so they go together. */
	hints_free(s->hints);
	s->hints = NULL;
	pins_free(s->pins);
	s->pins = NULL;
	warm_free(s->warm);
	s->warm = NULL;
	prefetch_free(s->prefetch);
	s->prefetch = NULL;
	tracer_free(s->tracer);
	s->tracer = NULL;
	farm_server_free(s->farm);
	s->farm = NULL;
}

/* ---- leaving ----------------------------------------------------------- */

/* Whether calls in flight are answered, or have had their time. */
static bool is_drained(struct server *s, uint64_t now_us)
{
	if (!s->clients || clients_idle(s->clients))
		return true;
	if (now_us < s->leaving_us + DRAIN_MAX_US)
		return false;
	log_warn("server server=%s: it is removed with calls in flight; "
		 "clients will repeat them",
	    s->name);
	return true;
}

/* Whether a step of saving is over. Nothing that a thread saves may be freed
 * meanwhile: freeing it would wait for the thread. */
static bool is_over(struct server *s, bool settled, uint64_t now_us)
{
	return iopool_jobs(s->iopool) == 0 &&
	       (settled || now_us > s->leaving_us + SETTLE_MAX_US);
}

/* Whether what was learned and pinned is saved; if not, begins to. */
static bool is_settled(struct server *s, uint64_t now_us)
{
	bool pins = !s->pins || pins_settle(s->pins, now_us);
	bool learned = !s->prefetch || prefetch_settle(s->prefetch);

	return is_over(s, pins && learned, now_us);
}

/* Whether no thread works for this server; undoes the registration first. */
static bool is_quiet(struct server *s)
{
	/* Whoever takes this server's place reads these lines at once, so they
	 * have to be written. */
	if (iopool_jobs(s->iopool) > 0 || statedir_is_busy(s->p.state, s->name))
		return false;
	if (!s->registered)
		return true;
	s->registered = false;
	begin_registering(s, NULL, 0);
	return false;
}

/* ---- what nobody needs -------------------------------------------------- */

/* In a thread: removes the files of the server. */
static void cleaning_run(struct iopool_job *job)
{
	const struct server *s = container_of(job, struct server, cleaning);
	char path[PATH_MAX];

	statedir_remove_server(s->p.state, s->name);
	server_drc_path(s, path, sizeof(path));
	unlink(path);
}

static void cleaning_done(struct iopool_job *job)
{
	(void)job;
}

/* A server that was never reached, most often since its name was mistyped, has
 * taught nothing: the files that were made for it go with it. */
static void begin_cleaning(struct server *s)
{
	if (!cachehome_is_new(s->home) ||
	    metrics_get(s->metrics, METRICS_UPSTREAM_CONNECTS) > 0)
		return;
	s->cleaning.run = cleaning_run;
	s->cleaning.done = cleaning_done;
	iopool_submit(s->iopool, &s->cleaning);
}

/* Whether the present step is over, after doing a part of it. */
static bool step_over(struct server *s, uint64_t now_us)
{
	switch (s->leaving) {
	case SERVER_STAYS:
		if (s->clients)
			clients_leave(s->clients);
		return true;
	case SERVER_DRAINS:
		if (!is_drained(s, now_us))
			return false;
		server_stop_serving(s);
		return true;
	case SERVER_SETTLES:
		if (!is_settled(s, now_us))
			return false;
		server_free_ahead(s);
		return true;
	case SERVER_SAVES:
		return is_over(s, cachehome_settle(s->home), now_us);
	case SERVER_WAITS:
		if (!is_quiet(s))
			return false;
		begin_cleaning(s);
		return true;
	case SERVER_CLEANS:
		return iopool_jobs(s->iopool) == 0;
	default:
		return false;
	}
}

/* Goes as far as it can without waiting; the last step has many turns. */
bool server_leave(struct server *s, uint64_t now_us)
{
	/* It notices where the disk hangs. */
	if (s->leaving > SERVER_DRAINS && s->leaving < SERVER_EMPTIES &&
	    now_us > s->tick_us + TICK_US) {
		s->tick_us = now_us;
		cachehome_tick(s->home, now_us, false);
	}
	while (s->leaving != SERVER_EMPTIES) {
		if (!step_over(s, now_us))
			return false;
		s->leaving++;
		s->leaving_us = now_us;
	}
	return !cachehome_take_apart(s->home);
}

/* ---- shares ------------------------------------------------------------ */

void server_get_use(struct server *s, struct server_use *use)
{
	const struct caches *c = cachehome_caches(s->home);
	struct datacache_stats st = {0};

	if (c->data)
		datacache_get_stats(c->data, &st);
	*use = (struct server_use){.disk_bytes = st.disk_bytes,
	    .pinned_bytes = c->data ? datacache_pinned_bytes(c->data) : 0,
	    .memory_bytes = caches_bytes(c),
	    .learn_bytes = s->p.learn_bytes,
	    .disk_share_bytes = s->p.disk_bytes,
	    .memory_share_bytes = s->p.memory_bytes};
}

void server_set_shares(
    struct server *s, uint64_t disk_bytes, uint64_t memory_bytes)
{
	s->p.disk_bytes = disk_bytes;
	s->p.memory_bytes = memory_bytes;
	cachehome_set_shares(s->home, disk_bytes, memory_bytes);
	if (s->warm)
		warm_set_disk(s->warm, disk_bytes);
	if (s->hints)
		hints_set_disk(s->hints, disk_bytes);
}
