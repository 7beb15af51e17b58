/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the work of one server section since the daemon started: calls by
 * procedure on both sides, single counters, and gauges. Nothing here allocates,
 * locks or reads a clock of its own except metrics_new.
 */
#ifndef FOREFETCH_METRICS_H
#define FOREFETCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct histogram;

struct metrics;

enum metrics_side {
	METRICS_CLIENT,   /* calls that clients made to the proxy */
	METRICS_UPSTREAM, /* calls that the proxy made to the server */
	METRICS_SIDES
};

/* One in so many calls of a row that are answered at once is timed. */
enum { METRICS_SAMPLE = 8 };

/* One call that was answered, as its side saw it. */
struct metrics_call {
	uint64_t bytes_in;   /* received: from the client, or the server */
	uint64_t bytes_out;  /* sent: to the client, or the server */
	uint64_t latency_us; /* from the call to its reply */
	bool error;          /* an RPC error or a status other than OK */
	/*
	 * The clock to read for a call that came at `since_us` and is answered
	 * at once; NULL else. Reading the clock costs a part of what such an
	 * answer does, so only one in METRICS_SAMPLE of a row is timed, and
	 * stands for those that follow it.
	 */
	uint64_t (*clock)(void);
	uint64_t since_us;
};

#define COUNTER(id, ...)    METRICS_##id,
#define COUNTER_OF(id, ...) METRICS_##id,
enum metrics_counter {
#include "base/metrics.def"
	METRICS_COUNTER_COUNT
};

/* Gauges hold the value that was last set. */
#define GAUGE(id, ...)    METRICS_GAUGE_##id,
#define GAUGE_OF(id, ...) METRICS_GAUGE_##id,
enum metrics_gauge {
#include "base/metrics.def"
	METRICS_GAUGE_COUNT
};

/* A row of metrics.def: one counter, or one gauge. */
struct metrics_kind {
	const char *name;
	/* The metric's name for Prometheus, without forefetch_. */
	const char *family;
	const char *label; /* its label in the family; "": none */
	unsigned told;     /* a sum of the flags below */
	const char *help;  /* NULL: that of the family's first */
};

enum {
	METRICS_AS_SECONDS = 1, /* the value is in microseconds */
	METRICS_OF_DAEMON = 2,  /* not of one server, so without that label */
	METRICS_AS_WORDS = 4,   /* it is one of the label's words, from 0 on */
};

/* Counters and gauges in one row of numbers, the counters first. */
enum { METRICS_KINDS = METRICS_COUNTER_COUNT + METRICS_GAUGE_COUNT };

/* Return the description and the value of number `i` of these, which is below
 * METRICS_KINDS. */
const struct metrics_kind *metrics_get_kind(size_t i);
uint64_t metrics_get_value(const struct metrics *m, size_t i);
/* Sums up all of a family. */
uint64_t metrics_sum(const struct metrics *m, const char *family);

/* Makes counters that are all 0, about 240 KiB. NULL and errno without memory.
 */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/*
 * Counts one answered call. NFS (100003), MOUNT (100005) and NFSACL (100227),
 * all version 3, have a row for each procedure; anything else counts in the row
 * "other". Any `prog` and `proc` may be given.
 */
void metrics_add_call(struct metrics *m, enum metrics_side side, uint32_t prog,
    uint32_t proc, const struct metrics_call *call);

/* Puts the calls that were not timed into the histograms; to be called before
 * these are read. */
void metrics_settle(struct metrics *m);

/* Adds `n` to a counter. */
void metrics_add(struct metrics *m, enum metrics_counter counter, uint64_t n);
/* Sets a counter that is counted elsewhere. */
void metrics_set(struct metrics *m, enum metrics_counter counter, uint64_t n);
uint64_t metrics_get(const struct metrics *m, enum metrics_counter counter);

void metrics_set_gauge(
    struct metrics *m, enum metrics_gauge gauge, uint64_t value);
uint64_t metrics_get_gauge(const struct metrics *m, enum metrics_gauge gauge);

/* The calls of one procedure on one side. */
struct metrics_row {
	const char *program;   /* "nfs", "mount", "nfsacl", "other" */
	const char *procedure; /* "LOOKUP", ...; "other" */
	uint64_t calls;
	uint64_t errors;
	uint64_t bytes_in;
	uint64_t bytes_out;
	/* In microseconds, of all calls after metrics_settle(); good as long as
	 * the metrics. */
	const struct histogram *latency;
};

/* How many rows there are. They are numbered from 0, the same ones on both
 * sides. */
size_t metrics_row_count(void);
void metrics_get_row(const struct metrics *m, enum metrics_side side,
    size_t index, struct metrics_row *out);
const char *metrics_side_name(enum metrics_side side);

#endif
