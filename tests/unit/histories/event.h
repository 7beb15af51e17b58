/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A history as a list of events, which a seed makes. An event is told by random
 * numbers that mean something in whatever state it is met in ("the third of
 * what waits"), so that a history from which events were taken out is one, too.
 */
#ifndef FOREFETCH_TESTS_EVENT_H
#define FOREFETCH_TESTS_EVENT_H

#include <stdint.h>

enum event_kind {
	EVENT_CALL,     /* a client calls */
	EVENT_SERVE,    /* the server does or answers one of its calls */
	EVENT_PASS,     /* time passes */
	EVENT_STRANGER, /* somebody changes something on the server itself */
	EVENT_COMMAND,  /* of `forefetch` */
	EVENT_FAULTS,   /* from here on, all are faults */
	EVENT_KILL = EVENT_FAULTS,
	EVENT_RESTART,
	EVENT_OUTAGE,  /* the server cannot be reached */
	EVENT_SILENCE, /* the server does nothing */
	EVENT_REBOOT,  /* the server forgets its replies */
	EVENT_BREAK,   /* all connections to the server are reset */
	EVENT_LOSE,    /* a call is done, its reply lost */
	EVENT_REFUSE,  /* a call is answered by an error */
	EVENT_HALF,    /* a change is done, and answered by an error */
	EVENT_CLOSE,   /* a client's connection is reset */
	EVENT_ADDRESS, /* a client has another address */
	EVENT_SLEEP,   /* the machine sleeps */
	EVENT_KINDS,
};

struct event {
	enum event_kind kind;
	uint32_t a, b, c, d;
};

enum { EVENT_CALLS = 400, EVENT_MAX = 6000 };

/* Fills `list` by the seed: about EVENT_CALLS operations, and what is around
 * them. Returns how many events these are. */
unsigned event_list(uint64_t seed, struct event list[EVENT_MAX]);
const char *event_name(enum event_kind kind);

#endif
