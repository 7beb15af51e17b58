/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings: a thing that was looked at, how it is, and what to do about it. */
#ifndef FOREFETCH_FINDING_H
#define FOREFETCH_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "text/json.h"

enum finding_state {
	FINDING_OK,
	FINDING_NOTE, /* worth to know, and not wrong */
	FINDING_SKIP, /* it could not be looked at */
	FINDING_WARN,
	FINDING_FAIL,
};

/* All texts are the list's; bytes of a server may be in them. */
struct finding {
	enum finding_state state;
	char *what;
	char *fact;
	char *remedy; /* NULL: none */
};

struct findings {
	struct finding *list;
	size_t count;
	size_t room;
};

/* Without memory a finding is left out. */
void findings_add(struct findings *all, enum finding_state state,
    const char *what, const char *fact, ...)
    __attribute__((format(printf, 4, 5)));
/* Says what to do about the last one. */
void findings_remedy(struct findings *all, const char *remedy, ...)
    __attribute__((format(printf, 2, 3)));
void findings_free(struct findings *all);

/* The worst of them. */
enum finding_state findings_worst(const struct findings *all);
size_t findings_count(const struct findings *all, enum finding_state state);

/* A line each, and its remedy behind an arrow; in colour if `colour`. */
void findings_print(const struct findings *all, FILE *out, bool colour);
/* Members of an array that is open. */
void findings_json(const struct findings *all, struct json *j);

/* To another process and back: false where it was cut off. */
void findings_send(const struct findings *all, FILE *to);
bool findings_receive(struct findings *all, const char *data, size_t len);

#endif
