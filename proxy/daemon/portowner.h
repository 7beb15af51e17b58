/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has a TCP port that we want, from /proc. */
#ifndef FOREFETCH_PORTOWNER_H
#define FOREFETCH_PORTOWNER_H

#include <stdbool.h>

#include "base/netmatch.h"

enum { PORTOWNER_TEXT_MAX = 128 };

/* Writes "nc (process 123, user id 1000)", or "a program of user id 1000" where
 * we may not see whose the socket is. False: nobody is found. Goes through
 * /proc, which takes a millisecond or two. */
bool portowner_find(
    const struct netmatch_addr *at, char text[PORTOWNER_TEXT_MAX]);

#endif
