/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenarios: what the proxy does between clients and a server, in virtual
 * time. Each is a file FOLDER/NAME.scenario, a sentence a line; a line that
 * begins with `#` is a comment:
 *
 *	given file /f hello                     before the daemon starts
 *	client A sends REMOVE /f                a call goes to the proxy …
 *	server gets REMOVE /f, does it silently … and on; the reply is lost
 *	connection breaks
 *	server gets REMOVE /f again, repeats its reply
 *	client A gets OK                        its next reply
 *	counter upstream_resent is 1
 *
 * `client A does LOOKUP /f` is a call that the server answers by itself.
 * steps.c has all sentences, calltext.h how calls are written. What the
 * server received and no line named is a failure at the end. The program
 * takes names of scenarios (test_scenario mkdir-lost), and with
 * SCENARIO_TRACE=1 prints all that happens, with the daemon's log. To write
 * one: say what must be true, run it, and think before you change the line
 * that fails: it may be the proxy that is wrong.
 */
#ifndef FOREFETCH_TESTS_SCRIPT_H
#define FOREFETCH_TESTS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct world;

/* The words that the `*` and the `...` of a sentence stand for. A comma is a
 * word. */
struct script_match {
	char *one[4];
	char **rest;
	unsigned n;
};

struct script_step {
	const char *sentence;
	void (*run)(struct world *w, const struct script_match *m);
	bool before; /* the daemon does not run yet, or need not */
};

/* steps.c; ends with a sentence that is NULL. */
extern const struct script_step script_steps[];
/* The scenario is over: nothing may be left. */
void script_end(struct world *w);

void script_run(struct world *w, const char *path);
/* The scenario fails in the present line, for this reason. */
_Noreturn void script_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* The same at the end of the line: for callbacks of the event loop. */
void script_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Something happened: to be shown where the scenario fails. */
void script_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool script_is_traced(void);

#endif
