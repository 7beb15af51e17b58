/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace. Lines are taken as they come; then the events of each run
 * are put together, and what a run reads a second time is dropped.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/predictor.h"
#include "predictor/trace/trace_format.h"
#include "predictor/trace/trace_line.h"
#include "predictor/trace/trace_private.h"

uint64_t trace_hash(const char *s, size_t len, uint64_t seed)
{
	uint64_t h = XXH3_64bits_withSeed(s, len, seed);

	return h ? h : 1; /* a key is never zero */
}

/* Where the path's last name begins. */
static size_t name_start(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len;
}

/* How long the path of its directory is; 0 at the top. */
static size_t dir_len(const char *path, size_t len)
{
	len = name_start(path, len);
	return len > 0 ? len - 1 : 0;
}

uint32_t trace_dir_new(
    struct reader *r, uint64_t key, const char *path, size_t len)
{
	struct trace *t = r->t;
	uint32_t id = (uint32_t)t->ndirs;

	if (!VEC_ROOM(t->dirs, r->cap_dirs, t->ndirs))
		return UINT32_MAX;
	t->ndirs++;
	t->dirs[id].key = key;
	t->dirs[id].up = UINT32_MAX;
	t->dirs[id].path = strndup(path, len);
	if (!t->dirs[id].path || keymap_put(r->dirs, key, id))
		return UINT32_MAX;
	return id;
}

uint32_t trace_file_new(struct reader *r, uint64_t key, const char *path)
{
	struct trace *t = r->t;
	uint32_t id = (uint32_t)t->nfiles;

	if (!VEC_ROOM(t->files, r->cap_files, t->nfiles))
		return UINT32_MAX;
	t->nfiles++;
	t->files[id].key = key;
	t->files[id].path = strdup(path);
	if (!t->files[id].path || keymap_put(r->files, key, id))
		return UINT32_MAX;
	return id;
}

/* The label's number, made if it is new. */
static uint32_t label_get(struct reader *r, const char *name)
{
	struct trace *t = r->t;
	uint64_t key = trace_hash(name, strlen(name), 0);
	uint32_t id = keymap_get(r->labels, key);

	if (id != KEYMAP_NONE)
		return id;
	if (!VEC_ROOM(t->labels, r->cap_labels, t->nlabels))
		return UINT32_MAX;
	id = (uint32_t)t->nlabels;
	t->labels[id] = strdup(name);
	if (!t->labels[id] || keymap_put(r->labels, key, id))
		return UINT32_MAX;
	t->nlabels++;
	return id;
}

uint32_t trace_run_get(struct reader *r, uint64_t key, const char *name,
    const char *label, uint64_t time_us)
{
	struct trace *t = r->t;
	uint32_t id = keymap_get(r->runs, key);
	size_t labels = t->nlabels;
	struct trace_run *run;

	if (id != KEYMAP_NONE)
		return id;
	if (!VEC_ROOM(t->runs, r->cap_runs, t->nruns) ||
	    !VEC_ROOM(r->run_time_us, r->cap_times, t->nruns))
		return UINT32_MAX;
	id = (uint32_t)t->nruns++;
	run = &t->runs[id];
	run->name = strdup(name);
	run->label = label_get(r, label);
	if (!run->name || run->label == UINT32_MAX ||
	    keymap_put(r->runs, key, id))
		return UINT32_MAX;
	run->cold = t->nlabels > labels;
	/* The first line of a run has no think time. */
	r->run_time_us[id] = time_us;
	return id;
}

/* The directory's number; it is made if it is new, with those above it. */
static uint32_t dir_get(struct reader *r, const char *path, size_t len)
{
	struct trace *t = r->t;
	size_t start = name_start(path, len);
	uint64_t key = trace_hash(path, len, t->seed);
	uint32_t id = keymap_get(r->dirs, key), up = UINT32_MAX;

	if (id != KEYMAP_NONE)
		return id;
	if (len > 0) {
		up = dir_get(r, path, dir_len(path, len));
		if (up == UINT32_MAX)
			return up;
	}
	id = trace_dir_new(r, key, path, len);
	if (id == UINT32_MAX)
		return id;
	t->dirs[id].up = up;
	t->dirs[id].parent = up == UINT32_MAX ? 0 : t->dirs[up].key;
	t->dirs[id].name_hash = trace_hash(path + start, len - start, 0);
	return id;
}

uint32_t trace_path_get(struct reader *r, const char *path)
{
	const char *name, *dot;
	size_t len = strlen(path), start = name_start(path, len);
	uint64_t key = trace_hash(path, len, r->t->seed);
	uint32_t id = keymap_get(r->files, key), dir;
	struct trace_file *f;

	if (id != KEYMAP_NONE)
		return id;
	dir = dir_get(r, path, dir_len(path, len));
	id = trace_file_new(r, key, path);
	if (dir == UINT32_MAX || id == UINT32_MAX)
		return UINT32_MAX;
	name = path + start;
	dot = strrchr(name, '.');
	f = &r->t->files[id];
	f->dir = dir;
	f->parent = r->t->dirs[dir].key;
	f->name_hash = trace_hash(name, len - start, 0);
	f->type_hash =
	    dot && dot[1] ? trace_hash(dot + 1, strlen(dot + 1), 0) | 1 : 0;
	return id;
}

