/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the server can be reached, for `offline = serve`. It is away when
 * there was no connection for 3 s, or when it leaves a NULL unanswered for as
 * long, which it is asked as soon as a call has waited for a second and nothing
 * comes; and it is back when it answers one. A server whose disk is slow
 * answers NULL all the same.
 */
#ifndef FOREFETCH_LINKWATCH_H
#define FOREFETCH_LINKWATCH_H

#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct linkwatch;
struct upstream;

/* Makes the watch; all three outlive it. The server counts as there at first.
 * NULL without memory. */
struct linkwatch *linkwatch_new(struct fetch *fetch, struct upstream *nfs,
    struct upstream *mount, uint64_t now_us);
/* Ends the watch, before `fetch` goes. NULL is allowed. */
void linkwatch_free(struct linkwatch *lw);

/*
 * Returns whether the server is away; to be called every second or so.
 * `waiting_us` is when the request came in that has waited longest for the
 * server; 0: none waits.
 */
bool linkwatch_away(struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us);

#endif
