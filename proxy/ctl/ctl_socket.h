/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the daemon's control socket is, if nobody says so on the command line.
 */
#ifndef FOREFETCH_CTL_SOCKET_H
#define FOREFETCH_CTL_SOCKET_H

#include <stdbool.h>

/* FOREFETCH_SOCKET, or the default one. Root takes a socket from its
 * environment only if no user could have put it there, and is told why not
 * otherwise: who answers there says what is mounted, and which files are
 * written for it. */
const char *ctl_socket_path(void);

/* Whether only root and system users may say what is at `path`, which need not
 * be there yet. */
bool ctl_socket_is_safe(const char *path);

#endif
