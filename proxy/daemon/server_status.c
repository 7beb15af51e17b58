/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills in what `forefetch status` tells of a server, as the message that goes
 * to it (control.proto says what each field means).
 */
#include "base/clock.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "config/config.h"
#include "daemon/cachehome.h"
#include "daemon/clients.h"
#include "daemon/server_private.h"
#include "link/linkest.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "svc/svc.h"

/* Microseconds since then. */
static uint64_t age_us(uint64_t since_us)
{
	return clock_now_us() - since_us;
}

/* A connection without an address is down unless the resolver is at work. */
static Forefetch__State state_of(
    const struct server *s, enum upstream_state state)
{
	switch (state) {
	case UPSTREAM_UP:
		return FOREFETCH__STATE__UP;
	case UPSTREAM_CONNECTING:
		return FOREFETCH__STATE__CONNECTING;
	case UPSTREAM_IDLE:
		return FOREFETCH__STATE__IDLE;
	case UPSTREAM_NO_ADDRESS:
		return resolve_busy(s->resolve) ? FOREFETCH__STATE__RESOLVING
						: FOREFETCH__STATE__DOWN;
	default:
		return FOREFETCH__STATE__DOWN;
	}
}

/* Says why calls of a program do not get through, as far as that is known; ""
 * where they do. */
static ProtobufCBinaryData reason_of(const struct server *s, struct arena *a,
    enum resolve_what what, const struct upstream_status *st)
{
	const char *found = resolve_error(s->resolve, what), *error = "";
	bool up = st->state == UPSTREAM_UP;
	bool denied = what == RESOLVE_NFS && resolve_denied(s->resolve);

	/* An address that works is good, wherever it was known from. */
	if (up && !(denied && st->served == UPSTREAM_SERVED_UNKNOWN))
		found = "";
	if (up && st->served == UPSTREAM_UNSERVED && what == RESOLVE_NFS)
		error = st->least > NFS_V3
			    ? RESOLVE_ONLY_V4
			    : "the server does not serve NFSv3 at that port; "
			      "check nfs_port";
	else if (up && st->served == UPSTREAM_UNSERVED)
		error = "the server does not serve MOUNTv3 at that port";
	else if (!up && (st->failed || st->state != UPSTREAM_IDLE))
		error = st->last_error;
	return arena_bytes(
	    a, "%s%s%s", error, *error && *found ? "; " : "", found);
}

/* The way to the server's MOUNT, and to the local rpcbind. */
static void fill_mount(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	struct upstream_status st;

	out->mount = arena_message(a, &forefetch__mount_status__descriptor);
	if (!out->mount)
		return;
	upstream_get_status(s->up[RESOLVE_MOUNT], &st);
	out->mount->state = state_of(s, st.state);
	out->mount->state_age_us = age_us(st.since_us);
	out->mount->reason = reason_of(s, a, RESOLVE_MOUNT, &st);
	if (s->unregistered > 0)
		out->rpcbind_error = arena_bytes(a,
		    "the local rpcbind refused %u of its programs; is it "
		    "running, and is no other NFS server registered?",
		    s->unregistered);
}

/* The connections to NFS, each with calls of its own. The least round trip is
 * the server's: the others may have had to queue. */
static void fill_connections(const struct server *s, struct arena *a,
    const struct upstream_status *st, Forefetch__ServerStatus *out)
{
	struct upstream_conn_status cs;

	out->upstreams = arena_messages(
	    a, &forefetch__upstream_status__descriptor, st->connections);
	for (unsigned i = 0; out->upstreams && i < st->connections; i++) {
		Forefetch__UpstreamStatus *msg = out->upstreams[i];

		upstream_get_conn_status(s->up[RESOLVE_NFS], i, &cs);
		msg->state = state_of(s, cs.state);
		msg->local_port = cs.local_port;
		msg->srtt_us = cs.srtt_us;
		msg->in_flight = cs.in_flight;
		/* The common queue is shown with the first connection. */
		msg->queued = cs.waiting + (i == 0 ? st->queued : 0);
		if (cs.srtt_us && (!out->srtt_us || cs.srtt_us < out->srtt_us))
			out->srtt_us = cs.srtt_us;
		out->n_upstreams++;
	}
}

/* last_error stays after it was overcome, for whoever looks later. */
static void fill_upstream(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	struct upstream_status st;

	upstream_get_status(s->up[RESOLVE_NFS], &st);
	out->state = state_of(s, st.state);
	out->state_age_us = age_us(st.since_us);
	out->reason = reason_of(s, a, RESOLVE_NFS, &st);
	out->last_error = out->reason;
	if (out->reason.len == 0)
		out->last_error = arena_bytes(a, "%s", st.last_error);
	fill_connections(s, a, &st, out);
}

/* Fills in the policy by which the caches may answer. */
static void fill_consistency(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	const struct caches *c = cachehome_caches(s->home);
	const struct config_policy *policy = &c->config->policy;
	size_t n = c->config->noverrides;

	out->consistency = (char *)config_consistency_name(policy->consistency);
	out->attr_timeout_us = policy->attr_timeout_us;
	out->negative_timeout_us = policy->negative_timeout_us;
	out->grant_timeout_us = policy->grant_timeout_us;
	out->strict_until_known = c->exports_unknown;
	out->overrides =
	    arena_messages(a, &forefetch__export_status__descriptor, n);
	for (size_t i = 0; out->overrides && i < n; i++) {
		const struct config_export *ex = &c->config->overrides[i];
		Forefetch__ExportStatus *msg = out->overrides[i];
		const char *over;

		msg->export_path = arena_bytes(a, "%s", ex->path);
		msg->consistency =
		    (char *)config_consistency_name(ex->policy.consistency);
		msg->attr_timeout_us = ex->policy.attr_timeout_us;
		msg->negative_timeout_us = ex->policy.negative_timeout_us;
		msg->grant_timeout_us = ex->policy.grant_timeout_us;
		msg->known = svc_export_known(s->svc, i, &over);
		if (over)
			msg->overruled_by = arena_bytes(a, "%s", over);
		out->n_overrides++;
	}
}

