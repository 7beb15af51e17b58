/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are not measured: set-up, look-up, removal. Many of one kind
 * are pipelined; JUKEBOX (try again later) is tried again.
 */
#ifndef NFSLOAD_BATCH_H
#define NFSLOAD_BATCH_H

#include "connection.h"

struct batch {
	uint32_t count; /* how many calls, numbered from 0 */
	/* Say what call `i` asks; `c` is zeroed but for its owner. */
	void (*fill)(void *arg, uint32_t i, struct call *c);
	/* Take its answer. False: it is an error, and the batch ends. */
	bool (*take)(void *arg, uint32_t i, const struct call *c);
	void *arg;
	uint64_t timeout_ns; /* how long JUKEBOX is borne */
};

/* 0, or -errno with the reason in `why`. */
int batch_run(
    const struct batch *b, struct connection *c, char *why, size_t why_size);

/* One call, waited for: 0, or -errno with the reason in `why`. */
int batch_call(struct connection *c, struct call *call, uint64_t timeout_ns,
    char *why, size_t why_size);

#endif
