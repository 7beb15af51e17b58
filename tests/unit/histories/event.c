/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a history's events. */
#include "histories/event.h"

#include <stddef.h>

#include "histories/event_script.h"

/* How often each kind comes. */
static const struct {
	const char *name;
	unsigned weight;
	enum event_part part;
} kinds[EVENT_KINDS] = {
    [EVENT_CALL] = {"call", 4500, PART_BASE},
    [EVENT_SERVE] = {"serve", 2000, PART_BASE},
    [EVENT_PASS] = {"pass", 1500, PART_BASE},
    [EVENT_STRANGER] = {"stranger", 250, PART_BASE},
    [EVENT_COMMAND] = {"command", 20, PART_BASE},
    [EVENT_TURN] = {"turn", 250, PART_TURNS},
    [EVENT_OTHER_TURN] = {"other-turn", 150, PART_TURNS},
    [EVENT_BEHIND] = {"behind", 100, PART_ORDER},
    [EVENT_ANSWER] = {"answer", 1500, PART_BASE},
    [EVENT_KILL] = {"kill", 14, PART_BASE},
    [EVENT_RESTART] = {"restart", 10, PART_BASE},
    [EVENT_OUTAGE] = {"outage", 12, PART_BASE},
    [EVENT_FLAP] = {"flap", 10, PART_FLAPS},
    [EVENT_SILENCE] = {"silence", 10, PART_BASE},
    [EVENT_REBOOT] = {"reboot", 12, PART_BASE},
    [EVENT_BREAK] = {"break", 16, PART_BASE},
    [EVENT_LOSE] = {"lose", 24, PART_BASE},
    [EVENT_REFUSE] = {"refuse", 16, PART_BASE},
    [EVENT_HALF] = {"half", 16, PART_BASE},
    [EVENT_CLOSE] = {"close", 16, PART_BASE},
    [EVENT_GIVE_UP] = {"give-up", 24, PART_GIVE_UP},
    [EVENT_ADDRESS] = {"address", 8, PART_BASE},
    [EVENT_SLEEP] = {"sleep", 6, PART_BASE},
    [EVENT_FRESH] = {"fresh", 150, PART_BASE},
    [EVENT_ENGINE_AWAY] = {"away", 12, PART_BASE},
    [EVENT_ENGINE_HANGS] = {"hangs", 12, PART_BASE},
    [EVENT_DAMAGED] = {"damaged", 30, PART_BASE},
    [EVENT_OTHER] = {"other", 120, PART_BASE},
    [EVENT_FORMER] = {"former", 30, PART_BASE},
};

/*
 * For a while clients and strangers are busy with a few files, as people are.
 * Without that hardly any call asks for what was asked before, and a cache has
 * nothing to answer.
 */
enum { SPELL_EVENTS = 120, SPELL_FILES = 3, FOLLOW = 4, SCRIPT_EVERY = 60 };

struct place_detail {
	uint32_t place, detail;
};

struct spell {
	unsigned left;
	bool farm;
	unsigned parts;
	bool prompt;
	bool quiet; /* clients only look, so machines have the same to share */
	struct place_detail files[SPELL_FILES];
	/* After a stranger's change: time passes, and clients look at it. */
	unsigned follow;
	struct place_detail changed;
	bool held;
	struct script_place script;
};

/* Xorshift64*, Marsaglia and Vigna. */
static uint32_t next(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return (uint32_t)((*x * UINT64_C(2685821657736338717)) >> 32);
}

static unsigned weight_of(unsigned kind, const struct spell *s)
{
	bool farms = kind == EVENT_ANSWER || kind >= EVENT_FARM;

	if ((farms && !s->farm) || !(s->parts & 1u << kinds[kind].part))
		return 0;
	return kinds[kind].weight;
}

static enum event_kind pick(uint32_t r, const struct spell *s)
{
	unsigned sum = 0, at = 0;

	for (unsigned i = 0; i < EVENT_KINDS; i++)
		sum += weight_of(i, s);
	r %= sum;
	while (r >= weight_of(at, s))
		r -= weight_of(at++, s);
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

static void event_script(struct event *e, struct spell *s, uint32_t r)
{
	if (e->kind == EVENT_FRESH)
		script_share(&s->script, e);
	else if (r % SCRIPT_EVERY == 0)
		script_begin(&s->script, e, s->parts);
}

static void event_make(struct event *e, struct spell *s, uint64_t *x)
{
	unsigned file = next(x) % (SPELL_FILES + 1);
	uint32_t script = next(x);

	e->kind = pick(next(x), s);
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
	if (!s->script.of && s->follow == 0)
		event_script(e, s, script);
	if (s->script.of) {
		script_event(&s->script, e);
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

void history_make(uint64_t seed, bool farm, unsigned parts, struct history *h)
{
	uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	struct spell spell = {.farm = farm, .parts = parts};
	unsigned calls = 0;

	h->clients = next(&x) % 2 ? 2 : 4;
	h->farm = farm;
	h->parts = parts;
	h->n = 0;
	while (calls < EVENT_CALLS && h->n < EVENT_MAX) {
		struct event *e = &h->list[h->n++];

		if (spell.left-- == 0)
			spell_begin(&spell, &x);
		event_make(e, &spell, &x);
		calls += e->kind == EVENT_CALL || e->kind == EVENT_STRANGER;
	}
}

const struct event_part_row event_parts[EVENT_PARTS] = {
    [PART_BASE] = {"base", "what every history has"},
    [PART_SPACE] = {"space", "how much room the file system has"},
    [PART_AGES] = {"ages", "what changed lately is told for a short time"},
    [PART_TURNS] = {"turns", "two clients change a file in turn"},
    [PART_MACHINES] = {"machines", "in turns, another machine looks, too"},
    [PART_ORDER] = {"order", "a client looks behind a change of its own"},
    [PART_GIVE_UP] = {"give-up", "a client gives up a call"},
    [PART_LATE_WRITES] = {"late-writes", "give-up counts for WRITEs, too"},
    [PART_HANDLES] = {"handles", "a client looks at what lost its name"},
    [PART_FLAPS] = {"flaps", "the server is away every three seconds"},
};

const char *event_name(enum event_kind kind)
{
	return kinds[kind].name;
}
