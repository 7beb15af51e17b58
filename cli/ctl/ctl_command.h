/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command of the program `forefetch`, and the options of its command line.
 *
 * This folder is the library of that program: it talks to the daemon over the
 * control socket, and uses nothing else of it but the messages
 * (control/protocol.h and control.pb-c.h) and text/. The commands are in
 * commands/ and in folders of their own. ctl_mount and ctl_wire are parts of
 * the library for hints, too (hint/).
 *
 *	commands/main ──▶ commands/NAME ──▶ ctl_client ──▶ ctl_wire ──▶ daemon
 *	                      ├─ for people: ctl_put, ctl_table, ctl_text
 *	                      └─ for programs: text/json
 */
#ifndef FOREFETCH_CTL_COMMAND_H
#define FOREFETCH_CTL_COMMAND_H

#include <stdbool.h>

/* The exit code for a wrong command line, and the arguments of one at most. */
#define CTL_EXIT_USAGE 2
#define CTL_ARGS_MAX   1024

/* The options of a command line, each at its default where it was not given.
 * Texts are those of argv. */
struct ctl_options {
	const char *socket;
	const char *arg; /* the first of the command; NULL: none */
	char **args;
	int nargs;
	/* --server, or the argument of a command that takes nothing else;
	 * NULL: none. */
	const char *server;
	const char *output; /* -o; NULL: none */
	/* These three are options of probe; NULL: not given. */
	const char *nfs_port;
	const char *mount_port;
	const char *write;
	bool data;
	bool metadata;
	bool list;
	/* -0: lines end in a NUL. */
	bool null;
	bool json;
	bool dry_run;  /* --dry-run */
	bool check;    /* --check */
	bool progress; /* --progress */
	bool verbose;
	bool histogram;
	/* --watch, in seconds; 0: the command runs once. */
	double watch_s;
	const char *duration; /* --for; NULL: none */
	/* These three are options of top. */
	bool once;
	const char *number; /* NULL: not given */
	/* --interval, in seconds; 0: not given. */
	double interval_s;
};

/* One command: a constant in the file that implements it, and a line in
 * commands/command_list.c. */
struct ctl_command {
	const char *name;
	/* Its former name, which is understood with a warning. NULL: none. */
	const char *former;
	const char *usage; /* what follows the name */
	const char *summary;
	const char *help; /* folded as it is shown; lines that begin with a
			   * blank stay */
	/* Long names of the options that it takes, with blanks between; what
	 * they are is in commands/option_list.c. */
	const char *options;
	/* Asks the daemon, and prints the answer on stdout. Returns an exit
	 * code; a failure has been told on stderr. */
	int (*run)(const struct ctl_options *opt);
	int args_min; /* 0: the name of a server may follow */
	/* 0: that alone, and then --server says the same; -1: none at all. */
	int args_max;
	/* For shells: its first arguments, with a blank between, each with what
	 * follows it behind a colon; NULL: it has none. And what its arguments
	 * are, "file" where it is NULL: "server", "tree" (an id), "file",
	 * "directory" or "" for none of these. */
	const char *actions;
	const char *completes;
	/* A function that parses the whole command line, argv[0] being the
	 * command's name; the members above from `options` on are not used
	 * then. NULL for most commands. */
	int (*main)(int argc, char **argv, const char *socket);
};

#endif
