/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics that Prometheus' client libraries tell of every process. */
#ifndef FOREFETCH_PROCESS_H
#define FOREFETCH_PROCESS_H

#include "text/text.h"

/* Adds the metrics process_… to `out`; the process began at `started_us` of the
 * wall clock. A value that the system does not tell is left out. */
void process_add(struct text *out, uint64_t started_us);

#endif
