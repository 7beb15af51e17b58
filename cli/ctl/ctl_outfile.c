/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that appears under its name when it is complete: it is written under a
 * name beside it, and renamed (rename(2)), so that a reader never sees a
 * half. A device or a pipe of that name is written to: root's rename would put
 * a file in the place of /dev/null. */
#include "ctl/ctl_outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool complain(const char *file)
{
	fprintf(stderr, "forefetch: %s: %s\n", file, strerror(errno));
	return false;
}

bool ctl_outfile_open(struct ctl_outfile *f, const char *file)
{
	struct stat st;
	int fd;

	*f = (struct ctl_outfile){.file = file};
	if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
		fd = open(file, O_WRONLY | O_CLOEXEC);
	} else {
		if (asprintf(&f->tmp, "%s.XXXXXX", file) < 0)
			return complain(file);
		fd = mkstemp(f->tmp);
	}
	if (fd >= 0)
		f->out = fdopen(fd, "w");
	if (f->out)
		return true;
	complain(file);
	free(f->tmp);
	return false;
}

bool ctl_outfile_close(struct ctl_outfile *f, bool good)
{
	if (fclose(f->out) != 0 && good)
		good = complain(f->file);
	if (good && f->tmp && rename(f->tmp, f->file) < 0)
		good = complain(f->file);
	if (!good && f->tmp)
		unlink(f->tmp);
	free(f->tmp);
	return good;
}
