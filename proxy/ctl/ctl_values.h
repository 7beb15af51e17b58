/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters and gauges of the daemon by their names, and text made of them. */
#ifndef FOREFETCH_CTL_VALUES_H
#define FOREFETCH_CTL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "control/control.pb-c.h"

/* 0 and false where the daemon has none of that name, or `name` is NULL. */
bool ctl_value_find(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value);
uint64_t ctl_value(const Forefetch__ServerStats *srv, const char *name);

/*
 * Prints `text` with values in the place of their names: {NAME} as a number,
 * {NAME:B} as bytes, {NAME:T} as a time that is counted in microseconds, and
 * {PART/WHOLE} in percent.
 */
void ctl_values_put(const Forefetch__ServerStats *srv, const char *text);

#endif
