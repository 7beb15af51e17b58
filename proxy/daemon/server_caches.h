/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the control program asks of one server's caches. */
#ifndef FOREFETCH_SERVER_CACHES_H
#define FOREFETCH_SERVER_CACHES_H

#include <stdint.h>

struct caches;
struct control_server;
struct metrics;

/* Consistency, [export] sections, and how full the caches are. `disk_bytes`:
 * what the data may take. */
void server_caches_fill_status(
    const struct caches *c, uint64_t disk_bytes, struct control_server *out);

/* Gauges, and the counters that the data cache keeps itself. */
void server_caches_measure(
    const struct caches *c, uint64_t disk_bytes, struct metrics *m);

/*
 * Empty them while calls are under way: these keep their credentials' numbers,
 * and fill nothing when they are answered. The caller has file systems looked
 * for again. 0, or -ENOMEM: only data was given up.
 */
int server_caches_flush(struct caches *c, uint64_t now_us);

#endif
