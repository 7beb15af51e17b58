/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulated link, in virtual time; see the header. */
#include "link/linksim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

static void list_init(struct linksim_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void list_append(struct linksim_list *l, struct linksim_call *c)
{
	c->next = NULL;
	*l->tail = c;
	l->tail = &c->next;
}

static struct linksim_call *list_take(struct linksim_list *l)
{
	struct linksim_call *c = l->head;

	l->head = c->next;
	if (!l->head)
		l->tail = &l->head;
	return c;
}

static uint64_t random_below(struct linksim *s, uint64_t n)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return n ? (s->seed >> 11) % n : 0;
}

void linksim_init(struct linksim *s, unsigned percent, uint64_t cap_bits)
{
	struct config_rate cap = {cap_bits, percent};
	unsigned i;

	if (s->le)
		linksim_fini(s);
	memset(s, 0, sizeof(*s));
	s->le = linkest_new();
	s->budget = budget_new(s->le, &cap);
	assert(s->le && s->budget);
	s->now_us = 1000000;
	s->seed = 88172645463325252u;
	s->demand_min = 1024;
	s->served_us = NEVER;
	for (i = 0; i < LINKSIM_DEMAND; i++)
		s->demand_at_us[i] = NEVER;
	list_init(&s->up);
	list_init(&s->queue);
	list_init(&s->down);
	for (i = 0; i < LINKSIM_CALLS; i++) {
		s->calls[i].next = s->spare;
		s->spare = &s->calls[i];
	}
	linksim_link(s, 20000000, 40000);
}

void linksim_fini(struct linksim *s)
{
	budget_free(s->budget);
	linkest_free(s->le);
	s->le = NULL;
}

void linksim_link(struct linksim *s, uint64_t rate_bits, uint64_t delay_us)
{
	s->rate_Bps = rate_bits / 8;
	s->delay_us = delay_us;
}

void linksim_demand(
    struct linksim *s, unsigned callers, uint64_t think_us, uint64_t max)
{
	unsigned i;

	s->think_us = think_us;
	s->demand_max = max;
	for (i = s->demand; i < callers; i++)
		s->demand_at_us[i] = s->now_us + random_below(s, think_us + 1);
	s->demand = callers;
}

static void linksim_send(struct linksim *s, uint64_t bytes, bool speculative)
{
	struct linksim_call *c = s->spare;

	assert(c);
	s->spare = c->next;
	c->bytes = bytes;
	c->arrived_bytes = 0;
	c->speculative = speculative;
	c->when_us = s->now_us + s->delay_us / 2;
	if (c->when_us < s->server_at_us)
		c->when_us = s->server_at_us;
	c->when_us += s->server_us;
	s->server_at_us = c->when_us;
	linkest_sent(s->le, &c->mark, bytes, s->now_us);
	list_append(&s->up, c);
}

static void linksim_call_demand(struct linksim *s, unsigned i)
{
	uint64_t bytes =
	    s->demand_min + random_below(s, s->demand_max - s->demand_min + 1);

	if (random_below(s, 100) < s->tiny_percent)
		bytes = 120;
	s->demand_at_us[i] = NEVER;
	linksim_send(s, bytes, false);
}

static void linksim_speculate(struct linksim *s)
{
	uint64_t wait_us, bytes, inflight, limit;

	s->spec_at_us = NEVER;
	while (s->speculate) {
		bytes = linkest_unit_bytes(s->le);
		if (s->spec_max && (s->spec_all || bytes > s->spec_max))
			bytes = s->spec_max;
		if (!budget_may(s->budget, bytes, s->now_us, &wait_us)) {
			if (wait_us)
				s->spec_at_us = s->now_us + wait_us;
			return;
		}
		linksim_send(s, bytes, true);
		budget_sent(s->budget, bytes, s->now_us);
		budget_likely(s->budget, bytes, s->spec_p);
		inflight = budget_inflight_bytes(s->budget);
		limit = s->rate_Bps * s->delay_us / 1000000;
		limit += linkest_wire_bytes(linkest_unit_bytes(s->le));
		if (inflight > limit && inflight - limit > s->over_max_bytes)
			s->over_max_bytes = inflight - limit;
	}
}

/* Counts how long a demand reply that reaches the queue now waits for
 * speculation. */
static void linksim_count_added(struct linksim *s)
{
	struct linksim_call *c;
	uint64_t bytes = 0, us = 0;

	for (c = s->queue.head; c; c = c->next)
		if (c->speculative)
			bytes += linkest_wire_bytes(c->bytes);
	if (s->serving && s->serving->speculative)
		us = s->served_us - s->now_us;
	histogram_add(&s->added, us + bytes * 1000000 / s->rate_Bps);
}

