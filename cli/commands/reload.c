/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch reload has the daemon read its configuration again, and shows what
 * came of each change. The answer comes when the servers that were added
 * listen, so a script can mount right after this. */
#include <stdio.h>
#include <stdlib.h>

#include "commands/command_list.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_put.h"
#include "text/json.h"

/* Words for the kinds of a change, by the numbers of Change.ChangeKind. */
static const char *const kinds[] = {
    [FOREFETCH__CHANGE__CHANGE_KIND__ADDED] = "added",
    [FOREFETCH__CHANGE__CHANGE_KIND__CHANGED] = "changed",
    [FOREFETCH__CHANGE__CHANGE_KIND__REMOVED] = "removed",
    [FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART] = "a restart is needed",
    [FOREFETCH__CHANGE__CHANGE_KIND__FAILED] = "failed",
};

/* Whether the daemon now does as the file says. */
static bool is_taken_up(const Forefetch__Change *change)
{
	return change->kind == FOREFETCH__CHANGE__CHANGE_KIND__ADDED ||
	       change->kind == FOREFETCH__CHANGE__CHANGE_KIND__CHANGED ||
	       change->kind == FOREFETCH__CHANGE__CHANGE_KIND__REMOVED;
}

/* A change that waits for a restart did not fail: the configuration is right,
 * and the daemon cannot change this one setting while it runs. */
static bool has_failed(const Forefetch__Change *change)
{
	return !is_taken_up(change) &&
	       change->kind != FOREFETCH__CHANGE__CHANGE_KIND__NEEDS_RESTART;
}

/* Prints "server nas: prefetch: changed". A change that was not taken up goes
 * to stderr, where systemd and scripts look for it. A change of the whole file
 * has neither server nor setting: then the file was wrong, and nothing was
 * applied. */
static void put_change(const Forefetch__Change *change)
{
	bool good = is_taken_up(change);
	bool known = (size_t)change->kind < sizeof(kinds) / sizeof(kinds[0]);
	FILE *out = good ? stdout : stderr;

	if (!good)
		fputs("forefetch: ", out);
	if (change->server.len > 0)
		ctl_put(out, change, "server {server}: ");
	if (*change->setting)
		ctl_put(out, change, "{setting}: ");
	if (!good && change->server.len == 0 && !*change->setting)
		fputs("the configuration was not applied", out);
	else
		fputs(known ? kinds[change->kind] : "?", out);
	if (change->why.len > 0)
		ctl_put(out, change, ": {why}");
	putc('\n', out);
}

static int reload_run(const struct ctl_options *opt)
{
	Forefetch__ReloadRequest reload = FOREFETCH__RELOAD_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_call(opt->socket, FOREFETCH__REQUEST__COMMAND_RELOAD, &reload);
	int code = EXIT_SUCCESS;

	if (!res)
		return EXIT_FAILURE;
	if (opt->json)
		json_print(res->reload);
	else if (res->reload->n_changes == 0)
		puts("nothing changed");
	for (size_t i = 0; i < res->reload->n_changes; i++) {
		if (!opt->json)
			put_change(res->reload->changes[i]);
		if (has_failed(res->reload->changes[i]))
			code = EXIT_FAILURE;
	}
	ctl_free(res);
	return code;
}

const struct ctl_command reload_command = {
    .name = "reload",
    .usage = "[--json]",
    .summary = "reload the configuration",
    .help = "Makes forefetchd read its configuration again and apply the "
	    "changes, and\n"
	    "shows which were applied, which need a restart, and which failed. "
	    "Exits\n"
	    "with 1 if any failed. Only root and the user that forefetchd runs "
	    "as may\n"
	    "do this.\n",
    .options = "json",
    .run = reload_run,
    .args_max = -1,
};
