/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch trees: what was learned is listed, shown, carried and cleared.
 * Files are carried in parts over the control socket, as they may be larger
 * than a message; the daemon never opens a file for a user. merge with -o is in
 * trees_merge.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "config/spelling.h"
#include "control/protocol.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_outfile.h"
#include "ctl/ctl_table.h"
#include "ctl/ctl_text.h"
#include "text/json.h"

/* Bytes of a file in one request, below CONTROL_REQUEST_MAX with what is around
 * them. */
enum { PART = 48 << 10 }; /* of a file, in one request */

/* Asks for one action at the server of the command line, which `list` also
 * takes as an argument. NULL after a message. */
static Forefetch__Response *ask_trees(struct ctl_client *c,
    const struct ctl_options *opt, Forefetch__TreesRequest *trees)
{
	bool named =
	    trees->action == FOREFETCH__TREES_ACTION__LIST && !opt->server;

	trees->server =
	    ctl_bytes(named && opt->nargs > 1 ? opt->args[1] : opt->server);
	return ctl_ask(c, FOREFETCH__REQUEST__COMMAND_TREES, trees);
}

/* Prints "FILE: " and errno's message; false. */
static bool complain(const char *file)
{
	ctl_complain(file, "%s", strerror(errno));
	return false;
}

/* ---- list ------------------------------------------------------------- */

/* A row of the table. Trees that belong to no user (learned for all) have no
 * uid; a root whose name is not known is shown as a dash. */
static void add_tree(struct ctl_table *t, const Forefetch__Tree *tree)
{
	ctl_table_row(t);
	ctl_table_cell(t, "%016" PRIx64, tree->id);
	if (tree->uid == UID_NOBODY)
		ctl_table_cell(t, "-");
	else
		ctl_table_cell(t, "%" PRIu32, tree->uid);
	ctl_table_put(t, tree, "{objects}|{age_events}|{uses}");
	ctl_table_cell(t, "%.*s%s",
	    tree->name.len > 0 ? (int)tree->name.len : 1,
	    tree->name.len > 0 ? (char *)tree->name.data : "-",
	    tree->session ? " (session)" : "");
}

/* The daemon lists those used last, up to a bound, and says how many there
 * are. */
static void put_list(const Forefetch__TreeList *list)
{
	struct ctl_table *t =
	    ctl_table_new("id,>uid,>objects,>accesses since,>uses,root");

	for (size_t i = 0; i < list->n_trees; i++)
		add_tree(t, list->trees[i]);
	if (list->n_trees == 0)
		puts("no access trees have been learned yet");
	ctl_table_print(t);
	if (list->total > list->n_trees)
		printf("and %" PRIu64 " more\n", list->total - list->n_trees);
}

/* Each action returns false after a message. */
static bool list(struct ctl_client *c, const struct ctl_options *opt)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;

	trees.action = FOREFETCH__TREES_ACTION__LIST;
	res = ask_trees(c, opt, &trees);
	if (res && !res->trees->list)
		res = ctl_refuse(opt->socket, res);
	if (!res)
		return false;
	if (opt->json)
		json_print(res->trees->list);
	else
		put_list(res->trees->list);
	ctl_free(res);
	return true;
}

/* ---- show, clear ------------------------------------------------------ */

/* An id in hexadecimal, as `list` shows it. 0 is none: the daemon would take it
 * for all trees. */
static bool parse_id(const char *text, uint64_t *id)
{
	char *end;

	errno = 0;
	*id = strtoull(text, &end, 16);
	if (errno == 0 && end != text && !*end && *id != 0)
		return true;
	ctl_complain(text,
	    "that is not the id of a tree; \"forefetch trees list\" shows "
	    "them");
	return false;
}

/* Writes the daemon's text line by line. Names in it are escaped by the daemon
 * as far as ASCII goes, and here for the terminal's character set. */
static void put_lines(const ProtobufCBinaryData *text)
{
	const uint8_t *s = text->data, *end = s + text->len;

	while (s < end) {
		const uint8_t *nl = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((nl ? nl : end) - s);

		ctl_put_bytes(stdout, s, len);
		putchar('\n');
		s += len + 1;
	}
}

static bool show(struct ctl_client *c, const struct ctl_options *opt)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;

	trees.action = FOREFETCH__TREES_ACTION__SHOW;
	if (!parse_id(opt->args[1], &trees.id))
		return false;
	res = ask_trees(c, opt, &trees);
	if (res && !res->trees->shown)
		res = ctl_refuse(opt->socket, res);
	if (!res)
		return false;
	if (opt->json) {
		json_print(res->trees->shown);
	} else {
		put_lines(&res->trees->shown->text);
		if (res->trees->shown->more)
			puts("...");
	}
	ctl_free(res);
	return true;
}

/* The end of commands whose answer is empty: prints {} with --json, so that a
 * program always finds a value. */
static bool done(Forefetch__Response *res, const struct ctl_options *opt)
{
	if (!res)
		return false;
	ctl_free(res);
	if (opt->json)
		puts("{}");
	return true;
}

static bool clear(struct ctl_client *c, const struct ctl_options *opt)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;

	trees.action = FOREFETCH__TREES_ACTION__CLEAR;
	if (opt->nargs > 1 && !parse_id(opt->args[1], &trees.id))
		return false;
	return done(ask_trees(c, opt, &trees), opt);
}

/* ---- files ------------------------------------------------------------ */

