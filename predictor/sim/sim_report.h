/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as a table or as JSON, row by row. */
#ifndef FOREFETCH_SIM_REPORT_H
#define FOREFETCH_SIM_REPORT_H

#include <stdio.h>

#include "predictor/sim/sim.h"

struct sim_report;

/* Borrows all. `labels`: the stall of each workload too. */
struct sim_report *sim_report_new(
    FILE *out, const struct trace *t, bool json, bool labels);
void sim_report_row(struct sim_report *r, const struct sim_result *res);
/* Prints what is left. */
void sim_report_free(struct sim_report *r);

#endif
