/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forefetch trees merge FILE... -o OUT: brings exported trees together in one
 * file, without a daemon. It uses the daemon's own predictor, in memory, as a
 * place to import to and export from, so that the rules of merging are the
 * daemon's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/command_list.h"
#include "ctl/ctl_outfile.h"
#include "ctl/ctl_text.h"
#include "predictor/persist/trees.h"

/* Bounds, in bytes. */
enum {
	/* For what is learned; what does not fit is forgotten. */
	BUDGET = 512 << 20,
	/* The bytes of one file, which is read as a whole. */
	FILE_MAX = 64 << 20,
	/* The most that forefetchd takes from a client; a larger result is
	 * written, with a warning. */
	IMPORT_MAX = 4 << 20,
};

/* Prints "FILE: WHAT" on stderr; false. */
static bool complain(const char *file, const char *what)
{
	ctl_complain(file, "%s", what);
	return false;
}

/* A sentence for the errors of predictor_import_trees(). Files come from other
 * people, so a damaged one is an ordinary case. */
static const char *why(int error)
{
	switch (error) {
	case -EBADMSG:
	case -EINVAL:
		return "it contains no exported access trees, or is damaged";
	case -EPROTONOSUPPORT:
		return "it was written by a newer release";
	case -EFBIG:
	case -ENOSPC:
		return "it is too large to be merged";
	default:
		return strerror(-error);
	}
}

/* Reads at most one byte more than may be there, which tells that there is
 * more. `*data` is to be freed also after an error. */
static bool read_all(const char *file, FILE *in, char **data, size_t *len)
{
	*data = malloc(FILE_MAX + 1);
	if (!*data)
		return complain(file, strerror(errno));
	*len = fread(*data, 1, FILE_MAX + 1, in);
	if (ferror(in))
		return complain(file, strerror(errno));
	return *len <= FILE_MAX || complain(file, why(-EFBIG));
}

/* Adds the trees of one file. Those of all users are kept apart as they are in
 * the file. */
static bool merge_one(struct predictor *p, const char *file)
{
	FILE *in = fopen(file, "re");
	char *data = NULL;
	size_t len = 0;
	bool good;
	int rc;

	if (!in)
		return complain(file, strerror(errno));
	good = read_all(file, in, &data, &len);
	fclose(in);
	rc = good ? predictor_import_trees(p, TREES_ALL, data, len) : 0;
	free(data);
	return good && (rc == 0 || complain(file, why(rc)));
}

/* False after a message; then a former OUT is unchanged. */
static bool write_out(const char *file, const void *data, size_t len)
{
	struct ctl_outfile f;

	if (!ctl_outfile_open(&f, file))
		return false;
	if (fwrite(data, 1, len, f.out) == len)
		return ctl_outfile_close(&f, true);
	complain(file, strerror(errno));
	return ctl_outfile_close(&f, false);
}

/* Packs all trees and writes them. */
static bool export(const struct predictor *p, const struct ctl_options *opt)
{
	size_t len;
	void *data = predictor_export_trees(p, TREES_ALL, &len);
	bool good;

	if (!data)
		return complain(opt->output, strerror(errno));
	good = write_out(opt->output, data, len);
	free(data);
	if (good && opt->json)
		printf("{\"files\":%d,\"bytes\":%zu}\n", opt->nargs - 1, len);
	if (good && len > IMPORT_MAX)
		fprintf(stderr,
		    "forefetch: %s: it is larger than the 4 MiB that "
		    "forefetchd can import\n",
		    opt->output);
	return good;
}

int trees_merge(const struct ctl_options *opt)
{
	const struct predictor_options po = {.budget_bytes = BUDGET};
	struct predictor *p;
	bool good;

	if (!opt->arg || strcmp(opt->arg, "merge") != 0 || opt->nargs < 2) {
		fputs(
		    "forefetch: -o is for trees merge FILE... only\n", stderr);
		return CTL_EXIT_USAGE;
	}
	p = predictor_new(&po);
	good = p || complain(opt->output, strerror(errno));
	for (int i = 1; good && i < opt->nargs; i++)
		good = merge_one(p, opt->args[i]);
	good = good && export(p, opt);
	predictor_free(p);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
