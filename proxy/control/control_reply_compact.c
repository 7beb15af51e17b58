/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch compact`: what the last pass of the layout found and left. */
#include <errno.h>
#include <unistd.h>

#include "base/metrics.h"
#include "control/control.h"
#include "control/control.pb-c.h"
#include "control/control_reply_private.h"

/* Servers are told about one after the other. */
struct walk {
	struct reply *reply;
	const ProtobufCBinaryData *filter;
	size_t n;
	bool begin;
	Forefetch__CompactedServer **compacted; /* to be filled in */
};

static Forefetch__SequentialShare *reply_share(struct reply *r,
    const struct metrics *m, enum metrics_gauge bytes,
    enum metrics_gauge sequential, enum metrics_gauge runs)
{
	Forefetch__SequentialShare *out = reply_alloc(r, 1, sizeof(*out));

	if (!out)
		return NULL;
	forefetch__sequential_share__init(out);
	out->bytes = metrics_get_gauge(m, bytes);
	out->sequential_bytes = metrics_get_gauge(m, sequential);
	out->runs = metrics_get_gauge(m, runs);
	return out;
}

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

static void compact_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct walk *walk = arg;
	struct reply *r = walk->reply;
	Forefetch__CompactedServer *out;
	bool busy = false;
	int error;

	if (!reply_wants(walk->filter, name) || r->failed)
		return;
	out = reply_alloc(r, 1, sizeof(*out));
	if (!out)
		return;
	error = r->ops->compact(r->ctx, name, walk->begin, &busy);
	forefetch__compacted_server__init(out);
	out->name = reply_bytes(name);
	out->busy = busy;
	out->end = compact_end(m, error);
	out->moved_bytes = metrics_get(m, METRICS_LAYOUT_MOVED_BYTES);
	out->before = reply_share(r, m, METRICS_GAUGE_LAYOUT_BEFORE_BYTES,
	    METRICS_GAUGE_LAYOUT_BEFORE_SEQUENTIAL_BYTES,
	    METRICS_GAUGE_LAYOUT_BEFORE_RUNS);
	out->after = reply_share(r, m, METRICS_GAUGE_LAYOUT_BYTES,
	    METRICS_GAUGE_LAYOUT_SEQUENTIAL_BYTES, METRICS_GAUGE_LAYOUT_RUNS);
	walk->compacted[walk->n++] = out;
}

void reply_compact(struct reply *r, const Forefetch__CompactRequest *request)
{
	struct walk walk = {
	    .reply = r, .filter = &request->server, .begin = request->begin};
	Forefetch__Compacted *out;
	size_t n;

	if (r->peer->uid != 0 && r->peer->uid != geteuid()) {
		reply_error(r, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		    "only root and the user that forefetchd runs as may "
		    "have its caches laid out");
		return;
	}
	if (!reply_count_servers(r, walk.filter, &n))
		return;
	out = reply_alloc(r, 1, sizeof(*out));
	walk.compacted = reply_alloc(r, n, sizeof(*walk.compacted));
	if (r->failed)
		return;
	forefetch__compacted__init(out);
	r->ops->each_server(r->ctx, compact_on_server, &walk);
	out->servers = walk.compacted;
	out->n_servers = walk.n;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_COMPACT;
	r->res.compact = out;
}
