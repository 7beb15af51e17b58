/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session that goes on. Its plan is told as far ahead of the user as it has
 * proved right: a little at first, and all of it soon where it comes true.
 * Data may be fetched long before its use; of what else is known, only what
 * lies right ahead is told, and again while the user pauses, since what was
 * confirmed then will be too old.
 */
#include <stdlib.h>

#include "predictor/sessions/sessions.h"
#include "predictor/store/keymap.h"

enum {
	AHEAD = 64, /* steps ahead of the user, in any case */
	GROWTH = 8, /* more of them for each that came true */
	FIRST = 32, /* uses before the plan is judged … */
	RIGHT = 4,  /* … which has to have one in so many of them */
	NEXT = 256, /* steps that are told again, with all they need */
	TELLS = 6,  /* times, at most */
	NEAR = 32,  /* steps of each other: no chance */
	BLOCK = 4096,
	SLACK = 512 << 10,
};

/* Two looks at what is to be told again are so far apart. */
#define LOOK_NS 250000000u

struct item {
	struct session_step step;
	uint32_t use; /* in `uses`, if used */
	uint32_t told_ms;
	uint8_t told; /* times */
	bool early;   /* the last time */
	bool used;
};

struct session_run {
	struct item *items;       /* the plan, then what else is used */
	struct session_use *uses; /* in order */
	struct keymap *map;       /* object → item */
	uint32_t limit;           /* of uses */
	uint32_t nplan, nitems, nuses;
	uint32_t pos;  /* steps up to the furthest that came true */
	uint32_t next; /* step to be told */
	uint32_t met;  /* steps that came true */
	uint32_t leap; /* the last of these that was not told; 0: none */
	uint64_t looked_ns, refresh_ns;
};

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

struct session_run *session_run_new(uint32_t limit, uint64_t refresh_ns,
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

static struct item *run_item(struct session_run *r, uint32_t object)
{
	uint32_t i = keymap_get(r->map, object);

	if (i != KEYMAP_NONE)
		return &r->items[i];
	if (r->nuses == r->limit || keymap_put(r->map, object, r->nitems))
		return NULL;
	i = r->nitems++;
	r->items[i] = (struct item){.step.object = object};
	return &r->items[i];
}

/* From its beginning on, as far as that goes: readahead may come a little out
 * of order. */
static void use_read(struct session_use *u, const struct session_span *read)
{
	uint64_t end = (uint64_t)u->blocks * BLOCK, blocks;

	if (read->to <= end || read->from > end + SLACK)
		return;
	blocks = (read->to - 1) / BLOCK + 1;
	u->blocks = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

/* The user has come to a step. One that was not told yet may be a chance hit:
 * two that lie together are not, and what was left out then is past. */
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
	struct item *x = run_item(r, object);
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

bool session_run_strays(const struct session_run *r)
{
	return r->pos < r->nplan && r->nuses >= FIRST &&
	       r->met * RIGHT < r->nuses;
}

/* What the plan is worth by what came true of it. */
static float run_trust(const struct session_run *r)
{
	return (float)(r->met + 8) / (float)(r->nuses + 8);
}

static void run_tell(
    struct session_run *r, uint32_t i, uint64_t now_ns, struct session_due *out)
{
	struct item *x = &r->items[i];

	out->step = x->step;
	out->step.p *= run_trust(r);
	out->ahead = i >= r->pos ? i - r->pos : 0;
	out->again = x->told > 0;
	out->early = x->early = out->ahead >= NEXT;
	x->told++;
	x->told_ms = (uint32_t)(now_ns / 1000000);
}

/* What was told, and may be too old when it is used. */
static size_t run_again(
    struct session_run *r, uint64_t now_ns, struct session_due *out, size_t max)
{
	uint32_t now_ms = (uint32_t)(now_ns / 1000000), end = r->pos + NEXT;
	uint32_t after_ms = (uint32_t)(r->refresh_ns / 1000000);
	size_t n = 0;

	if (!r->refresh_ns || now_ns < r->looked_ns + LOOK_NS)
		return 0;
	if (end > r->next)
		end = r->next;
	for (uint32_t i = r->pos; i < end && n < max; i++) {
		const struct item *x = &r->items[i];

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
