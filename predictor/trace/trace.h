/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: what a client used, for the simulator. The folder may use store/ and
 * predictor.h; the daemon links its writer only.
 *
 *	text (bench/traces) ──▶ trace_line.c ───┐
 *	                                        ├──▶ trace.c ──▶ struct trace
 *	the proxy's ──────────▶ trace_blocks.c ─┘
 *	    ▲ trace_writer.c
 *
 * The text format has one line for the first use of a file in a run,
 *
 *	run  label  t_us  pid  path  size  exec  [kind]
 *
 * separated by tabs; `#` begins a comment line. `kind` is read (the default),
 * lookup, absent, getattr, readdir or access. Runs are in the order of their
 * first line; the first run of a label is cold.
 *
 * Beside it may stand the names of all files of the trees, used or not
 * (trace_names.c), one in a line:
 *
 *	label  n  path  size  type
 *
 * `type` is f(ile), d(irectory) or l(ink). The name is there from the n-th run
 * of that label on; `-` is no label, and means from the beginning.
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
	/* Longer gaps are a user's pauses and are cut to this, as the judge's
	 * cost model has it. */
	TRACE_THINK_MAX_US = 500000,
};

/* One line of a run. */
struct trace_event {
	uint32_t file;
	uint32_t run;
	uint32_t think_us; /* gap to the run's previous line */
	uint32_t pid;
	uint64_t size_bytes;
	uint8_t kind; /* enum predictor_kind */
	bool exec;
};

/* A file, or whatever else a path of the trace leads to. */
struct trace_file {
	char *path;
	uint64_t key, parent, name_hash, type_hash;
	/* The first size that the trace has, and the simulator's last one. */
	uint64_t first_size_bytes, size_bytes;
	uint32_t dir;
	bool exec;
	bool exists;    /* some line says that it was found */
	bool directory; /* another path lies in it, or it was listed */
	bool no_data;   /* the names say that it is no file */
	/* The first run in which a listing has it; 0 if names are not known. */
	uint32_t from;
};

/* A directory, and those of its files that occur in the trace or the names. */
struct trace_dir {
	char *path;
	uint64_t key, parent, name_hash;
	uint32_t *files; /* by name */
	uint32_t nfiles;
	uint32_t up; /* its own directory, UINT32_MAX for the top */
	/* Its first subdirectory, and the next one of `up`; or UINT32_MAX. */
	uint32_t subs, next;
};

/* A run of a workload; runs with one label are its repetitions. */
struct trace_run {
	char *name;
	uint32_t label;
	uint32_t first, n; /* its events in `events` */
	bool cold;
};

struct trace {
	struct trace_event *events; /* those of a run stand together */
	struct trace_file *files;
	struct trace_dir *dirs;
	struct trace_run *runs;
	char **labels;
	size_t nevents, nfiles, ndirs, nruns, nlabels;
	uint64_t seed;
	bool named; /* the names of all files are known */
};

/*
 * Reads a trace of either format. Keys of a text are hashes of its paths under
 * `seed`, so that no predictor can learn from the order of numbers. NULL with
 * "NAME:LINE: reason" in `err`.
 */
struct trace *trace_read(
    FILE *in, const char *name, uint64_t seed, char err[TRACE_ERR_MAX]);
/* Also reads the names, of which those of other labels are left out. `names`
 * may be NULL, else the trace must be a text. */
struct trace *trace_read_named(FILE *in, const char *name, FILE *names,
    const char *names_name, uint64_t seed, char err[TRACE_ERR_MAX]);
/* Frees the trace; NULL is allowed. */
void trace_free(struct trace *t);

#endif
