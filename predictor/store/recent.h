/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events lie within a window of time. The times of the last 65,536 events
 * are kept, which is 3 s at 20,000 accesses a second; older ones count as
 * outside. The window may be another one with each event, as file systems have
 * windows of their own.
 */
#ifndef FOREFETCH_RECENT_H
#define FOREFETCH_RECENT_H

#include <stdint.h>

enum { RECENT_EVENTS = 65536 };

struct recent {
	uint32_t ms[RECENT_EVENTS]; /* a ring, by event */
	uint32_t from;              /* the first event within the window */
	uint32_t window_ms;         /* of the last event */
};

/* The first event since `from` that lies within the window; by halves, since
 * windows that take turns would else go through all of them each time. */
static inline uint32_t recent_first(const struct recent *r, uint32_t from,
    uint32_t event, uint32_t now_ms, uint32_t window_ms)
{
	while (from < event) {
		uint32_t mid = from + (event - from) / 2;

		if (now_ms - r->ms[mid % RECENT_EVENTS] > window_ms)
			from = mid + 1;
		else
			event = mid;
	}
	return from;
}

/* `event` came at `now_ns`; the window reaches back `window_ns` from there. */
static inline void recent_event(
    struct recent *r, uint32_t event, uint64_t now_ns, uint64_t window_ns)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);
	uint32_t window_ms = (uint32_t)(window_ns / 1000000);
	uint32_t kept = event >= RECENT_EVENTS ? event - RECENT_EVENTS + 1 : 0;

	r->ms[event % RECENT_EVENTS] = now_ms;
	/* Events that are counted from 0 again lie before all older ones. */
	if (r->from < kept || r->from > event)
		r->from = kept;
	if (window_ms != r->window_ms)
		r->from = recent_first(r, kept, event, now_ms, window_ms);
	r->window_ms = window_ms;
	while (r->from < event &&
	       now_ms - r->ms[r->from % RECENT_EVENTS] > window_ms)
		r->from++;
}

#endif
