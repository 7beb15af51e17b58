/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is one metric with a label, and what is in another unit. The
 * conventions: https://prometheus.io/docs/practices/naming/
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "web/families.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const char *const layout_ends[] = {
    "done", "in_order", "no_room", "disk_failed", "stopped", NULL};

/* Members of a family stand together; the first of them has the help. */
struct row {
	int id;
	const char *family; /* the whole name */
	const char *label;
	const char *help; /* NULL: as before; or that of base/metrics.h */
	bool micro;
	bool daemon;
	const char *const *states;
};

/* clang-format off */
#define C(id, family, label, help) \
	{METRICS_##id, family, label, help, false, false, NULL}
static const struct row counter_rows[] = {
	C(CONNECTIONS_REFUSED_ALLOW, "connections_refused_total",
	    "reason=\"allow\"", "Connections of clients that were refused: "
	    "their address is outside of allow, their source port is not below "
	    "1024 (secure), or too many were open (limit)"),
	C(CONNECTIONS_REFUSED_SECURE, "connections_refused_total",
	    "reason=\"secure\"", NULL),
	C(CONNECTIONS_REFUSED_LIMIT, "connections_refused_total",
	    "reason=\"limit\"", NULL),
	C(CONNECTIONS_CLOSED_BAD_RECORD, "connections_closed_total",
	    "reason=\"bad_record\"", "Connections of clients that were closed: "
	    "a record was malformed or too large, a record took too long to "
	    "arrive, replies were not taken, it was idle and gave way to a "
	    "new one, or the server was away for long and the client had to "
	    "ask again for changes"),
	C(CONNECTIONS_CLOSED_SLOW_RECORD, "connections_closed_total",
	    "reason=\"slow_record\"", NULL),
	C(CONNECTIONS_CLOSED_SLOW_READER, "connections_closed_total",
	    "reason=\"slow_reader\"", NULL),
	C(CONNECTIONS_CLOSED_IDLE, "connections_closed_total",
	    "reason=\"idle\"", NULL),
	C(CONNECTIONS_CLOSED_ASK_AGAIN, "connections_closed_total",
	    "reason=\"ask_again\"", NULL),
	C(CALLS_BAD_RPCVERS, "calls_refused_total", "reason=\"rpc_version\"",
	    "Calls of clients that were refused with an RPC error: another "
	    "version of RPC, an authentication other than AUTH_SYS, a program, "
	    "version or procedure that is not served, or arguments that do not "
	    "decode"),
	C(CALLS_BAD_AUTH, "calls_refused_total", "reason=\"auth\"", NULL),
	C(CALLS_PROG_UNAVAIL, "calls_refused_total", "reason=\"program\"", NULL),
	C(CALLS_PROG_MISMATCH, "calls_refused_total", "reason=\"version\"",
	    NULL),
	C(CALLS_PROC_UNAVAIL, "calls_refused_total", "reason=\"procedure\"",
	    NULL),
	C(CALLS_GARBAGE_ARGS, "calls_refused_total", "reason=\"arguments\"",
	    NULL),
	C(ATTR_HITS, "cache_hits_total", "cache=\"attributes\"",
	    "Calls of clients that were answered from a cache"),
	C(NAME_HITS, "cache_hits_total", "cache=\"names\"", NULL),
	C(NEGATIVE_HITS, "cache_hits_total", "cache=\"absent_names\"", NULL),
	C(ACCESS_HITS, "cache_hits_total", "cache=\"access\"", NULL),
	C(LIST_HITS, "cache_hits_total", "cache=\"listings\"", NULL),
	C(ANSWER_HITS, "cache_hits_total", "cache=\"answers\"", NULL),
	C(DATA_HITS, "cache_hits_total", "cache=\"data\"", NULL),
	C(ATTR_MISSES, "cache_misses_total", "cache=\"attributes\"",
	    "Calls of clients that a cache could not answer, so that the "
	    "server was asked; those for names that are absent count as names"),
	C(NAME_MISSES, "cache_misses_total", "cache=\"names\"", NULL),
	C(ACCESS_MISSES, "cache_misses_total", "cache=\"access\"", NULL),
	C(LIST_MISSES, "cache_misses_total", "cache=\"listings\"", NULL),
	C(ANSWER_MISSES, "cache_misses_total", "cache=\"answers\"", NULL),
	C(DATA_MISSES, "cache_misses_total", "cache=\"data\"", NULL),
	C(ATTR_EVICTED, "cache_evicted_total", "cache=\"attributes\"",
	    "Entries of a cache that were given up for memory, or for space on "
	    "disk (data)"),
	C(NAME_EVICTED, "cache_evicted_total", "cache=\"names\"", NULL),
	C(LIST_EVICTED, "cache_evicted_total", "cache=\"listings\"", NULL),
	C(DATA_EVICTED, "cache_evicted_total", "cache=\"data\"", NULL),
	C(PREFETCH_USED, "prefetch_objects_total", "outcome=\"used\"",
	    "Objects that were fetched ahead: there when they were wanted "
	    "(used), still on their way (late), or not wanted within ten "
	    "seconds (unused)"),
	C(PREFETCH_LATE, "prefetch_objects_total", "outcome=\"late\"", NULL),
	C(PREFETCH_UNUSED, "prefetch_objects_total", "outcome=\"unused\"",
	    NULL),
	C(PREFETCH_USED_BYTES, "prefetch_outcome_bytes_total",
	    "outcome=\"used\"", "Bytes that were fetched ahead for objects "
	    "that were wanted (used), or were not (unused)"),
	C(PREFETCH_UNUSED_BYTES, "prefetch_outcome_bytes_total",
	    "outcome=\"unused\"", NULL),
	C(PREFETCH_FRESH, "prefetch_skipped_total", "reason=\"fresh\"",
	    "Predictions that nothing was fetched for: it was cached already "
	    "(fresh), not worth its cost (unlikely), taken back (withdrawn), "
	    "too late (old), without a known handle (unknown), or too many "
	    "waited (crowded)"),
	C(PREFETCH_UNLIKELY, "prefetch_skipped_total", "reason=\"unlikely\"",
	    NULL),
	C(PREFETCH_WITHDRAWN, "prefetch_skipped_total", "reason=\"withdrawn\"",
	    NULL),
	C(PREFETCH_OLD, "prefetch_skipped_total", "reason=\"old\"", NULL),
	C(PREFETCH_UNKNOWN, "prefetch_skipped_total", "reason=\"unknown\"",
	    NULL),
	C(PREFETCH_CROWDED, "prefetch_skipped_total", "reason=\"crowded\"",
	    NULL),
	C(HINTS_USED, "hints_ended_total", "outcome=\"used\"",
	    "Hints that ended: their file was read there (used), the reader "
	    "was beyond them (passed), nobody read within a minute (unused), "
	    "or the file is not there or may not be read (failed)"),
	C(HINTS_PASSED, "hints_ended_total", "outcome=\"passed\"", NULL),
	C(HINTS_UNUSED, "hints_ended_total", "outcome=\"unused\"", NULL),
	C(HINTS_FAILED, "hints_ended_total", "outcome=\"failed\"", NULL),
	{METRICS_LOOP_LONG_TURNS, "loop_long_turns_total", "", NULL, false,
	    true, NULL},
};

#define G(id, family, label, help) \
	{METRICS_GAUGE_##id, family, label, help, false, false, NULL}
#define US(id, family, help) \
	{METRICS_GAUGE_##id, family, "", help, true, false, NULL}
static const struct row gauge_rows[] = {
	G(ATTR_ENTRIES, "cache_entries", "cache=\"attributes\"",
	    "Entries of a cache: objects, names, rights of a credential, "
	    "listings, other answers, extents of data on disk"),
	G(NAME_ENTRIES, "cache_entries", "cache=\"names\"", NULL),
	G(ACCESS_ENTRIES, "cache_entries", "cache=\"access\"", NULL),
	G(LIST_ENTRIES, "cache_entries", "cache=\"listings\"", NULL),
	G(ANSWER_ENTRIES, "cache_entries", "cache=\"answers\"", NULL),
	G(DATA_EXTENTS, "cache_entries", "cache=\"data\"", NULL),
	G(OBJECT_BYTES, "cache_memory_bytes", "cache=\"attributes_names\"",
	    "Memory of a cache; that of attributes and names is one, that of "
	    "data is its index"),
	G(ACCESS_BYTES, "cache_memory_bytes", "cache=\"access\"", NULL),
	G(LIST_BYTES, "cache_memory_bytes", "cache=\"listings\"", NULL),
	G(ANSWER_BYTES, "cache_memory_bytes", "cache=\"answers\"", NULL),
	G(DATA_MEMORY_BYTES, "cache_memory_bytes", "cache=\"data\"", NULL),
	G(LINK_RATE, "link_bytes_per_second", "",
	    "Estimated rate of the link to the server; 0: not known yet"),
	US(LINK_BASE_US, "link_idle_round_trip_seconds",
	    "Estimated round trip to the server on an idle link"),
	US(LINK_SRTT_US, "link_round_trip_seconds",
	    "Smoothed round trip to the server, as it is now"),
	US(LINK_RTTVAR_US, "link_round_trip_deviation_seconds",
	    "Mean deviation of the round trip to the server"),
	US(LINK_QUEUE_US, "link_queue_seconds",
	    "Estimated delay in queues on the way to the server"),
	{METRICS_GAUGE_CLIENTS_LIMIT_BYTES, "clients_limit_bytes", "", NULL,
	    false, true, NULL},
	{METRICS_GAUGE_FARM_UP, "farm_up", "", NULL, false, true, NULL},
	{METRICS_GAUGE_FARM_SRTT_US, "farm_round_trip_seconds", "",
	    "Smoothed round trip to the farm's engine", true, true, NULL},
	{METRICS_GAUGE_LOOP_LONGEST_TURN_US, "loop_longest_turn_seconds", "",
	    "Longest turn of the event loop in the last seconds", true, true,
	    NULL},
	{METRICS_GAUGE_LAYOUT_END, "layout_end", "end",
	    "How the last pass of the layout of data on disk ended: 1 for "
	    "that, 0 for the other ways", false, false, layout_ends},
};
/* clang-format on */

/* All names that are made by appending _total, so that families can point to
 * them. */
#define NAME(id, name, help) [METRICS_##id] = name "_total",
static const char *const counter_names[] = {METRICS_COUNTERS(NAME)};
#undef NAME

static const struct row *find_row(const struct row *rows, size_t n, int id)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].id == id)
			return &rows[i];
	return NULL;
}

