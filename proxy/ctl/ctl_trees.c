/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_command.h"
#include "ctl/ctl_json.h"
#include "ctl/ctl_outfile.h"
#include "ctl/ctl_text.h"

enum { PART = 48 << 10 }; /* of a file, in one request */

static Forefetch__Response *ask(struct ctl_client *c,
    const struct ctl_options *opt, Forefetch__TreesRequest *trees)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;

	if (opt->server) {
		trees->server.data = (uint8_t *)opt->server;
		trees->server.len = strlen(opt->server);
	}
	request.command_case = FOREFETCH__REQUEST__COMMAND_TREES;
	request.trees = trees;
	return ctl_ask(c, &request, FOREFETCH__RESPONSE__RESULT_TREES);
}

static bool complain(const char *file)
{
	fprintf(stderr, "forefetch: %s: %s\n", file, strerror(errno));
	return false;
}

/* ---- list ------------------------------------------------------------- */

static void put_name(const Forefetch__Tree *t)
{
	if (t->name.len > 0)
		ctl_put_bytes(stdout, t->name.data, t->name.len);
	else
		putchar('-');
	puts(t->session ? " (session)" : "");
}

static void put_list(const Forefetch__Trees *trees)
{
	printf("%-16s %8s %8s %8s %6s  %s\n", "id", "uid", "objects", "ago",
	    "uses", "root");
	for (size_t i = 0; i < trees->n_trees; i++) {
		const Forefetch__Tree *t = trees->trees[i];

		printf("%016" PRIx64 " ", t->id);
		if (t->all_uids)
			printf("%8s", "-");
		else
			printf("%8" PRIu32, t->uid);
		printf(" %8" PRIu32 " %8" PRIu32 " %6" PRIu32 "  ", t->objects,
		    t->age, t->uses);
		put_name(t);
	}
	if (trees->total > trees->n_trees)
		printf("and %" PRIu64 " more\n", trees->total - trees->n_trees);
}

static void json_list(const Forefetch__Trees *trees)
{
	struct ctl_json j = {.out = stdout};
	char id[CTL_TEXT_MAX];

	ctl_json_open(&j, NULL, '{');
	ctl_json_open(&j, "trees", '[');
	for (size_t i = 0; i < trees->n_trees; i++) {
		const Forefetch__Tree *t = trees->trees[i];

		snprintf(id, sizeof(id), "%016" PRIx64, t->id);
		ctl_json_open(&j, NULL, '{');
		ctl_json_text(&j, "id", id);
		if (t->all_uids)
			ctl_json_known(&j, "uid", 0);
		else
			ctl_json_number(&j, "uid", t->uid);
		ctl_json_number(&j, "objects", t->objects);
		ctl_json_number(&j, "uses", t->uses);
		ctl_json_number(&j, "age_events", t->age);
		ctl_json_bool(&j, "program", t->program);
		ctl_json_bool(&j, "session", t->session);
		ctl_json_bytes(&j, "name", t->name.data, t->name.len);
		ctl_json_close(&j, '}');
	}
	ctl_json_close(&j, ']');
	ctl_json_number(&j, "total", trees->total);
	ctl_json_close(&j, '}');
	putchar('\n');
}

static bool list(struct ctl_client *c, const struct ctl_options *opt)
{
	Forefetch__TreesRequest trees = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;

	trees.action = FOREFETCH__TREES_ACTION__LIST;
	res = ask(c, opt, &trees);
	if (!res)
		return false;
	if (opt->json)
		json_list(res->trees);
	else
		put_list(res->trees);
	forefetch__response__free_unpacked(res, NULL);
	return true;
}

/* ---- show, clear ------------------------------------------------------ */

static bool parse_id(const char *text, uint64_t *id)
{
	char *end;

	errno = 0;
	*id = strtoull(text, &end, 16);
	if (errno == 0 && end != text && !*end && *id != 0)
		return true;
	fprintf(stderr,
	    "forefetch: %s is no tree's id; \"forefetch trees list\" shows "
	    "them\n",
	    text);
	return false;
}

/* Lines, of which each begins with blanks. */
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
	struct ctl_json j = {.out = stdout};
	Forefetch__Response *res;

	trees.action = FOREFETCH__TREES_ACTION__SHOW;
	if (!parse_id(opt->args[1], &trees.id))
		return false;
	res = ask(c, opt, &trees);
	if (!res)
		return false;
	if (opt->json) {
		ctl_json_open(&j, NULL, '{');
		ctl_json_bytes(
		    &j, "text", res->trees->data.data, res->trees->data.len);
		ctl_json_bool(&j, "more", res->trees->more);
		ctl_json_close(&j, '}');
		putchar('\n');
	} else {
		put_lines(&res->trees->data);
		if (res->trees->more)
			puts("...");
	}
	forefetch__response__free_unpacked(res, NULL);
	return true;
}

/* What has nothing to say but that it was done. */
static bool done(Forefetch__Response *res, const struct ctl_options *opt)
{
	if (!res)
		return false;
	forefetch__response__free_unpacked(res, NULL);
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
	return done(ask(c, opt, &trees), opt);
}

/* ---- files ------------------------------------------------------------ */

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
		res = ask(c, opt, &trees);
		if (!res)
			return false;
		data = &res->trees->data;
		more = res->trees->more && data->len > 0;
		offset += data->len;
		written = data->len == 0 ||
			  fwrite(data->data, data->len, 1, out) == 1;
		forefetch__response__free_unpacked(res, NULL);
		if (!written)
			return complain(opt->args[1]);
	}
	return true;
}

/* The file appears when it is whole. */
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
		res = ask(c, opt, &trees);
		if (!trees.more)
			return done(res, opt);
		if (!res)
			return false;
		forefetch__response__free_unpacked(res, NULL);
		trees.offset += trees.data.len;
	}
}

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

static const struct action {
	const char *name;
	int args_min, args_max; /* after it */
	bool (*run)(struct ctl_client *c, const struct ctl_options *opt);
} actions[] = {
    {"list", 0, 0, list},
    {"show", 1, 1, show},
    {"export", 1, 1, export},
    {"import", 1, 1, import},
    {"merge", 1, 1, import},
    {"clear", 0, 1, clear},
};

int ctl_trees(const struct ctl_options *opt)
{
	const struct action *a = NULL;
	struct ctl_client *c;
	bool good;

	if (opt->output)
		return ctl_trees_merge(opt);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(actions[i].name, opt->arg) == 0)
			a = &actions[i];
	if (!a || opt->nargs - 1 < a->args_min ||
	    opt->nargs - 1 > a->args_max) {
		fputs("forefetch: see forefetch help trees\n", stderr);
		return CTL_EXIT_USAGE;
	}
	c = ctl_open(opt->socket);
	if (!c)
		return EXIT_FAILURE;
	good = a->run(c, opt);
	ctl_close(c);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
