/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The actions of `forefetch farm` that ask the daemon, and the judgement that
 * `forefetch doctor` shares with `forefetch farm check`. */
#ifndef FOREFETCH_FARM_COMMAND_H
#define FOREFETCH_FARM_COMMAND_H

#include "control/control.pb-c.h"
#include "ctl/ctl_command.h"

struct findings;

/*
 * Each action asks the daemon at opt->socket, prints the answer on stdout, as
 * one JSON value if opt->json is set, and returns an exit code; a failure has
 * been told on stderr. farm_check() also fails when something is wrong with the
 * engine, and farm_flush() returns when all values are removed, or when the
 * daemon has given up.
 */
int farm_status(const struct ctl_options *opt);
int farm_check(const struct ctl_options *opt);
int farm_flush(const struct ctl_options *opt);

/*
 * Adds to `out` one finding for each fact that `checked` tells of the engine,
 * its nodes and its keys, with a remedy where something is wrong. `st` is the
 * daemon's status, for the round trips to its servers, which are compared with
 * that to the engine; NULL: they are not compared. Both messages stay the
 * caller's.
 */
void farm_judge(const Forefetch__FarmChecked *checked,
    const Forefetch__Status *st, struct findings *out);

#endif
