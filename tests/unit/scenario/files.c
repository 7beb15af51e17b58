/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of a directory, by cp and rename. */
#include "scenario/files.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 16 };

struct files {
	char dir[64];
};

static int remove_one(
    const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)st;
	(void)what;
	(void)ftw;
	return remove(path);
}

void files_remove(const char *dir)
{
	(void)nftw(dir, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
}

/* With their holes: those of the data cache are long. */
static void copy(const char *from, const char *to)
{
	char line[256];

	snprintf(line, sizeof(line), "cp -a --sparse=always %s %s", from, to);
	if (system(line) != 0)
		abort();
}

struct files *files_save(const char *dir)
{
	struct files *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "%s.killed", dir);
	copy(dir, f->dir);
	return f;
}

void files_restore(struct files *f, const char *dir)
{
	files_remove(dir);
	if (rename(f->dir, dir) < 0)
		abort();
	free(f);
}
