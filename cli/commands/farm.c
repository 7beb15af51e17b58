/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch farm: its actions, and the one that needs no daemon, which makes
 * the key that the machines of a farm have in common. farm_status.c has
 * `status` and `flush`, farm_check.c has `check`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "commands/farm.h"
#include "config/spelling.h"
#include "ctl/ctl_text.h"
#include "farm/seal.h"
#include "text/json.h"

/* ---- key -------------------------------------------------------------- */

/* Prints "forefetch: FILE: WHAT" on stderr; returns EXIT_FAILURE, for callers
 * that end with it. */
static int complain(const char *file, const char *what)
{
	ctl_complain(file, "%s", what);
	return EXIT_FAILURE;
}

/* A sentence for the errors of seal_make_file() that a person can do something
 * about. An existing file is never replaced: machines that have its old content
 * would become a farm of their own, and nobody would see why they share
 * nothing. */
static const char *why_not_made(int error)
{
	switch (error) {
	case -EEXIST:
		return "it exists already, and was left as it is; a new key "
		       "would begin another farm, so remove the file first if "
		       "you want that";
	case -ENOENT:
	case -ENOTDIR:
		return "there is no such directory; create it first, or name "
		       "another";
	case -EACCES:
	case -EPERM:
		return "you may not write there; use sudo";
	default:
		return strerror(-error);
	}
}

/* The prefix is derived from the key and is no secret; with it an administrator
 * of the engine can tell this farm's values (redis-cli --scan) or limit its
 * user to them. */
static void tell_key(const char *file, const char *prefix)
{
	printf("%s: a new key, which only its owner may read\n"
	       "  values of its farm are below %s\n"
	       "  give it to the user of forefetchd:  chown forefetch: %s\n"
	       "  and copy it to each machine of the farm, where key_file in "
	       "[farm] names it\n",
	    file, prefix, file);
}

/* Makes the file and loads it again, so that a disk that did not keep it shows
 * here and not when the daemons start. */
static int make_key(const struct ctl_options *opt)
{
	struct json json = {.out = stdout};
	const char *file = opt->args[1];
	int rc = seal_make_file(file);
	char err[512];
	struct seal *s;

	if (rc < 0)
		return complain(file, why_not_made(rc));
	s = seal_load(file, err, sizeof(err));
	if (!s) {
		ctl_complain(NULL, "%s", err);
		return EXIT_FAILURE;
	}
	if (opt->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "file", file);
		json_text(&json, "prefix", seal_prefix(s));
		json_close(&json, '}');
		putchar('\n');
	} else {
		tell_key(file, seal_prefix(s));
	}
	seal_free(s);
	return EXIT_SUCCESS;
}

/* ---- the command ------------------------------------------------------ */

/* The actions by name. spelling_meant() reads the names as the first member of
 * each row, so `name` stays first. */
static const struct farm_action {
	const char *name;
	/* How many arguments follow the action. */
	int args_min, args_max;
	/* Returns an exit code. `key` asks no daemon, all others do, over a
	 * connection of their own. */
	int (*run)(const struct ctl_options *opt);
} actions[] = {
    {"key", 1, 1, make_key},
    {"status", 0, 0, farm_status},
    {"check", 0, 0, farm_check},
    {"flush", 0, 0, farm_flush},
};

/* Without an action it shows the status, which is what people want most often
 * and changes nothing. */
static int farm_run(const struct ctl_options *opt)
{
	const char *name = opt->arg ? opt->arg : "status", *meant = NULL;
	int args = opt->nargs > 0 ? opt->nargs - 1 : 0;
	const struct farm_action *a = NULL;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, name) == 0)
			a = &actions[i];
	if (a && args >= a->args_min && args <= a->args_max)
		return a->run(opt);
	if (!a)
		meant = spelling_meant(name, actions,
		    sizeof(actions) / sizeof(actions[0]), sizeof(actions[0]));
	ctl_mistaken("farm", meant);
	return CTL_EXIT_USAGE;
}

const struct ctl_command farm_command = {
    .name = "farm",
    .usage = "[--json] [status] | check\n"
	     "       forefetch farm [--progress] [--json] flush\n"
	     "       forefetch farm [--json] key FILE",
    .summary = "show, check and empty the farm of machines; make its key",
    .help =
	"Machines of a farm share what they fetched and learned, through a "
	"Redis server, the engine. status shows the state of the engine and "
	"its nodes, and how much came from it. check puts a value there, gets "
	"it back and removes it, and checks the engine's memory and some of "
	"its keys; if anything is wrong, it says what to do, and exits with 1. "
	"flush removes all values of the farm. key creates FILE, which must "
	"not exist yet, with the key that protects these values; each machine "
	"needs a copy. It needs no daemon. Only root and the user that "
	"forefetchd runs as may check and flush.\n",
    .options = "progress json",
    .run = farm_run,
    .actions = "status check flush key:file",
    .args_max = 2,
};
