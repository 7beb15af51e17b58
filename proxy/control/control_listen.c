/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the control socket: made, replaced if it is stale, removed. A
 * socket file outlives its process, so a daemon that was killed leaves one at
 * which nobody listens; bind(2) would refuse the path for ever (unix(7)). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/control_listen.h"

/* Connections that wait for accept(2); more of them get EAGAIN, or wait. */
#define BACKLOG 16

/* Where the caller wants a sentence about what went wrong. */
struct complaint {
	char *text;
	size_t len;
};

/* Writes a sentence about the last system call, "WHAT PATH: REASON", and
 * returns its -errno. */
static int complain(
    const struct complaint *err, const char *what, const char *path)
{
	int error = errno;

	snprintf(err->text, err->len, "%s %s: %s", what, path, strerror(error));
	return -error;
}

/* Makes the directory of the socket if it is missing, such as /run/forefetch
 * where no systemd made it. Only the last part is made: a missing /run is a
 * mistake that a new directory would hide. */
static int make_parent(const char *path, const struct complaint *err)
{
	const char *slash = strrchr(path, '/');
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];

	if (!slash || slash == path)
		return 0;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	if (mkdir(dir, 0755) == 0) {
		/* whatever the umask */
		if (chmod(dir, 0755))
			return complain(err, "cannot set the mode of", dir);
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	return complain(err, "cannot make the directory", dir);
}

/* Finds out whether somebody listens at `addr`: 1, 0 or -errno. Only a
 * connection tells, since the file of a dead daemon looks the same. The daemon
 * that is there sees a client that asks nothing. */
static int is_alive(const struct sockaddr_un *addr)
{
	int error = 0, fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		error = errno;
	close(fd);
	if (error == ECONNREFUSED || error == ENOENT)
		return 0;
	/* EAGAIN: its backlog is full */
	return error == 0 || error == EAGAIN ? 1 : -error;
}

/* Removes the file of a dead daemon, and nothing else: a path in the
 * configuration that names something other than a socket is a mistake of the
 * user's. */
static int remove_stale(
    const struct sockaddr_un *addr, const struct complaint *err)
{
	struct stat st;
	int alive;

	if (lstat(addr->sun_path, &st)) {
		if (errno == ENOENT)
			return 0;
		return complain(err, "cannot look at", addr->sun_path);
	}
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(err->text, err->len,
		    "%s exists and is not a socket; remove it or set "
		    "control_socket to another path",
		    addr->sun_path);
		return -EEXIST;
	}
	alive = is_alive(addr);
	if (alive > 0) {
		snprintf(err->text, err->len,
		    "another forefetchd listens at %s; stop it or set "
		    "control_socket to another path",
		    addr->sun_path);
		return -EADDRINUSE;
	}
	if (alive < 0) {
		errno = -alive;
		return complain(err, "cannot try", addr->sun_path);
	}
	if (unlink(addr->sun_path) && errno != ENOENT)
		return complain(err, "cannot remove", addr->sun_path);
	return 0;
}

/* The file is open to everybody, since every user may ask something; the kernel
 * tells who asks. Its device and inode are kept, so that only our own file is
 * removed at the end. */
static int bind_and_listen(struct control_socket *s,
    const struct sockaddr_un *addr, const struct complaint *err)
{
	struct stat st;

	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return complain(err, "cannot make the socket", s->path);
	if (bind(s->fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return complain(err, "cannot bind", s->path);
	if (lstat(s->path, &st))
		return complain(err, "cannot look at", s->path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	if (chmod(s->path, 0666))
		return complain(err, "cannot set the mode of", s->path);
	if (listen(s->fd, BACKLOG))
		return complain(err, "cannot listen at", s->path);
	return 0;
}

int control_socket_open(
    struct control_socket *s, const char *path, char *err, size_t errlen)
{
	const struct complaint complaint = {.text = err, .len = errlen};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int error;

	memset(s, 0, sizeof(*s));
	if (strlen(path) == 0 || strlen(path) >= sizeof(addr.sun_path)) {
		snprintf(err, errlen,
		    "the path of a socket has 1 to %zu bytes: %s",
		    sizeof(addr.sun_path) - 1, path);
		return -ENAMETOOLONG;
	}
	strcpy(addr.sun_path, path);
	error = make_parent(path, &complaint);
	if (!error)
		error = remove_stale(&addr, &complaint);
	if (error)
		return error;
	s->path = strdup(path);
	if (!s->path) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	error = bind_and_listen(s, &addr, &complaint);
	if (error)
		control_socket_close(s);
	return error;
}

void control_socket_close(struct control_socket *s)
{
	struct stat st;

	if (!s->path)
		return;
	if (s->fd >= 0)
		close(s->fd);
	/* ino 0: nothing was bound */
	if (s->ino != 0 && lstat(s->path, &st) == 0 && st.st_dev == s->dev &&
	    st.st_ino == s->ino)
		unlink(s->path);
	free(s->path);
	memset(s, 0, sizeof(*s));
}
