/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the control program asks of one server's link and calls ahead. */
#ifndef FOREFETCH_SERVER_PREFETCH_H
#define FOREFETCH_SERVER_PREFETCH_H

struct config_server;
struct control_server;
struct linkest;
struct metrics;
struct prefetch;

/* Gauges. */
void server_prefetch_measure(
    const struct prefetch *pf, const struct linkest *le, struct metrics *m);

/* What status says of them. */
void server_prefetch_fill_status(const struct config_server *config,
    const struct linkest *le, struct control_server *out);

#endif
