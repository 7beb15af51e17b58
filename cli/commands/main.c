/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forefetch: the command line. A command is a constant in a file of its own
 * (status.c, …) and a line of command_list.c; an option is a row of
 * option_list.c. main() finds the command, checks options and arguments by
 * these tables, and calls its run(), which asks the daemon and prints.
 *
 * Two kinds of programs do not pass these tables: the helpers of mount(8),
 * which are other names of this program, and commands with a command line like
 * mount(8)'s. run_own() runs both.
 */
#include <curses.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <protobuf-c/protobuf-c.h>

#include "config/spelling.h"
#include "commands/command_list.h"
#include "commands/complete.h"
#include "commands/json_error.h"
#include "commands/option_list.h"
#include "ctl/ctl_socket.h"
#include "ctl/ctl_text.h"
#include "hashing/hash_key.h"
#include "mount/mount_command.h"
#include "text/build.h"

/* More than command_list.c has. */
enum { COMMANDS_MAX = 64 };

/* Found by its name, or by its former one with a warning. */
static const struct ctl_command *command_meant(const char *name)
{
	const struct ctl_command *cmd = command_find(name);

	if (cmd && strcmp(cmd->name, name) != 0)
		fprintf(stderr,
		    "forefetch: %s is called %s now; the former name is "
		    "accepted until the next release\n",
		    name, cmd->name);
	return cmd;
}

/* Prints "WHAT WHICH; see forefetch help" and returns CTL_EXIT_USAGE. */
static int usage_error(const char *what, const char *which)
{
	ctl_complain(NULL, "%s%s; see forefetch help", what, which);
	return CTL_EXIT_USAGE;
}

/* Prints the same, but names the help of the command that was called. */
static int usage_of(
    const struct ctl_command *cmd, const char *what, const char *which)
{
	ctl_complain(
	    NULL, "%s%s; see forefetch %s --help", what, which, cmd->name);
	return CTL_EXIT_USAGE;
}

/* Names the command that was probably meant, if one is spelled alike. */
static int no_such_command(const char *name)
{
	const char *names[COMMANDS_MAX], *meant;
	size_t n = 0;

	for (; command_list[n] && n < COMMANDS_MAX; n++)
		names[n] = command_list[n]->name;
	meant = spelling_meant(name, names, n, sizeof(names[0]));
	if (!meant)
		return usage_error("no such command: ", name);
	ctl_complain(
	    NULL, "no such command: %s; did you mean %s?", name, meant);
	return CTL_EXIT_USAGE;
}

/* The list of commands, and the options that all of them take. */
static void help_all(void)
{
	fputs("usage: forefetch COMMAND [OPTION...] [ARGUMENT...]\n\n", stdout);
	for (size_t i = 0; command_list[i]; i++)
		printf("  %-9s %s\n", command_list[i]->name,
		    command_list[i]->summary);
	printf("  %-9s %s\n\n", "help", "explain a command");
	option_print_help(NULL);
	fputs("\nSee `forefetch COMMAND --help` and forefetch(1).\n", stdout);
}

/* Words folded into lines of 78 columns at most. A line that begins with a
 * blank, and an empty one, stay as they are. */
static void put_folded(const char *text)
{
	enum { WIDTH = 78 };
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " \n");
		bool whole = text[n] == '\n' &&
			     (text[n + 1] == ' ' || text[n + 1] == '\n' ||
				 text[n + 1] == '\0');

		if (column > 0 && column + 1 + n > WIDTH) {
			putchar('\n');
			column = 0;
		}
		printf("%s%.*s", column > 0 ? " " : "", (int)n, text);
		column += n + (column > 0);
		text += n + (text[n] != '\0');
		if (!whole)
			continue;
		putchar('\n');
		column = 0;
		for (; *text == ' ' || *text == '\n'; text += n) {
			n = strcspn(text, "\n");
			n += text[n] == '\n';
			fwrite(text, 1, n, stdout);
		}
	}
	if (column > 0)
		putchar('\n');
}

/* Explains a command, or all of them if `name` is NULL. Returns an exit
 * code. */
static int help(const char *name)
{
	const struct ctl_command *cmd;

	if (!name || strcmp(name, "help") == 0) {
		help_all();
		return EXIT_SUCCESS;
	}
	cmd = command_meant(name);
	if (!cmd)
		return no_such_command(name);
	printf("usage: forefetch %s %s\n\n", cmd->name, cmd->usage);
	put_folded(cmd->help);
	if (cmd->main) /* its options are in its text */
		return EXIT_SUCCESS;
	putchar('\n');
	option_print_help(cmd);
	return EXIT_SUCCESS;
}

