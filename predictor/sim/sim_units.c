/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing numbers with units. */
#include "predictor/sim/sim_units.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

static bool parse(const char *text, const struct unit *units, double *v)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || !isfinite(n) || n < 0)
		return false;
	for (; units->name; units++) {
		if (strcasecmp(end, units->name) == 0) {
			*v = n * units->factor;
			return true;
		}
	}
	return false;
}

bool units_parse_number(const char *text, double *v)
{
	static const struct unit units[] = {{"", 1}, {NULL, 0}};

	return parse(text, units, v);
}

bool units_parse_time(const char *text, double *seconds)
{
	static const struct unit units[] = {
	    {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {NULL, 0}};

	return parse(text, units, seconds);
}

bool units_parse_rate(const char *text, double *bytes_per_s)
{
	static const struct unit units[] = {{"", 1 / 8.0}, {"bit", 1 / 8.0},
	    {"kbit", 1e3 / 8}, {"mbit", 1e6 / 8}, {"gbit", 1e9 / 8}, {NULL, 0}};

	return parse(text, units, bytes_per_s);
}

bool units_parse_size(const char *text, double *bytes)
{
	static const struct unit units[] = {
	    {"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};

	return parse(text, units, bytes) && *bytes < 0x1p50;
}

bool units_parse_share(const char *text, double *share)
{
	static const struct unit units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

	return parse(text, units, share) && *share <= 1;
}
