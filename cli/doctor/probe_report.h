/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of a probe as lines, for probe_command.c and check_server.c. */
#ifndef FOREFETCH_PROBE_REPORT_H
#define FOREFETCH_PROBE_REPORT_H

#include "doctor/finding.h"
#include "doctor/probe_private.h"

/* Adds findings to `out` for all that was found out of the target. It asks
 * nothing. */
void probe_report(const struct probe_target *t, const struct probe_facts *f,
    struct findings *out);

#endif
