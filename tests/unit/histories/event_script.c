/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scripts, and their events. */
#include "histories/event_script.h"

#include <stddef.h>

struct script_step {
	enum event_kind kind; /* EVENT_KINDS: see event_between() */
	enum event_call call;
	uint32_t pass; /* `a` of an EVENT_PASS */
	bool held;
	bool other; /* another client than that of the other steps */
	bool slow;  /* the server answers nothing without EVENT_SERVE */
};

struct script {
	enum event_part part;
	const struct script_step *steps;
	unsigned n;
};

/*
 * A machine reads what is firm, and so publishes it; another one comes and asks
 * for it; and while the engine takes its time, something else happens to it.
 * CALL_READ: a file, or a directory's names.
 */
static const struct script_step shared[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_WRITE},
    {.kind = EVENT_PASS, .pass = 3},
    {.kind = EVENT_CALL, .call = CALL_READ},
    {.kind = EVENT_FRESH},
    {.kind = EVENT_CALL, .call = CALL_GETATTR},
    {.kind = EVENT_CALL, .call = CALL_READ, .held = true},
    {.kind = EVENT_KINDS, .held = true},
    {.kind = EVENT_CALL, .call = CALL_LOOK, .held = true},
    {.kind = EVENT_CALL, .call = CALL_LOOK, .held = true},
    {.kind = EVENT_ANSWER, .held = true},
    {.kind = EVENT_CALL, .call = CALL_READ},
};

/* A client asks how much room there is, takes or gives some, and asks again. */
static const struct script_step space[] = {
    {.kind = EVENT_CALL, .call = CALL_FSSTAT},
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_FSSTAT},
    {.kind = EVENT_PASS, .pass = 2},
    {.kind = EVENT_CALL, .call = CALL_CHANGE},
    {.kind = EVENT_CALL, .call = CALL_FSSTAT},
};

/* Somebody else changes a file again and again, and a client looks at it. */
static const struct script_step busy[] = {
    {.kind = EVENT_STRANGER, .call = CALL_CHANGE},
    {.kind = EVENT_PASS, .pass = 4},
    {.kind = EVENT_CALL, .call = CALL_GETATTR},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP},
    {.kind = EVENT_CALL, .call = CALL_READDIR},
    {.kind = EVENT_STRANGER, .call = CALL_CHANGE},
    {.kind = EVENT_PASS, .pass = 5},
    {.kind = EVENT_CALL, .call = CALL_GETATTR},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP},
    {.kind = EVENT_CALL, .call = CALL_READDIR},
};

static const struct script_step turns[] = {
    {.kind = EVENT_TURN},
    {.kind = EVENT_PASS, .pass = 3},
    {.kind = EVENT_OTHER_TURN},
    {.kind = EVENT_PASS, .pass = 4},
    {.kind = EVENT_TURN},
    {.kind = EVENT_PASS, .pass = 2},
    {.kind = EVENT_OTHER_TURN},
    {.kind = EVENT_TURN},
};

/* The file was still for long, so what is known of it counts for longer.
 * Another client looks at it, or the daemon is killed, before the turn is over.
 */
static const struct script_step late[] = {
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_CALL, .call = CALL_GETATTR_TURN},
    {.kind = EVENT_OTHER_TURN},
    {.kind = EVENT_TURN},
    {.kind = EVENT_PASS},
    {.kind = EVENT_CALL, .call = CALL_READ_TURN, .other = true},
    {.kind = EVENT_PASS},
};
static const struct script_step killed[] = {
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_CALL, .call = CALL_GETATTR_TURN},
    {.kind = EVENT_OTHER_TURN},
    {.kind = EVENT_TURN},
    {.kind = EVENT_PASS},
    {.kind = EVENT_KILL},
};

/* A client looks into a directory while the server has not done yet what it
 * changes there. */
static const struct script_step behind[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP},
    {.kind = EVENT_CALL, .call = CALL_READDIR},
    {.kind = EVENT_PASS, .pass = 4},
    {.kind = EVENT_CALL, .call = CALL_NAME, .slow = true},
    {.kind = EVENT_BEHIND, .slow = true},
    {.kind = EVENT_SERVE, .slow = true},
    {.kind = EVENT_SERVE, .slow = true},
};

