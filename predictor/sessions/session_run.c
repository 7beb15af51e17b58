/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that goes on: it records what is used, and tells its plan as far
 * ahead of the user as the plan has proved right. That is a little at first,
 * and soon all of it where it comes true.
 *
 *	plan   . x . x x . x . . . . . . . . . . . . .     x: it was used
 *	                     ^ pos     ^ next
 *	                     |         not told yet from here on
 *	                     looked at again from here on
 *
 * Data may be fetched long before its use. Names and attributes are told only
 * when they are near, and again while the user pauses, because what was
 * confirmed before will be too old by then.
 */
#include <stdlib.h>

#include "predictor/sessions/sessions.h"
#include "predictor/store/keymap.h"

enum {
	AHEAD = 64, /* steps that are told ahead of the user in any case */
	GROWTH = 8, /* steps more for each step that came true */
	FIRST = 32, /* uses before the plan is judged */
	RIGHT = 4,  /* the plan must have had one in so many of these uses */
	NEXT = 256, /* steps ahead that are told again, with all they need */
	TELLS = 6,  /* how often a step is told, at most */
	NEAR = 32,  /* two leaps so near each other are no coincidence */
	SLACK = 512 << 10, /* bytes that a READ may be ahead of the others */
};

/* How often steps are looked at that may be told again. */
#define LOOK_NS 250000000u

struct session_run_item {
	struct session_step step;
	uint32_t use;     /* its index in `uses`, if used */
	uint32_t told_ms; /* when it was told the last time */
	uint8_t told;     /* how often */
	bool early;       /* it was far ahead the last time */
	bool used;
};

struct session_run {
	struct session_run_item *items; /* the plan, then what else is used */
	struct session_use *uses;       /* in the order of first use */
	struct keymap *map;             /* object → item */
	uint32_t limit;                 /* of uses */
	uint32_t nplan, nitems, nuses;
	uint32_t pos;  /* the step behind the furthest one that came true */
	uint32_t next; /* the first step that was not told yet */
	uint32_t met;  /* how many steps came true */
	uint32_t leap; /* the last one that had not been told; 0: none */
	uint64_t looked_ns;
	const uint64_t *refresh_ns;
};

/* The plan's steps become the first items, so that an item's index tells
 * whether it is a step. False without memory. */
static bool run_fill(
    struct session_run *r, const struct session_step *plan, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		r->items[i].step = plan[i];
		if (keymap_put(r->map, plan[i].object, i))
			return false;
	}
	r->nplan = r->nitems = n;
	return true;
}

struct session_run *session_run_new(uint32_t limit, const uint64_t *refresh_ns,
    const struct session_step *plan, uint32_t n)
{
	struct session_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->limit = limit;
	r->refresh_ns = refresh_ns;
	r->items = calloc((size_t)n + limit + 1, sizeof(*r->items));
	r->uses = calloc((size_t)limit + 1, sizeof(*r->uses));
	r->map = keymap_new();
	if (r->items && r->uses && r->map && run_fill(r, plan, n))
		return r;
	session_run_free(r);
	return NULL;
}

void session_run_free(struct session_run *r)
{
	if (!r)
		return;
	free(r->items);
	free(r->uses);
	keymap_free(r->map);
	free(r);
}

size_t session_run_bytes(const struct session_run *r)
{
	return sizeof(*r) + (r->nplan + r->limit) * sizeof(*r->items) +
	       r->limit * sizeof(*r->uses) + keymap_memory_bytes(r->map);
}

/* The object's item, made behind the plan's where it has none; NULL when as
 * many uses are recorded as a session may have. */
static struct session_run_item *run_item(struct session_run *r, uint32_t object)
{
	uint32_t i = keymap_get(r->map, object);

	if (i != KEYMAP_NONE)
		return &r->items[i];
	if (r->nuses == r->limit || keymap_put(r->map, object, r->nitems))
		return NULL;
	i = r->nitems++;
	r->items[i] = (struct session_run_item){.step.object = object};
	return &r->items[i];
}

/* Notes how much was read from the file's beginning on; readahead may come a
 * little out of order. */
