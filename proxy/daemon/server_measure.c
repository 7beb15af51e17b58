/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server's gauges, and the counters that its modules keep themselves: copied
 * into its metrics whenever somebody looks (status, stats, Prometheus, the
 * history). Modules that count events one by one call metrics_add()
 * themselves. */
#include "base/clock.h"
#include "base/loopwatch.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "daemon/cachehome.h"
#include "daemon/clients.h"
#include "daemon/server_private.h"
#include "farm/farm.h"
#include "link/linkest.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "svc/room.h"
#include "svc/svc.h"
#include "upstream/tcploss.h"

/* The data cache; all zeros while there is none. */
static void measure_data(
    const struct datacache_stats *st, uint64_t disk_bytes, struct metrics *m)
{
	metrics_set_gauge(m, METRICS_GAUGE_DATA_ON, st->on);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_FILES, st->files);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_EXTENTS, st->extents);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_LIVE_BYTES, st->live_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_PINNED_BYTES, st->pinned_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_DATA_PENDING_BYTES, st->pending_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_DISK_BYTES, st->disk_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_LIMIT_BYTES, disk_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_DATA_MEMORY_BYTES, st->memory_bytes);
	metrics_set(m, METRICS_DATA_WAITS, st->waits);
	metrics_set(m, METRICS_DATA_HIT_BYTES, st->hit_bytes);
	metrics_set(m, METRICS_DATA_ADDED_BYTES, st->added_bytes);
	metrics_set(m, METRICS_DATA_REFUSED_BYTES, st->refused_bytes);
	metrics_set(m, METRICS_DATA_SPARED_BYTES, st->spared_bytes);
	metrics_set(m, METRICS_DATA_COPIED_BYTES, st->copied_bytes);
	metrics_set(m, METRICS_DATA_EVICTED, st->evicted_extents);
	metrics_set(m, METRICS_DATA_EVICTED_BYTES, st->evicted_bytes);
	metrics_set(m, METRICS_DATA_KEPT_BYTES, st->kept_bytes);
	metrics_set(m, METRICS_DATA_UNUSED_BYTES, st->unused_bytes);
	metrics_set(m, METRICS_DATA_VERIFIED, st->verified_extents);
	metrics_set(m, METRICS_DATA_BAD, st->bad_extents);
	metrics_set(m, METRICS_DATA_LOADED, st->loaded_extents);
}

/* The order of data on disk: of what this run has read, and of the last pass of
 * the layout. */
static void measure_layout(const struct datacache_stats *st, struct metrics *m)
{
	metrics_set(m, METRICS_LAYOUT_PASSES, st->layout_passes);
	metrics_set(m, METRICS_LAYOUT_MOVED_BYTES, st->layout_moved_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_RUN_BYTES, st->run.bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_RUN_SEQUENTIAL_BYTES, st->run.sequential_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_RUN_RUNS, st->run.runs);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BEFORE_BYTES, st->layout_before.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_BEFORE_SEQUENTIAL_BYTES,
	    st->layout_before.sequential_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BEFORE_RUNS, st->layout_before.runs);
	metrics_set_gauge(
	    m, METRICS_GAUGE_LAYOUT_BYTES, st->layout_after.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_SEQUENTIAL_BYTES,
	    st->layout_after.sequential_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_RUNS, st->layout_after.runs);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_END, st->layout_end);
}

static void measure_caches(
    const struct caches *c, uint64_t disk_bytes, struct metrics *m)
{
	struct caches_stats st;

	caches_get_stats(c, &st);
	metrics_set_gauge(m, METRICS_GAUGE_ATTR_ENTRIES, st.objects);
	metrics_set_gauge(m, METRICS_GAUGE_NAME_ENTRIES, st.names);
	metrics_set_gauge(m, METRICS_GAUGE_OBJECT_BYTES, st.object_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ACCESS_ENTRIES, st.grants);
	metrics_set_gauge(m, METRICS_GAUGE_ACCESS_BYTES, st.grant_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LIST_ENTRIES, st.listings);
	metrics_set_gauge(m, METRICS_GAUGE_LIST_BYTES, st.listing_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ANSWER_ENTRIES, st.answers);
	metrics_set_gauge(m, METRICS_GAUGE_ANSWER_BYTES, st.answer_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_ENTRY_BYTES, st.entry_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_MEMORY_BYTES, st.bytes);
	metrics_set_gauge(m, METRICS_GAUGE_MEMORY_LIMIT_BYTES, c->memory_bytes);
	measure_data(&st.data, disk_bytes, m);
	measure_layout(&st.data, m);
}

