/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that a shell offers behind a part of a command line: by the tables of
 * commands and options, so that it knows what the program knows. */
#include "commands/complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "commands/option_list.h"
#include "ctl/ctl_client.h"

struct typed_line {
	const struct ctl_command *cmd; /* NULL: not written yet */
	const char *socket;
	const char *action; /* its first argument; NULL: none before the last */
	size_t nargs;       /* arguments before the last word */
	const char *last;
	const struct option_row *row; /* the last word is its argument */
	bool help;                    /* of the command `help` */
	bool plain;                   /* options are over */
};

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

static void offer_bytes(
    const struct typed_line *l, const ProtobufCBinaryData *bytes)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)bytes->len,
	    bytes->len ? (const char *)bytes->data : "");
	offer(l, text, NULL);
}

static void offer_commands(const struct typed_line *l)
{
	for (size_t i = 0; command_list[i]; i++)
		offer(l, command_list[i]->name, command_list[i]->summary);
	if (!l->help)
		offer(l, "help", "explain a command");
}

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

static void offer_servers(const struct typed_line *l)
{
	Forefetch__Response *res = ctl_status(l->socket, NULL);

	for (size_t i = 0; res && i < res->status->n_servers; i++)
		offer_bytes(l, &res->status->servers[i]->name);
	ctl_free(res);
}

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

/* By the word for a kind of argument, as in struct ctl_command. */
static void offer_kind(const struct typed_line *l, const char *kind, size_t len)
{
	if (len == 6 && strncmp(kind, "server", len) == 0)
		offer_servers(l);
	else if (len == 4 && strncmp(kind, "tree", len) == 0)
		offer_trees(l);
	else if (len > 0)
		printf(":%.*s\n", (int)len, kind);
}

/* "list:server show:tree …" */
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

/* A word before the last one. */
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
