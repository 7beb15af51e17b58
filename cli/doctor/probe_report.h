/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The facts of a probe as lines. */
#ifndef FOREFETCH_PROBE_REPORT_H
#define FOREFETCH_PROBE_REPORT_H

#include "doctor/finding.h"
#include "doctor/probe_private.h"

void probe_report(const struct probe_target *t, const struct probe_facts *f,
    struct findings *out);

#endif
