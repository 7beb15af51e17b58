/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to the daemon and back. Nothing is printed. */
#ifndef FOREFETCH_CTL_WIRE_H
#define FOREFETCH_CTL_WIRE_H

#include "control/control.pb-c.h"

/* A connected descriptor, or -errno. */
int ctl_wire_connect(const char *path);
/* 0 or -errno; sets the version. -E2BIG for one that is too long. */
int ctl_wire_send(int fd, Forefetch__Request *request);
/* 0 or -errno: -ENODATA where the other side closed, -EPROTO for what is no
 * response. To be freed by forefetch__response__free_unpacked(). */
int ctl_wire_receive(int fd, Forefetch__Response **res);
/* Both: a command of control.proto with its message, and what answers it. */
int ctl_wire_ask(int fd, Forefetch__Request__CommandCase command, void *message,
    Forefetch__Response **res);

#endif