/* The caches of the server. The disk is "on" where it has no problem. */
static void fill_caches(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	const struct caches *c = cachehome_caches(s->home);
	Forefetch__CacheStatus *msg =
	    arena_message(a, &forefetch__cache_status__descriptor);
	struct datacache_stats st = {0};
	struct cachehome_problem p;

	if (!msg)
		return;
	if (c->data)
		datacache_get_stats(c->data, &st);
	cachehome_get_problem(s->home, &p);
	msg->memory_bytes = caches_bytes(c);
	msg->memory_limit_bytes = c->memory_bytes;
	msg->disk_bytes = st.disk_bytes;
	msg->disk_limit_bytes = s->p.disk_bytes;
	msg->disk_problem = arena_bytes(a, "%s", p.text);
	msg->disk_on = p.text[0] == '\0';
	if (p.since_us > 0)
		msg->disk_problem_age_us = age_us(p.since_us);
	out->caches = msg;
}

static void fill_offline(const struct server *s, Forefetch__ServerStatus *out)
{
	out->offline =
	    s->p.config->offline == CONFIG_OFFLINE_SERVE ? "serve" : "wait";
	out->offline_active = svc_offline(s->svc);
	if (!out->offline_active)
		return;
	out->offline_age_us = age_us(s->offline_us);
	out->served_age_us = svc_served_age_us(s->svc);
}

/* Tells how much is fetched ahead, and what the link is estimated to be; an
 * estimate that nobody has made yet is 0. */
static void fill_link(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	static char *const names[] = {[CONFIG_PREFETCH_OFF] = "off",
	    [CONFIG_PREFETCH_METADATA] = "metadata",
	    [CONFIG_PREFETCH_FIRST_BLOCK] = "first-block",
	    [CONFIG_PREFETCH_ON] = "on"};

	out->prefetch = names[s->p.config->policy.prefetch];
	out->link = arena_message(a, &forefetch__link_status__descriptor);
	if (!out->link)
		return;
	out->link->rate_bytes_per_second = linkest_rate_Bps(s->estimate);
	out->link->base_us = linkest_base_us(s->estimate);
	out->link->queue_us = linkest_queue_us(s->estimate, clock_now_us());
}

static void fill_hold(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	struct hold_status st;

	hold_get_status(prefetch_hold(s->prefetch), clock_now_us(), &st);
	out->hold = control_hold_status(a, &st);
}

/* Missing where there is no farm. */
static void fill_farm(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	const struct metrics *m = s->metrics;

	if (!s->farm)
		return;
	out->farm = arena_message(a, &forefetch__farm_served__descriptor);
	if (!out->farm)
		return;
	out->farm->bytes = metrics_get(m, METRICS_FARM_BYTES);
	out->farm->pieces = metrics_get(m, METRICS_FARM_HITS);
	out->farm->listings = metrics_get(m, METRICS_FARM_LISTINGS);
	out->farm->trees = metrics_get(m, METRICS_FARM_TREES);
	out->farm->asked = metrics_get(m, METRICS_FARM_ASKED);
	out->farm->bad = metrics_get(m, METRICS_FARM_BAD);
	out->farm->published = metrics_get(m, METRICS_FARM_PUBLISHED);
	out->farm->published_bytes =
	    metrics_get(m, METRICS_FARM_PUBLISHED_BYTES);
	out->farm->left_out = metrics_get(m, METRICS_FARM_LEFT_OUT);
	out->farm->waited = metrics_get(m, METRICS_FARM_WAITED);
	out->farm->in_vain = metrics_get(m, METRICS_FARM_IN_VAIN);
}

/* The parts of the configuration by which users know the server. */
static void fill_config(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	const struct config_server *cfg = s->p.config;
	char text[NETMATCH_TEXT_MAX];

	out->name = arena_bytes(a, "%s", s->name);
	out->address = arena_bytes(a, "%s", cfg->address);
	out->nfs_port = cfg->nfs_port;
	out->mount_port = cfg->mount_port;
	out->listen = arena_alloc(a, cfg->listen.n, sizeof(*out->listen));
	out->exports = arena_alloc(a, cfg->exports.n, sizeof(*out->exports));
	if (a->failed)
		return;
	for (size_t i = 0; i < cfg->listen.n; i++) {
		netmatch_addr_format(&cfg->listen.list[i], text);
		out->listen[out->n_listen++] = arena_bytes(a, "%s", text);
	}
	for (size_t i = 0; i < cfg->exports.n; i++)
		out->exports[out->n_exports++] =
		    arena_bytes(a, "%s", cfg->exports.list[i]);
}

void server_fill_status(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out)
{
	char text[NETMATCH_TEXT_MAX] = "";
	struct clients_load load;

	fill_config(s, a, out);
	if (s->found[RESOLVE_NFS].len > 0)
		netmatch_addr_format(&s->found[RESOLVE_NFS], text);
	out->resolved = arena_bytes(a, "%s", text);
	fill_consistency(s, a, out);
	fill_caches(s, a, out);
	fill_link(s, a, out);
	fill_hold(s, a, out);
	fill_farm(s, a, out);
	fill_offline(s, out);
	fill_upstream(s, a, out);
	fill_mount(s, a, out);
	clients_get_load(s->clients, &load);
	out->clients_bytes = load.bytes;
	clients_fill_status(s->clients, a, out);
}
