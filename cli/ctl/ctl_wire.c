/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages over the control socket, as the client sends and receives them. */
#include "ctl/ctl_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/protocol.h"

/* LENGTH_BYTES is how many bytes say how long a message is. The daemon may take
 * TIMEOUT_S seconds to take, or to send, any part of one. */
#define LENGTH_BYTES 4
#define TIMEOUT_S    10

int ctl_wire_connect(const char *path)
{
	const struct timeval limit = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ==
		0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ==
		0 &&
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	error = errno;
	if (fd >= 0)
		close(fd);
	return -error;
}

/* 0 or -errno; -ENODATA if the other side closed. */
static int receive_all(int fd, uint8_t *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = recv(fd, data, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int ctl_wire_send(int fd, Forefetch__Request *request)
{
	size_t len;
	uint8_t *buf;
	int error;

	request->version = CONTROL_VERSION;
	len = forefetch__request__get_packed_size(request);
	if (len > CONTROL_REQUEST_MAX)
		return -E2BIG;
	buf = malloc(LENGTH_BYTES + len);
	if (!buf)
		return -ENOMEM;
	buf[0] = 0;
	buf[1] = (uint8_t)(len >> 16);
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	forefetch__request__pack(request, buf + LENGTH_BYTES);
	error = send_all(fd, buf, LENGTH_BYTES + len);
	free(buf);
	/* a daemon that is busy answers before it is asked */
	return error == -EPIPE || error == -ECONNRESET ? 0 : error;
}

int ctl_wire_receive(int fd, Forefetch__Response **res)
{
	uint8_t head[LENGTH_BYTES], *buf;
	size_t len;
	int error;

	error = receive_all(fd, head, sizeof(head));
	if (error)
		return error;
	len = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
	      (size_t)head[2] << 8 | head[3];
	if (len > CONTROL_RESPONSE_MAX)
		return -EPROTO;
	buf = malloc(len + 1);
	if (!buf)
		return -ENOMEM;
	error = receive_all(fd, buf, len);
	if (!error) {
		*res = forefetch__response__unpack(NULL, len, buf);
		if (!*res)
			error = -EPROTO;
	}
	free(buf);
	return error;
}

int ctl_wire_ask(int fd, Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response **res)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	int error;

	/* All members of the union are pointers to messages. */
	request.command_case = command;
	request.status = message;
	error = ctl_wire_send(fd, &request);
	return error ? error : ctl_wire_receive(fd, res);
}
