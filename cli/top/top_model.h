/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of the page: the last sample, and the rates since the one before.
 */
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

struct top_server {
	const Forefetch__ServerStatus *status;
	const Forefetch__ServerStats *stats;
	const Forefetch__ServerActivity *activity;
	struct top_rates rates;
	struct top_mount_rates *mounts; /* one of each of activity->mounts */
	uint64_t trip_us;               /* 0: not known */
	double past[TOP_PAST];          /* calls a second; the newest last */
	size_t npast;
};

struct top_model {
	struct top_sample *sample; /* NULL at first */
	bool away;                 /* the daemon did not answer; why[] */
	char why[256];
	bool fatal;       /* it never will: another release */
	unsigned samples; /* until now, since it was away last */
	struct top_server *servers;
	size_t nservers;
};

/* Zeros at first. Takes the sample; the former one goes. */
void top_model_update(struct top_model *m, struct top_sample *s);
void top_model_clear(struct top_model *m);

#endif
