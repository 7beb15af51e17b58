/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of tests on a tmpfs, as the daemon wants it for its reply cache,
 * and a directory's files as they are at a moment: what kill -9 leaves.
 */
#ifndef FOREFETCH_TESTS_FILES_H
#define FOREFETCH_TESTS_FILES_H

enum { FILES_SCRATCH = 32 };

/*
 * Make an empty directory. Once this process and all its children have ended,
 * in whichever way, whatever is left there is removed. The first call, or
 * files_scratch_begin(), must come before children are forked that make some.
 */
void files_scratch(char dir[FILES_SCRATCH]);
void files_scratch_begin(void);

struct files;

struct files *files_save(const char *dir);
/* As it was then, and nothing else. Frees them. */
void files_restore(struct files *files, const char *dir);
void files_remove(const char *dir);

#endif
