/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A history as a list of events, which a seed makes. Each event has random
 * numbers, and what they mean depends on what is there when it is played ("the
 * third of the calls that wait"). So a history is still one when some of its
 * events were taken out.
 */
#ifndef FOREFETCH_TESTS_EVENT_H
#define FOREFETCH_TESTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_CALL,       /* a client calls */
	EVENT_SERVE,      /* the server deals with one call that waits there */
	EVENT_PASS,       /* time passes */
	EVENT_STRANGER,   /* somebody changes something on the server itself */
	EVENT_COMMAND,    /* a request to the control socket */
	EVENT_TURN,       /* a client begins its turn at a file */
	EVENT_OTHER_TURN, /* somebody at the server begins one */
	/* A client that waits for a change of a name looks into that
	 * directory. */
	EVENT_BEHIND,
	EVENT_ANSWER, /* the farm's engine answers one question */
	EVENT_FAULTS, /* the first of the faults */
	EVENT_KILL = EVENT_FAULTS,
	EVENT_RESTART,
	EVENT_OUTAGE,  /* the server refuses connections for a time */
	EVENT_FLAP,    /* the server does so every three seconds */
	EVENT_SILENCE, /* the server answers nothing for a time */
	EVENT_REBOOT,  /* the server starts again, with an empty reply cache */
	EVENT_BREAK,   /* all connections to the server are reset */
	EVENT_LOSE,    /* the server's next reply is lost with its connection */
	EVENT_REFUSE, /* the server's next reply is an error; nothing is done */
	EVENT_HALF,  /* the server does the next change, and answers an error */
	EVENT_CLOSE, /* a client's connection is reset */
	EVENT_GIVE_UP, /* a client gives up a call, and keeps its connection */
	EVENT_ADDRESS, /* a client has another address */
	EVENT_SLEEP,   /* the machine of client and daemon sleeps */
	EVENT_FARM,    /* the first of those that only a farm has */
	/* The daemon is killed, and another machine without a cache is in its
	 * place. */
	EVENT_FRESH = EVENT_FARM,
	EVENT_ENGINE_AWAY,
	EVENT_ENGINE_HANGS,
	EVENT_DAMAGED, /* the engine's next value is damaged */
	EVENT_OTHER,   /* the engine's next value is another key's */
	EVENT_FORMER,  /* it is the one that the key had before */
	EVENT_KINDS,
};

/* Each part adds something to a history that PART_BASE alone does not have; see
 * event_parts[]. */
enum event_part {
	PART_BASE,
	PART_SPACE,
	PART_AGES,
	PART_TURNS,
	PART_MACHINES,
	PART_ORDER,
	PART_GIVE_UP,
	PART_LATE_WRITES,
	PART_HANDLES,
	PART_FLAPS,
	EVENT_PARTS,
};

/* Which calls an EVENT_CALL may be. */
enum event_call {
	CALL_ANY,
	CALL_LOOK,
	CALL_CHANGE,
	CALL_CREATE, /* from it on: that call */
	CALL_WRITE,
	CALL_GETATTR,
	CALL_READ,
	CALL_READDIR,
	CALL_FSSTAT,
	CALL_LOOKUP,
	CALL_HANDLE,
	CALL_RENAME,       /* of the file onto another one */
	CALL_CREATE_OTHER, /* of the other one */
	CALL_LOOKUP_OTHER,
	CALL_REMOVE_OTHER,
	CALL_NAME, /* a change of a name */
	CALL_GETATTR_TURN,
	CALL_READ_TURN,
};

struct event {
	enum event_kind kind;
	bool
	    prompt; /* the server answers whatever waits, without EVENT_SERVE */
	enum event_call call;
	bool held; /* the engine answers nothing without EVENT_ANSWER */
	uint32_t a, b;
	uint32_t place, detail; /* which file, and what of it */
};

enum {
	EVENT_CALLS = 400,
	EVENT_MAX = 4000,
	EVENT_LONGEST = 7, /* `a` of an EVENT_PASS of up to 8 s */
};

struct history {
	unsigned clients;
	bool farm;
	unsigned parts; /* a bit each */
	unsigned n;
	struct event list[EVENT_MAX];
};

/* Makes the history of a seed, with EVENT_CALLS calls and changes by strangers
 * at most, with a farm or without one, and with those parts. */
void history_make(uint64_t seed, bool farm, unsigned parts, struct history *h);
const char *event_name(enum event_kind kind);

struct event_part_row {
	const char *name, *what; /* a few words */
};
extern const struct event_part_row event_parts[EVENT_PARTS];

#endif
