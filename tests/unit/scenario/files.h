/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory's files as they are at a moment: what kill -9 leaves. */
#ifndef FOREFETCH_TESTS_FILES_H
#define FOREFETCH_TESTS_FILES_H

struct files;

struct files *files_save(const char *dir);
/* As it was then, and nothing else. Frees them. */
void files_restore(struct files *files, const char *dir);
void files_remove(const char *dir);

#endif
