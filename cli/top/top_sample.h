/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sample: the daemon's answers of one moment. */
#ifndef FOREFETCH_TOP_SAMPLE_H
#define FOREFETCH_TOP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* Answers to be freed with it; all of them are there, or none. */
struct top_sample {
	Forefetch__Response *answers[3];
	const Forefetch__Status *status;
	const Forefetch__Stats *stats;
	const Forefetch__Activity *activity; /* with the names that are known */
	/* Why there are none, clean text; "": there are. */
	char error[256];
	/* They are of different releases: it would be the same again. */
	bool fatal;
};

struct top_asker;

/* Asks the daemon at a socket of one server, or of all (NULL). Both texts must
 * live as long. NULL without memory. */
struct top_asker *top_asker_new(const char *socket, const char *server);
void top_asker_free(struct top_asker *a); /* NULL is allowed */

/* How many samples of the past to ask for, too; 0 at first. */
void top_asker_past(struct top_asker *a, uint32_t samples);
/* Ask now; may take seconds. NULL without memory. */
struct top_sample *top_ask(struct top_asker *a);
void top_sample_free(struct top_sample *s); /* NULL is allowed */

#endif
