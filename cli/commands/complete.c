/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offers a shell the words that may stand behind a part of a command line. The
 * candidates come from the tables of commands and options and from the running
 * daemon, so that no list in a completion script has to be kept in step with
 * the program.
 *
 * main.c calls complete_run() for `forefetch complete -- WORD...` before it
 * looks at any option, since the words are those of a line that is not finished
 * and may be wrong. Nothing here complains of them: a word that makes no sense
 * yields no candidates.
 */
#include "commands/complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "commands/option_list.h"
#include "ctl/ctl_client.h"

/* take() keeps here how it has understood the words before the last one. */
struct typed_line {
	/* The command; NULL while its name is not written yet. */
	const struct ctl_command *cmd;
	/* The daemon's control socket: of --socket, or the default one. */
	const char *socket;
	/* The command's first argument; NULL if none stands before the last
	 * word. */
	const char *action;
	/* How many arguments of the command stand before the last word. */
	size_t nargs;
	/* The word that is being written, which may be empty. */
	const char *last;
	/* The option whose argument the last word is; NULL if it is no
	 * option's. */
	const struct option_row *row;
	/* The command is `help`, or a word that is no command. */
	bool help;
	/* "--" has ended the options: words that begin with '-' are
	 * arguments. */
	bool plain;
};

/* Prints a candidate if it continues what is typed. `what` is the summary that
 * zsh and fish show beside it, behind a tab; NULL: none. */
static void offer(
    const struct typed_line *l, const char *text, const char *what)
{
	if (strncmp(text, l->last, strlen(l->last)) != 0)
		return;
	if (what)
		printf("%s\t%s\n", text, what);
	else
		puts(text);
}

/* Offers a field of a message. The text is cut at 255 bytes, which no name of a
 * server reaches. */
static void offer_bytes(
    const struct typed_line *l, const ProtobufCBinaryData *bytes)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)bytes->len,
	    bytes->len ? (const char *)bytes->data : "");
	offer(l, text, NULL);
}

/* Former names are not offered: they are understood for scripts, and nobody
 * should learn them. */
static void offer_commands(const struct typed_line *l)
{
	for (size_t i = 0; command_list[i]; i++)
		offer(l, command_list[i]->name, command_list[i]->summary);
	if (!l->help)
		offer(l, "help", "explain a command");
}

/* A command that parses its own command line (cmd->main) takes options that are
 * not in the table, so none are offered for it. */
static void offer_options(const struct typed_line *l)
{
	char text[64];

	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_list[i];

		if (!row->help || (l->cmd && l->cmd->main) ||
		    (l->cmd ? !option_taken(row, l->cmd) : !row->common))
			continue;
		snprintf(text, sizeof(text), "--%s", row->name);
		offer(l, text, row->help);
	}
}

/* Asks the daemon for the names of its servers. If it does not run, ctl_call()
 * says so on stderr, which the completion scripts discard, and nothing is
 * offered. */
static void offer_servers(const struct typed_line *l)
{
	Forefetch__Response *res = ctl_status(l->socket, NULL);

	for (size_t i = 0; res && i < res->status->n_servers; i++)
		offer_bytes(l, &res->status->servers[i]->name);
	ctl_free(res);
}

/* Offers ids of access trees, each with the name of its root as a summary. The
 * names are those of files on a server, whose owner may be anybody: control
 * characters in them would be obeyed by the terminal on which the shell shows
 * them, so they become '?'. */
static void offer_trees(const struct typed_line *l)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res =
	    ctl_call(l->socket, FOREFETCH__REQUEST__COMMAND_TREES, &trees);
	const Forefetch__TreeList *list = res ? res->trees->list : NULL;
	char id[32], name[128];

	for (size_t i = 0; list && i < list->n_trees; i++) {
		const ProtobufCBinaryData *root = &list->trees[i]->name;

		snprintf(id, sizeof(id), "%016" PRIx64, list->trees[i]->id);
		snprintf(name, sizeof(name), "%.*s", (int)root->len,
		    root->len ? (const char *)root->data : "");
		for (char *p = name; *p; p++)
			if ((unsigned char)*p < ' ' || *p == 0x7f)
				*p = '?';
		offer(l, id, *name ? name : NULL);
	}
	ctl_free(res);
}

