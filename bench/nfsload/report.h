/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All turns, put together: rates and percentiles of each procedure and
 * target, and what sets each target apart from the first one.
 */
#ifndef NFSLOAD_REPORT_H
#define NFSLOAD_REPORT_H

#include "turn.h"

struct report;

/* NULL and errno (ENOMEM) on failure. */
struct report *report_new(const struct options *o);
void report_free(struct report *r);

/* Room for the turn of a target in a round; belongs to the report. */
struct turn *report_turn(struct report *r, uint32_t round, uint32_t target);

/* Failed calls in all turns so far. */
uint64_t report_errors(const struct report *r);

/* Good calls in all turns so far. */
uint64_t report_ops(const struct report *r);

/*
 * To stdout. A comparison is made round by round, of turns that had their
 * place in time side by side; the median over the rounds is printed, with
 * the least and the most. MB are 10^6 bytes.
 */
int report_print_table(const struct report *r);
int report_print_json(const struct report *r);

#endif
