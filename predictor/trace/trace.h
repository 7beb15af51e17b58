/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces in the text format: a line a first use of a file in a run,
 *
 *	run  label  t_us  pid  path  size  exec  [kind]
 *
 * separated by tabs; `#` begins a comment line. `kind` is read (if absent),
 * lookup, absent, getattr, readdir or access. Runs are in the order of their
 *first line; the first run of a label is cold.
 */
#ifndef FOREFETCH_TRACE_H
#define FOREFETCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	TRACE_ERR_MAX = 512,
	TRACE_LINE_MAX = 16384,
	/* Longer pauses are a user's, and play as this. */
	TRACE_THINK_MAX_US = 500000,
};

/* The last part of an event's `kind` is enum predictor_kind. */
struct trace_event {
	uint32_t file;
	uint32_t run;
	uint32_t think_us; /* gap to the run's previous line */
	uint32_t pid;
	uint64_t size_bytes;
	uint8_t kind;
	bool exec;
};

struct trace_file {
	char *path;
	uint64_t key, parent, name_hash, type_hash;
	uint64_t first_size_bytes, size_bytes; /* last one seen so far */
	uint32_t dir;
	bool exec;
	bool exists;    /* some line says that it was found */
	bool directory; /* another path lies in it, or it was listed */
};

/* A directory of the trace and the files of it that occur. */
struct trace_dir {
	char *path;
	uint64_t key, parent, name_hash;
	uint32_t *files; /* by name */
	uint32_t nfiles;
	uint32_t up; /* its own directory, UINT32_MAX for the top */
};

struct trace_run {
	char *name;
	uint32_t label;
	uint32_t first, n; /* its events */
	bool cold;
};

struct trace {
	struct trace_event *events; /* of each run together */
	struct trace_file *files;
	struct trace_dir *dirs;
	struct trace_run *runs;
	char **labels;
	size_t nevents, nfiles, ndirs, nruns, nlabels;
	uint64_t seed;
};

/*
 * Read a trace; keys are hashes of paths under `seed`, so that no predictor
 * learns from numbers. NULL with "NAME:LINE: reason" in `err`.
 */
struct trace *trace_read(
    FILE *in, const char *name, uint64_t seed, char err[TRACE_ERR_MAX]);
void trace_free(struct trace *t);

#endif
