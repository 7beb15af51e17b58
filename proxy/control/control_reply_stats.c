/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies with counts and measurements: status, stats, and the numbers of what
 * a flush dropped. */
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/balance.h"
#include "control/control_reply_private.h"
#include "control/history.h"

/* The daemon fills in all servers; those that nobody asked for are left out
 * afterwards. */
void reply_status(struct reply *r, const Forefetch__Request *request, void *to)
{
	Forefetch__Status *out = to;
	size_t n = 0;

	r->ops->fill_status(r->ctx, &r->arena, out);
	for (size_t i = 0; !r->arena.failed && i < out->n_servers; i++) {
		const ProtobufCBinaryData *name = &out->servers[i]->name;

		if (reply_wants(
			&request->status->server, name->data, name->len))
			out->servers[n++] = out->servers[i];
	}
	out->n_servers = n;
	if (request->status->server.len > 0 && n == 0)
		reply_no_server(r);
}

/* ---- stats ------------------------------------------------------------ */

/* Three numbers for each bucket that is not empty. */
static void fill_histogram(
    struct reply *r, const struct histogram *h, Forefetch__CallStats *out)
{
	size_t n = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += h->bucket[i] > 0;
	out->histogram = arena_alloc(&r->arena, 3 * n, sizeof(*out->histogram));
	if (!out->histogram)
		return;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t *to = out->histogram + out->n_histogram;

		if (h->bucket[i] == 0)
			continue;
		to[0] = (uint32_t)histogram_bucket_low(i);
		to[1] = (uint32_t)histogram_bucket_high(i);
		to[2] = h->bucket[i];
		out->n_histogram += 3;
	}
}

static void fill_call(struct reply *r, enum metrics_side side,
    const struct metrics_row *row, Forefetch__CallStats *out)
{
	out->side = side == METRICS_CLIENT ? FOREFETCH__SIDE__CLIENT
					   : FOREFETCH__SIDE__UPSTREAM;
	out->program = (char *)row->program;
	out->procedure = (char *)row->procedure;
	out->calls = row->calls;
	out->errors = row->errors;
	out->bytes_in = row->bytes_in;
	out->bytes_out = row->bytes_out;
	out->p50_us = histogram_percentile(row->latency, 500);
	out->p90_us = histogram_percentile(row->latency, 900);
	out->p99_us = histogram_percentile(row->latency, 990);
	out->max_us = row->latency->max;
	out->sum_us = row->latency->sum;
	fill_histogram(r, row->latency, out);
}

/* Only procedures that were called, of clients first. */
static void fill_calls(
    struct reply *r, const struct metrics *m, Forefetch__ServerStats *out)
{
	size_t n = metrics_row_count();
	struct metrics_row row;

	out->calls = arena_messages(
	    &r->arena, &forefetch__call_stats__descriptor, METRICS_SIDES * n);
	for (int side = 0; side < METRICS_SIDES; side++) {
		for (size_t i = 0; out->calls && i < n; i++) {
			metrics_get_row(m, (enum metrics_side)side, i, &row);
			if (row.calls > 0)
				fill_call(r, (enum metrics_side)side, &row,
				    out->calls[out->n_calls++]);
		}
	}
}

/* All rows of metrics.def, counters before gauges, also those that are zero:
 * who reads JSON expects every key each time. */
static void fill_counters(
    struct reply *r, const struct metrics *m, Forefetch__ServerStats *out)
{
	Forefetch__Counter **all = arena_messages(
	    &r->arena, &forefetch__counter__descriptor, METRICS_KINDS);

	if (r->arena.failed)
		return;
	for (size_t i = 0; i < METRICS_KINDS; i++) {
		all[i]->key = (char *)metrics_get_kind(i)->name;
		all[i]->value = metrics_get_value(m, i);
	}
	out->counters = all;
	out->n_counters = METRICS_COUNTER_COUNT;
	out->gauges = all + METRICS_COUNTER_COUNT;
	out->n_gauges = METRICS_GAUGE_COUNT;
}

/* A share; PERMILLE_UNKNOWN of nothing, which 0 would misstate. */
static uint32_t permille(uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return PERMILLE_UNKNOWN;
	return (uint32_t)((double)part * 1000 / (double)whole + 0.5);
}

/* Computes accuracy, coverage, timeliness and waste, which `forefetch stats`
 * shows. Errors count as unused: they cost a call as well. */
