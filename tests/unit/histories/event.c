/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a history's events. */
#include "histories/event.h"

#include <stddef.h>

/* How often each kind comes, in 10,000. A call wants two or three calls of the
 * server, and time between them. */
static const struct {
	const char *name;
	unsigned weight;
} kinds[EVENT_KINDS] = {
    [EVENT_CALL] = {"call", 2300},
    [EVENT_SERVE] = {"serve", 4500},
    [EVENT_PASS] = {"pass", 2200},
    [EVENT_STRANGER] = {"stranger", 200},
    [EVENT_COMMAND] = {"command", 20},
    [EVENT_KILL] = {"kill", 15},
    [EVENT_RESTART] = {"restart", 10},
    [EVENT_OUTAGE] = {"outage", 10},
    [EVENT_SILENCE] = {"silence", 10},
    [EVENT_REBOOT] = {"reboot", 10},
    [EVENT_BREAK] = {"break", 15},
    [EVENT_LOSE] = {"lose", 20},
    [EVENT_REFUSE] = {"refuse", 10},
    [EVENT_HALF] = {"half", 10},
    [EVENT_CLOSE] = {"close", 15},
    [EVENT_ADDRESS] = {"address", 5},
    [EVENT_SLEEP] = {"sleep", 5},
};

/* Xorshift64*, Marsaglia and Vigna. */
static uint32_t next(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return (uint32_t)((*x * UINT64_C(2685821657736338717)) >> 32);
}

static enum event_kind pick(uint32_t r)
{
	unsigned sum = 0, at = 0;

	for (unsigned i = 0; i < EVENT_KINDS; i++)
		sum += kinds[i].weight;
	r %= sum;
	while (r >= kinds[at].weight)
		r -= kinds[at++].weight;
	return (enum event_kind)at;
}

unsigned event_list(uint64_t seed, struct event list[EVENT_MAX])
{
	uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned calls = 0, n = 0;

	while (calls < EVENT_CALLS && n < EVENT_MAX) {
		struct event *e = &list[n++];

		e->kind = pick(next(&x));
		e->a = next(&x);
		e->b = next(&x);
		e->c = next(&x);
		e->d = next(&x);
		calls += e->kind == EVENT_CALL || e->kind == EVENT_STRANGER;
	}
	return n;
}

const char *event_name(enum event_kind kind)
{
	return kinds[kind].name;
}
