/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the daemon's control socket is, if nobody says so on the command line.
 */
#ifndef FOREFETCH_CTL_SOCKET_H
#define FOREFETCH_CTL_SOCKET_H

#include <stdbool.h>

/* FOREFETCH_SOCKET, or the default one. Whoever answers there tells root which
 * files to write and what to mount, so root's FOREFETCH_SOCKET is ignored, with
 * a message, if a user could have made what it names. */
const char *ctl_socket_path(void);

/* Whether only root and system users may say what is at `path`, which need not
 * be there yet. */
bool ctl_socket_is_safe(const char *path);

#endif
