/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch: the command line. A command is one row of the table `commands` and
 * one function in a file of its own (ctl_status.c, …).
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_command.h"

#define SOCKET_DEFAULT "/run/forefetch/control.sock"
#define ARGS_MAX       1024
#define WATCH_MIN_S    0.1
#define WATCH_MAX_S    86400.0

enum {
	OPT_SOCKET = 256,
	OPT_JSON,
	OPT_WATCH,
	OPT_HISTOGRAM,
	OPT_VERSION,
	OPT_DATA,
	OPT_METADATA,
	OPT_SERVER,
	OPT_LIST,
	OPT_CHECK,
};

/* Options that only some commands take. */
enum {
	TAKES_WATCH = 1,
	TAKES_HISTOGRAM = 2,
	TAKES_DATA = 4, /* --data and --metadata */
	TAKES_SERVER = 8,
	TAKES_OUTPUT = 16,
	TAKES_NUL = 32,
	TAKES_CHECK = 64,
	TAKES_LIST = 128, /* and no arguments then */
};

struct command {
	const char *name;
	const char *usage; /* what follows the name */
	const char *summary;
	const char *help;
	int (*run)(const struct ctl_options *opt);
	unsigned takes; /* options that not every command takes */
	int args_min;   /* 0: the name of a server may follow */
	int args_max;
};

static const struct command commands[] = {
    {
	.name = "status",
	.usage = "[-v] [--check] [--json] [--watch SECONDS] [SERVER]",
	.summary = "show the state of the daemon and its servers",
	.help = "Shows for every server, or for SERVER alone, whether it is "
		"up, the round trip\ntime, connections and calls in flight, "
		"how consistent answers from the caches are,\nand how full "
		"the caches are. With -v, it also lists every connection. "
		"--check is for\nscripts: it prints a line for each problem "
		"and exits with 1, or prints nothing and\nexits with 0.\n",
	.run = ctl_status,
	.takes = TAKES_WATCH | TAKES_CHECK,
    },
    {
	.name = "stats",
	.usage = "[-v] [--histogram] [--json] [--watch SECONDS] [SERVER]",
	.summary = "show counters and how long calls took",
	.help = "Shows calls by procedure, of clients and to the server, the "
		"caches, prefetching,\nand the counters that are not zero, "
		"since the daemon started. With --histogram, it\nalso draws "
		"a chart of the times of every procedure; with -v, that and "
		"all counters.\n",
	.run = ctl_stats,
	.takes = TAKES_WATCH | TAKES_HISTOGRAM,
    },
    {
	.name = "flush",
	.usage = "[--json] [SERVER]",
	.summary = "empty the caches",
	.help = "Empties the caches of every server, or of SERVER alone, in "
		"memory and on disk, and\nshows what was dropped. Only root "
		"and the user that forefetchd runs as may do this.\n",
	.run = ctl_flush,
    },
    {
	.name = "compact",
	.usage = "[--json] [SERVER]",
	.summary = "put cached data on disk in the order of its use",
	.help = "Moves cached data of every server, or of SERVER alone, so "
		"that it lies on disk in\nthe order in which it was read, "
		"and shows how much did before and does now. The\ndaemon "
		"does this by itself when it is idle; see compact_rate in "
		"forefetch.conf(5).\nOnly root and the user that forefetchd "
		"runs as may do this. ^C stops waiting for it,\nnot the work "
		"itself.\n",
	.run = ctl_compact,
    },
    {
	.name = "warm",
	.usage = "[--data | --metadata] [--json] PATH...",
	.summary = "fetch files and directories before they are needed",
	.help = "Walks the tree at each PATH, on a mount of the proxy, and "
		"fetches names,\nattributes, rights and data that are not "
		"cached yet; with --metadata, everything but\nthe data. It "
		"fetches only what you may see. ^C stops it; if you run it "
		"again, it\ncontinues.\n",
	.run = ctl_warm,
	.takes = TAKES_DATA,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "pin",
	.usage = "[--json] PATH... | --list",
	.summary = "keep files and directories in the cache",
	.help = "Fetches the tree at each PATH, on a mount of the proxy, as "
		"warm does, and keeps its\ndata in the cache until unpin, "
		"whatever else is cached. Pins survive a restart, and\nthe "
		"trees are checked for changes while they are in use. --list "
		"shows what you have\npinned; for root, what all users "
		"have.\n",
	.run = ctl_pin,
	.takes = TAKES_LIST,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "unpin",
	.usage = "[--json] PATH...",
	.summary = "stop keeping files and directories in the cache",
	.help = "Each PATH is one that you have pinned; root may name those "
		"of all users. The data\nstays in the cache until its space "
		"is needed.\n",
	.run = ctl_unpin,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "hint",
	.usage = "[-0] [--json] - | PATH...",
	.summary = "announce what will be read, in order",
	.help = "Reads lines \"PATH [OFFSET LENGTH]\" from standard input, and "
		"has what they name\nfetched in this order, ahead of the "
		"program that reads it as the same user. Hints\nthat the "
		"reader has passed are dropped; the others wait for it. A "
		"PATH is on a mount\nof the proxy; numbers may end in K, M, "
		"G or T. With -0, a NUL ends a line.\n",
	.run = ctl_hint,
	.takes = TAKES_NUL,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "explain",
	.usage = "[--json] PATH",
	.summary = "show what is cached of a file and what was predicted",
	.help = "Shows what is cached of the file at PATH, on a mount of the "
		"proxy, how old that is,\nand what became of the last "
		"prediction of it. The server is not asked.\n",
	.run = ctl_explain,
	.takes = TAKES_WATCH,
	.args_min = 1,
	.args_max = 1,
    },
    {
	.name = "trace",
	.usage = "[--server SERVER] [--json] start FILE | stop",
	.summary = "record accesses for forefetch-sim",
	.help = "start begins to record your accesses through the proxy to "
		"FILE, or for root those of\nall users, in the background. "
		"stop ends that and returns when FILE is complete.\nNames are "
		"recorded as hashes.\n",
	.run = ctl_trace,
	.takes = TAKES_SERVER,
	.args_min = 1,
	.args_max = 2,
    },
    {
	.name = "trees",
	.usage = "[--server SERVER] [--json] list | show ID | export FILE |\n"
		 "       import FILE | merge FILE | clear [ID]\n"
		 "       forefetch trees merge FILE... -o OUT",
	.summary = "show, export, import and clear what was learned",
	.help =
	    "An access tree is a set of files that a program or job uses "
	    "together. list shows\nyours, for root those of all users; show "
	    "shows one. export writes them to FILE;\nimport reads them from "
	    "FILE if you have none yet, merge adds them to those that "
	    "you\nhave. clear removes one of them, or all. With -o, merge "
	    "combines several files into\none, without a daemon.\n",
	.run = ctl_trees,
	.takes = TAKES_SERVER | TAKES_OUTPUT,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct option long_options[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"json", no_argument, NULL, OPT_JSON},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"histogram", no_argument, NULL, OPT_HISTOGRAM},
    {"data", no_argument, NULL, OPT_DATA},
    {"metadata", no_argument, NULL, OPT_METADATA},
    {"list", no_argument, NULL, OPT_LIST},
    {"check", no_argument, NULL, OPT_CHECK},
    {"output", required_argument, NULL, 'o'},
    {"server", required_argument, NULL, OPT_SERVER},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static int usage_error(const char *what, const char *which)
{
	fprintf(stderr, "forefetch: %s%s; see forefetch help\n", what, which);
	return CTL_EXIT_USAGE;
}

static void help_all(void)
{
	size_t i;

	fputs("usage: forefetch [--socket PATH] COMMAND ...\n\n", stdout);
	for (i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].summary);
	printf("  %-8s %s\n", "help", "explain a command");
	printf("\n"
	       "  --socket PATH    the daemon's control socket\n"
	       "                   (" SOCKET_DEFAULT ")\n"
	       "  --json           print JSON, one value per line\n"
	       "  --watch SECONDS  repeat every so many seconds\n"
	       "  -v, --verbose    print everything\n"
	       "  --version        print the version\n"
	       "\nSee forefetch(1) for details.\n");
}

