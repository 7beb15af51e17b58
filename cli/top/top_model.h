/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of the page: the last sample, and the rates since the one before.
 * It is used by one thread. */
#ifndef FOREFETCH_TOP_MODEL_H
#define FOREFETCH_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "top/top_rate.h"
#include "top/top_sample.h"

enum {
	TOP_SERVERS_MAX = 256, /* others are left out */
	TOP_PAST = 120,        /* samples of ten seconds: twenty minutes */
};

/* One server. The three messages belong to the sample. */
struct top_server {
	/* Never NULL; the two below are, where the server was missing in that
	 * answer. */
	const Forefetch__ServerStatus *status;
	const Forefetch__ServerStats *stats;
	const Forefetch__ServerActivity *activity;
	struct top_rates rates;
	/* One for each of activity->mounts; NULL: there are none. */
	struct top_mount_rates *mounts;
	/* The smoothed round trip; 0: not known. */
	uint64_t trip_us;
	/* Calls a second in each sample of ten seconds; the newest last. */
	double past[TOP_PAST];
	size_t npast;
};

/* Zeros at first. */
struct top_model {
	/* The last one with answers; NULL at first. */
	struct top_sample *sample;
	/* The daemon did not answer the last time, for the reason in why[]. */
	bool away;
	char why[256];
	/* It never will: it is of another release. */
	bool fatal;
	/* Samples with answers since it was away last. */
	unsigned samples;
	struct top_server *servers;
	size_t nservers;
};

/* Takes a sample, which the model owns from now on, and frees the one before.
 * NULL counts as a lack of memory. */
void top_model_update(struct top_model *m, struct top_sample *s);
/* Frees everything; the model is zeros again. */
void top_model_clear(struct top_model *m);

#endif
