/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the server can be reached, for `offline = serve`: it is away when
 * there was no connection for a while, or when it leaves a NULL unanswered,
 * which it is asked as soon as a call waits and nothing comes; and it is back
 * when it answers one. A server whose disk is slow answers NULL all the same.
 */
#ifndef FOREFETCH_LINKWATCH_H
#define FOREFETCH_LINKWATCH_H

#include <stdbool.h>
#include <stdint.h>

struct fetch;
struct linkwatch;
struct upstream;

struct linkwatch *linkwatch_new(struct fetch *fetch, struct upstream *nfs,
    struct upstream *mount, uint64_t now_us);
void linkwatch_free(struct linkwatch *lw);

/*
 * To be called every second or so. `waiting_us` is when the request came in
 * that has waited longest for the server; 0: none waits.
 */
bool linkwatch_away(struct linkwatch *lw, uint64_t waiting_us, uint64_t now_us);

#endif