static void linksim_serve(struct linksim *s)
{
	if (s->serving || !s->queue.head)
		return;
	s->serving = list_take(&s->queue);
	s->serving->begin_us = s->now_us;
	s->served_us = s->now_us + linkest_wire_bytes(s->serving->bytes) *
				       1000000 / s->rate_Bps;
}

static void linksim_served(struct linksim *s)
{
	struct linksim_call *c = s->serving;

	s->serving = NULL;
	s->served_us = NEVER;
	c->when_us =
	    s->now_us + s->delay_us / 2 + random_below(s, s->jitter_us + 1);
	if (random_below(s, 1000) < s->spike_permille)
		c->when_us += s->spike_us;
	if (c->when_us < s->last_down_us)
		c->when_us = s->last_down_us;
	s->last_down_us = c->when_us;
	list_append(&s->down, c);
}

/* Segments come as the link carries them, two at a time, as the network's
 * offloads have it; but those of a reply come behind the reply before it. */
enum { SEGMENTS_BYTES = 2896 };

/* Returns the reply whose segments come next; NULL: none. */
static struct linksim_call *linksim_front(const struct linksim *s)
{
	return s->down.head ? s->down.head : s->serving;
}

/* Returns when the next segments come. The last ones of a reply come with its
 * end, which is another event. */
static uint64_t linksim_part_us(const struct linksim *s)
{
	const struct linksim_call *c = linksim_front(s);
	uint64_t at_us;

	if (!c || c->arrived_bytes + SEGMENTS_BYTES >= c->bytes)
		return NEVER;
	at_us = c->begin_us + s->delay_us / 2 +
		linkest_wire_bytes(c->arrived_bytes + SEGMENTS_BYTES) *
		    1000000 / s->rate_Bps;
	return at_us > s->now_us ? at_us : s->now_us;
}

static void linksim_arrived(
    struct linksim *s, struct linksim_call *c, uint64_t bytes)
{
	linkest_arrived(s->le, bytes, c->arrived_bytes > 0, s->now_us);
	c->arrived_bytes += bytes;
	linkest_set_part(s->le, c->arrived_bytes % c->bytes);
}

static void linksim_received(struct linksim *s)
{
	struct linksim_call *c = list_take(&s->down);
	uint64_t wire = linkest_wire_bytes(c->bytes);
	unsigned i;

	linksim_arrived(s, c, c->bytes - c->arrived_bytes);
	linkest_received(s->le, &c->mark, c->bytes, s->now_us);
	if (c->speculative) {
		budget_received(s->budget, c->bytes, c->bytes, s->now_us);
		s->spec_bytes += wire;
	} else {
		budget_demand(s->budget, s->now_us);
		s->demand_bytes += wire;
		for (i = 0; i < s->demand; i++)
			if (s->demand_at_us[i] == NEVER)
				break;
		if (i < s->demand)
			s->demand_at_us[i] =
			    s->now_us + random_below(s, 2 * s->think_us + 1);
	}
	c->next = s->spare;
	s->spare = c;
}

static uint64_t linksim_next(const struct linksim *s)
{
	uint64_t next = s->served_us, part_us = linksim_part_us(s);
	unsigned i;

	if (part_us < next)
		next = part_us;
	if (s->up.head && s->up.head->when_us < next)
		next = s->up.head->when_us;
	if (s->down.head && s->down.head->when_us < next)
		next = s->down.head->when_us;
	for (i = 0; i < s->demand; i++)
		if (s->demand_at_us[i] < next)
			next = s->demand_at_us[i];
	if (s->speculate && s->spec_at_us < next)
		next = s->spec_at_us;
	return next;
}

static void linksim_step(struct linksim *s)
{
	struct linksim_call *c;
	unsigned i;

	while (linksim_part_us(s) <= s->now_us)
		linksim_arrived(s, linksim_front(s), SEGMENTS_BYTES);
	if (s->served_us <= s->now_us)
		linksim_served(s);
	while (s->up.head && s->up.head->when_us <= s->now_us) {
		c = list_take(&s->up);
		if (!c->speculative)
			linksim_count_added(s);
		list_append(&s->queue, c);
	}
	linksim_serve(s);
	while (s->down.head && s->down.head->when_us <= s->now_us)
		linksim_received(s);
	for (i = 0; i < s->demand; i++)
		if (s->demand_at_us[i] <= s->now_us)
			linksim_call_demand(s, i);
	linksim_speculate(s);
	if (s->check)
		s->check(s);
}

void linksim_run(struct linksim *s, uint64_t us)
{
	uint64_t end = s->now_us + us, next;

	linksim_speculate(s);
	while ((next = linksim_next(s)) <= end) {
		if (next > s->now_us)
			s->now_us = next;
		linksim_step(s);
	}
	s->now_us = end;
}
