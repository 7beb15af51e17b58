/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that wait while the daemon walks trees: warm, pin; and hint, which
 * waits for its reader. They have ^C, the screen and the end of the walk in
 * common. */
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

/* From now on ^C and TERM do not end the program; walk_stopped() says that
 * there was one. System calls that wait are interrupted by them (EINTR). */
void walk_catch(void);
bool walk_stopped(void);

/* The screen of one walk. Start with walk_init(); nothing is to be freed. */
struct walk_screen {
	struct progress progress;
	/* Milliseconds to the next question; 0: it is the first one. */
	unsigned ms;
	/* The connection, and where the walk is, to ask why it waits; both are
	 * the caller's, NULL where nobody asks. */
	struct ctl_client *c;
	const struct ctl_place *at;
	/* When the walk began, and when the daemon was asked why it waits; 0:
	 * not yet. */
	uint64_t begun_us, why_us;
	/* "nas is down for 12 s: ...", or empty. */
	char why[256];
	/* It was printed in a line of its own. */
	bool told;
};
/* `c` and `at` stay the caller's and live as long as the screen. They may be
 * NULL; then nothing is said of why it waits. */
void walk_init(struct walk_screen *s, const struct ctl_options *opt,
    struct ctl_client *c, const struct ctl_place *at);
/* Sleeps before the next question, each time for longer, up to a quarter of a
 * second. */
void walk_rest(struct walk_screen *s);
/* Says on stderr what the user should know before it goes on: that the link is
 * metered, or that it waits for the end of a pause. */
void walk_warn(const char *path, const Forefetch__Warmed *w);
/* Shows the progress that the daemon told last, and rests before the next
 * question. False if the user has stopped the command: then that question is
 * the last one, and its answer says how far the walk came until the stop. */
bool walk_show(struct walk_screen *s, const Forefetch__Warmed *w);
/* Takes the line of progress off the terminal; to be called before anything
 * else is printed, and at the end. */
void walk_clear(struct walk_screen *s);

/* Has the tree at `path` fetched, and adds what came of it to the open object
 * `j` if there is --json. `at` is where the path lies at the server. False if
 * not all was fetched, mostly after a message. */
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
/* Whether everything was fetched: the walk has ended and nothing was refused or
 * failed. Prints a message if the path was not found at the server. */
bool walk_good(const char *path, const Forefetch__Warmed *w);

#endif
