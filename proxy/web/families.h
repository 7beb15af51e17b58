/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which metric of Prometheus a counter or gauge of base/metrics.h is. A
 * metric is a family of samples, which differ in their labels. Without a row
 * in the table in families.c, a counter NAME is the family
 * forefetch_NAME_total, and a gauge NAME is forefetch_NAME.
 */
#ifndef FOREFETCH_FAMILIES_H
#define FOREFETCH_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/metrics.h"

enum { FAMILIES_MAX = METRICS_COUNTER_COUNT + METRICS_GAUGE_COUNT };

struct family {
	const char *name; /* without forefetch_, with _total */
	const char *help;
	bool counter;
	bool daemon; /* not of one server, so without that label */
};

/* What a counter or a gauge is: sample `label` of a family. */
struct family_place {
	unsigned family;   /* which of families */
	const char *label; /* "cache=\"names\""; "": none */
	bool micro;        /* the value is in microseconds, the sample's not */
	const char *const *states; /* the value is one of these; or NULL */
};

struct families {
	struct family list[FAMILIES_MAX];
	size_t n;
	struct family_place counters[METRICS_COUNTER_COUNT];
	struct family_place gauges[METRICS_GAUGE_COUNT];
};

void families_init(struct families *f);

#endif
