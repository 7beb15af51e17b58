/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what `forefetch bench` is to measure, from what was typed. */
#ifndef FOREFETCH_BENCH_TARGET_H
#define FOREFETCH_BENCH_TARGET_H

#include "bench/bench_stage.h"

/* Fills in the target from HOST:/PATH, or from a directory on a mount of NFS.
 * If that is through forefetchd, the daemon at `socket` is asked for its
 * server. False after a message. */
bool bench_target_find(
    const char *text, const char *socket, struct bench_target *out);

#endif