/* Runs a command and makes sure that its output has left: a full disk behind a
 * redirected stdout must not look like success to a script. */
static int run_once(
    const struct ctl_command *cmd, const struct ctl_options *opt)
{
	int code = cmd->run(opt);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(
		    stderr, "forefetch: cannot write: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	return code;
}

/* Repeats a command until it fails or the program is killed. On a terminal each
 * run replaces the one before; in a file an empty line separates them, and with
 * --json each run is one line. */
static int run_watch(
    const struct ctl_command *cmd, const struct ctl_options *opt)
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

/* The options of a command line, beside the command and its arguments. */
struct given {
	const struct option_row *rows[OPTION_MAX];
	size_t n;
	bool help;
};

/* Refuses options that are not for this command, and those that exclude each
 * other. 0, or an exit code after a message. */
static int check_options(const struct ctl_command *cmd,
    const struct given *given, const struct ctl_options *opt)
{
	for (size_t i = 0; i < given->n; i++) {
		if (option_taken(given->rows[i], cmd))
			continue;
		fprintf(stderr,
		    "forefetch: --%s is not for %s; see forefetch %s --help\n",
		    given->rows[i]->name, cmd->name, cmd->name);
		return CTL_EXIT_USAGE;
	}
	if (!*opt->socket)
		return usage_error("the path after --socket is empty", "");
	if (opt->metadata && opt->data)
		return usage_error(
		    "--data and --metadata exclude each other", "");
	return 0;
}

/* The name of a server may stand alone or behind --server: the first is shorter
 * to type, the second is what commands with arguments of their own need. A
 * command learns it as opt->server in both cases. */
static int check_server(const struct ctl_command *cmd, struct ctl_options *opt)
{
	if (cmd->args_max == 0 && opt->arg && opt->server)
		return usage_error(
		    "--server names one server, the argument another: ",
		    opt->arg);
	if (cmd->args_max == 0 && opt->arg)
		opt->server = opt->arg;
	if (opt->server && !*opt->server)
		return usage_error("the name of a server is empty", "");
	return 0;
}

/* Compares the number of arguments with what the table says of the command. 0,
 * or an exit code after a message. */
static int check_arguments(
    const struct ctl_command *cmd, struct ctl_options *opt)
{
	int max = cmd->args_max < 0 ? 0 : cmd->args_max ? cmd->args_max : 1;

	if (opt->list)
		max = 0;
	else if (opt->nargs < cmd->args_min) {
		fprintf(stderr,
		    "forefetch: arguments are missing; see forefetch %s "
		    "--help\n",
		    cmd->name);
		return CTL_EXIT_USAGE;
	}
	if (opt->nargs > max)
		return usage_of(cmd, "too many arguments: ", opt->args[max]);
	if (cmd->args_max && opt->arg && !*opt->arg)
		return usage_error("an argument is empty", "");
	return check_server(cmd, opt);
}

/* Refuses options in front of a command that parses its own command line: only
 * run_own() knows what they would mean there. */
static int misplaced(const struct ctl_command *cmd)
{
	fprintf(stderr,
	    "forefetch: only --socket PATH may come before %s; its options "
	    "come after it, see forefetch %s --help\n",
	    cmd->name, cmd->name);
	return CTL_EXIT_USAGE;
}

/* Runs what is left after the options: COMMAND [ARGUMENT...]. */
static int run(
    int argc, char **argv, const struct given *given, struct ctl_options *opt)
{
	const struct ctl_command *cmd;
	int code;

	if (given->help)
		return help(argc > 0 ? argv[0] : NULL);
	if (argc == 0)
		return usage_error("a command is missing", "");
	if (strcmp(argv[0], "help") == 0)
		return argc > 2 ? usage_error("too many arguments: ", argv[2])
				: help(argv[1]);
	cmd = command_meant(argv[0]);
	if (!cmd)
		return no_such_command(argv[0]);
	opt->args = argv + 1;
	opt->nargs = argc - 1;
	opt->arg = argv[1];
	code = cmd->main ? misplaced(cmd) : check_options(cmd, given, opt);
	if (!code)
		code = check_arguments(cmd, opt);
	if (code)
		return code;
	return opt->watch_s > 0 ? run_watch(cmd, opt) : run_once(cmd, opt);
}

/* Finds a command with a command line of its own, which is the first word, or
 * follows --socket. Sets `*first` to the number of that word, and `*socket`
 * where the option is there. NULL: the first word is something else. */
static const struct ctl_command *own_command(
    int argc, char **argv, int *first, const char **socket)
{
	const struct ctl_command *cmd;

	*first = 1;
	if (argc > 2 && strcmp(argv[1], "--socket") == 0) {
		*socket = argv[2];
		*first = 3;
	} else if (argc > 1 && strncmp(argv[1], "--socket=", 9) == 0) {
		*socket = argv[1] + 9;
		*first = 2;
	}
	cmd = *first < argc ? command_find(argv[*first]) : NULL;
	return cmd && cmd->main ? cmd : NULL;
}

/* Runs programs that do not go through the options and commands below. mount(8)
 * runs mount.forefetch for the type "forefetch" (mount(8), "External helpers"),
 * which is a link to this program, so the name in argv[0] decides. Returns the
 * exit code, or -1 where it is none of these. */
static int run_own(int argc, char **argv, const char *socket)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	const struct ctl_command *cmd;
	int first;

	if (strcmp(name, "mount.forefetch") == 0)
		return mount_helper(argc, argv, socket);
	if (strcmp(name, "umount.forefetch") == 0)
		return umount_helper(argc, argv, socket);
	cmd = own_command(argc, argv, &first, &socket);
	if (!cmd)
		return -1;
	if (first + 1 < argc && (strcmp(argv[first + 1], "--help") == 0 ||
				    strcmp(argv[first + 1], "-h") == 0))
		return help(cmd->name);
	/* getopt's own messages begin with it. */
	argv[first] = (char[]){"forefetch"};
	for (int i = first + 1; i < argc; i++)
		if (strcmp(argv[i], "--json") == 0)
			json_error_begin();
	return cmd->main(argc - first, argv + first, socket);
}

