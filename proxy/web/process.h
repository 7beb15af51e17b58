/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Prometheus' client libraries tell of every process. */
#ifndef FOREFETCH_PROCESS_H
#define FOREFETCH_PROCESS_H

#include "text/text.h"

/* The metrics process_…; it began at `started_us` of the wall clock. What
 * cannot be told is left out. */
void process_add(struct text *out, uint64_t started_us);

#endif
