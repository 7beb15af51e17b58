/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading a file of what was learned; one that is of no use is set aside. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/persist/persist.h"
#include "predictor/persist/persist_private.h"
#include "predictor/persist/trees.h"

/* Far above what a predictor of any sensible budget writes. */
#define FILE_BYTES_MAX ((off_t)1 << 30)

/* Reads the file to its end; one that is cut short meanwhile is damaged, as its
 * checksum will tell. */
static int read_all(int fd, char **data, size_t *len)
{
	struct stat st;
	size_t at = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX)
		return -EBADMSG;
	*len = (size_t)st.st_size;
	*data = malloc(*len + 1);
	if (!*data)
		return -ENOMEM;
	while (at < *len) {
		ssize_t n = read(fd, *data + at, *len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	*len = at;
	return 0;
}

/* Moves the file out of the way, so that the next save does not overwrite it,
 * and says so in `err`. */
static void set_aside(
    const char *path, const char *as, const char *why, char *err)
{
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.%s", path, as);
	if (rename(path, other))
		snprintf(err, PERSIST_ERR_MAX, "%s: %s, and stays there: %s",
		    path, why, strerror(errno));
	else
		snprintf(err, PERSIST_ERR_MAX, "%s: %s; set aside as .%s", path,
		    why, as);
}

/* 0 or -errno. */
static int open_file(const char *path, struct predictor_import **x)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *message;
	char *data = NULL;
	size_t len = 0;
	int rc;

	rc = fd < 0 ? -errno : read_all(fd, &data, &len);
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		rc = persist_open(data, len, &message, &len);
	if (rc == 0) {
		*x = persist_import_new(false, message, len);
		rc = *x ? 0 : -errno;
	}
	free(data);
	return rc;
}

struct predictor_import *predictor_import_file(
    const char *path, char err[PERSIST_ERR_MAX])
{
	struct predictor_import *x = NULL;
	int rc = open_file(path, &x);

	if (rc == -EBADMSG)
		set_aside(path, "damaged", "the file is damaged", err);
	else if (rc == -EPROTONOSUPPORT)
		set_aside(path, "newer", "a newer version wrote it", err);
	else if (rc)
		snprintf(err, PERSIST_ERR_MAX, "%s: %s", path, strerror(-rc));
	errno = -rc;
	return x;
}

int predictor_load(
    struct predictor *p, const char *path, char err[PERSIST_ERR_MAX])
{
	struct predictor_import *x = predictor_import_file(path, err);
	int rc;

	if (!x)
		return -errno;
	(void)predictor_import_step(x, p, TREES_ALL, SIZE_MAX);
	rc = predictor_import_error(x);
	predictor_import_free(x);
	if (rc)
		snprintf(err, PERSIST_ERR_MAX, "%s: %s", path, strerror(-rc));
	return rc;
}
