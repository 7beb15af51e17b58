/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the daemon and back. Nothing is printed. */
#ifndef FOREFETCH_CTL_WIRE_H
#define FOREFETCH_CTL_WIRE_H

#include "control/control.pb-c.h"

/* Connects to the socket `path`: a descriptor, to be closed by the caller, with
 * a time-out of ten seconds on sending and receiving (SO_RCVTIMEO, SO_SNDTIMEO,
 * after which both fail with -EAGAIN); or -errno. */
int ctl_wire_connect(const char *path);
/* Sends a request, in which it sets the version: 0 or -errno; -E2BIG for one
 * that is longer than CONTROL_REQUEST_MAX. */
int ctl_wire_send(int fd, Forefetch__Request *request);
/* 0 or -errno: -ENODATA where the other side closed, -EPROTO for what is no
 * response. To be freed by forefetch__response__free_unpacked(). */
int ctl_wire_receive(int fd, Forefetch__Response **res);
/* Both: a command of control.proto with its message, and what answers it. */
int ctl_wire_ask(int fd, Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response **res);

#endif
