/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the control socket. */
#ifndef FOREFETCH_CONTROL_LISTEN_H
#define FOREFETCH_CONTROL_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

/* A listening UNIX socket and the file that it made. Zeros: none. */
struct control_socket {
	int fd;
	char *path; /* NULL: nothing is open */
	dev_t dev;
	ino_t ino;
};

/*
 * Listen at `path`, open to every user (0666). Makes the parent directory if
 * it is missing. 0, or -errno and a sentence in `err`; -EADDRINUSE if a
 * living process listens there.
 */
int control_socket_open(
    struct control_socket *s, const char *path, char *err, size_t errlen);

/* Removes the file too, unless it is another's by now. */
void control_socket_close(struct control_socket *s);

#endif