/* Offers what an argument may be, by its kind as struct ctl_command names it.
 * Kinds that are no names of the daemon's ("file", "directory") are passed to
 * the shell, which knows files better. */
static void offer_kind(const struct typed_line *l, const char *kind, size_t len)
{
	if (len == 6 && strncmp(kind, "server", len) == 0)
		offer_servers(l);
	else if (len == 4 && strncmp(kind, "tree", len) == 0)
		offer_trees(l);
	else if (len > 0)
		printf(":%.*s\n", (int)len, kind);
}

/* Offers the actions of a command, or, behind an action, what follows that one.
 * The table writes them as "list:server show:tree clear". */
static void offer_actions(const struct typed_line *l)
{
	char text[32];

	for (const char *p = l->cmd->actions; *p;) {
		size_t len = strcspn(p, " "), name = strcspn(p, ": ");

		if (!l->action) {
			snprintf(text, sizeof(text), "%.*s", (int)name, p);
			offer(l, text, NULL);
		} else if (strlen(l->action) == name &&
			   strncmp(l->action, p, name) == 0 && name < len) {
			offer_kind(l, p + name + 1, len - name - 1);
		}
		p += len + (p[len] == ' ');
	}
}

/* A command without arguments of its own takes the name of a server (struct
 * ctl_command, args_max). */
static void offer_arguments(const struct typed_line *l)
{
	const struct ctl_command *cmd = l->cmd;
	const char *kind = cmd->completes ? cmd->completes : "file";

	if (cmd->main)
		offer_kind(l, "directory", strlen("directory"));
	else if (cmd->actions)
		offer_actions(l);
	else if (cmd->args_max == 0 && l->nargs == 0)
		offer_servers(l);
	else if (cmd->args_max > 0 && l->nargs < (size_t)cmd->args_max)
		offer_kind(l, kind, strlen(kind));
}

/* The argument of an option. Numbers and ports are not offered. */
static void offer_value(const struct typed_line *l)
{
	if (strcmp(l->row->name, "server") == 0)
		offer_servers(l);
	else if (l->row->kind == OPTION_TEXT &&
		 (strcmp(l->row->name, "socket") == 0 ||
		     strcmp(l->row->name, "output") == 0))
		puts(":file");
}

/* "--socket", "-o"; NULL where it is none that takes an argument. */
static const struct option_row *find_row(const char *word)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option_row *row = &option_list[i];

		if (row->arg &&
		    ((word[0] == '-' && word[1] == '-' &&
			 strcmp(word + 2, row->name) == 0) ||
			(row->letter && word[1] == row->letter && !word[2])))
			return row;
	}
	return NULL;
}

/* Takes account of a word before the last one. */
static void take(struct typed_line *l, char *word)
{
	if (l->row) {
		if (strcmp(l->row->name, "socket") == 0)
			l->socket = word;
		l->row = NULL;
	} else if (!l->plain && strcmp(word, "--") == 0) {
		l->plain = true;
	} else if (!l->plain && word[0] == '-' && word[1]) {
		l->row = find_row(word);
	} else if (!l->cmd && !l->help) {
		l->cmd = command_find(word);
		l->help = !l->cmd;
	} else {
		if (l->nargs++ == 0)
			l->action = word;
	}
}

int complete_run(int nwords, char **words, const char *socket)
{
	struct typed_line l = {.socket = socket};

	if (nwords > 0 && strcmp(words[0], "--") == 0) {
		words++;
		nwords--;
	}
	if (nwords == 0)
		return CTL_EXIT_USAGE;
	for (int i = 0; i + 1 < nwords; i++)
		take(&l, words[i]);
	l.last = words[nwords - 1];
	if (l.row)
		offer_value(&l);
	else if (!l.plain && l.last[0] == '-')
		offer_options(&l);
	else if (l.cmd)
		offer_arguments(&l);
	else if (l.nargs == 0)
		offer_commands(&l);
	return EXIT_SUCCESS;
}
