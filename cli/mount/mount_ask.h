/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Would the server let us mount that path? Asked through the daemon, as the
 * kernel will, but with an answer that says more than an errno.
 */
#ifndef FOREFETCH_MOUNT_ASK_H
#define FOREFETCH_MOUNT_ASK_H

#include "mount/mount_job.h"

/* Asks the daemon's listener at `address` and `port` for the handle of `path`,
 * for `wait_s` seconds, or five if that is less. Blocks. False with a reason in
 * `why`. */
bool mount_ask(const char *address, unsigned port, const char *path,
    unsigned wait_s, struct mount_why *why);

#endif
