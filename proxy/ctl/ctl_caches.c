/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of `forefetch stats` about caches. It is made of counters and
 * gauges by their names; one that the daemon does not have is not known.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ctl/ctl_caches.h"
#include "ctl/ctl_text.h"

/* One row: names of a counter or a gauge; NULL: there is none. */
static const struct row {
	const char *title;
	const char *hits;
	const char *misses;
	const char *entries;
	const char *bytes;
	const char *evicted;
} rows[] = {
    {"attributes", "attr_hits", "attr_misses", "attr_entries", "object_bytes",
	"attr_evicted"},
    {"names", "name_hits", "name_misses", "name_entries", NULL, "name_evicted"},
    {"absent names", "negative_hits", NULL, NULL, NULL, NULL},
    {"access rights", "access_hits", "access_misses", "access_entries",
	"access_bytes", NULL},
    {"listings", "list_hits", "list_misses", "list_entries", "list_bytes",
	"list_evicted"},
    {"answers", "answer_hits", "answer_misses", "answer_entries",
	"answer_bytes", NULL},
    {"data", "data_hits", "data_misses", "data_extents", "data_live_bytes",
	"data_evicted"},
};

static bool find(Forefetch__Counter *const *list, size_t n, const char *name,
    uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i]->name, name) != 0)
			continue;
		*value = list[i]->value;
		return true;
	}
	return false;
}

bool ctl_stats_value(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value)
{
	*value = 0;
	return name && (find(srv->counters, srv->n_counters, name, value) ||
			   find(srv->gauges, srv->n_gauges, name, value));
}

static uint64_t value_of(const Forefetch__ServerStats *srv, const char *name)
{
	uint64_t value;

	ctl_stats_value(srv, name, &value);
	return value;
}

static const char *number(
    char buf[CTL_TEXT_MAX], const Forefetch__ServerStats *srv, const char *name)
{
	uint64_t value;

	if (ctl_stats_value(srv, name, &value))
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64, value);
	else
		snprintf(buf, CTL_TEXT_MAX, "-");
	return buf;
}

static const char *bytes(
    char buf[CTL_TEXT_MAX], const Forefetch__ServerStats *srv, const char *name)
{
	uint64_t value;

	if (ctl_stats_value(srv, name, &value))
		return ctl_text_bytes(buf, value);
	snprintf(buf, CTL_TEXT_MAX, "-");
	return buf;
}

static const char *rate(
    char buf[CTL_TEXT_MAX], const Forefetch__ServerStats *srv, size_t i)
{
	double hits = (double)value_of(srv, rows[i].hits);
	double misses = (double)value_of(srv, rows[i].misses);

	if (rows[i].misses && hits + misses > 0)
		snprintf(
		    buf, CTL_TEXT_MAX, "%.1f%%", hits * 100 / (hits + misses));
	else
		snprintf(buf, CTL_TEXT_MAX, "-");
	return buf;
}

static void put_row(const Forefetch__ServerStats *srv, size_t i)
{
	char text[6][CTL_TEXT_MAX];

	printf("%-13s %10s %10s %7s %9s %9s %9s\n", rows[i].title,
	    number(text[0], srv, rows[i].hits),
	    number(text[1], srv, rows[i].misses), rate(text[2], srv, i),
	    number(text[3], srv, rows[i].entries),
	    bytes(text[4], srv, rows[i].bytes),
	    number(text[5], srv, rows[i].evicted));
}

static void put_memory(const Forefetch__ServerStats *srv)
{
	char used[CTL_TEXT_MAX], limit[CTL_TEXT_MAX], entry[CTL_TEXT_MAX];

	printf("  memory   %s of %s, %s for a name and its object\n",
	    bytes(used, srv, "memory_bytes"),
	    bytes(limit, srv, "memory_limit_bytes"),
	    bytes(entry, srv, "entry_bytes"));
}

static void put_disk(const Forefetch__ServerStats *srv)
{
	char used[CTL_TEXT_MAX], limit[CTL_TEXT_MAX], live[CTL_TEXT_MAX],
	    pending[CTL_TEXT_MAX], refused[CTL_TEXT_MAX];

	if (!value_of(srv, "data_on"))
		puts("  disk     OFF: it failed or is full; see the daemon's "
		     "log");
	printf("  disk     %s of %s, %" PRIu64 " files in %" PRIu64
	       " extents, %s live, %s pending\n",
	    bytes(used, srv, "data_disk_bytes"),
	    bytes(limit, srv, "data_limit_bytes"), value_of(srv, "data_files"),
	    value_of(srv, "data_extents"), bytes(live, srv, "data_live_bytes"),
	    bytes(pending, srv, "data_pending_bytes"));
	printf("           %" PRIu64 " extents verified, %" PRIu64
	       " bad, %s refused\n",
	    value_of(srv, "data_verified"), value_of(srv, "data_bad"),
	    bytes(refused, srv, "data_refused_bytes"));
}

static double percent(
    const Forefetch__ServerStats *srv, const char *part, const char *all)
{
	double of = (double)value_of(srv, all);

	return of > 0 ? (double)value_of(srv, part) * 100 / of : 0;
}

/* How much of the disk's part is read in sequence. */
static void put_layout(const Forefetch__ServerStats *srv)
{
	char moved[CTL_TEXT_MAX];

	if (value_of(srv, "run_bytes") > 0)
		printf("  in order %.1f%% of what this run read from disk, in "
		       "%" PRIu64 " runs\n",
		    percent(srv, "run_sequential_bytes", "run_bytes"),
		    value_of(srv, "run_runs"));
	if (value_of(srv, "layout_bytes") > 0)
		printf("  laid out %" PRIu64 " times, %s moved; the last time "
		       "%.1f%% was in order, then %.1f%%\n",
		    value_of(srv, "layout_passes"),
		    bytes(moved, srv, "layout_moved_bytes"),
		    percent(srv, "layout_before_sequential_bytes",
			"layout_before_bytes"),
		    percent(srv, "layout_sequential_bytes", "layout_bytes"));
}

/* Copies for each payload byte that clients were sent. */
static void put_copies(const Forefetch__ServerStats *srv)
{
	double returned = (double)value_of(srv, "bytes_returned");
	double copied = (double)value_of(srv, "bytes_copied") +
			(double)value_of(srv, "data_copied_bytes");

	if (returned > 0)
		printf("  copies   %.2f for each byte returned\n",
		    copied / returned);
}

void ctl_put_caches(const Forefetch__ServerStats *srv)
{
	if (srv->n_gauges == 0)
		return;
	putchar('\n');
	ctl_put_bytes(stdout, srv->name.data, srv->name.len);
	printf(": caches\n%-13s %10s %10s %7s %9s %9s %9s\n", "", "hits",
	    "misses", "hit", "entries", "bytes", "evicted");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_row(srv, i);
	put_memory(srv);
	put_disk(srv);
	put_layout(srv);
	put_copies(srv);
	printf("  asked    again for %" PRIu64 " objects: %" PRIu64
	       " unchanged, %" PRIu64 " changed\n",
	    value_of(srv, "confirmed") + value_of(srv, "contradicted"),
	    value_of(srv, "confirmed"), value_of(srv, "contradicted"));
	printf("  saved    %" PRIu64 " round trips\n",
	    value_of(srv, "round_trips_saved"));
}