static void fill_prefetch(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStats *out)
{
	const struct metrics *m = srv->metrics;
	uint64_t used = metrics_get(m, METRICS_PREFETCH_USED);
	uint64_t in_vain = metrics_get(m, METRICS_PREFETCH_UNUSED) +
			   metrics_get(m, METRICS_PREFETCH_ERRORS);
	Forefetch__PrefetchStats *msg =
	    arena_message(&r->arena, &forefetch__prefetch_stats__descriptor);

	if (!msg)
		return;
	msg->accuracy_permille = permille(used, used + in_vain);
	msg->coverage_permille =
	    permille(used, used + metrics_sum(m, "cache_misses_total"));
	msg->timeliness_permille =
	    permille(used, used + metrics_get(m, METRICS_PREFETCH_LATE));
	msg->waste_permille =
	    permille(metrics_get(m, METRICS_PREFETCH_UNUSED_BYTES),
		metrics_get(m, METRICS_BYTES_RETURNED));
	msg->saved_round_trips = metrics_get(m, METRICS_ROUND_TRIPS_SAVED);
	msg->saved_us = history_saved_us(srv->history);
	msg->added_us = history_added_us(srv->history);
	out->prefetch = msg;
}

static void fill_day(const struct balance_sums *s, Forefetch__DayStats *out)
{
	out->day = (uint32_t)s->day;
	out->calls = s->calls;
	out->saved_round_trips = s->spared;
	out->saved_us = s->saved_us;
	out->added_us = s->added_us;
	out->returned_bytes = s->returned_bytes;
	out->received_bytes = s->received_bytes;
}

static void fill_mount_sums(struct reply *r, const struct balance_mounts *kept,
    Forefetch__ServerStats *out)
{
	out->mounts = arena_messages(
	    &r->arena, &forefetch__mount_stats__descriptor, kept->n);
	for (size_t i = 0; out->mounts && i < kept->n; i++) {
		const struct balance_mount *m = &kept->rows[i];
		Forefetch__MountStats *to = out->mounts[out->n_mounts++];

		to->export_path = arena_bytes(&r->arena, "%s", m->path);
		to->day = (uint32_t)m->day;
		to->calls = m->calls;
		to->saved_round_trips = m->spared;
		to->returned_bytes = m->returned_bytes;
	}
}

/* Missing where nothing was counted yet. */
static void fill_balance(struct reply *r, const struct control_server *srv,
    Forefetch__ServerStats *out)
{
	const struct balance_kept *kept =
	    srv->balance ? balance_get(srv->balance) : NULL;

	if (!kept)
		return;
	fill_mount_sums(r, balance_get_mounts(srv->balance), out);
	if (kept->n == 0)
		return;
	out->balance =
	    arena_message(&r->arena, &forefetch__day_stats__descriptor);
	out->days = arena_messages(
	    &r->arena, &forefetch__day_stats__descriptor, kept->n);
	if (!out->balance || !out->days)
		return;
	fill_day(&kept->all, out->balance);
	for (size_t i = 0; i < kept->n; i++)
		fill_day(&kept->days[i], out->days[out->n_days++]);
}

void reply_stats(struct reply *r, const Forefetch__Request *request, void *to)
{
	struct reply_servers s = {
	    .reply = r, .filter = &request->stats->server};
	Forefetch__Stats *out = to;

	out->servers = reply_messages(&s, &forefetch__server_stats__descriptor);
	while (reply_next(&s)) {
		Forefetch__ServerStats *srv = out->servers[out->n_servers++];

		srv->name = reply_bytes(s.at.name);
		fill_calls(r, s.at.metrics, srv);
		fill_counters(r, s.at.metrics, srv);
		fill_prefetch(r, &s.at, srv);
		fill_balance(r, &s.at, srv);
	}
}

/* ---- flush ------------------------------------------------------------ */

/* The gauges of the moment before the flush are what it drops. */
static void fill_flushed(
    const struct control_server *srv, Forefetch__FlushedServer *out)
{
	const struct metrics *m = srv->metrics;

	out->name = reply_bytes(srv->name);
	out->objects = metrics_get_gauge(m, METRICS_GAUGE_ATTR_ENTRIES);
	out->names = metrics_get_gauge(m, METRICS_GAUGE_NAME_ENTRIES);
	out->rights = metrics_get_gauge(m, METRICS_GAUGE_ACCESS_ENTRIES);
	out->listings = metrics_get_gauge(m, METRICS_GAUGE_LIST_ENTRIES);
	out->answers = metrics_get_gauge(m, METRICS_GAUGE_ANSWER_ENTRIES);
	out->files = metrics_get_gauge(m, METRICS_GAUGE_DATA_FILES);
	out->memory_bytes = metrics_get_gauge(m, METRICS_GAUGE_MEMORY_BYTES);
	out->data_bytes = metrics_get_gauge(m, METRICS_GAUGE_DATA_LIVE_BYTES);
}

/* Goes on after a server that failed, since the others can be emptied all the
 * same. */
void reply_flush(struct reply *r, const Forefetch__Request *request, void *to)
{
	struct reply_servers s = {
	    .reply = r, .filter = &request->flush->server};
	Forefetch__Flushed *out = to;
	bool failed = false;

	out->servers =
	    reply_messages(&s, &forefetch__flushed_server__descriptor);
	while (reply_next(&s)) {
		fill_flushed(&s.at, out->servers[out->n_servers++]);
		failed |= r->ops->flush(r->ctx, s.next - 1) < 0;
	}
	if (failed)
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd does not have enough memory for this; not all "
		    "caches were emptied");
}
