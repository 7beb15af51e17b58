/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of metrics.h in the text format of Prometheus, version 0.0.4.
 *
 * Prometheus wants the lines of one metric together. So the lines of each
 * family are collected server by server, which can be done in turns of the
 * loop, and put one behind the other at the end.
 */
#ifndef FOREFETCH_PROMETHEUS_H
#define FOREFETCH_PROMETHEUS_H

#include "control/control.h"
#include "text/text.h"

struct prometheus;

/* To be made when the daemon begins, since it tells that time. NULL without
 * memory. */
struct prometheus *prometheus_new(void);
void prometheus_free(struct prometheus *p); /* NULL is allowed */

/* Forgets the servers. */
void prometheus_begin(struct prometheus *p);
/* Adds a server, with gauges as they are now, and its state. Nothing is kept of
 * either. */
void prometheus_add(struct prometheus *p, const struct control_server *srv,
    const Forefetch__ServerStatus *state);
/* Writes all metrics of the servers that were added, behind what `out` has, and
 * those of the daemon and of the process. out->failed is set where memory was
 * short. */
void prometheus_end(
    struct prometheus *p, const Forefetch__Status *daemon, struct text *out);

#endif
