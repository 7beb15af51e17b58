/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands to the daemon, and what is said where one fails. Every command of
 * the program goes through ctl_ask_for(), so that each error has one wording,
 * which also says what to do. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "control/protocol.h"
#include "ctl/ctl_client.h"
#include "ctl/ctl_text.h"
#include "ctl/ctl_wire.h"

/* Seconds that a reload may take; other answers come within those of
 * ctl_wire.c. */
enum { RELOAD_S = 60 };

/* How messages begin. */
static const char *speaker = "forefetch";

void ctl_speak_as(const char *name)
{
	speaker = name;
}

/* Prints why the daemon was not heard, by a positive errno of ctl_wire.h, which
 * becomes errno. */
static void complain(const char *path, int error)
{
	fprintf(stderr, "%s: ", speaker);
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		fprintf(stderr,
		    "forefetchd is not running (%s %s); start it with sudo "
		    "systemctl start forefetchd, or name its socket with "
		    "--socket\n",
		    error == ECONNREFUSED ? "nobody listens at"
					  : "no socket at",
		    path);
		break;
	case EAGAIN:
		fprintf(stderr,
		    "forefetchd does not answer at %s; see its log with "
		    "journalctl -u forefetchd\n",
		    path);
		break;
	case EPROTO:
		fprintf(stderr,
		    "the program at %s is not forefetchd, or is of another "
		    "release; restart forefetchd\n",
		    path);
		break;
	case ENODATA:
	case ECONNRESET:
		fputs("forefetchd closed the connection; see its log with "
		      "journalctl -u forefetchd\n",
		    stderr);
		break;
	default:
		fprintf(stderr,
		    "cannot talk to forefetchd at %s: %s; check the path, or "
		    "name another with --socket\n",
		    path, strerror(error));
	}
	errno = error;
}

/* Prints the daemon's own error. Its text comes from a process that may be
 * another program, so it is escaped. */
static void complain_response(const Forefetch__Response *res)
{
	const Forefetch__Error *error = res->error;
	const char *before = "", *after = "\n";

	if (error->code == FOREFETCH__ERROR_CODE__BAD_VERSION ||
	    error->code == FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND) {
		before = "forefetch and forefetchd are of different "
			 "releases (";
		after = res->version > CONTROL_VERSION
			    ? "); upgrade forefetch\n"
			    : "); restart forefetchd\n";
	}
	if (error->code == FOREFETCH__ERROR_CODE__NO_SUCH_SERVER)
		after = "; \"forefetch status\" lists them\n";
	fprintf(stderr, "%s: %s", speaker, before);
	ctl_put_bytes(
	    stderr, (const uint8_t *)error->text, strlen(error->text));
	fputs(after, stderr);
	errno = 0;
}

Forefetch__Response *ctl_refuse(const char *path, Forefetch__Response *res)
{
	complain(path, EPROTO);
	ctl_free(res);
	return NULL;
}

/* One connection. `path` is the caller's. */
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
	complain(path, -c->fd);
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

/* Servers that are replaced may answer calls for 5 s, and a new one waits so
 * long for a disk. A tree of millions takes as long to be forgotten. */
static void be_patient(const struct ctl_client *c)
{
	const struct timeval limit = {.tv_sec = RELOAD_S};

	(void)setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* After a failure of the connection itself nothing more can be asked over it:
 * half an answer may be in it. */
Forefetch__Response *ctl_ask_for(struct ctl_client *c,
    Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response__ResultCase want)
{
	Forefetch__Response *res = NULL;
	int error;

	if (command == FOREFETCH__REQUEST__COMMAND_RELOAD ||
	    command == FOREFETCH__REQUEST__COMMAND_FORGET)
		be_patient(c);
	error = ctl_wire_ask(c->fd, command, message, &res);
	if (!error && res->result_case == want)
		return res;
	if (!error && res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
		complain_response(res);
	else
		complain(c->path, error ? -error : EPROTO);
	ctl_free(res);
	return NULL;
}

Forefetch__Response *ctl_ask(struct ctl_client *c,
    Forefetch__Request__CommandCase command, void *message)
{
	return ctl_ask_for(
	    c, command, message, (Forefetch__Response__ResultCase)command);
}

Forefetch__Response *ctl_call(
    const char *path, Forefetch__Request__CommandCase command, void *message)
{
	struct ctl_client *c = ctl_open(path);
	Forefetch__Response *res = c ? ctl_ask(c, command, message) : NULL;

	ctl_close(c);
	return res;
}

Forefetch__Response *ctl_status(const char *path, const char *server)
{
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;

	status.server = ctl_bytes(server);
	return ctl_call(path, FOREFETCH__REQUEST__COMMAND_STATUS, &status);
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
