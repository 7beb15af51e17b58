/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_wire.h"

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
	c->fd = ctl_wire_connect(path);
	if (c->fd >= 0)
		return c;
	complain_connect(path, -c->fd);
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
	int error = ctl_wire_send(c->fd, request);

	if (!error)
		error = ctl_wire_receive(c->fd, &res);
	if (!error && res->result_case == want)
		return res;
	if (!error && res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
		complain_response(res->error);
	else
		complain_transfer(c->path, error ? -error : EPROTO);
	ctl_free(res);
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

ProtobufCBinaryData ctl_bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = text ? strlen(text) : 0, .data = (uint8_t *)text};
}

void ctl_free(Forefetch__Response *res)
{
	forefetch__response__free_unpacked(res, NULL);
}
