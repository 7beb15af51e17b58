/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the control socket, for control.c alone. */
#ifndef FOREFETCH_CONTROL_LISTEN_H
#define FOREFETCH_CONTROL_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

/* A listening UNIX socket and the file that it made. Zeros: none. */
struct control_socket {
	int fd;
	/* The path of the file, allocated; NULL: nothing is open. */
	char *path;
	/* The file's device and inode; `ino` is 0 until the file was made. */
	dev_t dev;
	ino_t ino;
};

/* Listens at `path`, open to every user (0666). Makes the parent directory
 * (0755) if it is missing. Returns 0, or -errno and a sentence in `err`:
 * -EADDRINUSE if a living process listens there, -EEXIST if a file that is no
 * socket is there, -ENAMETOOLONG. After an error nothing is left open. */
int control_socket_open(
    struct control_socket *s, const char *path, char *err, size_t errlen);

/* Closes the socket and removes the file, unless the file is another's by now,
 * as it is after a restart in which the new daemon was quick. Zeros are
 * allowed. */
void control_socket_close(struct control_socket *s);

#endif
