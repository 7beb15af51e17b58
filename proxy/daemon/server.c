/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server at work: what is looked after every second, and what changes from
 * outside. In other files: what it is made of (server_open.c), its clients
 * (clients.c), the way to the server (server_upstream.c), what is told of it
 * (server_status.c, server_measure.c).
 */
#include "daemon/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/netmatch.h"
#include "cache/caches.h"
#include "config/config.h"
#include "control/balance.h"
#include "daemon/cachehome.h"
#include "daemon/clients.h"
#include "daemon/server_private.h"
#include "datacache/compact.h"
#include "hint/hint.h"
#include "link/linkest.h"
#include "link/linkkeep.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "svc/drc.h"
#include "svc/svc.h"
#include "upstream/fetch.h"
#include "upstream/linkwatch.h"
#include "upstream/rpcbind.h"
#include "warm/pins.h"
#include "warm/warm.h"

/* Microseconds of rest between two parts when flushed caches are freed. */
enum {
	/* Flushed caches are freed in parts, with this rest between two. */
	BURY_US = 1000,
};

const char *server_name(const struct server *s)
{
	return s->name;
}

/* ---- every second ------------------------------------------------------ */

void server_on_bury(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = clock_timeval(BURY_US);
	struct server *s = arg;

	(void)fd;
	(void)what;
	if (caches_bury(cachehome_caches(s->home)) ||
	    caches_shrink(cachehome_caches(s->home)))
		event_add(s->ev_bury, &soon);
}

/* Where `offline = serve`: whether the server is away. */
static void check_offline(struct server *s, uint64_t now_us)
{
	bool away = s->p.config->offline == CONFIG_OFFLINE_SERVE &&
		    linkwatch_away(s->link, svc_waiting_us(s->svc), now_us);

	if (away != svc_offline(s->svc))
		log_warn("server server=%s: %s", s->name,
		    away ? "it cannot be reached; serving cached data"
			 : "it can be reached again");
	if (away && !svc_offline(s->svc))
		s->offline_us = now_us; /* for status */
	svc_set_offline(s->svc, away);
}

/* Goes through the rows of all procedures, some dozens. */
uint64_t server_client_calls(const struct server *s)
{
	struct metrics_row row;
	uint64_t calls = 0;

	for (size_t i = 0; i < metrics_row_count(); i++) {
		metrics_get_row(s->metrics, METRICS_CLIENT, i, &row);
		calls += row.calls;
	}
	return calls;
}

/* Pinned trees are checked for changes while somebody uses the server, so that
 * the link is silent when nobody does. */
static void check_pins(struct server *s, uint64_t now_us)
{
	uint64_t calls = server_client_calls(s);

	bool may = hold_lets(prefetch_hold(s->prefetch), false, 0, now_us);

	pins_tick(s->pins, may && calls != s->calls, now_us);
	s->calls = calls;
}

/* Called every second. */
void server_on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	uint64_t now_us = clock_now_us();

	(void)fd;
	(void)what;
	if (!s->clients)
		return; /* its sockets are not there yet */
	clients_sweep(s->clients, now_us);
	svc_expire(s->svc, now_us);
	check_offline(s, now_us);
	cachehome_tick(s->home, now_us, svc_offline(s->svc));
	/* Caches are emptied not only by users: also where the disk failed, or
	 * held the data of another server. And their share may be less now. */
	server_on_bury(-1, 0, s);
	check_pins(s, now_us);
	linkkeep_tick(s->linkkeep, now_us);
	balance_tick(s->balance, now_us);
}

/* ---- from outside ------------------------------------------------------ */

void server_use_metered(struct server *s)
{
	const struct config_server *c = s->p.config;
	bool metered = c->metered == CONFIG_METERED_YES ||
		       (c->metered == CONFIG_METERED_AUTO && s->p.metered);

	hold_set_metered(
	    prefetch_hold(s->prefetch), metered, c->metered_budget);
}

int server_load(struct server *s)
{
	return cachehome_load(s->home);
}

/* In the order in which the parts use each other: first those that call
 * others. */
