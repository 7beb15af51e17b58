/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people, made of the fields of a message. */
#ifndef FOREFETCH_CTL_PUT_H
#define FOREFETCH_CTL_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "control/control.pb-c.h"

/*
 * Writes `text` with values in the place of their names:
 *
 *	{name}        as it is; a word of an enum in lower case
 *	{name:B}      a number of bytes
 *	{name:R}      a rate in bytes a second, told in bits
 *	{name:T}      a time in microseconds
 *	{name:U}      the same, in seconds at most
 *	{name:A}      an age in microseconds, without parts of a second
 *	{name:S}      nothing where it is 1, else "s"
 *	{name:E}      nothing where it is 1, else "es"
 *	{name:Y}      "y" where it is 1, else "ies"
 *	{name:-T}     a dash where it is 0, else as {name:T}; so with each unit
 *	{name:-N}     a dash where it is 0, else the number
 *	{part/whole}  in percent
 *	{a.b}         field b of the message a
 *
 * Of a ServerStats, counters and gauges have names, too. A value that is not
 * there is a dash.
 */
void ctl_put(FILE *out, const void *message, const char *text);

/* A counter or a gauge; 0 and false where the daemon has none of that name, or
 * `name` is NULL. */
bool ctl_find(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value);
/* A number of a message, by its name as above; 0 where it has none. */
uint64_t ctl_number(const void *message, const char *name);

#endif