static unsigned place_family(struct families *f, const struct family *want)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->list[i].name, want->name) == 0)
			return (unsigned)i;
	f->list[f->n] = *want;
	return (unsigned)f->n++;
}

/* A family that others share was met by its first row, which has the help. */
static struct family_place place(struct families *f, const struct row *row,
    const char *name, const char *help, bool counter)
{
	struct family_place at = {.label = row ? row->label : ""};
	struct family want = {.name = row ? row->family : name,
	    .help = row && row->help ? row->help : help,
	    .counter = counter,
	    .daemon = row && row->daemon};

	at.family = place_family(f, &want);
	at.micro = row && row->micro;
	at.states = row ? row->states : NULL;
	return at;
}

void families_init(struct families *f)
{
	f->n = 0;
	for (int i = 0; i < METRICS_COUNTER_COUNT; i++)
		f->counters[i] =
		    place(f, find_row(counter_rows, LENGTH(counter_rows), i),
			counter_names[i],
			metrics_counter_help((enum metrics_counter)i), true);
	for (int i = 0; i < METRICS_GAUGE_COUNT; i++)
		f->gauges[i] =
		    place(f, find_row(gauge_rows, LENGTH(gauge_rows), i),
			metrics_gauge_name((enum metrics_gauge)i),
			metrics_gauge_help((enum metrics_gauge)i), false);
}
