/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all options, and all that main.c and complete.c do by it: the
 * arguments of getopt_long(3), help, and storing a value in struct
 * ctl_options. */
#include "commands/option_list.h"
#include "ctl/ctl_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/spelling.h"

/* Bounds of --watch and --interval, in seconds: nobody reads more than ten
 * screens a second, and each of them costs the daemon a turn. */
#define WATCH_MIN_S 0.1
#define WATCH_MAX_S 86400.0

/* Where the value of an option goes. */
#define AT(member) offsetof(struct ctl_options, member)

/* clang-format off */
const struct option_row option_list[] = {
	{"check", "print only what is wrong, and exit with 1 then", NULL,
	    OPTION_FLAG, AT(check), '\0', false},
	{"data", "fetch data, too (the default)", NULL,
	    OPTION_FLAG, AT(data), '\0', false},
	{"dry-run", "change nothing, and show what would be done", NULL,
	    OPTION_FLAG, AT(dry_run), '\0', false},
	{"metadata", "fetch everything but data", NULL,
	    OPTION_FLAG, AT(metadata), '\0', false},
	{"histogram", "draw a chart of the times of every procedure", NULL,
	    OPTION_FLAG, AT(histogram), '\0', false},
	{"for", "for how long: 90s, 30m, 1h30m, 2d", "DURATION",
	    OPTION_TEXT, AT(duration), '\0', false},
	{"interval", "seconds between updates (1)", "SECONDS",
	    OPTION_SECONDS, AT(interval_s), '\0', false},
	{"list", NULL, NULL, /* of pin: the former name of pins */
	    OPTION_FLAG, AT(list), '\0', false},
	{"mount-port", "the server's port of MOUNT", "PORT",
	    OPTION_TEXT, AT(mount_port), '\0', false},
	{"nfs-port", "the server's port of NFS", "PORT",
	    OPTION_TEXT, AT(nfs_port), '\0', false},
	{"null", "lines end in a NUL instead of a newline", NULL,
	    OPTION_FLAG, AT(null), '0', false},
	{"number", "print this number of blocks, and exit", "N",
	    OPTION_TEXT, AT(number), 'n', false},
	{"once", "print one block of text, and exit", NULL,
	    OPTION_FLAG, AT(once), '\0', false},
	{"output", "the file to write", "FILE",
	    OPTION_TEXT, AT(output), 'o', false},
	{"progress", "report progress every ten seconds", NULL,
	    OPTION_FLAG, AT(progress), '\0', false},
	{"server", "the server, if there are several", "SERVER",
	    OPTION_TEXT, AT(server), '\0', false},
	{"verbose", "print everything", NULL,
	    OPTION_FLAG, AT(verbose), 'v', false},
	{"watch", "repeat at this interval", "SECONDS",
	    OPTION_SECONDS, AT(watch_s), '\0', false},
	{"write", "create a file there, and remove it", "DIR",
	    OPTION_TEXT, AT(write), '\0', false},
	{"json", "print JSON, one value a line", NULL,
	    OPTION_FLAG, AT(json), '\0', false},
	{"socket", "the daemon's control socket", "PATH",
	    OPTION_TEXT, AT(socket), '\0', true},
	{"help", "explain the command", NULL,
	    OPTION_HELP, 0, 'h', true},
	{"version", "print the version", NULL,
	    OPTION_VERSION, 0, 'V', true},
};
/* clang-format on */

const size_t option_count = sizeof(option_list) / sizeof(option_list[0]);
_Static_assert(
    sizeof(option_list) / sizeof(option_list[0]) <= OPTION_MAX, "too many");

/* The letters come in the form of getopt(3): "hVo:". */
void option_getopt(
    struct option longs[OPTION_MAX + 1], char letters[OPTION_LETTERS_MAX])
{
	char *to = letters;

	memset(longs, 0, (OPTION_MAX + 1) * sizeof(longs[0]));
	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_list[i];

		longs[i].name = row->name;
		longs[i].has_arg = row->arg ? required_argument : no_argument;
		longs[i].val = OPTION_FIRST + (int)i;
		if (row->letter) {
			*to++ = row->letter;
			if (row->arg)
				*to++ = ':';
		}
	}
	*to = '\0';
}

/* A code of OPTION_FIRST or more is a long option's, any other is a letter. */
const struct option_row *option_find(int code)
{
	size_t i = (size_t)(code - OPTION_FIRST);

	if (code >= OPTION_FIRST)
		return i < option_count ? &option_list[i] : NULL;
	for (i = 0; i < option_count; i++)
		if (option_list[i].letter && option_list[i].letter == code)
			return &option_list[i];
	return NULL;
}

/* getopt has already said that the option is unknown; this adds which one may
 * have been meant. "--sokcet=PATH" is compared without its value. */
void option_complain(const char *word)
{
	const char *meant = NULL;
	char name[64];

	if (strncmp(word, "--", 2) == 0) {
		snprintf(name, sizeof(name), "%.*s",
		    (int)strcspn(word + 2, "="), word + 2);
		meant = spelling_meant(
		    name, option_list, option_count, sizeof(option_list[0]));
	}
	/* Where the name is spelled right, its value is missing, or it takes
	 * none. */
	if (meant && strcmp(meant, name) != 0)
		fprintf(stderr, "forefetch: did you mean --%s?\n", meant);
	else
		fputs("forefetch: see forefetch help\n", stderr);
}

/* The options of a command are words in one string, which reads better in the
 * table of a command than an array would. */
bool option_taken(const struct option_row *row, const struct ctl_command *cmd)
{
	size_t len = strlen(row->name);

	for (const char *p = cmd->options; *p;) {
		size_t n = strcspn(p, " ");

		if (n == len && memcmp(p, row->name, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return row->common;
}

/* Seconds, possibly with a fraction. 0, or CTL_EXIT_USAGE after a message. */
static int set_seconds(
    const struct option_row *row, const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end != text && !*end && *seconds >= WATCH_MIN_S &&
	    *seconds <= WATCH_MAX_S)
		return 0;
	ctl_complain(NULL, "--%s takes %g to %g seconds, not %s", row->name,
	    WATCH_MIN_S, WATCH_MAX_S, text);
	return CTL_EXIT_USAGE;
}

/* The kind of the row says which type the member has. */
int option_set(
    const struct option_row *row, const char *text, struct ctl_options *opt)
{
	void *at = (char *)opt + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)at = true;
		break;
	case OPTION_TEXT:
		*(const char **)at = text;
		break;
	case OPTION_SECONDS:
		return set_seconds(row, text, at);
	case OPTION_HELP:
	case OPTION_VERSION:
		break;
	}
	return 0;
}

void option_print_help(const struct ctl_command *cmd)
{
	char text[64];

	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_list[i];

		if (!row->help ||
		    (cmd ? !option_taken(row, cmd) : !row->common))
			continue;
		snprintf(text, sizeof(text), "--%s%s%s", row->name,
		    row->arg ? " " : "", row->arg ? row->arg : "");
		printf("  %c%c%s %-18s %s\n", row->letter ? '-' : ' ',
		    row->letter ? row->letter : ' ', row->letter ? "," : " ",
		    text, row->help);
	}
}
