/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon walks a tree while a command asks how far it is. */
#ifndef FOREFETCH_CTL_WALK_H
#define FOREFETCH_CTL_WALK_H

#include <stdbool.h>
#include <stdio.h>

#include "control/control.pb-c.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_mount.h"

/* From now on ^C and TERM do not end the program, but are told here. */
void ctl_walk_catch(void);
bool ctl_walk_stopped(void);

/* Zeros at first. */
struct ctl_walk {
	bool quiet;
	unsigned ms; /* to the next question; 0: the first one */
};
bool ctl_walk_is_shown(const struct ctl_walk *s);
/* A rest before the next question, each time a longer one. */
void ctl_walk_rest(struct ctl_walk *s);
/* How far it is, on a terminal; and a rest before the next question. */
void ctl_walk_show(struct ctl_walk *s, const Forefetch__Warmed *w);
void ctl_walk_clear(const struct ctl_walk *s);

/*
 * Does `one` for the path of each argument, over a connection of its own, whose
 * end also ends a walk that goes on; all of it as one JSON value whose member
 * `key` has an object for each. False where one was false, or the user stopped
 * it.
 */
bool ctl_walk_all(const struct ctl_options *opt, const char *key,
    bool (*one)(struct ctl_client *c, struct ctl_place *at, const char *path,
	const struct ctl_options *opt, struct ctl_json *j));

/* What was fetched: the rest of a line. */
void ctl_walk_put(FILE *out, const Forefetch__Warmed *w);
/* Lines on stdout, where there were some. */
void ctl_walk_put_errors(const Forefetch__Warmed *w);
/* Whether it ended with all that was asked for; a message where the path was
 * not found. */
bool ctl_walk_good(const char *path, const Forefetch__Warmed *w);

#endif
