/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mounting through forefetchd with one line: `forefetch mount`, `forefetch
 * umount`, and the helpers of mount(8) and umount(8) in /sbin.
 *
 *	mount.c ──┬─▶ mount_source, mount_options   what was typed
 *	          ├─▶ mount_daemon                  is it there, reload, wait
 *	          ├─▶ mount_section                 the server's section:
 *	          │      ├─▶ mount_plan                   which, and its text
 *	          │      └─▶ mount_store                  its files
 *	          ├─▶ mount_now ─▶ mount_ask        would the server let us
 *	          │      └─▶ mount_kernel           mount(2) by libmount
 *	          └─▶ mount_list                    what is mounted
 *	umount.c ─┬─▶ mount_kernel
 *	          └─▶ mount_store                   what nobody needs any more
 *
 * The section of a server is one of the configuration, or a file of its own in
 * the run directory, which the daemon reads as well: it lasts until nobody has
 * anything of that server mounted.
 */
#ifndef FOREFETCH_MOUNT_JOB_H
#define FOREFETCH_MOUNT_JOB_H

#include <stdbool.h>

/* Exit statuses, as of mount(8), which passes on those of its helpers. */
enum {
	MOUNT_GOOD = 0,
	/* Wrong usage, or missing privileges. */
	MOUNT_USAGE = 1,
	/* The system or the daemon failed; nothing was mounted. */
	MOUNT_SYSTEM = 2,
	/* Mounted, but /run/mount/utab could not be written. */
	MOUNT_UTAB = 16,
	/* The mount itself failed. */
	MOUNT_FAILED = 32,
};

/* Enough for every message: a path of an export, and what is said of it. */
enum { MOUNT_WHY_MAX = 2048 };

/* A reason, in one sentence that also says what to do. */
struct mount_why {
	char text[MOUNT_WHY_MAX];
};

/* Writes the reason, made as by printf(3), and returns false, for functions
 * that end with it. */
bool mount_refuse(struct mount_why *why, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Who speaks, and how much. */
struct mount_talk {
	/* "forefetch mount", or "mount.forefetch". */
	const char *prog;
	bool verbose;
};

/* Prints "PROG: STEP: TEXT" on stderr, and returns `code`. */
int mount_fail(const struct mount_talk *talk, int code, const char *step,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Prints the same on stdout if `talk->verbose`: a step is done. */
void mount_step(const struct mount_talk *talk, const char *step,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
