/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of tests, which somebody removes in the end, and copies of them,
 * by cp and rename. */
#include "scenario/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

_Noreturn static void fail(const char *what, int status)
{
	fprintf(stderr, "files: %s: status %#x, %s\n", what, (unsigned)status,
	    strerror(errno));
	abort();
}

/* With their holes: those of the data cache are long. */
static void copy(const char *from, const char *to)
{
	char line[256];
	int status;

	snprintf(line, sizeof(line), "cp -a --sparse=always %s %s", from, to);
	errno = 0;
	status = system(line);
	if (status != 0)
		fail(line, status);
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
		fail(f->dir, 0);
	free(f);
}

/* ---- directories that do not stay behind -------------------------------- */

static char scratch[] = "/dev/shm/ff-XXXXXX";
static bool scratch_begun;

/* Waits until nobody holds the other end of the pipe any more: the system sees
 * to that even if a process is killed. Signals to the test's group are not for
 * this process, and nobody waits for its output. */
static void remove_at_the_end(int fd)
{
	char byte;

	(void)setsid();
	if (dup2(fd, 0) < 0 || close_range(1, ~0U, 0) < 0)
		_exit(1);
	while (read(0, &byte, 1) > 0)
		continue;
	files_remove(scratch);
	_exit(0);
}

void files_scratch_begin(void)
{
	int ends[2];
	pid_t pid;

	if (scratch_begun)
		return;
	scratch_begun = true;
	/* Programs that are run do not hold it. */
	if (!mkdtemp(scratch) || pipe2(ends, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		/* Its parent must not find it among its children. */
		if (fork() == 0)
			remove_at_the_end(ends[0]);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	close(ends[0]);
}

void files_scratch(char dir[FILES_SCRATCH])
{
	files_scratch_begin();
	snprintf(dir, FILES_SCRATCH, "%s/XXXXXX", scratch);
	if (!mkdtemp(dir))
		abort();
}
