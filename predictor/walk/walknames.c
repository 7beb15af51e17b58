/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names come back in directory after directory. source_walk.c counts here
 * what clients look up on a walk, and asks for those names ahead where the walk
 * will come. */
#include "predictor/walk/walknames.h"

#include <string.h>

#include <xxhash.h>

enum {
	ASKED_MIN = 2,      /* directories, before it is told ahead */
	KEPT_US = 10000000, /* longer than a want lives */
};

/* A place for the text, or where it is already; NULL: all are in use. */
static const char *keep(
    struct walktexts *texts, const char *text, uint64_t now_us)
{
	int free_at = -1;

	for (int i = 0; i < WALKTEXTS; i++) {
		if (strcmp(texts->at[i].text, text) == 0)
			return texts->at[i].text;
		if (free_at < 0 && (texts->at[i].text[0] == 0 ||
				       texts->at[i].told_us + KEPT_US < now_us))
			free_at = i;
	}
	if (free_at < 0)
		return NULL;
	memcpy(texts->at[free_at].text, text, strlen(text) + 1);
	texts->at[free_at].told_us = now_us;
	return texts->at[free_at].text;
}

/* One directory counts once, however often it is asked. */
static void asked_again(struct walkname *n, struct walktexts *texts,
    const struct walkplace *at, const char *text, uint64_t now_us)
{
	if (n->dir == at->dir)
		return;
	n->dir = at->dir;
	n->count++;
	n->asked[at->class]++;
	/* Its place may have been given to another one since. */
	if (!n->text || strcmp(n->text, text) != 0)
		n->text = keep(texts, text, now_us);
}

/* The name takes a free place, and its directories are counted from here on. */
static void asked_first(
    struct walkname *n, uint64_t hash, const struct walkplace *at)
{
	*n = (struct walkname){.hash = hash, .dir = at->dir, .count = 1};
	n->asked[at->class] = 1;
	for (int i = 0; i < WALKCLASSES; i++)
		n->since[i] = at->numbers[i];
	/* This one counts, too. */
	if (n->since[at->class] > 0)
		n->since[at->class]--;
}

void walknames_asked(struct walkname names[WALKNAMES], struct walktexts *texts,
    const struct walkplace *at, const char *text, uint64_t now_us)
{
	uint64_t hash = XXH3_64bits(text, strlen(text)) | 1;
	struct walkname *place = NULL;

	if (text[0] == 0 || strlen(text) >= WALKNAME_SIZE)
		return;
	for (int i = 0; i < WALKNAMES; i++) {
		if (names[i].hash == hash && names[i].count > 0) {
			asked_again(&names[i], texts, at, text, now_us);
			return;
		}
		if (!place && names[i].count == 0)
			place = &names[i];
	}
	if (place)
		asked_first(place, hash, at);
	for (int i = 0; !place && i < WALKNAMES; i++)
		names[i].count--;
}

float walkname_share(
    const struct walkname *n, unsigned class, const unsigned *numbers)
{
	unsigned dirs = numbers[class] - n->since[class];
	unsigned asked = n->asked[class];

	/* The place of a text may have gone to another walk's name by now. */
	if (n->count < ASKED_MIN || !n->text ||
	    (XXH3_64bits(n->text, strlen(n->text)) | 1) != n->hash)
		return 0;
	if (asked > dirs)
		asked = dirs;
	/* As if one more had been seen where it was, and one where it was not:
	 * one of either class tells nothing. */
	return ((float)asked + 0.5f) / ((float)dirs + 1);
}

void walkname_told(
    const struct walkname *n, struct walktexts *texts, uint64_t now_us)
{
	for (int i = 0; i < WALKTEXTS; i++)
		if (texts->at[i].text == n->text)
			texts->at[i].told_us = now_us;
}
