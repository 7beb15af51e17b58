/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample: the daemon's answers of one moment. */
#ifndef FOREFETCH_TOP_SAMPLE_H
#define FOREFETCH_TOP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* The answers are freed with it; all of them are there, or none. */
struct top_sample {
	/* Owns what the three pointers below point into. */
	Forefetch__Response *answers[3];
	const Forefetch__Status *status;
	const Forefetch__Stats *stats;
	/* With the names that are known. */
	const Forefetch__Activity *activity;
	/* Why there are no answers, as clean text; "": there are. */
	char error[256];
	/* The releases differ: asking again would not help. */
	bool fatal;
};

struct top_asker;

/* Asks the daemon at the socket, about one server or all (NULL). Both texts
 * must live as long. Nothing is asked yet. NULL without memory. */
struct top_asker *top_asker_new(const char *socket, const char *server);
void top_asker_free(struct top_asker *a); /* NULL is allowed */

/* Sets how many samples of the past are asked for, too; 0 at first. */
void top_asker_past(struct top_asker *a, uint32_t samples);
/* Asks now; blocks for as long as the daemon takes, seconds at most. The caller
 * frees the sample, which also tells of errors. NULL without memory. */
struct top_sample *top_ask(struct top_asker *a);
void top_sample_free(struct top_sample *s); /* NULL is allowed */

#endif