static int help(const char *name)
{
	const struct command *cmd;

	if (!name || strcmp(name, "help") == 0) {
		help_all();
		return EXIT_SUCCESS;
	}
	cmd = command_find(name);
	if (!cmd)
		return usage_error("no such command: ", name);
	printf(
	    "usage: forefetch %s %s\n\n%s", cmd->name, cmd->usage, cmd->help);
	return EXIT_SUCCESS;
}

/* Seconds, possibly with a fraction. */
static int parse_watch(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end == text || *end || !(*seconds >= WATCH_MIN_S) ||
	    !(*seconds <= WATCH_MAX_S))
		return usage_error(
		    "--watch takes 0.1 to 86400 seconds, not ", text);
	return 0;
}

static int run_once(const struct command *cmd, const struct ctl_options *opt)
{
	int code = cmd->run(opt);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(
		    stderr, "forefetch: cannot write: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	return code;
}

/* Until killed, or until the daemon does not answer. */
static int run_watch(const struct command *cmd, const struct ctl_options *opt)
{
	const struct timespec rest = {
	    .tv_sec = (time_t)opt->watch_s,
	    .tv_nsec =
		(long)((opt->watch_s - (double)(time_t)opt->watch_s) * 1e9),
	};
	bool screen = !opt->json && isatty(STDOUT_FILENO);
	bool first = true;
	int code;

	for (;;) {
		if (screen)
			fputs("\033[H\033[2J", stdout);
		else if (!opt->json && !first)
			putchar('\n');
		first = false;
		code = run_once(cmd, opt);
		if (code != EXIT_SUCCESS)
			return code;
		nanosleep(&rest, NULL);
	}
}

static int check_options(
    const struct command *cmd, const struct ctl_options *opt)
{
	const struct {
		bool given;
		unsigned takes;
		const char *complaint;
	} rows[] = {
	    {opt->histogram, TAKES_HISTOGRAM, "--histogram is not for "},
	    {opt->watch_s > 0, TAKES_WATCH, "--watch is not for "},
	    {opt->metadata || opt->data, TAKES_DATA,
		"--data and --metadata are not for "},
	    {opt->server != NULL, TAKES_SERVER, "--server is not for "},
	    {opt->output != NULL, TAKES_OUTPUT, "-o is not for "},
	    {opt->null, TAKES_NUL, "-0 is not for "},
	    {opt->check, TAKES_CHECK, "--check is not for "},
	    {opt->list, TAKES_LIST, "--list is not for "},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && !(cmd->takes & rows[i].takes))
			return usage_error(rows[i].complaint, cmd->name);
	if (opt->metadata && opt->data)
		return usage_error(
		    "--data and --metadata exclude each other", "");
	return 0;
}

static int check_arguments(
    const struct command *cmd, const struct ctl_options *opt)
{
	int max = cmd->args_max ? cmd->args_max : 1;

	if (opt->list)
		max = 0;
	else if (opt->nargs < cmd->args_min)
		return usage_error(
		    "arguments are missing: forefetch help ", cmd->name);
	if (opt->nargs > max)
		return usage_error("too many arguments: ", opt->args[max]);
	if (opt->arg && !*opt->arg)
		return usage_error(cmd->args_max ? "an argument is empty"
						 : "the name of a server is "
						   "empty",
		    "");
	return 0;
}

/* What is left after the options: COMMAND [ARGUMENT...]. */
static int run(int argc, char **argv, struct ctl_options *opt)
{
	const struct command *cmd;
	int code;

	if (argc == 0)
		return usage_error("a command is missing", "");
	if (strcmp(argv[0], "help") == 0)
		return argc > 2 ? usage_error("too many arguments: ", argv[2])
				: help(argv[1]);
	cmd = command_find(argv[0]);
	if (!cmd)
		return usage_error("no such command: ", argv[0]);
	opt->args = argv + 1;
	opt->nargs = argc - 1;
	opt->arg = argv[1];
	code = check_options(cmd, opt);
	if (!code)
		code = check_arguments(cmd, opt);
	if (code)
		return code;
	return opt->watch_s > 0 ? run_watch(cmd, opt) : run_once(cmd, opt);
}

/* Options that set a member of struct ctl_options: to true, or to their
 * argument. */
static const struct {
	int code;
	size_t offset;
	bool has_argument;
} settings[] = {
    {OPT_SOCKET, offsetof(struct ctl_options, socket), true},
    {OPT_SERVER, offsetof(struct ctl_options, server), true},
    {'o', offsetof(struct ctl_options, output), true},
    {OPT_JSON, offsetof(struct ctl_options, json), false},
    {OPT_HISTOGRAM, offsetof(struct ctl_options, histogram), false},
    {OPT_DATA, offsetof(struct ctl_options, data), false},
    {OPT_METADATA, offsetof(struct ctl_options, metadata), false},
    {OPT_LIST, offsetof(struct ctl_options, list), false},
    {OPT_CHECK, offsetof(struct ctl_options, check), false},
    {'0', offsetof(struct ctl_options, null), false},
    {'v', offsetof(struct ctl_options, verbose), false},
};

static bool set_option(struct ctl_options *opt, int code)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char *at = (char *)opt + settings[i].offset;

		if (settings[i].code != code)
			continue;
		if (settings[i].has_argument)
			*(const char **)(void *)at = optarg;
		else
			*(bool *)at = true;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct ctl_options opt = {.socket = SOCKET_DEFAULT};
	int c;

	/* For libsmartcols: UTF-8 is text wherever this runs, as elsewhere. */
	setlocale(LC_CTYPE, "C.UTF-8");
	while (
	    (c = getopt_long(argc, argv, "0hvo:", long_options, NULL)) != -1) {
		if (set_option(&opt, c))
			continue;
		switch (c) {
		case OPT_WATCH:
			if (parse_watch(optarg, &opt.watch_s))
				return CTL_EXIT_USAGE;
			break;
		case OPT_VERSION:
			puts("forefetch " FF_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			return help(optind < argc ? argv[optind] : NULL);
		default:
			fputs("see forefetch help\n", stderr);
			return CTL_EXIT_USAGE;
		}
	}
	return run(argc - optind, argv + optind, &opt);
}
