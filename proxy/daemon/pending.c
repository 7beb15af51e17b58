/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks for the mark of pending writes, and says what its first line says. The
 * mark may be anything that a later release has put there, so that its presence
 * alone counts, and its text is escaped. */
#include "daemon/pending.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* Where the mark is if systemd names no directory, and the mark's name. */
#define STATE_DIRECTORY_DEFAULT "/var/lib/forefetch"
#define MARK                    "pending-writes"

enum { LINE_MAX_BYTES = 256 };

/* Names the release and the folder of the mark's first line, fit for a log
 * line. Its presence counts, whatever it holds. */
static void describe(const char *path, char *text, size_t size)
{
	char line[LINE_MAX_BYTES + 1], release[LOG_ESCAPE_MAX(LINE_MAX_BYTES)];
	char folder[LOG_ESCAPE_MAX(LINE_MAX_BYTES)];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_MAX_BYTES);
	size_t len;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	len = strcspn(line, " ");
	if (len == 0 || line[len] == '\0') {
		snprintf(text, size, "there are some that a later release");
		return;
	}
	log_escape(release, sizeof(release), line, len);
	log_escape(
	    folder, sizeof(folder), line + len + 1, strlen(line + len + 1));
	snprintf(
	    text, size, "forefetch %s keeps in %s what it", release, folder);
}

/* Whether the directory, of `len` bytes, has no mark; else false with a
 * sentence. One that cannot be looked into counts as without. */
static bool check_dir(const char *dir, size_t len, char *err, size_t errlen)
{
	char path[PATH_MAX], who[3 * LOG_ESCAPE_MAX(LINE_MAX_BYTES)];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%.*s/" MARK, (int)len, dir);

	if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) < 0)
		return true;
	describe(path, who, sizeof(who));
	snprintf(err, errlen,
	    "%s: writes are pending: %s has answered and the server does not "
	    "have yet; forefetchd " FF_VERSION " cannot send them. Install "
	    "that release again and let it send them; or, to lose them, remove "
	    "that file",
	    path, who);
	return false;
}

bool pending_check(char *err, size_t errlen)
{
	const char *dir = getenv("STATE_DIRECTORY");
	size_t len;

	if (!dir || !*dir)
		dir = STATE_DIRECTORY_DEFAULT;
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		if (!check_dir(dir, len, err, errlen))
			return false;
		if (!dir[len])
			return true;
	}
}
