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

/* Returns a descriptor that is readable while a sample waits to be taken. The
 * feed closes it. */
int top_feed_fd(const struct top_feed *f);
/* Hands over the newest sample, which the caller frees. NULL: there is none, or
 * it was taken before. */
struct top_sample *top_feed_take(struct top_feed *f);

#endif
