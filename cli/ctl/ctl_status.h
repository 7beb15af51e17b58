/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Servers in a status of the daemon. */
#ifndef FOREFETCH_CTL_STATUS_H
#define FOREFETCH_CTL_STATUS_H

#include <stdbool.h>

#include "control/control.pb-c.h"

/* Whether a field of bytes is that text. */
bool ctl_is(const ProtobufCBinaryData *bytes, const char *text);

/* The server of that name, or NULL. */
const Forefetch__ServerStatus *ctl_server_named(
    const Forefetch__Status *status, const char *name);

/* The server that connections to `at` ("127.0.0.1:289", "[::1]:289") come to:
 * it listens there, or at that port of all addresses. Or NULL. */
const Forefetch__ServerStatus *ctl_server_at(
    const Forefetch__Status *status, const char *at);

#endif
