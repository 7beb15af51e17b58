/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of mount and umount to forefetchd. */
#ifndef FOREFETCH_MOUNT_DAEMON_H
#define FOREFETCH_MOUNT_DAEMON_H

#include <signal.h>

#include "control/control.pb-c.h"
#include "mount/mount_job.h"

/* The daemon's status, to be freed with ctl_free(); NULL after a message. The
 * daemon must be of this release. */
Forefetch__Response *mount_daemon_status(
    const struct mount_talk *talk, const char *socket);

/* Has the configuration read again, and sees that the section `name` (NULL:
 * none) was not refused. False with a reason, or with an empty one after a
 * message. */
bool mount_daemon_reload(
    const char *socket, const char *name, struct mount_why *why);

/* From here on, signals that would end this process end mount_daemon_wait()
 * instead, until `*former`, the mask of now, is set again. */
void mount_daemon_hold_signals(sigset_t *former);

/* Waits until the server is up, `wait_s` seconds at most. On a terminal it says
 * what it waits for. Returns 1 if it is up; 0 if the time has passed, and the
 * reason says in which state it is; -1 after a signal, with a reason, or where
 * the daemon does not answer, after a message and with an empty reason. */
int mount_daemon_wait(const struct mount_talk *talk, const char *socket,
    const char *name, unsigned wait_s, struct mount_why *why);

#endif
