/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events lie within a window of time. The times of the last 65,536 events
 * are kept, which is 3 s at 20,000 accesses a second; older ones count as
 * outside.
 */
#ifndef FOREFETCH_RECENT_H
#define FOREFETCH_RECENT_H

#include <stdint.h>

enum { RECENT_EVENTS = 65536 };

struct recent {
	uint32_t ms[RECENT_EVENTS]; /* a ring, by event */
	uint32_t from;              /* the first event within the window */
};

/* `event` came at `now_ns`; the window reaches back `window_ns` from there. */
static inline void recent_event(
    struct recent *r, uint32_t event, uint64_t now_ns, uint64_t window_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);
	uint32_t window_ms = (uint32_t)(window_ns / 1000000);

	r->ms[event % RECENT_EVENTS] = now_ms;
	if (event - r->from >= RECENT_EVENTS)
		r->from = event - RECENT_EVENTS + 1;
	while (r->from < event &&
	       now_ms - r->ms[r->from % RECENT_EVENTS] > window_ms)
		r->from++;
}

#endif