void server_free(struct server *s)
{
	if (!s)
		return;
	server_stop_serving(s);
	if (s->registered)
		rpcbind_unregister();
	if (s->pins)
		pins_finish(s->pins);
	if (s->prefetch)
		prefetch_finish(s->prefetch);
	server_free_ahead(s);
	cachehome_free(s->home);
	fetch_free(s->fetch);
	linkest_free(s->estimate);
	resolve_free(s->resolve);
	for (int i = 0; i < RESOLVE_COUNT; i++)
		upstream_free(s->up[i]);
	iopool_free(s->iopool);
	drc_close(s->drc);
	drc_close(s->write_drc);
	metrics_free(s->metrics);
	free(s->name);
	free(s);
}

void server_set_metered(struct server *s, bool metered)
{
	s->p.metered = metered;
	if (s->svc)
		server_use_metered(s);
}

void server_end_rights(struct server *s, uint32_t uid)
{
	if (cachehome_caches(s->home))
		caches_end_rights_uid(
		    cachehome_caches(s->home), uid, clock_now_us());
}

void server_pause(struct server *s, uint64_t until_us)
{
	s->p.paused_until_us = until_us;
	if (s->prefetch)
		hold_pause(prefetch_hold(s->prefetch), until_us);
}

uint64_t server_paused_until_us(const struct server *s)
{
	return s->prefetch ? hold_paused_until_us(
				 prefetch_hold(s->prefetch), clock_now_us())
			   : s->p.paused_until_us;
}

/* A server that is still opening has only its caches; the rest is made with the
 * configuration of that time. */
void server_set_config(
    struct server *s, const struct config_server *config, uint64_t reorder_rate)
{
	/* The caches first: they look up names in the old one. */
	caches_set_config(cachehome_caches(s->home), config);
	s->p.config = config;
	s->p.reorder_rate = reorder_rate;
	if (!s->svc)
		return; /* it is not open yet */
	linkest_set_kind(s->estimate, config->link);
	svc_set_config(s->svc, config);
	if (s->clients)
		clients_set_config(s->clients, config);
	prefetch_set_config(s->prefetch, config);
	warm_set_config(s->warm, config);
	compact_set_rate(s->compact, reorder_rate / 8);
	hints_set_config(s->hints, config);
	server_use_metered(s);
}

/*
 * Makes replies that were sent for before now count for nothing. An object that
 * was forgotten may have been changed by a call of our own a moment ago, and
 * nobody remembers that any more; so one object is changed and forgotten for
 * all of them.
 */
static bool forget_until(struct attrcache *ac, uint64_t now_us)
{
	const nfs3_fh fh = {.len = 1, .data = "\0"};
	struct node *node = attrcache_get(ac, &fh);

	if (!node)
		return false;
	attrcache_changed(ac, node, now_us, now_us);
	attrcache_dead(ac, node);
	return true;
}

/* Calls that are under way keep their credentials' numbers, and fill nothing
 * when they are answered. 0, or -ENOMEM: only data was given up. */
static int flush_caches(struct caches *c, uint64_t now_us)
{
	struct credtab *creds = c->creds;
	const struct attrcache *old = c->attr;

	/* Requests under way, and a save, know the numbers of credentials. */
	c->creds = NULL;
	caches_flush(c);
	if (c->creds)
		credtab_free(c->creds);
	c->creds = creds;
	return c->attr != old && forget_until(c->attr, now_us) ? 0 : -ENOMEM;
}

/* Has the disk tried again as well, since whoever empties caches may do so
 * because of it. */
int server_flush(struct server *s)
{
	int rc;

	/* The caches forget what was counted of mounts. */
	(void)balance_get(s->balance);
	rc = flush_caches(cachehome_caches(s->home), clock_now_us());
	event_active(s->ev_bury, EV_TIMEOUT, 0);
	cachehome_retry(s->home);
	/* The caches have forgotten which file system an [export] is about,
	 * too. */
	svc_set_config(s->svc, s->p.config);
	if (rc < 0)
		log_warn("server server=%s: drop: %s", s->name, strerror(-rc));
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

void server_modules(struct server *s, struct control_server *out)
{
	*out = (struct control_server){.name = s->name,
	    .serial = s->p.serial,
	    .metrics = server_measure(s),
	    .caches = cachehome_caches(s->home),
	    .compact = s->compact,
	    .hints = s->hints,
	    .history = s->history,
	    .balance = s->balance,
	    .pins = s->pins,
	    .prefetch = s->prefetch,
	    .tracer = s->tracer,
	    .warm = s->warm};
}

void server_drain(struct server *s)
{
	clients_drain(s->clients);
}

bool server_idle(const struct server *s)
{
	return clients_idle(s->clients);
}
