/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a history's events. */
#include "histories/event.h"

#include <stddef.h>

/* How often each kind comes. */
static const struct {
	const char *name;
	unsigned weight;
} kinds[EVENT_KINDS] = {
    [EVENT_CALL] = {"call", 4500},
    [EVENT_SERVE] = {"serve", 2000},
    [EVENT_PASS] = {"pass", 1500},
    [EVENT_STRANGER] = {"stranger", 250},
    [EVENT_COMMAND] = {"command", 20},
    [EVENT_ANSWER] = {"answer", 1500},
    [EVENT_KILL] = {"kill", 14},
    [EVENT_RESTART] = {"restart", 10},
    [EVENT_OUTAGE] = {"outage", 12},
    [EVENT_SILENCE] = {"silence", 10},
    [EVENT_REBOOT] = {"reboot", 12},
    [EVENT_BREAK] = {"break", 16},
    [EVENT_LOSE] = {"lose", 24},
    [EVENT_REFUSE] = {"refuse", 16},
    [EVENT_HALF] = {"half", 16},
    [EVENT_CLOSE] = {"close", 16},
    [EVENT_ADDRESS] = {"address", 8},
    [EVENT_SLEEP] = {"sleep", 6},
    [EVENT_FRESH] = {"fresh", 150},
    [EVENT_ENGINE_AWAY] = {"away", 12},
    [EVENT_ENGINE_HANGS] = {"hangs", 12},
    [EVENT_DAMAGED] = {"damaged", 30},
    [EVENT_OTHER] = {"other", 120},
    [EVENT_FORMER] = {"former", 30},
};

/*
 * For a while clients and strangers are busy with a few files, as people are.
 * Without that hardly any call asks for what was asked before, and a cache has
 * nothing to answer.
 */
enum { SPELL_EVENTS = 120, SPELL_FILES = 3, FOLLOW = 4 };

struct place_detail {
	uint32_t place, detail;
};

struct spell {
	unsigned left;
	bool farm;
	bool prompt;
	bool quiet; /* clients only look, so machines have the same to share */
	struct place_detail files[SPELL_FILES];
	/* After a stranger's change: time passes, and clients look at it. */
	unsigned follow;
	struct place_detail changed;
	bool held;
	unsigned step; /* of shared[], from 1; 0: of none */
	enum event_call shares;
	struct place_detail shared;
};

/*
 * A machine reads what is firm, and so publishes it; another one comes and asks
 * for it; and while the engine takes its time, something else happens to it. By
 * chance alone that comes too rarely. CALL_READ: a file, or a directory's
 * names.
 */
static const struct {
	enum event_kind kind;
	enum event_call call;
	uint32_t pass; /* `a` of an EVENT_PASS */
	bool held;
} shared[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_WRITE},
    {.kind = EVENT_PASS, .pass = 3},
    {.kind = EVENT_CALL, .call = CALL_READ},
    {.kind = EVENT_FRESH},
    {.kind = EVENT_CALL, .call = CALL_GETATTR},
    {.kind = EVENT_CALL, .call = CALL_READ, .held = true},
    {.kind = EVENT_KINDS, .held = true}, /* see event_between() */
    {.kind = EVENT_CALL, .call = CALL_LOOK, .held = true},
    {.kind = EVENT_CALL, .call = CALL_LOOK, .held = true},
    {.kind = EVENT_ANSWER, .held = true},
    {.kind = EVENT_CALL, .call = CALL_READ},
};

enum { SHARED_STEPS = sizeof(shared) / sizeof(shared[0]) };

/* Xorshift64*, Marsaglia and Vigna. */
static uint32_t next(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return (uint32_t)((*x * UINT64_C(2685821657736338717)) >> 32);
}

static unsigned weight_of(unsigned kind, bool farm)
{
	bool farms = kind == EVENT_ANSWER || kind >= EVENT_FARM;

	return farms && !farm ? 0 : kinds[kind].weight;
}

static enum event_kind pick(uint32_t r, bool farm)
{
	unsigned sum = 0, at = 0;

