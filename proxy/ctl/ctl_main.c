/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch: asks a running forefetchd. A command is one row of the table
 * `commands` and one function in a file of its own (ctl_status.c, ...), which
 * asks through ctl_client.c and prints with ctl_text.c or ctl_json.c.
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
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

struct command {
	const char *name;
	const char *usage; /* what follows the name */
	const char *summary;
	const char *help;
	int (*run)(const struct ctl_options *opt);
	bool has_histogram; /* takes --histogram */
	bool acts;          /* is not repeated: no --watch */
	bool has_data;      /* takes --data and --metadata */
	bool has_server;    /* takes --server */
	bool has_output;    /* takes -o */
	bool has_null;      /* takes -0 */
	bool has_check;     /* takes --check */
	bool has_list;      /* takes --list, without arguments then */
	int args_min;       /* 0: the name of a server may follow */
	int args_max;
};

static const struct command commands[] = {
    {
	.name = "status",
	.usage = "[-v] [--check] [--json] [--watch SECONDS] [SERVER]",
	.summary = "show how the daemon and its servers are",
	.help = "Shows for every server, or for SERVER alone, whether it is "
		"up, the round trip\ntime, connections and calls in flight, "
		"what answers from the caches rest on, and how\nfull these "
		"are. With -v, every connection too. With --check, for "
		"scripts:\na line "
		"for each thing that is not in order, and exit status 1, or "
		"nothing and 0.\n",
	.run = ctl_status,
	.has_check = true,
    },
    {
	.name = "stats",
	.usage = "[-v] [--histogram] [--json] [--watch SECONDS] [SERVER]",
	.summary = "show what was counted and how long calls took",
	.help = "Shows calls by procedure, of clients and to the server, the "
		"caches, and counters\nthat are not zero, since the daemon "
		"started. With --histogram, also a chart of the\ntimes of "
		"every procedure; with -v, that and all counters.\n",
	.run = ctl_stats,
	.has_histogram = true,
    },
    {
	.name = "flush",
	.usage = "[--json] [SERVER]",
	.summary = "empty the caches",
	.help = "Empties the caches of every server, or of SERVER alone, in "
		"memory and on disk, and\nshows what was given up. Only for "
		"root and the user that forefetchd runs as.\n",
	.run = ctl_flush,
	.acts = true,
    },
    {
	.name = "compact",
	.usage = "[--json] [SERVER]",
	.summary = "lay cached data out in the order of its use",
	.help = "Moves what was read from the caches of every server, or of "
		"SERVER alone, so that it\nlies on disk in the order in "
		"which it was read, and shows how much did before. The\n"
		"daemon does so by itself when nobody calls; see compact_rate "
		"in forefetch.conf(5).\nOnly for root and the user that "
		"forefetchd runs as. ^C ends the waiting only.\n",
	.run = ctl_compact,
	.acts = true,
    },
    {
	.name = "warm",
	.usage = "[--data | --metadata] [--json] PATH...",
	.summary = "fetch files and directories before they are needed",
	.help = "Walks what lies at each PATH, on a mount of the proxy, and "
		"fetches names,\nattributes, rights and data that are not "
		"cached, or, with --metadata, all but the\ndata. It sees what "
		"you may see. ^C ends it; begun again, it goes on where it "
		"was.\n",
	.run = ctl_warm,
	.acts = true,
	.has_data = true,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "pin",
	.usage = "[--json] PATH... | --list",
	.summary = "keep files and directories in the cache",
	.help = "Fetches what lies at each PATH, on a mount of the proxy, as "
		"warm does, and keeps its\ndata in the cache, whatever else "
		"passes, until unpin. The list is kept, too, and the\ntrees "
		"are looked through again when they are used. --list shows "
		"what you have pinned,\nor for root what all have.\n",
	.run = ctl_pin,
	.acts = true,
	.has_list = true,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "unpin",
	.usage = "[--json] PATH...",
	.summary = "keep them no longer",
	.help = "Each PATH is one that you have pinned; root may name those "
		"of all. The data stays\nin the cache until its room is "
		"wanted.\n",
	.run = ctl_unpin,
	.acts = true,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "hint",
	.usage = "[-0] [--json] - | PATH...",
	.summary = "say what will be read, in its order",
	.help = "Reads lines \"PATH [OFFSET LENGTH]\" from standard input, and "
		"has what they name\nfetched in this order, ahead of whatever "
		"reads it as the same user. What the reader\nhas passed is "
		"dropped, and the rest waits for it. A PATH is on a mount of "
		"the\nproxy; numbers may end in K, M, G or T. With -0, a NUL "
		"ends a line.\n",
	.run = ctl_hint,
	.acts = true,
	.has_null = true,
	.args_min = 1,
	.args_max = ARGS_MAX,
    },
    {
	.name = "explain",
	.usage = "[--json] PATH",
	.summary = "show what is known of a file, and what prefetch did",
	.help = "Shows what the caches know of the file at PATH, on a mount "
		"of the proxy, how old\nthat is, and what became of the last "
		"prediction of it. Nothing is asked of the server.\n",
	.run = ctl_explain,
	.args_min = 1,
	.args_max = 1,
    },
    {
	.name = "trace",
	.usage = "[--server SERVER] [--json] start FILE | stop",
	.summary = "write what is used, for forefetch-sim",
	.help = "start has a process in the background write what you use "
		"through the proxy, or for\nroot what all do, to FILE, until "
		"stop, which returns when FILE is whole. Names are\nwritten as "
		"hashes.\n",
	.run = ctl_trace,
	.acts = true,
	.has_server = true,
	.args_min = 1,
	.args_max = 2,
    },
    {
	.name = "trees",
	.usage = "[--server SERVER] [--json] list | show ID | export FILE |\n"
		 "       import FILE | merge FILE | clear [ID]\n"
		 "       forefetch trees merge FILE... -o OUT",
	.summary = "look at what was learned, carry it elsewhere, forget it",
	.help =
	    "Access trees are what a program, or a job, uses together. "
	    "list shows yours, or for\nroot those of all, and show one of "
	    "them. export writes them to FILE; import takes\nthem from "
	    "there where you have none, merge adds them. clear forgets one, "
	    "or all. With -o,\nmerge makes one file of several, and asks no "
	    "daemon.\n",
	.run = ctl_trees,
	.acts = true,
	.has_server = true,
	.has_output = true,
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
	       "  --json           print JSON, one value a line\n"
	       "  --watch SECONDS  again and again\n"
	       "  -v, --verbose    all there is\n"
	       "  --version        print the version\n"
	       "\nforefetch(1) tells more.\n");
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
		    "--watch wants seconds from 0.1 to 86400, not ", text);
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

