/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that wait while the daemon walks trees: warm, pin; and hint. */
#ifndef FOREFETCH_WALK_H
#define FOREFETCH_WALK_H

#include <stdbool.h>
#include <stdio.h>

#include "commands/progress.h"
#include "control/control.pb-c.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_mount.h"
#include "text/json.h"

/* From now on, ^C and TERM do not end the program; walk_stopped() says that
 * there was one. */
void walk_catch(void);
bool walk_stopped(void);

struct walk_screen {
	struct progress progress;
	unsigned ms; /* to the next question; 0: the first one */
	/* The connection, and where the walk is, to ask why it waits. */
	struct ctl_client *c;
	const struct ctl_place *at;
	uint64_t begun_us, why_us; /* when that was asked; 0: not yet */
	char why[256];             /* "nas is down for 12 s: ..." or empty */
	bool told;                 /* in a line of its own */
};
/* `c` and `at` may be NULL. */
void walk_init(struct walk_screen *s, const struct ctl_options *opt,
    struct ctl_client *c, const struct ctl_place *at);
/* A rest before the next question, each time a longer one. */
void walk_rest(struct walk_screen *s);
/* Say on stderr what the user should know before it goes on: that the link is
 * metered, or that it waits for the end of a pause. */
void walk_warn(const char *path, const Forefetch__Warmed *w);
/* Show the progress, and rest before the next question. */
void walk_show(struct walk_screen *s, const Forefetch__Warmed *w);
void walk_clear(struct walk_screen *s);

/* Fetches the tree at `path`, and adds what came of it to the open object `j`
 * if there is --json. False, mostly after a message: not all was fetched. */
typedef bool (*walk_fn)(struct ctl_client *c, struct ctl_place *at,
    const char *path, const struct ctl_options *opt, struct json *j);

/*
 * Does `one` for the path of each argument, over a connection of its own, whose
 * end also ends a walk that goes on. With --json it prints one value, whose
 * member `key` has an object for each argument, also for those that failed:
 * "path", what `one` adds, and "error". False where one was false, or the user
 * stopped it.
 */
bool walk_all(const struct ctl_options *opt, const char *key, walk_fn one);

/* Puts what was fetched, as the rest of a line. */
void walk_put(FILE *out, const Forefetch__Warmed *w);
/* Puts what was refused or failed, a line each, if anything. */
void walk_put_errors(const Forefetch__Warmed *w);
/* Whether everything was fetched. Prints a message if the path was not found.
 */
bool walk_good(const char *path, const Forefetch__Warmed *w);

#endif
