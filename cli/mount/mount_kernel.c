/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts of the kernel, and mount(2) and umount(2) by libmount, which also
 * keeps /run/mount/utab as other programs expect it. What the kernel's NFS
 * client knows beyond mountinfo is in /proc/fs/nfsfs. */
#include "mount/mount_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include <libmount/libmount.h>

/* All mounts of this mount namespace (proc(5)). */
#define MOUNTS  "/proc/self/mountinfo"
/* Each server that the NFS client of this network namespace talks to. */
#define SERVERS "/proc/fs/nfsfs/servers"
/* Each of their file systems, once for each set of options. */
#define VOLUMES "/proc/fs/nfsfs/volumes"

/* ---- what is mounted -------------------------------------------------- */

void mount_fs_option(
    struct libmnt_fs *fs, const char *name, char *out, size_t size)
{
	char *value = NULL;
	size_t len = 0;

	*out = '\0';
	if (mnt_fs_get_option(fs, name, &value, &len) == 0 && value)
		snprintf(out, size, "%.*s", (int)len, value);
}

/* The server's own id of the file system on the device `dev` here, by a line
 * such as "v3 7f000001 120 0:28 480c2a27ab1a196:0 no"; "" where it is not
 * known. */
static void find_fsid(dev_t dev, char fsid[40])
{
	FILE *in = fopen(VOLUMES, "re");
	char line[512], text[40];
	unsigned major_no, minor_no;

	*fsid = '\0';
	while (in && !*fsid && fgets(line, sizeof(line), in))
		if (sscanf(line, "%*s %*s %*s %u:%u %39s", &major_no, &minor_no,
			text) == 3 &&
		    makedev(major_no, minor_no) == dev)
			snprintf(fsid, 40, "%s", text);
	if (in)
		fclose(in);
}

/* Fills in a mount; false where it is none of NFSv3, or has no port, as mounts
 * of ours always have. */
static bool fill(struct libmnt_fs *fs, struct mount_entry *out)
{
	const char *type = mnt_fs_get_fstype(fs);
	const char *source = mnt_fs_get_source(fs);
	const char *dir = mnt_fs_get_target(fs);
	char port[16], vers[16];

	*out = (struct mount_entry){.port = 0};
	if (!type || strcmp(type, "nfs") != 0 || !source || !dir ||
	    strlen(source) >= sizeof(out->source) ||
	    strlen(dir) >= sizeof(out->dir))
		return false;
	mount_fs_option(fs, "vers", vers, sizeof(vers));
	mount_fs_option(fs, "addr", out->address, sizeof(out->address));
	mount_fs_option(fs, "port", port, sizeof(port));
	out->port = (unsigned)strtoul(port, NULL, 10);
	snprintf(out->listen, sizeof(out->listen),
	    strchr(out->address, ':') ? "[%s]:%s" : "%s:%s", out->address,
	    port);
	find_fsid(mnt_fs_get_devno(fs), out->fsid);
	strcpy(out->source, source);
	strcpy(out->dir, dir);
	return strcmp(vers, "3") == 0 && out->port > 0;
}

/* A list that memory was short for is none at all: nobody is to take a part of
 * it for all. */
struct mount_entry *mount_kernel_list(size_t *n)
{
	struct libmnt_table *table = mnt_new_table_from_file(MOUNTS);
	struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct mount_entry *list = NULL, *more;
	struct libmnt_fs *fs = NULL;

	*n = 0;
	while (table && iter) {
		more = reallocarray(list, *n + 1, sizeof(*list));
		if (!more) {
			free(list);
			list = NULL;
			*n = 0;
			break;
		}
		list = more;
		if (fs)
			*n += fill(fs, &list[*n]);
		if (mnt_table_next_fs(table, iter, &fs) != 0)
			break;
	}
	mnt_free_iter(iter);
	mnt_unref_table(table);
	return list;
}

const char *mount_entry_path(const struct mount_entry *entry)
{
	const char *colon = strstr(entry->source, ":/");

	return colon ? colon + 1 : "";
}

