/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_FILEIO_H
#define FOREFETCH_FILEIO_H

#include <stddef.h>

/* All of it, from where the descriptor stands. 0, or an errno. Blocks. */
int fileio_write(int fd, const void *data, size_t len);

#endif
