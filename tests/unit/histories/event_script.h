/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts: short rows of events about one file, which by chance alone come too
 * rarely. Events that a script does not name do not come in between, so a row
 * is what somebody does at once; what else happens, happens before and after
 * it.
 */
#ifndef FOREFETCH_TESTS_EVENT_SCRIPT_H
#define FOREFETCH_TESTS_EVENT_SCRIPT_H

#include "histories/event.h"

struct script;

/* The script that is being played, where one is. */
struct script_place {
	const struct script *of; /* NULL: none */
	unsigned step;
	enum event_call shares; /* what stands for CALL_READ */
	uint32_t place, detail, who;
};

/* Machines of a farm share the file, or the directory, of the event. */
void script_share(struct script_place *s, const struct event *e);
/* One of the scripts that `parts` have, about the event's file; none where
 * there is none. */
void script_begin(
    struct script_place *s, const struct event *e, unsigned parts);
/* Makes the next event of the script from the event's random numbers. */
void script_event(struct script_place *s, struct event *e);

#endif
