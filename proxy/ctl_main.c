/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch: asks a running forefetchd. A command is one row of the table
 * `commands` and one function in a file of its own (ctl_status.c, ...), which
 * asks through ctl_client.c and prints with ctl_text.c or ctl_json.c.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl_command.h"

#define SOCKET_DEFAULT "/run/forefetch/control.sock"
#define EXIT_USAGE     2
#define WATCH_MIN_S    0.1
#define WATCH_MAX_S    86400.0

enum {
	OPT_SOCKET = 256,
	OPT_JSON,
	OPT_WATCH,
	OPT_HISTOGRAM,
	OPT_VERSION,
};

struct command {
	const char *name;
	const char *usage; /* what follows the name */
	const char *summary;
	const char *help;
	int (*run)(const struct ctl_options *opt);
	bool has_histogram; /* takes --histogram */
	bool acts;          /* is not repeated: no --watch */
};

static const struct command commands[] = {
    {
	.name = "status",
	.usage = "[-v] [--json] [--watch SECONDS] [SERVER]",
	.summary = "show how the daemon and its servers are",
	.help = "Shows for every server, or for SERVER alone, whether it is "
		"up, the round trip\ntime, connections and calls in flight, "
		"what answers from the caches rest on, and how\nfull these "
		"are. With -v, every connection too.\n",
	.run = ctl_status,
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
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct option long_options[] = {
    {"socket", required_argument, NULL, OPT_SOCKET},
    {"json", no_argument, NULL, OPT_JSON},
    {"watch", required_argument, NULL, OPT_WATCH},
    {"histogram", no_argument, NULL, OPT_HISTOGRAM},
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
	return EXIT_USAGE;
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

/* What is left after the options: COMMAND [ARGUMENT]. */
static int run(int argc, char **argv, struct ctl_options *opt)
{
	const struct command *cmd;

	if (argc == 0)
		return usage_error("a command is missing", "");
	if (argc > 2)
		return usage_error("too many arguments: ", argv[2]);
	if (strcmp(argv[0], "help") == 0)
		return help(argv[1]);
	cmd = command_find(argv[0]);
	if (!cmd)
		return usage_error("no such command: ", argv[0]);
	if (opt->histogram && !cmd->has_histogram)
		return usage_error("--histogram is not for ", cmd->name);
	if (opt->watch_s > 0 && cmd->acts)
		return usage_error("--watch is not for ", cmd->name);
	opt->arg = argv[1];
	if (opt->arg && !*opt->arg)
		return usage_error("the name of a server is empty", "");
	return opt->watch_s > 0 ? run_watch(cmd, opt) : run_once(cmd, opt);
}

int main(int argc, char **argv)
{
	struct ctl_options opt = {.socket = SOCKET_DEFAULT};
	int c;

	while ((c = getopt_long(argc, argv, "hv", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			opt.socket = optarg;
			break;
		case OPT_JSON:
			opt.json = true;
			break;
		case OPT_WATCH:
			if (parse_watch(optarg, &opt.watch_s))
				return EXIT_USAGE;
			break;
		case OPT_HISTOGRAM:
			opt.histogram = true;
			break;
		case OPT_VERSION:
			puts("forefetch " FF_VERSION);
			return EXIT_SUCCESS;
		case 'v':
			opt.verbose = true;
			break;
		case 'h':
			return help(optind < argc ? argv[optind] : NULL);
		default:
			fputs("see forefetch help\n", stderr);
			return EXIT_USAGE;
		}
	}
	return run(argc - optind, argv + optind, &opt);
}