/* Predictions and the link, as far as the prefetch knows them. */
static void measure_prefetch(
    const struct prefetch *pf, const struct linkest *le, struct metrics *m)
{
	struct prefetch_stats st;

	prefetch_get_stats(pf, &st);
	metrics_set_gauge(m, METRICS_GAUGE_PREFETCH_WANTS, st.wants);
	metrics_set_gauge(m, METRICS_GAUGE_PREFETCH_FLIGHTS, st.flights);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_FLIGHT_BYTES, st.flight_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_FLIGHT_BYTES_MAX, st.flight_bytes_max);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_WINDOW_BYTES, st.window_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_WASTE_BYTES, st.waste_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_PREFETCH_WASTE_LIMIT_BYTES, st.waste_limit_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LEARNED_BYTES, st.memory_bytes);
	metrics_set_gauge(m, METRICS_GAUGE_LEARNED_OBJECTS, st.objects);
	metrics_set_gauge(m, METRICS_GAUGE_LINK_RATE, linkest_rate_Bps(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_BASE_US, linkest_base_us(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_SRTT_US, linkest_srtt_us(le));
	metrics_set_gauge(
	    m, METRICS_GAUGE_LINK_RTTVAR_US, linkest_rttvar_us(le));
	metrics_set_gauge(m, METRICS_GAUGE_LINK_QUEUE_US,
	    linkest_queue_us(le, clock_now_us()));
}

/* Measures whether a pause or a metered link holds calls ahead back. */
static void measure_hold(struct prefetch *pf, struct metrics *m)
{
	struct hold_status st;

	hold_get_status(prefetch_hold(pf), clock_now_us(), &st);
	metrics_set_gauge(m, METRICS_GAUGE_PAUSED, st.paused);
	metrics_set_gauge(m, METRICS_GAUGE_METERED, st.metered);
	metrics_set_gauge(m, METRICS_GAUGE_METERED_BYTES, st.used_bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_METERED_LIMIT_BYTES, st.budget_bytes);
}

/* The connections, to clients and to the server. The server counts as up only
 * if it serves NFSv3 there. */
static void measure_state(struct server *s)
{
	struct upstream_status st;
	struct metrics *m = s->metrics;
	struct clients_load load;
	struct tcploss loss;

	upstream_get_loss(s->up[RESOLVE_NFS], &loss);
	metrics_set(m, METRICS_UPSTREAM_SEGMENTS, loss.sent);
	metrics_set(m, METRICS_UPSTREAM_SEGMENTS_RESENT, loss.resent);
	clients_get_load(s->clients, &load);
	upstream_get_status(s->up[RESOLVE_NFS], &st);
	metrics_set_gauge(m, METRICS_GAUGE_UP,
	    st.state == UPSTREAM_UP && st.served != UPSTREAM_UNSERVED);
	metrics_set_gauge(m, METRICS_GAUGE_OFFLINE, svc_offline(s->svc));
	metrics_set_gauge(m, METRICS_GAUGE_CALLS_IN_FLIGHT, load.calls);
	metrics_set_gauge(m, METRICS_GAUGE_CLIENTS, load.connections);
	metrics_set_gauge(m, METRICS_GAUGE_CLIENTS_BYTES, load.bytes);
	metrics_set_gauge(
	    m, METRICS_GAUGE_CLIENTS_LIMIT_BYTES, room_limit(s->p.room));
}

/* The farm's engine, which is the same for all servers. */
static void measure_farm(const struct engine *e, struct metrics *m)
{
	struct engine_status st;

	engine_get_status(e, &st);
	metrics_set_gauge(m, METRICS_GAUGE_FARM_UP, st.state == ENGINE_UP);
	metrics_set_gauge(m, METRICS_GAUGE_FARM_SRTT_US, st.srtt_us);
}

/* metrics_settle() comes last: whoever is given the metrics may read the
 * histograms. */
const struct metrics *server_measure(struct server *s)
{
	measure_caches(cachehome_caches(s->home), s->p.disk_bytes, s->metrics);
	measure_prefetch(s->prefetch, s->estimate, s->metrics);
	measure_hold(s->prefetch, s->metrics);
	measure_state(s);
	if (s->p.farm)
		measure_farm(farm_engine(s->p.farm), s->metrics);
	metrics_set_gauge(s->metrics, METRICS_GAUGE_LOOP_LONGEST_TURN_US,
	    loopwatch_longest_us(s->p.loop));
	metrics_set(s->metrics, METRICS_LOOP_LONG_TURNS,
	    loopwatch_long_turns(s->p.loop));
	metrics_settle(s->metrics);
	return s->metrics;
}