	for (unsigned i = 0; i < EVENT_KINDS; i++)
		sum += weight_of(i, farm);
	r %= sum;
	while (r >= weight_of(at, farm))
		r -= weight_of(at++, farm);
	return (enum event_kind)at;
}

static void spell_begin(struct spell *s, uint64_t *x)
{
	s->left = 1 + next(x) % SPELL_EVENTS;
	s->prompt = next(x) % 4 > 0;
	s->quiet = s->farm && next(x) % 2;
	s->held = s->farm && next(x) % 4 == 0;
	for (unsigned i = 0; i < SPELL_FILES; i++) {
		s->files[i].place = next(x);
		s->files[i].detail = next(x);
	}
}

/* A long time at first, so that the bounds of time end, and then calls. */
static void event_follow(struct event *e, struct spell *s)
{
	e->kind = s->follow == FOLLOW ? EVENT_PASS : EVENT_CALL;
	if (e->kind == EVENT_PASS)
		e->a = EVENT_LONGEST;
	e->place = s->changed.place;
	e->detail = s->changed.detail;
	s->follow--;
}

static void shared_begin(struct spell *s, const struct event *e)
{
	s->step = 1;
	s->shares = e->b % 4 ? CALL_READ : CALL_READDIR;
	s->shared.place = e->place;
	s->shared.detail = e->detail;
}

/* A change by a stranger, or one of our own, or nothing. */
static void event_between(struct event *e)
{
	static const enum event_kind kind[] = {
	    EVENT_STRANGER, EVENT_CALL, EVENT_SERVE};

	e->kind = kind[e->b % 3];
	e->call = CALL_CHANGE;
}

static void event_shared(struct event *e, struct spell *s)
{
	unsigned at = s->step - 1;

	e->kind = shared[at].kind;
	e->call = shared[at].call == CALL_READ ? s->shares : shared[at].call;
	e->held = shared[at].held;
	e->prompt = true;
	e->place = s->shared.place;
	e->detail = s->shared.detail;
	if (e->kind == EVENT_PASS)
		e->a = shared[at].pass;
	else if (e->kind == EVENT_KINDS)
		event_between(e);
	s->step = s->step < SHARED_STEPS ? s->step + 1 : 0;
}

static void event_make(struct event *e, struct spell *s, uint64_t *x)
{
	unsigned file = next(x) % (SPELL_FILES + 1);

	e->kind = pick(next(x), s->farm);
	e->prompt = s->prompt;
	e->call = s->quiet ? CALL_LOOK : CALL_ANY;
	e->held = s->held;
	e->a = next(x);
	e->b = next(x);
	e->place = next(x);
	e->detail = next(x);
	if (file < SPELL_FILES) {
		e->place = s->files[file].place;
		e->detail = s->files[file].detail;
	}
	if (e->kind == EVENT_FRESH && s->step == 0 && s->follow == 0)
		shared_begin(s, e);
	if (s->step > 0) {
		event_shared(e, s);
	} else if (s->follow > 0) {
		event_follow(e, s);
	} else if (e->kind == EVENT_STRANGER) {
		s->changed.place = e->place;
		s->changed.detail = e->detail;
		s->follow = FOLLOW;
		/* No time passes in half the cases: questions to the engine are
		 * not over then. */
		if (s->farm && e->b >> 31)
			s->follow--;
	}
}

void history_make(uint64_t seed, bool farm, struct history *h)
{
	uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	struct spell spell = {.farm = farm};
	unsigned calls = 0;

	h->clients = next(&x) % 2 ? 2 : 4;
	h->farm = farm;
	h->n = 0;
	while (calls < EVENT_CALLS && h->n < EVENT_MAX) {
		struct event *e = &h->list[h->n++];

		if (spell.left-- == 0)
			spell_begin(&spell, &x);
		event_make(e, &spell, &x);
		calls += e->kind == EVENT_CALL || e->kind == EVENT_STRANGER;
	}
}

const char *event_name(enum event_kind kind)
{
	return kinds[kind].name;
}
