/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FOREFETCH_CTL_CLIENT_H
#define FOREFETCH_CTL_CLIENT_H

#include "control.pb-c.h"

/*
 * Ask the daemon at the socket `path` one thing, to be answered with a result
 * of the kind `want`. NULL after a message on stderr that says what to do; a
 * response that is an error is told there too.
 * Free the answer with forefetch__response__free_unpacked(res, NULL).
 */
Forefetch__Response *ctl_call(const char *path, Forefetch__Request *request,
    Forefetch__Response__ResultCase want);

#endif
