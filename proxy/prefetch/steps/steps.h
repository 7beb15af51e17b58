/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns of wants: the pump takes them from the queue while the link has room,
 * has the steps decide which call each needs next, and sends it.
 *
 *	queue ─▶ pump.c ◀─ a call ─ step.c ◀─┬─ step_list.c  listings
 *	   held? worth it? room?             └─ step_data.c  bytes
 *	           │
 *	           ├─▶ step_farm.c ◀─▶ farm
 *	           ▼
 *	sources ◀─ listings, rights ─ step_flight.c ◀─▶ server
 */
#ifndef FOREFETCH_STEPS_H
#define FOREFETCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

struct calls;
struct flight;
struct ground;
struct notes;
struct queue;
struct sources;
struct steps;

/* The pump has nothing to wait for but replies and those who wake it. */
#define PUMP_RESTS UINT64_MAX

struct steps_params {
	struct ground *ground;
	struct notes *notes;
	struct queue *queue;
	struct calls *calls;
	struct sources *sources;
};

/* NULL without memory. */
struct steps *steps_new(const struct steps_params *p);
/* Forgets calls under way. Wants have to be gone. */
void steps_free(struct steps *s);

/* Takes turns with wants. Returns how long to wait before it goes on, in
 * microseconds; PUMP_RESTS: until something happens. */
uint64_t pump_run(struct steps *s, uint64_t now_us);

/* Tells sources of listings that the farm gave, but in no want's turn: that may
 * make others wanted. */
void steps_tell_farmed(struct steps *s);

/* Calls of wants that are under way, and whether that is one of them. */
unsigned steps_flights(const struct steps *s);
bool steps_sent(const struct steps *s, const struct flight *fl);

#endif