static uint32_t run_get(struct reader *r, const struct trace_line *line)
{
	/* Traces that were put together may each count their runs from 1, so
	 * the label is part of the key. */
	uint64_t key = trace_hash(line->run, strlen(line->run),
	    trace_hash(line->label, strlen(line->label), 0));

	return trace_run_get(r, key, line->run, line->label, line->time_us);
}

/* The time from the run's last event to this one, as it will be played. */
static uint32_t think_us(uint64_t *last_us, uint64_t now_us)
{
	uint64_t gap = now_us > *last_us ? now_us - *last_us : 0;

	*last_us = now_us;
	return gap > TRACE_THINK_MAX_US ? TRACE_THINK_MAX_US : (uint32_t)gap;
}

struct trace_event *trace_event_new(
    struct reader *r, uint32_t run, uint32_t file, uint64_t time_us)
{
	struct trace *t = r->t;
	struct trace_event *e;

	if (run == UINT32_MAX || file == UINT32_MAX ||
	    !VEC_ROOM(t->events, r->cap_events, t->nevents))
		return NULL;
	e = &t->events[t->nevents++];
	e->file = file;
	e->run = run;
	e->think_us = think_us(&r->run_time_us[run], time_us);
	t->runs[run].n++;
	return e;
}

/* Appends the line's event. NULL, or what is wrong. */
static const char *reader_take(struct reader *r, const struct trace_line *line)
{
	size_t nfiles = r->t->nfiles;
	uint32_t run = run_get(r, line), file = trace_path_get(r, line->path);
	struct trace_event *e = trace_event_new(r, run, file, line->time_us);
	struct trace_file *f;

	if (!e)
		return "out of memory";
	e->pid = line->pid;
	e->size_bytes = line->size_bytes;
	e->kind = line->kind;
	e->exec = line->exec;
	f = &r->t->files[file];
	if (file == nfiles)
		f->exec = line->exec;
	f->exists |= line->kind != PREDICTOR_ABSENT;
	f->directory |= line->kind == PREDICTOR_READDIR;
	if (f->first_size_bytes == 0)
		f->first_size_bytes = line->size_bytes;
	return NULL;
}

