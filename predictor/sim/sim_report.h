/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints results as a table or as JSON, row by row. */
#ifndef FOREFETCH_SIM_REPORT_H
#define FOREFETCH_SIM_REPORT_H

#include <stdio.h>

#include "predictor/sim/sim.h"

struct sim_report;

/* Borrows its arguments. With `labels` it also prints the stall of each
 * workload. NULL without memory. */
struct sim_report *sim_report_new(
    FILE *out, const struct trace *t, bool json, bool labels);
void sim_report_row(struct sim_report *r, const struct sim_result *res);
/* Also prints the end of the list. */
void sim_report_free(struct sim_report *r);

#endif
