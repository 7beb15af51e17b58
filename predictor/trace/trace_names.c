/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of all files of the trees that a trace is about, used or not, for
 * listings that hold the rest of a directory too. The format is in trace.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/predictor.h"
#include "predictor/trace/trace_line.h"
#include "predictor/trace/trace_private.h"

enum { FIELDS = 5 };

struct trace_name {
	struct reader *r;
	struct keymap *nth; /* (label, how-manieth run of it) → run */
};

/* One key for both, so that one map does. */
static uint64_t nth_key(const char *label, uint64_t n)
{
	return trace_hash(label, strlen(label), n);
}

/* Numbers the runs of each label, from 1 on. */
static int names_number(struct trace_name *ns)
{
	const struct trace *t = ns->r->t;
	uint32_t *runs = calloc(t->nlabels + 1, sizeof(*runs));
	int ret = runs && ns->nth ? 0 : -ENOMEM;

	for (uint32_t i = 0; !ret && i < t->nruns; i++) {
		uint32_t label = t->runs[i].label;

		ret = keymap_put(
		    ns->nth, nth_key(t->labels[label], ++runs[label]), i);
	}
	free(runs);
	return ret;
}

/* Takes names from the trace itself: a file is there from its first use on. */
static void names_used(struct trace *t)
{
	t->named = true;
	for (size_t i = 0; i < t->nfiles; i++)
		t->files[i].from = UINT32_MAX;
	for (size_t i = 0; i < t->nevents; i++) {
		const struct trace_event *e = &t->events[i];
		struct trace_file *f = &t->files[e->file];

		if (e->kind != PREDICTOR_ABSENT && e->run < f->from)
			f->from = e->run;
	}
}

/* Adds a name that is there from that run on. */
static const char *names_add(struct trace_name *ns, uint32_t from, char *path,
    uint64_t size_bytes, char type)
{
	struct trace *t = ns->r->t;
	size_t nfiles = t->nfiles;
	uint32_t id = trace_path_get(ns->r, path);
	struct trace_file *f;

	if (id == UINT32_MAX)
		return "out of memory";
	f = &t->files[id];
	if (id == nfiles || from < f->from)
		f->from = from;
	f->exists = true;
	f->directory |= type == 'd';
	f->no_data = type != 'f';
	if (f->first_size_bytes == 0)
		f->first_size_bytes = size_bytes;
	return NULL;
}

/* Takes one line of names; returns what is wrong with it, or NULL. */
static const char *names_line(void *ctx, char *text)
{
	struct trace_name *ns = ctx;
	char *f[FIELDS];
	uint64_t nth, size_bytes;
	uint32_t from = 0;

	for (int i = 0; i < FIELDS; i++)
		f[i] = strsep(&text, "\t");
	if (!f[FIELDS - 1] || text)
		return "not 5 fields, separated by tabs";
	if (!trace_number_parse(f[1], UINT32_MAX, &nth) || nth == 0)
		return "the run is no number from 1 on";
	if (!*f[2])
		return "the path is empty";
	if (!trace_number_parse(f[3], INT64_MAX, &size_bytes))
		return "the size is no number of bytes";
	if (strlen(f[4]) != 1 || !strchr("fdl", *f[4]))
		return "the type is none of f, d, l";
	if (strcmp(f[0], "-") != 0)
		from = keymap_get(ns->nth, nth_key(f[0], nth));
	return from == KEYMAP_NONE
		   ? NULL
		   : names_add(ns, from, f[2], size_bytes, *f[4]);
}

/* Marks each object that the trace reads as a file, whatever it has become in
 * the names. */
static void names_read(struct trace *t)
{
	for (size_t i = 0; i < t->nevents; i++)
		if (t->events[i].kind == PREDICTOR_READ)
			t->files[t->events[i].file].no_data = false;
}

int trace_read_names(struct reader *r, FILE *in, const char *name, char *err)
{
	struct trace_name ns = {r, keymap_new()};
	int ret;

	if (names_number(&ns)) {
		ret = trace_fail(err, "%s: out of memory", name);
	} else {
		names_used(r->t);
		ret = trace_lines(in, name, names_line, &ns, err);
		names_read(r->t);
	}
	keymap_free(ns.nth);
	return ret;
}
