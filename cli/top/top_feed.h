/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples at intervals, taken by a thread of their own, so that keys work while
 * the daemon takes its time. All functions are for the thread that made it. */
#ifndef FOREFETCH_TOP_FEED_H
#define FOREFETCH_TOP_FEED_H

#include "top/top_sample.h"

struct top_feed;

/* Asks as top_asker_new() and top_asker_past() say; the first sample is taken
 * after `interval_s` seconds. Both texts must live as long. NULL and errno. */
struct top_feed *top_feed_new(
    const char *socket, const char *server, double interval_s, uint32_t past);
/* Ends the thread, for whose present question this may wait. NULL is
 * allowed. */
void top_feed_free(struct top_feed *f);

/* A descriptor that is readable when there is a sample; it stays the feed's. */
int top_feed_fd(const struct top_feed *f);
/* The newest sample, once; the caller frees it. NULL: there is no new one. */
struct top_sample *top_feed_take(struct top_feed *f);

#endif
