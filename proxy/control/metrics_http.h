/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of metrics for Prometheus. */
#ifndef FOREFETCH_METRICS_HTTP_H
#define FOREFETCH_METRICS_HTTP_H

#include <stddef.h>

struct control_ops;
struct event_base;
struct sockaddr;

/*
 * The numbers of metrics.h in the text format of Prometheus, version 0.0.4,
 * at http://ADDRESS:PORT/metrics.
 */
struct metrics_http;

/*
 * Listen at `addr`. NULL, a sentence in `err` and errno set on failure. Of
 * `ops`, server() and fill_status() are used; it must outlive the result.
 */
struct metrics_http *metrics_http_new(struct event_base *base,
    const struct sockaddr *addr, const struct control_ops *ops, void *ctx,
    char *err, size_t errlen);
void metrics_http_free(struct metrics_http *mh);

#endif
