/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fileio.h"

#include <errno.h>
#include <unistd.h>

int fileio_write(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}
