/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All options of forefetch: what each is called, which member of struct
 * ctl_options it sets, and which of them a command takes.
 */
#ifndef FOREFETCH_OPTION_LIST_H
#define FOREFETCH_OPTION_LIST_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "ctl/ctl_command.h"

enum option_kind {
	OPTION_FLAG,    /* bool */
	OPTION_TEXT,    /* const char * */
	OPTION_SECONDS, /* double */
	OPTION_HELP,    /* these two set nothing */
	OPTION_VERSION,
};

struct option_row {
	const char *name;
	const char *help; /* a line; NULL: it is not shown */
	const char *arg;  /* what its argument is called; NULL: none */
	enum option_kind kind;
	size_t offset; /* in struct ctl_options */
	char letter;   /* '\0': none */
	bool common;   /* every command takes it */
};

/* `option_count` rows. */
extern const struct option_row option_list[];
extern const size_t option_count;

enum { OPTION_MAX = 64, OPTION_LETTERS_MAX = 3 * OPTION_MAX + 1 };

/* For getopt_long(3), whose result for the option i is OPTION_FIRST + i, or its
 * letter. */
enum { OPTION_FIRST = 256 };
void option_getopt(
    struct option longs[OPTION_MAX + 1], char letters[OPTION_LETTERS_MAX]);
/* The row of what getopt_long() returned, or NULL. */
const struct option_row *option_find(int code);

/* Says so where `word`, of the command line, is no option, and which one may
 * have been meant. */
void option_complain(const char *word);

/* Whether the command takes it. */
bool option_taken(const struct option_row *row, const struct ctl_command *cmd);
/* Store what was given: 0, or CTL_EXIT_USAGE after a message. */
int option_set(
    const struct option_row *row, const char *text, struct ctl_options *opt);
/* Print a line for each option that the command takes; NULL: for the common
 * ones. */
void option_print_help(const struct ctl_command *cmd);

#endif