bool mount_entry_shares(
    const struct mount_entry *a, const struct mount_entry *b)
{
	return a->port == b->port && *a->fsid && strcmp(a->fsid, b->fsid) == 0;
}

/* Slashes at the end make no difference. */
static bool same_path(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	while (la > 1 && a[la - 1] == '/')
		la--;
	while (lb > 1 && b[lb - 1] == '/')
		lb--;
	return la == lb && memcmp(a, b, la) == 0;
}

bool mount_kernel_has(unsigned port, const char *path)
{
	size_t n;
	struct mount_entry *list = mount_kernel_list(&n);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = list[i].port == port &&
			same_path(mount_entry_path(&list[i]), path);
	free(list);
	return found;
}

bool mount_kernel_at(const char *dir, struct mount_entry *out)
{
	struct libmnt_table *table = mnt_new_table_from_file(MOUNTS);
	/* The last one hides those before it. */
	struct libmnt_fs *fs =
	    table ? mnt_table_find_target(table, dir, MNT_ITER_BACKWARD) : NULL;
	bool found = fs && fill(fs, out);

	mnt_unref_table(table);
	return found;
}

/* The lines are such as "v3 7f000001 120 2 nas": version, then address and port
 * in hexadecimal. */
bool mount_kernel_uses(unsigned port)
{
	FILE *in = fopen(SERVERS, "re");
	char line[512], version[8], address[64];
	bool found = false;
	unsigned at;

	while (in && !found && fgets(line, sizeof(line), in))
		found =
		    sscanf(line, "%7s %63s %x", version, address, &at) == 3 &&
		    at == port;
	if (in)
		fclose(in);
	return found;
}

/* ---- mount(2) --------------------------------------------------------- */

/* Says so, and returns the status. */
static int no_memory(struct mount_why *why)
{
	mount_refuse(why, "out of memory");
	return MOUNT_SYSTEM;
}

/* Helpers are disabled, since this is one; options come from the caller alone,
 * without fstab(5) (MNT_OMODE_NOTAB). */
int mount_kernel_mount(
    const struct mount_call *call, int *error, struct mount_why *why)
{
	struct libmnt_context *cxt = mnt_new_context();
	char said[512] = "";
	int rc, code;

	*error = 0;
	if (!cxt)
		return no_memory(why);
	mnt_context_disable_helpers(cxt, 1);
	mnt_context_set_optsmode(cxt, MNT_OMODE_NOTAB);
	mnt_context_disable_mtab(cxt, call->no_utab);
	rc = mnt_context_set_fstype(cxt, call->fstype);
	if (!rc)
		rc = mnt_context_set_source(cxt, call->source);
	if (!rc)
		rc = mnt_context_set_target(cxt, call->dir);
	if (!rc)
		rc = mnt_context_set_options(cxt, call->options);
	if (!rc)
		rc = mnt_context_mount(cxt);
	code = mnt_context_get_excode(cxt, rc, said, sizeof(said));
	if (mnt_context_syscall_called(cxt))
		*error = mnt_context_get_syscall_errno(cxt);
	if (code != 0)
		mount_refuse(
		    why, "%s", *said ? said : strerror(rc < 0 ? -rc : *error));
	mnt_free_context(cxt);
	return code;
}

/* Helpers are disabled here, too. */
int mount_kernel_umount(const struct umount_call *call, struct mount_why *why)
{
	struct libmnt_context *cxt = mnt_new_context();
	char said[512] = "";
	int rc, code;

	if (!cxt)
		return no_memory(why);
	mnt_context_disable_helpers(cxt, 1);
	mnt_context_disable_mtab(cxt, call->no_utab);
	mnt_context_enable_lazy(cxt, call->lazy);
	mnt_context_enable_force(cxt, call->force);
	mnt_context_enable_rdonly_umount(cxt, call->read_only);
	rc = mnt_context_set_target(cxt, call->dir);
	if (!rc)
		rc = mnt_context_umount(cxt);
	code = mnt_context_get_excode(cxt, rc, said, sizeof(said));
	if (code != 0)
		mount_refuse(why, "%s", *said ? said : strerror(-rc));
	mnt_free_context(cxt);
	return code;
}
