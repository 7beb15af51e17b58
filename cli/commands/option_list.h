/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All options of forefetch: the name of each, which member of struct
 * ctl_options it sets, and which commands take it. */
#ifndef FOREFETCH_OPTION_LIST_H
#define FOREFETCH_OPTION_LIST_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "ctl/ctl_command.h"

/* How the value of an option is stored: the type of its member. */
enum option_kind {
	OPTION_FLAG,    /* bool */
	OPTION_TEXT,    /* const char * */
	OPTION_SECONDS, /* double */
	OPTION_HELP,    /* these two set nothing */
	OPTION_VERSION,
};

/* One option. The table is sorted as the help shows it. */
struct option_row {
	/* The long name, without "--". */
	const char *name;
	const char *help; /* a line; NULL: it is not shown */
	const char *arg;  /* what its argument is called; NULL: none */
	/* OPTION_HELP and OPTION_VERSION have no member. */
	enum option_kind kind;
	size_t offset; /* in struct ctl_options */
	char letter;   /* '\0': none */
	bool common;   /* every command takes it */
};

/* `option_count` rows. */
extern const struct option_row option_list[];
extern const size_t option_count;

/* Bounds for the arrays of getopt_long(3): options of the table, and characters
 * of their letters, each with up to one ':' and the final NUL. */
enum { OPTION_MAX = 64, OPTION_LETTERS_MAX = 3 * OPTION_MAX + 1 };

enum { OPTION_FIRST = 256 };
/* Fills in the two arguments of getopt_long(3): the array, whose last element
 * is zero, and the string of letters. Its result for the i-th option is
 * OPTION_FIRST + i, or the option's letter. */
void option_getopt(
    struct option longs[OPTION_MAX + 1], char letters[OPTION_LETTERS_MAX]);
/* The row of the option that getopt_long() returned, or NULL for '?' and
 * ':'. */
const struct option_row *option_find(int code);

/* Says on stderr which option `word` of the command line may have been meant to
 * be, or where help is. getopt_long() has said before that it is none. */
void option_complain(const char *word);

/* Whether the command takes it. */
bool option_taken(const struct option_row *row, const struct ctl_command *cmd);
/* Stores the argument `text` of an option in `opt`, or true for one that has
 * none. Texts are not copied. Returns 0, or CTL_EXIT_USAGE after a message. */
int option_set(
    const struct option_row *row, const char *text, struct ctl_options *opt);
/* Prints a line for each option that the command takes; for NULL, for each that
 * every command takes. Options without a help text are left out. */
void option_print_help(const struct ctl_command *cmd);

#endif
