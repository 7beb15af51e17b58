/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One conversation: strangers and a server say to the daemon what a text tells
 * them to. Then the strangers leave, the server is a good one, and a client of
 * the kernel's kind has to be served: with the right answers by this daemon if
 * the server never lied, else by the next one, whose caches are empty.
 */
#ifndef FOREFETCH_FUZZ_TALK_H
#define FOREFETCH_FUZZ_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/line.h"
#include "sweep/place.h"

enum { TALK_STRANGERS = 3, TALK_STEPS = 80 };

struct talk {
	struct place place;
	struct stranger *strangers[TALK_STRANGERS];
	bool lied;          /* the server */
	struct line mood;   /* what it says to each call as it comes */
	unsigned moody;     /* calls that were answered so */
	unsigned starts;    /* of the daemon, that steps made */
	uint64_t passed_us; /* by steps */
	unsigned char mount[64];
};

/* Aborts where something is wrong. */
void talk(const char *text, size_t len);

/* steps.c */
void talk_step(struct talk *t, struct line *l);
void talk_start(struct talk *t);
/* honest.c */
void talk_judge(struct talk *t);

#endif
