/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last hour of one server: a ring of samples, each the difference of two
 * readings of the metrics, and the estimate of how much time clients were
 * spared. A timer takes the samples; between two of them, history_get_totals()
 * counts what came since, so that `forefetch stats` shows no old sums. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/history.h"

/* The history of one server, since the daemon started. */
struct history {
	history_measure measure;
	void *ctx;
	struct event *timer;
	/* How long clients waited for a call that was passed on, in the last
	 * sample that has any; UINT64_MAX: none has. */
	uint64_t wait_us;
	/* How many round trips, and calls of clients, are in the sums below. */
	uint64_t spared, calls;
	/* Time that clients were spared, and time that the daemon cost them. */
	uint64_t saved_us, added_us;
	/* These sums as they were at the last sample. */
	uint64_t saved_before_us, added_before_us;
	/* All counts until the last sample, not differences. */
	struct history_sample total;
	size_t first, n;
	struct history_sample ring[HISTORY_SAMPLES];
	/* The day that saved_today_us is of, as local_day() numbers it. */
	int day;
	uint64_t saved_today_us;
};

/* Adds the calls of both sides. Bytes that were fetched ahead are in the
 * replies of the server too, and are taken off there. */
static void total_calls(const struct metrics *m, struct history_sample *t)
{
	struct metrics_row row;
	uint64_t received = 0, ahead;

	for (size_t i = 0; i < metrics_row_count(); i++) {
		metrics_get_row(m, METRICS_CLIENT, i, &row);
		t->calls += row.calls;
		t->errors += row.errors;
		t->waited_us += row.latency->sum;
		t->returned_bytes += row.bytes_out;
		metrics_get_row(m, METRICS_UPSTREAM, i, &row);
		t->asked += row.calls;
		received += row.bytes_in;
	}
	ahead = metrics_get(m, METRICS_PREFETCH_BYTES) +
		metrics_get(m, METRICS_WARM_BYTES);
	t->ahead_bytes = ahead;
	t->demand_bytes = received > ahead ? received - ahead : 0;
}

/* All counts since the start, as a sample whose values are not differences. */
static struct history_sample totals(const struct metrics *m)
{
	struct history_sample t = {
	    .hits = metrics_sum(m, "cache_hits_total"),
	    .misses = metrics_sum(m, "cache_misses_total"),
	    .used_bytes = metrics_get(m, METRICS_PREFETCH_USED_BYTES),
	    .unused_bytes = metrics_get(m, METRICS_PREFETCH_UNUSED_BYTES),
	    .used = metrics_get(m, METRICS_PREFETCH_USED),
	    .late = metrics_get(m, METRICS_PREFETCH_LATE),
	    .unused = metrics_get(m, METRICS_PREFETCH_UNUSED),
	    .refused = metrics_get(m, METRICS_PREFETCH_ERRORS),
	    .resent = metrics_get(m, METRICS_UPSTREAM_RESENT) +
		      metrics_get(m, METRICS_UPSTREAM_TIMEOUTS),
	    .segments = metrics_get(m, METRICS_UPSTREAM_SEGMENTS),
	    .lost = metrics_get(m, METRICS_UPSTREAM_SEGMENTS_RESENT),
	};

	total_calls(m, &t);
	return t;
}

static uint64_t gauge(const struct metrics *m, enum metrics_gauge g)
{
	return metrics_get_gauge(m, g);
}

/* A difference, never below 0. */
static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* The sample between two readings, with the gauges as they are now. */
static void sample_fill(struct history_sample *s, const struct metrics *m,
    const struct history_sample *now, const struct history_sample *then)
{
	*s = (struct history_sample){
	    .calls = since(now->calls, then->calls),
	    .errors = since(now->errors, then->errors),
	    .asked = since(now->asked, then->asked),
	    .hits = since(now->hits, then->hits),
	    .misses = since(now->misses, then->misses),
	    .waited_us = since(now->waited_us, then->waited_us),
	    .returned_bytes = since(now->returned_bytes, then->returned_bytes),
	    .demand_bytes = since(now->demand_bytes, then->demand_bytes),
	    .ahead_bytes = since(now->ahead_bytes, then->ahead_bytes),
	    .used_bytes = since(now->used_bytes, then->used_bytes),
	    .unused_bytes = since(now->unused_bytes, then->unused_bytes),
	    .used = since(now->used, then->used),
	    .late = since(now->late, then->late),
	    .unused = since(now->unused, then->unused),
	    .refused = since(now->refused, then->refused),
	    .resent = since(now->resent, then->resent),
	    .segments = since(now->segments, then->segments),
	    .lost = since(now->lost, then->lost),
	    .srtt_us = gauge(m, METRICS_GAUGE_LINK_SRTT_US),
	    .base_us = gauge(m, METRICS_GAUGE_LINK_BASE_US),
	    .rate_Bps = gauge(m, METRICS_GAUGE_LINK_RATE),
	    .queue_us = gauge(m, METRICS_GAUGE_LINK_QUEUE_US),
	    .in_flight = gauge(m, METRICS_GAUGE_CALLS_IN_FLIGHT),
	    .clients = gauge(m, METRICS_GAUGE_CLIENTS),
	    .up = gauge(m, METRICS_GAUGE_UP) != 0,
	};
}

