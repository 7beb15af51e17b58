/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue of wants, for the pump. It has a lane for each distance at which
 * something will be used, and a lane is first in, first out, in turns between
 * clients (lane.h): so nothing here takes longer when there is more of it.
 */
#ifndef FOREFETCH_QUEUE_H
#define FOREFETCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ground;
struct notes;
struct queue;
struct want;
struct want_owner;

/* Between two looks at what costs too much just now. */
enum { DEAR_US = 20000 };

/* NULL without memory. */
struct queue *queue_new(struct ground *g, struct notes *notes);
/* Drops all wants but jobs, which their owners drop before. */
void queue_free(struct queue *q);

/* A turn of the pump begins. */
void queue_begin_turn(struct queue *q);
/* The first of the first lane that has any, which it leaves; or NULL. Jobs that
 * were blocked in this turn of the pump are passed over. */
struct want *queue_next(struct queue *q);
/* Puts a want into its lane: at the end, or `again`, where its order says. */
void queue_put(struct want *w, bool again);
/* It could not go out in this turn. */
void queue_put_blocked(struct want *w);
/* Not before a grain of the server's clock has passed. */
void queue_put_later(struct want *w, uint64_t now_us);
/* It has nothing to do until somebody puts it back, if nobody has yet. */
void queue_put_aside(struct want *w);
/* Wants whose time has come go back into their lanes. Returns when the next
 * one's comes, or 0. */
uint64_t queue_ripen(struct queue *q, uint64_t now_us);
/* The pump looked at enough of those that cost too much: it comes back to them
 * at that time. */
void queue_rest_dear(struct queue *q, uint64_t until_us);

/* Whoever takes the turns of the want itself; NULL: the steps do. */
struct want_owner *want_owner(const struct want *w);
/* Whether it stood before all jobs when it had its turn. */
bool want_is_urgent(const struct want *w);

size_t queue_count(const struct queue *q); /* wants, without jobs */
/* Wants that wait for their turn: neither jobs, nor what costs too much now. */
unsigned queue_count_urgent(const struct queue *q);
bool queue_has_jobs(const struct queue *q);
bool queue_has_dear(const struct queue *q);
/* How long nobody has to look at those that cost too much now; UINT64_MAX:
 * there are none. */
uint64_t queue_dear_rest_us(const struct queue *q, uint64_t now_us);
/* The wants of the user (0: of all) that will go out next, those first whose
 * turn comes first; no jobs. Returns how many, `max` at most. */
size_t queue_list(
    const struct queue *q, uint32_t uid, const struct want **out, size_t max);

#endif