/* Takes the parts of an export one after the other. Offset 0 has the daemon
 * pack the trees anew; the parts behind it are of that one file. */
static bool export_to(
    FILE *out, struct ctl_client *c, const struct ctl_options *opt)
{
	bool more = true;
	uint64_t offset = 0;

	while (more) {
		Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
		Forefetch__Response *res;
		const ProtobufCBinaryData *data;
		bool written;

		trees.action = FOREFETCH__TREES_ACTION__EXPORT;
		trees.offset = offset;
		res = ask_trees(c, opt, &trees);
		if (!res)
			return false;
		data = &res->trees->data;
		more = res->trees->more && data->len > 0;
		offset += data->len;
		written = data->len == 0 ||
			  fwrite(data->data, data->len, 1, out) == 1;
		ctl_free(res);
		if (!written)
			return complain(opt->args[1]);
	}
	return true;
}

/* The file appears under its name only when it is complete (ctl_outfile.h). */
static bool export(struct ctl_client *c, const struct ctl_options *opt)
{
	struct ctl_outfile f;
	bool good = ctl_outfile_open(&f, opt->args[1]);

	if (!good)
		return false;
	good = export_to(f.out, c, opt);
	good = ctl_outfile_close(&f, good);
	if (good && opt->json)
		puts("{}");
	return good;
}

/* Sends a file in parts, and whether more follows; the daemon uses it when the
 * last part has come. So a byte is read ahead, since only that tells the last
 * part. */
static bool import_from(FILE *in, struct ctl_client *c,
    const struct ctl_options *opt, Forefetch__TreesAction action)
{
	static uint8_t part[PART];
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;

	trees.action = action;
	trees.data.data = part;
	for (;;) {
		Forefetch__Response *res;
		int c2;

		trees.data.len = fread(part, 1, sizeof(part), in);
		c2 = getc(in);
		trees.more = c2 != EOF;
		if (c2 != EOF)
			ungetc(c2, in);
		if (ferror(in))
			return complain(opt->args[1]);
		res = ask_trees(c, opt, &trees);
		if (!trees.more)
			return done(res, opt);
		if (!res)
			return false;
		ctl_free(res);
		trees.offset += trees.data.len;
	}
}

/* Does `import` and `merge`, which differ only in how the daemon treats trees
 * that the user has already. */
static bool import(struct ctl_client *c, const struct ctl_options *opt)
{
	FILE *in = fopen(opt->args[1], "re");
	bool good;

	if (!in)
		return complain(opt->args[1]);
	good = import_from(in, c, opt,
	    strcmp(opt->arg, "merge") == 0 ? FOREFETCH__TREES_ACTION__MERGE
					   : FOREFETCH__TREES_ACTION__IMPORT);
	fclose(in);
	return good;
}

/* ---- the command ------------------------------------------------------ */

/* The actions by name; the first is that of a command line without one. `name`
 * stays the first member, for spelling_meant(). */
static const struct trees_action {
	const char *name;
	/* How many arguments follow the action. */
	int args_min, args_max;
	bool (*run)(struct ctl_client *c, const struct ctl_options *opt);
} actions[] = {
    {"list", 0, 1, list},
    {"show", 1, 1, show},
    {"export", 1, 1, export},
    {"import", 1, 1, import},
    {"merge", 1, 1, import},
    {"clear", 0, 1, clear},
};

/* With -o it is the one form that asks no daemon. */
static int trees_run(const struct ctl_options *opt)
{
	const char *name = opt->arg ? opt->arg : actions[0].name, *meant;
	int args = opt->nargs > 0 ? opt->nargs - 1 : 0;
	const struct trees_action *a = NULL;
	struct ctl_client *c;
	bool good;

	if (opt->output)
		return trees_merge(opt);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, name) == 0)
			a = &actions[i];
	if (a && args < a->args_min) {
		ctl_complain(NULL,
		    a->run == show
			? "trees %s needs an ID; forefetch trees lists them"
			: "trees %s needs a FILE; see forefetch trees --help",
		    name);
		return CTL_EXIT_USAGE;
	}
	if (!a || args > a->args_max ||
	    (a == actions && args > 0 && opt->server)) {
		meant = a ? NULL
			  : spelling_meant(name, actions,
				sizeof(actions) / sizeof(actions[0]),
				sizeof(actions[0]));
		ctl_mistaken("trees", meant);
		return CTL_EXIT_USAGE;
	}
	c = ctl_open(opt->socket);
	if (!c)
		return EXIT_FAILURE;
	good = a->run(c, opt);
	ctl_close(c);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct ctl_command trees_command = {
    .name = "trees",
    .usage = "[--json] [--server SERVER] [list [SERVER]] | show ID |\n"
	     "       export FILE | import FILE | merge FILE | clear [ID]\n"
	     "       forefetch trees merge FILE... -o OUT",
    .summary = "show, export, import and clear what was learned",
    .help = "An access tree is a set of files that a program or job uses "
	    "together. list shows\nyours, for root those of all users; show "
	    "shows one. export writes them to FILE;\nimport reads them from "
	    "FILE if you have none yet, merge adds them to those that "
	    "you\nhave. clear removes one of them, or all. With -o, merge "
	    "combines several files into\none, without a daemon.\n",
    .options = "server output json",
    .run = trees_run,
    .actions = "list:server show:tree export:file import:file merge:file "
	       "clear:tree",
    .args_max = CTL_ARGS_MAX,
};