static int check(const struct command *cmd, const struct ctl_options *opt)
{
	int max = cmd->args_max ? cmd->args_max : 1;

	if (opt->histogram && !cmd->has_histogram)
		return usage_error("--histogram is not for ", cmd->name);
	if (opt->watch_s > 0 && cmd->acts)
		return usage_error("--watch is not for ", cmd->name);
	if ((opt->metadata || opt->data) && !cmd->has_data)
		return usage_error(
		    "--data and --metadata are not for ", cmd->name);
	if (opt->server && !cmd->has_server)
		return usage_error("--server is not for ", cmd->name);
	if (opt->output && !cmd->has_output)
		return usage_error("-o is not for ", cmd->name);
	if (opt->null && !cmd->has_null)
		return usage_error("-0 is not for ", cmd->name);
	if (opt->check && !cmd->has_check)
		return usage_error("--check is not for ", cmd->name);
	if (opt->list && !cmd->has_list)
		return usage_error("--list is not for ", cmd->name);
	if (opt->list && opt->nargs > 0)
		return usage_error("too many arguments: ", opt->args[0]);
	if (opt->metadata && opt->data)
		return usage_error("--data and --metadata are both given", "");
	if (opt->nargs < cmd->args_min && !opt->list)
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
	code = check(cmd, opt);
	if (code)
		return code;
	return opt->watch_s > 0 ? run_watch(cmd, opt) : run_once(cmd, opt);
}

int main(int argc, char **argv)
{
	struct ctl_options opt = {.socket = SOCKET_DEFAULT};
	int c;

	/* For libsmartcols: UTF-8 is text wherever this runs, as elsewhere. */
	setlocale(LC_CTYPE, "C.UTF-8");
	while (
	    (c = getopt_long(argc, argv, "0hvo:", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			opt.socket = optarg;
			break;
		case OPT_JSON:
			opt.json = true;
			break;
		case OPT_WATCH:
			if (parse_watch(optarg, &opt.watch_s))
				return CTL_EXIT_USAGE;
			break;
		case OPT_HISTOGRAM:
			opt.histogram = true;
			break;
		case OPT_DATA:
			opt.data = true;
			break;
		case OPT_SERVER:
			opt.server = optarg;
			break;
		case OPT_LIST:
			opt.list = true;
			break;
		case OPT_CHECK:
			opt.check = true;
			break;
		case OPT_METADATA:
			opt.metadata = true;
			break;
		case OPT_VERSION:
			puts("forefetch " FF_VERSION);
			return EXIT_SUCCESS;
		case '0':
			opt.null = true;
			break;
		case 'o':
			opt.output = optarg;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'h':
			return help(optind < argc ? argv[optind] : NULL);
		default:
			fputs("see forefetch help\n", stderr);
			return CTL_EXIT_USAGE;
		}
	}
	return run(argc - optind, argv + optind, &opt);
}
