/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "ctl_client.h"

#define LENGTH_BYTES     4
#define TIMEOUT_S        10
#define PROTOCOL_VERSION 1

static void complain_connect(const char *path, int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		fprintf(stderr,
		    "forefetch: forefetchd is not running (no socket at %s); "
		    "start it with systemctl start forefetchd, or name its "
		    "socket with --socket\n",
		    path);
		return;
	case ECONNREFUSED:
		fprintf(stderr,
		    "forefetch: forefetchd is not running (nobody listens at "
		    "%s); start it with systemctl start forefetchd, or name "
		    "its socket with --socket\n",
		    path);
		return;
	case EAGAIN:
		fprintf(stderr,
		    "forefetch: forefetchd does not answer at %s; see its log "
		    "with journalctl -u forefetchd\n",
		    path);
		return;
	default:
		fprintf(stderr,
		    "forefetch: cannot talk to forefetchd at %s: %s; check "
		    "the path, or name another with --socket\n",
		    path, strerror(error));
	}
}

/* A connected descriptor, or -1 after a message. */
static int ctl_connect(const char *path)
{
	const struct timeval limit = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		complain_connect(path, ENAMETOOLONG);
		return -1;
	}
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
	complain_connect(path, error);
	if (fd >= 0)
		close(fd);
	return -1;
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

static int send_request(int fd, Forefetch__Request *request)
{
	size_t len;
	uint8_t *buf;
	int error;

	request->version = PROTOCOL_VERSION;
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

static int receive_response(int fd, Forefetch__Response **res)
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

static void complain_response(const Forefetch__Error *error)
{
	switch (error->code) {
	case FOREFETCH__ERROR_CODE__BAD_VERSION:
	case FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND:
		fprintf(stderr,
		    "forefetch: forefetch and forefetchd are of different "
		    "releases (%s); restart forefetchd\n",
		    error->text);
		return;
	case FOREFETCH__ERROR_CODE__NO_SUCH_SERVER:
		fprintf(stderr,
		    "forefetch: %s; \"forefetch status\" lists them\n",
		    error->text);
		return;
	default:
		fprintf(stderr, "forefetch: %s\n", error->text);
	}
}

static void complain_transfer(const char *path, int error)
{
	switch (error) {
	case EPROTO:
		fprintf(stderr,
		    "forefetch: what answers at %s is no forefetchd, or one "
		    "of another release; restart forefetchd\n",
		    path);
		return;
	case ENODATA:
	case ECONNRESET:
		fprintf(stderr,
		    "forefetch: forefetchd closed the connection; see its log "
		    "with journalctl -u forefetchd\n");
		return;
	default:
		complain_connect(path, error);
	}
}

struct ctl_client {
	int fd;
	const char *path;
};

struct ctl_client *ctl_open(const char *path)
{
	struct ctl_client *c = malloc(sizeof(*c));

	if (!c) {
		fputs("forefetch: out of memory\n", stderr);
		return NULL;
	}
	c->path = path;
	c->fd = ctl_connect(path);
	if (c->fd >= 0)
		return c;
	free(c);
	return NULL;
}

void ctl_close(struct ctl_client *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c);
}

Forefetch__Response *ctl_ask(struct ctl_client *c, Forefetch__Request *request,
    Forefetch__Response__ResultCase want)
{
	Forefetch__Response *res = NULL;
	int error = send_request(c->fd, request);

	if (!error)
		error = receive_response(c->fd, &res);
	if (!error && res->result_case == want)
		return res;
	if (!error && res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
		complain_response(res->error);
	else
		complain_transfer(c->path, error ? -error : EPROTO);
	if (res)
		forefetch__response__free_unpacked(res, NULL);
	return NULL;
}

Forefetch__Response *ctl_call(const char *path, Forefetch__Request *request,
    Forefetch__Response__ResultCase want)
{
	struct ctl_client *c = ctl_open(path);
	Forefetch__Response *res = c ? ctl_ask(c, request, want) : NULL;

	ctl_close(c);
	return res;
}