static void use_read(struct session_use *u, const struct session_span *read)
{
	uint64_t end = (uint64_t)u->blocks * SESSION_BLOCK, blocks;

	if (read->to <= end || read->from > end + SLACK)
		return;
	blocks = (read->to - 1) / SESSION_BLOCK + 1;
	u->blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

/* The user has come to step `i`. One step that was not told yet may be a
 * coincidence. Two that lie together are not: then the steps before them are
 * past, and are not told any more. */
static void run_move(struct session_run *r, uint32_t i)
{
	uint32_t leap = r->leap;

	if (i >= r->next) {
		r->leap = i;
		if (leap == 0 || i + NEAR < leap || i > leap + NEAR)
			return;
		r->next = i + 1;
	}
	if (i >= r->pos)
		r->pos = i + 1;
}

bool session_run_use(struct session_run *r, uint32_t object, uint8_t needs,
    const struct session_span *read)
{
	struct session_run_item *x = run_item(r, object);
	uint32_t i;

	if (!x || (!x->used && r->nuses == r->limit))
		return false;
	if (x->used) {
		r->uses[x->use].needs |= needs;
		use_read(&r->uses[x->use], read);
		return false;
	}
	x->used = true;
	x->use = r->nuses;
	r->uses[r->nuses] =
	    (struct session_use){.object = object, .needs = needs};
	use_read(&r->uses[r->nuses++], read);
	i = (uint32_t)(x - r->items);
	if (i >= r->nplan)
		return false;
	r->met++;
	run_move(r, i);
	return x->told > 0;
}

struct session_record session_run_record(
    const struct session_run *r, uint32_t at)
{
	return (struct session_record){
	    .uses = r->uses, .n = r->nuses, .at = at};
}

bool session_run_is_free(const struct session_run *r)
{
	return r->nplan == 0;
}

bool session_run_strays(const struct session_run *r)
{
	return r->pos < r->nplan && r->nuses >= FIRST &&
	       r->met * RIGHT < r->nuses;
}

/* The share of uses that the plan had; it begins as 1 and counts as eight uses.
 */
static float run_trust(const struct session_run *r)
{
	return (float)(r->met + 8) / (float)(r->nuses + 8);
}

/* Writes the step as due, and notes when it was told. A plan that has often
 * been wrong is told with less. */
static void run_tell(
    struct session_run *r, uint32_t i, uint64_t now_ns, struct session_due *out)
{
	struct session_run_item *x = &r->items[i];

	out->step = x->step;
	out->step.p *= run_trust(r);
	out->ahead = i >= r->pos ? i - r->pos : 0;
	out->again = x->told > 0;
	out->early = x->early = out->ahead >= NEXT;
	x->told++;
	x->told_ms = (uint32_t)(now_ns / 1000000);
}

/* Steps near the user that were told so long ago that what was fetched then may
 * be too old when it is used. */
static size_t run_again(
    struct session_run *r, uint64_t now_ns, struct session_due *out, size_t max)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000), end = r->pos + NEXT;
	uint32_t after_ms = (uint32_t)(*r->refresh_ns / 1000000);
	size_t n = 0;

	if (!*r->refresh_ns || now_ns < r->looked_ns + LOOK_NS)
		return 0;
	if (end > r->next)
		end = r->next;
	for (uint32_t i = r->pos; i < end && n < max; i++) {
		const struct session_run_item *x = &r->items[i];

		if (!x->used && x->told > 0 && x->told < TELLS &&
		    (x->early || now_ms - x->told_ms >= after_ms))
			run_tell(r, i, now_ns, &out[n++]);
	}
	if (n < max)
		r->looked_ns = now_ns;
	return n;
}

size_t session_run_due(
    struct session_run *r, uint64_t now_ns, struct session_due *out, size_t max)
{
	uint32_t end = r->pos + AHEAD + GROWTH * r->met;
	size_t n = run_again(r, now_ns, out, max);

	if (end > r->nplan)
		end = r->nplan;
	while (n < max && r->next < end) {
		uint32_t i = r->next++;

		if (!r->items[i].used)
			run_tell(r, i, now_ns, &out[n++]);
	}
	return n;
}

bool session_run_done(const struct session_run *r)
{
	return r->pos == r->nplan;
}
