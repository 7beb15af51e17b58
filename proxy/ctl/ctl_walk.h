/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that wait while the daemon walks trees: warm, pin; and hint. */
#ifndef FOREFETCH_CTL_WALK_H
#define FOREFETCH_CTL_WALK_H

#include <stdbool.h>
#include <stdio.h>

#include "control/control.pb-c.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_mount.h"

/* From now on, ^C and TERM do not end the program; ctl_walk_stopped() says that
 * there was one. */
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
/* Show the progress, if stderr is a terminal, and rest before the next
 * question. */
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
/* What was refused or failed, a line each, if anything. */
void ctl_walk_put_errors(const Forefetch__Warmed *w);
/* Whether everything was fetched. Prints a message if the path was not found.
 */
bool ctl_walk_good(const char *path, const Forefetch__Warmed *w);

#endif
