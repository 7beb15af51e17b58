/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a played history share. */
#ifndef FOREFETCH_TESTS_PLAY_PRIVATE_H
#define FOREFETCH_TESTS_PLAY_PRIVATE_H

#include "histories/play.h"
#include "scenario/script.h"
#include "sweep/place.h"

struct player {
	struct client *client;
	bool waits;
	char told[CALLTEXT_MAX]; /* its call, in one piece */
	struct judge_op op;
};

struct play {
	struct place place;
	struct judge *judge;
	struct play_result *out;
	struct player players[PLACE_CLIENTS];
	unsigned nplayers;
	bool out_of_reach;    /* the server */
	bool offline;         /* the mode */
	bool away;            /* as far as the daemon can know */
	uint64_t answered_ns; /* by the server */
	uint64_t back_ns;     /* when an outage ends */
	uint64_t silent_ns;   /* until when it does nothing */
};

/* play_choose.c: which call, which change. */
void play_given(struct memfs *fs);
void play_choose_call(const struct event *e, char *text);
/* Cuts words apart where they lie, and keeps the text in `whole`. */
unsigned play_cut(char *text, char **words, char *whole);
void play_stranger(struct memfs *fs, const struct event *e);

#endif