/*
 * The first option that a terminal might obey, or NULL. getopt's messages have
 * an option as it was typed, or as a file is called that a shell has put there
 * from a pattern, and getopt does not escape it. No option of ours contains
 * anything that would be escaped, so such a word is refused before getopt sees
 * it.
 */
static const char *find_unclean(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		char *clean = ctl_text_clean(argv[i], strlen(argv[i]));
		bool same = clean && strcmp(clean, argv[i]) == 0;

		free(clean);
		if (argv[i][0] == '-' && !same)
			return argv[i];
	}
	return NULL;
}

static void print_version(void)
{
	char libraries[128];

	snprintf(libraries, sizeof(libraries), "libevent %s, protobuf-c %s, %s",
	    event_get_version(), protobuf_c_version(), curses_version());
	build_print("forefetch", libraries);
}

int main(int argc, char **argv)
{
	const char *unclean;
	struct ctl_options opt = {.socket = ctl_socket_path()};
	struct option longs[OPTION_MAX + 1];
	char letters[OPTION_LETTERS_MAX];
	struct given given = {.n = 0};
	int c, code;

	hash_key_draw();
	ctl_choose_text();
	/* The words behind it are those of somebody else's command line. */
	if (argc > 1 && strcmp(argv[1], "complete") == 0)
		return complete_run(argc - 2, argv + 2, opt.socket);
	unclean = find_unclean(argc, argv);
	if (unclean)
		return usage_error("no such option: ", unclean);
	code = argc > 0 ? run_own(argc, argv, opt.socket) : CTL_EXIT_USAGE;
	if (code >= 0)
		return json_error_end(code);
	argv[0] = (char[]){"forefetch"};
	option_getopt(longs, letters);
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_row *row = option_find(c);

		code = row ? option_set(row, optarg, &opt) : -1;
		if (opt.json)
			json_error_begin();
		if (!row)
			option_complain(argv[optind - 1]);
		if (code)
			return json_error_end(CTL_EXIT_USAGE);
		given.help |= row->kind == OPTION_HELP;
		if (row->kind == OPTION_VERSION) {
			print_version();
			return EXIT_SUCCESS;
		}
		if (given.n < OPTION_MAX)
			given.rows[given.n++] = row;
	}
	return json_error_end(run(argc - optind, argv + optind, &given, &opt));
}