/* The server is out of reach when a client changes something; nobody waits for
 * that any more when it is back. */
static const struct script_step unsent[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP},
    {.kind = EVENT_OUTAGE},
    {.kind = EVENT_CALL, .call = CALL_CHANGE},
    {.kind = EVENT_PASS, .pass = 6},
    {.kind = EVENT_GIVE_UP},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
};

/* The same, where the server had it already. */
static const struct script_step unanswered[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP},
    {.kind = EVENT_CALL, .call = CALL_CHANGE, .slow = true},
    {.kind = EVENT_OUTAGE, .slow = true},
    {.kind = EVENT_PASS, .pass = 6},
    {.kind = EVENT_GIVE_UP},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
    {.kind = EVENT_PASS, .pass = 7},
};

/* Somebody else moves a file onto another one, whose name the client removes
 * then. */
static const struct script_step moved[] = {
    {.kind = EVENT_CALL, .call = CALL_CREATE},
    {.kind = EVENT_CALL, .call = CALL_CREATE_OTHER},
    {.kind = EVENT_PASS, .pass = 4},
    {.kind = EVENT_CALL, .call = CALL_GETATTR},
    {.kind = EVENT_CALL, .call = CALL_LOOKUP_OTHER},
    {.kind = EVENT_STRANGER, .call = CALL_RENAME},
    {.kind = EVENT_CALL, .call = CALL_REMOVE_OTHER},
    {.kind = EVENT_CALL, .call = CALL_HANDLE},
};

#define SCRIPT(of, steps)                                                      \
	{                                                                      \
		(of), (steps), sizeof(steps) / sizeof((steps)[0])              \
	}

static const struct script sharing = SCRIPT(PART_BASE, shared);
static const struct script scripts[] = {
    SCRIPT(PART_SPACE, space),
    SCRIPT(PART_AGES, busy),
    SCRIPT(PART_TURNS, turns),
    SCRIPT(PART_TURNS, late),
    SCRIPT(PART_TURNS, killed),
    SCRIPT(PART_HANDLES, moved),
    SCRIPT(PART_GIVE_UP, unsent),
    SCRIPT(PART_GIVE_UP, unanswered),
    SCRIPT(PART_ORDER, behind),
};

enum { SCRIPTS = sizeof(scripts) / sizeof(scripts[0]) };

static void begin(struct script_place *s, const struct script *of,
    const struct event *e, enum event_call shares)
{
	*s = (struct script_place){.of = of,
	    .shares = shares,
	    .place = e->place,
	    .detail = e->detail,
	    .who = e->a};
}

void script_share(struct script_place *s, const struct event *e)
{
	begin(s, &sharing, e, e->b % 4 ? CALL_READ : CALL_READDIR);
}

void script_begin(struct script_place *s, const struct event *e, unsigned parts)
{
	for (unsigned i = 0; i < SCRIPTS; i++) {
		const struct script *of = &scripts[(e->b + i) % SCRIPTS];

		if (parts & 1u << of->part) {
			begin(s, of, e, CALL_READ);
			return;
		}
	}
}

/* A change by a stranger, or one of our own, or nothing. */
static void event_between(struct event *e)
{
	static const enum event_kind kind[] = {
	    EVENT_STRANGER, EVENT_CALL, EVENT_SERVE};

	e->kind = kind[e->b % 3];
	e->call = CALL_CHANGE;
}

void script_event(struct script_place *s, struct event *e)
{
	const struct script_step *step = &s->of->steps[s->step++];

	e->kind = step->kind;
	e->call = step->call == CALL_READ ? s->shares : step->call;
	e->held = step->held;
	e->prompt = !step->slow;
	e->place = s->place;
	e->detail = s->detail;
	if (e->kind == EVENT_PASS)
		e->a = step->pass;
	else if (e->kind == EVENT_KINDS)
		event_between(e);
	else if (s->of != &sharing)
		e->a = s->who + step->other;
	if (s->step == s->of->n)
		s->of = NULL;
}