/*
 * The time that a call would take on a direct mount: the round trip of the idle
 * link. The round trip under load would count the queues that this daemon
 * makes, in itself and on the link. But the result is never more than what
 * calls that were passed on took in the last sample that has any. 0 where it is
 * not known.
 */
static uint64_t direct_us(
    const struct history *h, const struct history_sample *s)
{
	uint64_t wait_us =
	    s->misses > 0 ? s->waited_us / s->misses : h->wait_us;

	return wait_us < s->base_us ? wait_us : s->base_us;
}

/* Counts what was spared and added since that was last counted; `s` is what
 * happened since the last sample, and `calls` all calls until now. Never taken
 * back, so that the sums only grow. */
static void count_spared(struct history *h, const struct metrics *m,
    const struct history_sample *s, uint64_t calls)
{
	uint64_t total = metrics_get(m, METRICS_ROUND_TRIPS_SAVED);
	uint64_t spared = since(total, h->spared);
	uint64_t passed = since(since(calls, h->calls), spared);
	uint64_t direct = direct_us(h, s);

	if (direct > 0) {
		h->saved_us += spared * since(direct, HISTORY_HOP_US);
		h->added_us += passed * HISTORY_HOP_US +
			       spared * since(HISTORY_HOP_US, direct);
	}
	h->spared = total;
	h->calls = calls;
}

/* Overwrites the oldest sample once the ring is full. */
void history_take(struct history *h, uint64_t now_us)
{
	const struct metrics *m = h->measure(h->ctx);
	struct history_sample now = totals(m), *s;

	if (h->n == HISTORY_SAMPLES)
		h->first = (h->first + 1) % HISTORY_SAMPLES;
	else
		h->n++;
	s = &h->ring[(h->first + h->n - 1) % HISTORY_SAMPLES];
	sample_fill(s, m, &now, &h->total);
	count_spared(h, m, s, now.calls);
	if (s->misses > 0)
		h->wait_us = s->waited_us / s->misses;
	s->saved_us = h->saved_us - h->saved_before_us;
	s->added_us = h->added_us - h->added_before_us;
	h->saved_before_us = h->saved_us;
	h->added_before_us = h->added_us;
	s->at_us = now_us;
	s->span_us = since(now_us, h->total.at_us);
	h->saved_today_us += s->saved_us;
	now.at_us = now_us;
	h->total = now;
}

/* A number that differs from day to day. The first call of localtime_r(3) reads
 * the time zone from the disk; history_new() makes it, before the loop runs. */
static int local_day(void)
{
	time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) ? tm.tm_year * 366 + tm.tm_yday : 0;
}

void history_begin_day(struct history *h, int day)
{
	if (day != h->day)
		h->saved_today_us = 0;
	h->day = day;
}

/* Counts what was spared since the last sample; the next sample gets it,
 * too. */
void history_get_totals(struct history *h, struct history_totals *out)
{
	const struct metrics *m = h->measure(h->ctx);
	struct history_sample now = totals(m), s;

	sample_fill(&s, m, &now, &h->total);
	count_spared(h, m, &s, now.calls);
	*out = (struct history_totals){.calls = h->calls,
	    .spared = h->spared,
	    .saved_us = h->saved_us,
	    .added_us = h->added_us,
	    .returned_bytes = now.returned_bytes,
	    .received_bytes = now.demand_bytes + now.ahead_bytes};
}

uint64_t history_saved_us(struct history *h)
{
	struct history_totals t = {0};

	if (h)
		history_get_totals(h, &t);
	return t.saved_us;
}

uint64_t history_added_us(struct history *h)
{
	struct history_totals t = {0};

	if (h)
		history_get_totals(h, &t);
	return t.added_us;
}

uint64_t history_saved_today_us(const struct history *h)
{
	return h ? h->saved_today_us : 0;
}

static void history_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	history_begin_day(arg, local_day());
	history_take(arg, clock_now_us());
}

struct history *history_new(
    struct event_base *base, history_measure measure, void *ctx)
{
	const struct timeval step = clock_timeval(HISTORY_STEP_US);
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->measure = measure;
	h->wait_us = UINT64_MAX;
	h->ctx = ctx;
	h->total.at_us = clock_now_us();
	h->day = local_day();
	h->timer = event_new(base, -1, EV_PERSIST, history_on_timer, h);
	if (!h->timer || event_add(h->timer, &step) < 0) {
		history_free(h);
		return NULL;
	}
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	if (h->timer)
		event_free(h->timer);
	free(h);
}

size_t history_count(const struct history *h)
{
	return h->n;
}

const struct history_sample *history_at(const struct history *h, size_t i)
{
	assert(i < h->n);
	return &h->ring[(h->first + i) % HISTORY_SAMPLES];
}
