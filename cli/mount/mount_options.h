/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a mount, sorted by who they are for. */
#ifndef FOREFETCH_MOUNT_OPTIONS_H
#define FOREFETCH_MOUNT_OPTIONS_H

#include "config/config_setting.h"
#include "mount/mount_job.h"

enum { MOUNT_SETTINGS_MAX = 64, MOUNT_KERNEL_MAX = 8192 };

/* All options of one mount. */
struct mount_options {
	/* For forefetchd; each key once, as it was given last. */
	struct config_setting settings[MOUNT_SETTINGS_MAX];
	unsigned nsettings;
	/* For libmount and the kernel, with commas between them; nosuid and
	 * nodev come first. */
	char kernel[MOUNT_KERNEL_MAX];
	/* "OLD is called NEW now"; "" where all have their present names. */
	char former[128];
	/* wait=: for how many seconds a server that is not up is waited for. */
	unsigned wait_s;
	/* Only the flags of a mount that is there are to change. */
	bool remount;
	/* systemd brings the network and forefetchd up before it mounts, by
	 * _netdev or x-systemd.automount. */
	bool ordered;
};

/* Parses `text`, a list with commas, which may be NULL. `sloppy` drops options
 * that nobody knows, as -s of mount(8). False with a reason. */
bool mount_options_parse(const char *text, bool sloppy,
    struct mount_options *out, struct mount_why *why);

/*
 * Options for a client of this release (as uname(2) has it) that stand before
 * those of the user, who has the last word. acdirmin=1: the kernel denies a
 * name for as long as it believes its directory, 30 s by default; to ask the
 * daemon again costs it microseconds. noalignwrite, from 6.12 on: a WRITE holds
 * what was changed, and not, around it, what another client may have changed
 * since.
 */
const char *mount_options_preset(const char *release);

#endif
