/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses numbers with units: 30ms, 100mbit, 32M, 20%. False if the text is no
 * such number, or is negative. */
#ifndef FOREFETCH_SIM_UNITS_H
#define FOREFETCH_SIM_UNITS_H

#include <stdbool.h>

bool units_parse_number(const char *text, double *v);
bool units_parse_time(const char *text, double *seconds);
bool units_parse_rate(const char *text, double *bytes_per_s);
bool units_parse_size(const char *text, double *bytes);
bool units_parse_share(const char *text, double *share); /* 0 to 1 */

#endif
