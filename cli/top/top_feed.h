/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples at intervals, taken by a thread of their own, so that keys work while
 * the daemon takes its time. */
#ifndef FOREFETCH_TOP_FEED_H
#define FOREFETCH_TOP_FEED_H

#include "top/top_sample.h"

struct top_feed;

/* As top_asker_new() and top_asker_past(); the first one is taken after an
 * interval. NULL and errno.
 */
struct top_feed *top_feed_new(
    const char *socket, const char *server, double interval_s, uint32_t past);
/* May wait for an answer of the daemon. NULL is allowed. */
void top_feed_free(struct top_feed *f);

/* Readable when there is a sample. */
int top_feed_fd(const struct top_feed *f);
/* The last one, once; NULL: there is no new one. */
struct top_sample *top_feed_take(struct top_feed *f);

#endif
