/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mounts of the kernel, and mount(2) and umount(2) by way of libmount.
 * Its NFS client is told everything by options, so that mount.nfs(8) need not
 * be there.
 */
#ifndef FOREFETCH_MOUNT_KERNEL_H
#define FOREFETCH_MOUNT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "mount/mount_job.h"
#include "mount/mount_source.h"

/* One mount of a file system of NFSv3. */
struct mount_entry {
	/* The source as it was typed, and as the kernel shows it:
	 * "nas:/home". */
	char source[MOUNT_HOST_MAX + MOUNT_PATH_MAX + 2];
	char dir[4096];
	/* The address that the kernel talks to. */
	char address[64];
	unsigned port;
	/* Address and port: "127.0.0.1:289", "[::1]:289". */
	char listen[80];
	/* Names the file system of the server; "" where that is not known. */
	char fsid[40];
};

struct libmnt_fs;
/* Copies the value of `name=` among the options of a mount of libmount; ""
 * where it is not there. */
void mount_fs_option(
    struct libmnt_fs *fs, const char *name, char *out, size_t size);

/* All mounts of NFSv3, `*n` of them, to be freed by free(3); those that hide
 * others come later. NULL where the list cannot be read, or memory is short. */
struct mount_entry *mount_kernel_list(size_t *n);

/* The path of the server that the mount's source names, within it; "" where it
 * names none. */
const char *mount_entry_path(const struct mount_entry *entry);

/* Whether both are of one file system of one server. */
bool mount_entry_shares(
    const struct mount_entry *a, const struct mount_entry *b);

/* Whether a path of the server at that port of this host is mounted here. */
bool mount_kernel_has(unsigned port, const char *path);

/* Whether the kernel's client has anything to do with that port of this host:
 * in other mount namespaces, too, and what is unmounted but still open. */
bool mount_kernel_uses(unsigned port);

/* The mount that is seen at `dir`, an absolute path. False: it is none of
 * NFSv3, or another file system is mounted over it. */
bool mount_kernel_at(const char *dir, struct mount_entry *out);

/* The arguments of a mount. `options` is a list for libmount and the kernel. */
struct mount_call {
	const char *source;
	const char *dir;
	const char *options;
	const char *fstype;
	/* -n: nothing is written to /run/mount/utab. */
	bool no_utab;
};

/* Mounts, and returns an exit status of mount(8); `why` has the reason where it
 * is not MOUNT_GOOD, and `*error` the errno of mount(2), or 0 where that was
 * not called. May wait for the server for minutes. */
int mount_kernel_mount(
    const struct mount_call *call, int *error, struct mount_why *why);

/* The arguments of an unmount: the options -l, -f, -r and -n of umount(8). */
struct umount_call {
	const char *dir;
	bool lazy, force, read_only, no_utab;
};

/* Unmounts, and returns likewise. */
int mount_kernel_umount(const struct umount_call *call, struct mount_why *why);

#endif
