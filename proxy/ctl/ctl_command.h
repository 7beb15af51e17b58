/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program `forefetch`: its commands and their options.
 *
 * This folder is a program of its own: it talks to the daemon over the control
 * socket, and uses nothing else of it but the messages (control/protocol.h and
 * control.pb-c.h). ctl_mount and ctl_wire are parts of the library for hints,
 * too (hint/).
 *
 *	ctl_main ──▶ ctl_COMMAND ──▶ ctl_client ──▶ ctl_wire ──▶ daemon
 *	                 ├─ for people: ctl_put, ctl_table, ctl_text
 *	                 └─ for programs: ctl_json
 */
#ifndef FOREFETCH_CTL_COMMAND_H
#define FOREFETCH_CTL_COMMAND_H

#include <stdbool.h>

#define CTL_EXIT_USAGE 2

/* What the command line asks for. */
struct ctl_options {
	const char *socket;
	const char *arg; /* the first of the command; NULL: none */
	char **args;
	int nargs;
	const char *server; /* --server; NULL: none */
	const char *output; /* -o; NULL: none */
	bool data;
	bool metadata;
	bool list;
	bool null; /* -0 */
	bool json;
	bool check; /* --check */
	bool verbose;
	bool histogram;
	double watch_s; /* 0: once */
};

/*
 * Commands: ask the daemon, print the answer on stdout. Return an exit code;
 * a failure has been told on stderr.
 */
int ctl_status(const struct ctl_options *opt);
int ctl_stats(const struct ctl_options *opt);
int ctl_compact(const struct ctl_options *opt);
int ctl_flush(const struct ctl_options *opt);
int ctl_explain(const struct ctl_options *opt);
int ctl_hint(const struct ctl_options *opt);
int ctl_pin(const struct ctl_options *opt);
int ctl_trace(const struct ctl_options *opt);
int ctl_trees(const struct ctl_options *opt);
/* With -o; no daemon is asked. */
int ctl_trees_merge(const struct ctl_options *opt);
int ctl_unpin(const struct ctl_options *opt);
int ctl_warm(const struct ctl_options *opt);

#endif
