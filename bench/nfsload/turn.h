/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One turn of one target: the closed loop. Each connection keeps
 * --concurrency calls outstanding; an answered call is replaced at once.
 * A call's latency runs from just before it is encoded until its reply is
 * decoded.
 */
#ifndef NFSLOAD_TURN_H
#define NFSLOAD_TURN_H

#include <signal.h>

#include "base/histogram.h"
#include "workset.h"

/* A turn counts here how the calls of one procedure ended. */
struct tally {
	uint64_t ops; /* answered well */
	uint64_t errors;
	uint64_t bytes;            /* of data read or written */
	struct histogram *latency; /* of the good ones; NULL: none */
	char first_error[160];
};

struct turn {
	struct tally tally[CALL_MEASURED];
	uint64_t elapsed_ns; /* first call sent to last one answered */
	uint64_t cpu_ns;     /* of --pid's processes, meanwhile */
	char broken[200];    /* why a connection failed; "" if none did */
};

struct turn_plan {
	const struct options *o;
	struct target *target;
	const struct target_spec *spec; /* of the target */
	struct view *view;
	uint32_t items; /* workset_items() */
	uint64_t seed;
	const char *label; /* for the progress line; NULL: none is shown */
	const volatile sig_atomic_t *stop;
};

/* 0 or -ENOMEM; failures of the server are told in `out`. */
int turn_run(const struct turn_plan *plan, struct turn *out);
void turn_clear(struct turn *t);

#endif
