/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings: for each thing that was looked at, how it is, and what to do about
 * it. A list of them is {0} at first, and freed by findings_free(). */
#ifndef FOREFETCH_FINDING_H
#define FOREFETCH_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "text/json.h"

/* How a thing is, from best to worst. */
enum finding_state {
	/* In order. */
	FINDING_OK,
	/* Worth to know, and not wrong. */
	FINDING_NOTE,
	/* Could not be looked at. */
	FINDING_SKIP,
	/* Works, but not as it should, or not for long. */
	FINDING_WARN,
	/* Does not work. */
	FINDING_FAIL,
};

/* One finding. All texts are allocated and the list's; bytes of a server may be
 * in them. */
struct finding {
	enum finding_state state;
	/* The thing that was looked at, in a word or two. */
	char *what;
	/* How it is: a sentence without a full stop. */
	char *fact;
	/* The action that mends it; NULL or "": there is none. */
	char *remedy;
};

/* A list of `count` findings, with memory for `room`. */
struct findings {
	struct finding *list;
	size_t count;
	size_t room;
};

/* Adds a finding, whose fact is made as by printf(3); `what` is copied. Without
 * memory the finding is left out. */
void findings_add(struct findings *all, enum finding_state state,
    const char *what, const char *fact, ...)
    __attribute__((format(printf, 4, 5)));
/* Says what to do about the last finding that was added. */
void findings_remedy(struct findings *all, const char *remedy, ...)
    __attribute__((format(printf, 2, 3)));
/* Frees all findings and their texts; the list is empty afterwards. */
void findings_free(struct findings *all);

/* The worst state of all; FINDING_OK of none. */
enum finding_state findings_worst(const struct findings *all);
/* How many have that state. */
size_t findings_count(const struct findings *all, enum finding_state state);

/* Prints each on a line, and its remedy behind an arrow on the next; in colour
 * if `colour`. On a terminal, lines are folded at its width. */
void findings_print(const struct findings *all, FILE *out, bool colour);
/* Writes them as members of the array that is open in `j`: "state", "what",
 * "fact", "remedy". */
void findings_json(const struct findings *all, struct json *j);
/* The same without "fact" and "remedy". */
void findings_json_short(const struct findings *all, struct json *j);

/* Carries findings to another process of this program: findings_send() writes
 * them to a pipe, findings_receive() adds what came from it to a list. False
 * where it was cut off; what was whole has been added then. */
void findings_send(const struct findings *all, FILE *to);
bool findings_receive(struct findings *all, const char *data, size_t len);

#endif
