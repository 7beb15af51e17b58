/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `forefetch mount` and `forefetch umount`, which have command lines of their
 * own, and the same as helpers of mount(8) and umount(8).
 */
#ifndef FOREFETCH_MOUNT_COMMAND_H
#define FOREFETCH_MOUNT_COMMAND_H

#include "ctl/ctl_command.h"

/* The helpers mount.forefetch(8) and umount.forefetch(8): a whole command line,
 * and an exit status of mount(8), MOUNT_… of mount_job.h. */
int mount_helper(int argc, char **argv, const char *socket);
int umount_helper(int argc, char **argv, const char *socket);

/* `forefetch mount` without arguments: prints what is mounted through the
 * daemon at `socket`. An exit code of forefetch. */
int mount_list(const char *socket, bool json);

#endif
