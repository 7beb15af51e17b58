/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands to the daemon, and its answers; what went wrong is told on stderr.
 */
#ifndef FOREFETCH_CTL_CLIENT_H
#define FOREFETCH_CTL_CLIENT_H

#include "control/control.pb-c.h"

/* Messages begin with "NAME: " from now on, and not with "forefetch: ". `name`
 * is not copied. */
void ctl_speak_as(const char *name);

/* A connection to the daemon, over which it keeps what was begun. */
struct ctl_client;

/*
 * Asks the daemon at the socket `path` one thing: a command of control.proto,
 * and its message. It is answered with the result of the same number. Blocks;
 * it gives up after ten seconds without a byte, or a minute for a reload. NULL
 * after a message on stderr that says what to do; a response that is an error
 * is told there too. Free the answer with ctl_free().
 */
Forefetch__Response *ctl_call(
    const char *path, Forefetch__Request__CommandCase command, void *message);

/* The same for the status of one server, or of all (NULL). With NULL, errno
 * says why the daemon was not heard; it is 0 where it answered with an error.
 */
Forefetch__Response *ctl_status(const char *path, const char *server);

/* Text of a user for a field of bytes; NULL is empty. */
ProtobufCBinaryData ctl_bytes(const char *text);
/* Tells that the answer lacks what an answer of this release has, and frees it;
 * returns NULL. `path` is that of the socket. */
Forefetch__Response *ctl_refuse(const char *path, Forefetch__Response *res);
/* Frees an answer; NULL is allowed. */
void ctl_free(Forefetch__Response *res);

/* Makes a connection for several questions: what was begun over it ends with
 * it. `path` lives as long. NULL after a message. */
struct ctl_client *ctl_open(const char *path);
/* Asks one thing over the connection, as ctl_call() does. */
Forefetch__Response *ctl_ask(struct ctl_client *c,
    Forefetch__Request__CommandCase command, void *message);
/* Asks one thing whose answer is a result of another number. */
Forefetch__Response *ctl_ask_for(struct ctl_client *c,
    Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response__ResultCase want);
/* Closes the connection. NULL is allowed. */
void ctl_close(struct ctl_client *c);

#endif