int trace_fail(char *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, TRACE_ERR_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static const char *reader_line(void *ctx, char *text)
{
	struct trace_line line;
	const char *why = trace_line_parse(text, &line);

	return why ? why : reader_take(ctx, &line);
}

int trace_lines(FILE *in, const char *name,
    const char *(*take)(void *ctx, char *line), void *ctx, char *err)
{
	char *text = malloc(TRACE_LINE_MAX);
	unsigned long nr = 0;
	int ret = text ? 0 : trace_fail(err, "%s: out of memory", name);

	while (!ret && fgets(text, TRACE_LINE_MAX, in)) {
		size_t len = strlen(text);
		const char *why;

		nr++;
		if (len > 0 && text[len - 1] == '\n')
			text[--len] = '\0';
		else if (!feof(in))
			ret = trace_fail(err,
			    "%s:%lu: too long, or has a zero byte", name, nr);
		if (ret || len == 0 || text[0] == '#')
			continue;
		why = take(ctx, text);
		if (why)
			ret = trace_fail(err, "%s:%lu: %s", name, nr, why);
	}
	if (!ret && ferror(in))
		ret = trace_fail(err, "%s: %s", name, strerror(errno));
	free(text);
	return ret;
}

/* Puts the events of each run together, in the order of the runs. */
static bool trace_sort(struct trace *t)
{
	struct trace_event *out = calloc(t->nevents + 1, sizeof(*out));
	uint32_t at = 0;

	if (!out)
		return false;
	for (size_t i = 0; i < t->nruns; i++) {
		t->runs[i].first = at;
		at += t->runs[i].n;
		t->runs[i].n = 0;
	}
	for (size_t i = 0; i < t->nevents; i++) {
		struct trace_run *run = &t->runs[t->events[i].run];

		out[run->first + run->n++] = t->events[i];
	}
	free(t->events);
	t->events = out;
	return true;
}

/* An event is the first read of a file in a run. The others are dropped; their
 * think time stays out, as the judge's cost model has it. */
static bool trace_drop_repeats(struct trace *t)
{
	uint32_t *last = calloc(t->nfiles + 1, sizeof(*last));
	uint32_t out = 0;

	if (!last)
		return false;
	for (uint32_t i = 0; i < t->nruns; i++) {
		struct trace_run *run = &t->runs[i];
		uint32_t end = run->first + run->n;

		for (uint32_t j = run->first; j < end; j++) {
			struct trace_event *e = &t->events[j];
			bool again = last[e->file] == i + 1;

			if (j == run->first)
				run->first = out;
			if (e->kind == PREDICTOR_READ) {
				if (again)
					continue;
				last[e->file] = i + 1;
			}
			t->events[out++] = *e;
		}
		run->n = out - run->first;
	}
	t->nevents = out;
	free(last);
	return true;
}

/* By name; all files of a directory have the same path up to there. */
static int file_cmp(const void *a, const void *b, void *arg)
{
	const struct trace *t = arg;
	const struct trace_file *x = &t->files[*(const uint32_t *)a];
	const struct trace_file *y = &t->files[*(const uint32_t *)b];

	return strcmp(x->path, y->path);
}

/* Strings the subdirectories together, in the order of their numbers. */
static void trace_link_dirs(struct trace *t)
{
	for (size_t i = 0; i < t->ndirs; i++)
		t->dirs[i].subs = t->dirs[i].next = UINT32_MAX;
	for (size_t i = t->ndirs; i-- > 0;) {
		struct trace_dir *d = &t->dirs[i];

		if (d->up == UINT32_MAX)
			continue;
		d->next = t->dirs[d->up].subs;
		t->dirs[d->up].subs = (uint32_t)i;
	}
}

/* Fills in the directories' files, by name. */
static bool trace_fill_dirs(struct trace *t, const struct keymap *dirs)
{
	trace_link_dirs(t);
	for (size_t i = 0; i < t->nfiles; i++)
		t->dirs[t->files[i].dir].nfiles++;
	for (size_t i = 0; i < t->ndirs; i++) {
		struct trace_dir *d = &t->dirs[i];

		d->files = calloc(d->nfiles + 1, sizeof(*d->files));
		if (!d->files)
			return false;
		d->nfiles = 0;
	}
	for (uint32_t i = 0; i < t->nfiles; i++) {
		struct trace_file *f = &t->files[i];
		struct trace_dir *d = &t->dirs[f->dir];

		d->files[d->nfiles++] = i;
		if (keymap_get(dirs, f->key) != KEYMAP_NONE)
			f->directory = true;
	}
	for (size_t i = 0; i < t->ndirs; i++)
		qsort_r(t->dirs[i].files, t->dirs[i].nfiles, sizeof(uint32_t),
		    file_cmp, t);
	return true;
}

static bool reader_init(struct reader *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->t = calloc(1, sizeof(*r->t));
	r->runs = keymap_new();
	r->labels = keymap_new();
	r->files = keymap_new();
	r->dirs = keymap_new();
	if (r->t)
		r->t->seed = seed;
	return r->t && r->runs && r->labels && r->files && r->dirs;
}

static void reader_done(struct reader *r)
{
	keymap_free(r->runs);
	keymap_free(r->labels);
	keymap_free(r->files);
	keymap_free(r->dirs);
	free(r->run_time_us);
}

/* The two formats differ in the first byte. */
static bool is_binary(FILE *in)
{
	int c = getc(in);

	if (c != EOF)
		ungetc(c, in);
	return c == (unsigned char)TRACE_MAGIC[0];
}

/* Reads either format, and the names if there are any. */
static int reader_read(struct reader *r, FILE *in, const char *name,
    FILE *names, const char *names_name, char *err)
{
	bool binary = is_binary(in);
	int ret;

	if (binary && names)
		return trace_fail(err,
		    "%s: has keys in place of paths, so that %s does not fit",
		    name, names_name);
	ret = binary ? trace_read_blocks(r, in, name, err)
		     : trace_lines(in, name, reader_line, r, err);
	if (!ret && names)
		ret = trace_read_names(r, names, names_name, err);
	return ret;
}

struct trace *trace_read_named(FILE *in, const char *name, FILE *names,
    const char *names_name, uint64_t seed, char err[TRACE_ERR_MAX])
{
	struct reader r;
	int ret = 0;

	if (!reader_init(&r, seed))
		ret = trace_fail(err, "%s: out of memory", name);
	if (!ret)
		ret = reader_read(&r, in, name, names, names_name, err);
	if (!ret && (!trace_sort(r.t) || !trace_drop_repeats(r.t) ||
			!trace_fill_dirs(r.t, r.dirs)))
		ret = trace_fail(err, "%s: out of memory", name);
	if (ret) {
		trace_free(r.t);
		r.t = NULL;
	}
	reader_done(&r);
	return r.t;
}

struct trace *trace_read(
    FILE *in, const char *name, uint64_t seed, char err[TRACE_ERR_MAX])
{
	return trace_read_named(in, name, NULL, NULL, seed, err);
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nfiles; i++)
		free(t->files[i].path);
	for (size_t i = 0; i < t->ndirs; i++) {
		free(t->dirs[i].path);
		free(t->dirs[i].files);
	}
	for (size_t i = 0; i < t->nruns; i++)
		free(t->runs[i].name);
	for (size_t i = 0; i < t->nlabels; i++)
		free(t->labels[i]);
	free(t->events);
	free(t->files);
	free(t->dirs);
	free(t->runs);
	free(t->labels);
	free(t);
}
