/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch reorder` (its former name is compact): begins a pass of the
 * layout, or tells how the last one ended. The daemon's gauges have what it
 * found before and left after it, so nothing is kept for this. */
#include <errno.h>

#include "base/metrics.h"
#include "control/control_reply_private.h"
#include "datacache/compact.h"

/* The order of data on disk, by three gauges; NULL without memory. */
static Forefetch__SequentialShare *share(struct reply *r,
    const struct metrics *m, enum metrics_gauge bytes,
    enum metrics_gauge sequential, enum metrics_gauge runs)
{
	Forefetch__SequentialShare *out =
	    arena_message(&r->arena, &forefetch__sequential_share__descriptor);

	if (!out)
		return NULL;
	out->bytes = metrics_get_gauge(m, bytes);
	out->sequential_bytes = metrics_get_gauge(m, sequential);
	out->runs = metrics_get_gauge(m, runs);
	return out;
}

/* The end of the pass. `error` is that of compact_begin(): -EALREADY if one is
 * under way, -ENODATA if nothing was read since the start. */
static Forefetch__CompactEnd compact_end(const struct metrics *m, int error)
{
	switch (error) {
	case 0:
	case -EALREADY:
		return (Forefetch__CompactEnd)metrics_get_gauge(
		    m, METRICS_GAUGE_LAYOUT_END);
	case -ENODATA:
		return FOREFETCH__COMPACT_END__NOT_USED;
	case -ENOMEM:
		return FOREFETCH__COMPACT_END__NO_MEMORY;
	default:
		return FOREFETCH__COMPACT_END__NO_DISK;
	}
}

static void fill(struct reply *r, const struct control_server *srv, bool begin,
    Forefetch__CompactedServer *out)
{
	const struct metrics *m = srv->metrics;
	int error = begin ? compact_begin(srv->compact) : 0;

	out->name = reply_bytes(srv->name);
	out->busy = compact_busy(srv->compact);
	out->end = compact_end(m, error);
	out->moved_bytes = metrics_get(m, METRICS_LAYOUT_MOVED_BYTES);
	out->before = share(r, m, METRICS_GAUGE_LAYOUT_BEFORE_BYTES,
	    METRICS_GAUGE_LAYOUT_BEFORE_SEQUENTIAL_BYTES,
	    METRICS_GAUGE_LAYOUT_BEFORE_RUNS);
	out->after = share(r, m, METRICS_GAUGE_LAYOUT_BYTES,
	    METRICS_GAUGE_LAYOUT_SEQUENTIAL_BYTES, METRICS_GAUGE_LAYOUT_RUNS);
}

void reply_compact(struct reply *r, const Forefetch__Request *request, void *to)
{
	struct reply_servers s = {
	    .reply = r, .filter = &request->compact->server};
	Forefetch__Compacted *out = to;

	out->servers =
	    reply_messages(&s, &forefetch__compacted_server__descriptor);
	while (reply_next(&s))
		fill(r, &s.at, request->compact->begin,
		    out->servers[out->n_servers++]);
}
