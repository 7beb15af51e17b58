/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates are differences of counters, by the seconds between them. A counter
 * that has gone back tells that the daemon began anew, and then nothing is
 * known. */
#include "top/top_rate.h"

#include <string.h>

#include "ctl/ctl_put.h"

/* Two samples that are nearer than this, in seconds, tell nothing. */
#define SECONDS_MIN 0.001

/* The sum of some counters; one that the daemon does not have counts as 0. */
static uint64_t sum_of(
    const Forefetch__ServerStats *srv, const char *const *names)
{
	uint64_t sum = 0, one;

	for (; *names; names++)
		sum += ctl_find(srv, *names, &one) ? one : 0;
	return sum;
}

/* Sums up the calls of both sides. */
static void read_calls(
    const Forefetch__ServerStats *srv, struct top_totals *out)
{
	for (size_t i = 0; i < srv->n_calls; i++) {
		const Forefetch__CallStats *c = srv->calls[i];

		if (c->side == FOREFETCH__SIDE__CLIENT) {
			out->calls += c->calls;
			out->client_bytes += c->bytes_out;
			out->waited_us += c->sum_us;
		} else {
			out->link_bytes += c->bytes_in + c->bytes_out;
			out->received_bytes += c->bytes_in;
		}
	}
}

/* Names are those of base/metrics.def. */
void top_totals_read(const Forefetch__ServerStats *srv, struct top_totals *out)
{
	static const char *const hits[] = {"attr_hits", "name_hits",
	    "negative_hits", "access_hits", "list_hits", "answer_hits",
	    "data_hits", NULL};
	static const char *const misses[] = {"attr_misses", "name_misses",
	    "access_misses", "list_misses", "answer_misses", "data_misses",
	    NULL};
	static const char *const ahead[] = {
	    "prefetch_bytes", "warm_bytes", NULL};
	static const char *const dropped[] = {"prefetch_unlikely",
	    "prefetch_old", "prefetch_withdrawn", "prefetch_crowded",
	    "prefetch_unknown", NULL};

	memset(out, 0, sizeof(*out));
	read_calls(srv, out);
	out->hits = sum_of(srv, hits);
	out->misses = sum_of(srv, misses);
	out->ahead_bytes = sum_of(srv, ahead);
	out->dropped = sum_of(srv, dropped);
	out->saved_us = srv->prefetch ? srv->prefetch->saved_us : 0;
	(void)ctl_find(srv, "prefetch_used", &out->used);
	(void)ctl_find(srv, "prefetch_late", &out->late);
	(void)ctl_find(srv, "prefetch_unused", &out->unused);
}

/* The differences of all members, which are counters; false where one has gone
 * back. */
static bool differences(const struct top_totals *then,
    const struct top_totals *now, struct top_totals *out)
{
	enum { MEMBERS = sizeof(*out) / sizeof(uint64_t) };
	uint64_t a[MEMBERS], b[MEMBERS];

	memcpy(a, then, sizeof(a));
	memcpy(b, now, sizeof(b));
	for (int i = 0; i < MEMBERS; i++) {
		if (b[i] < a[i])
			return false;
		b[i] -= a[i];
	}
	memcpy(out, b, sizeof(b));
	return true;
}

/* A part of a whole, from 0 to 1; -1 where there is no whole. */
static double share(double part, double whole)
{
	if (whole <= 0)
		return -1;
	return part < whole ? part / whole : 1;
}

void top_rates_find(const struct top_totals *then, const struct top_totals *now,
    double seconds, struct top_rates *out)
{
	struct top_totals d;

	*out = (struct top_rates){.hit_share = -1, .ahead_share = -1};
	if (seconds < SECONDS_MIN || !differences(then, now, &d))
		return;
	*out = (struct top_rates){.known = true,
	    .seconds = seconds,
	    .calls = (double)d.calls / seconds,
	    .client_bytes = (double)d.client_bytes / seconds,
	    .link_bytes = (double)d.link_bytes / seconds,
	    .ahead_bytes = (double)d.ahead_bytes / seconds,
	    .hits = (double)d.hits / seconds,
	    .misses = (double)d.misses / seconds,
	    .saved_s = (double)d.saved_us / 1e6 / seconds,
	    .waited_s = (double)d.waited_us / 1e6 / seconds,
	    .used = (double)d.used / seconds,
	    .late = (double)d.late / seconds,
	    .unused = (double)d.unused / seconds,
	    .dropped = (double)d.dropped / seconds,
	    .hit_share = share((double)d.hits, (double)(d.hits + d.misses)),
	    .ahead_share =
		share((double)d.ahead_bytes, (double)d.received_bytes)};
}

/* The daemon counts calls of clients, and calls that it sent on for them;
 * changes always go on, so the share is that of the others. */
void top_mount_rates_find(const Forefetch__MountUse *then,
    const Forefetch__MountUse *now, double seconds, struct top_mount_rates *out)
{
	uint64_t calls, asked, reads;

	*out = (struct top_mount_rates){.hit_share = -1};
	if (seconds < SECONDS_MIN || now->calls < then->calls ||
	    now->asked < then->asked || now->bytes < then->bytes ||
	    now->changes < then->changes)
		return;
	calls = now->calls - then->calls;
	asked = now->asked - then->asked;
	reads = now->changes - then->changes;
	reads = reads < calls ? calls - reads : 0;
	out->known = true;
	out->calls = (double)calls / seconds;
	out->bytes = (double)(now->bytes - then->bytes) / seconds;
	out->hit_share =
	    share(asked < reads ? (double)(reads - asked) : 0, (double)reads);
}
