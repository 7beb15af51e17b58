/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory on a mount stands for the server, path and version of that mount,
 * as mountinfo has them (proc(5)). */
#include "bench/bench_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libmount/libmount.h>

#include "ctl/ctl_client.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_status.h"
#include "ctl/ctl_text.h"
#include "mount/mount_kernel.h"

#define MOUNTS "/proc/self/mountinfo"

static uint16_t port(struct libmnt_fs *fs, const char *name)
{
	char text[16];

	mount_fs_option(fs, name, text, sizeof(text));
	return (uint16_t)strtoul(text, NULL, 10);
}

/* Splits the path into the mount point and the directory below it. */
static void set_below(
    struct libmnt_fs *fs, const char *dir, struct bench_target *out)
{
	const char *target = mnt_fs_get_target(fs);
	size_t len = strlen(target);
	const char *rest = dir + (len > 1 ? len : 0);

	while (*rest == '/')
		rest++;
	snprintf(out->dir, sizeof(out->dir), "%s", target);
	snprintf(out->below, sizeof(out->below), "%s", rest);
}

/* Asks the daemon which server it is at `listen`, its address and port. Paths
 * are the same on both sides. */
static bool ask_daemon(
    const char *socket, const char *listen, struct bench_target *out)
{
	Forefetch__Response *res = ctl_status(socket, NULL);
	const Forefetch__ServerStatus *srv =
	    res ? ctl_server_at(res->status, listen) : NULL;
	char text[sizeof(out->source.text)];
	struct mount_why why = {.text = "forefetchd does not listen there"};
	bool good = false;

	if (srv) {
		snprintf(text, sizeof(text),
		    memchr(srv->address.data, ':', srv->address.len)
			? "[%.*s]:%s"
			: "%.*s:%s",
		    (int)srv->address.len, (const char *)srv->address.data,
		    out->source.path);
		good = mount_source_parse(text, &out->source, &why);
		out->nfs_port = (uint16_t)srv->nfs_port;
		out->mount_port = (uint16_t)srv->mount_port;
	}
	if (res && !good)
		ctl_complain(listen, "%s", why.text);
	ctl_free(res);
	return good;
}

/* Fills in the target from the mount of which `dir` is a part. */
static bool from_mount(struct libmnt_fs *fs, const char *dir,
    const char *socket, struct bench_target *out)
{
	char address[64], listen[80], sec[16], mountproto[16];
	struct mount_why why;

	if (!mount_source_parse(mnt_fs_get_source(fs), &out->source, &why)) {
		ctl_complain(dir, "%s", why.text);
		return false;
	}
	set_below(fs, dir, out);
	mount_fs_option(fs, "vers", out->vers, sizeof(out->vers));
	mount_fs_option(fs, "addr", address, sizeof(address));
	mount_fs_option(fs, "sec", sec, sizeof(sec));
	mount_fs_option(fs, "mountproto", mountproto, sizeof(mountproto));
	if (*sec && strcmp(sec, "sys") != 0) {
		ctl_complain(dir,
		    "it is mounted with sec=%s, and forefetch has sec=sys "
		    "alone",
		    sec);
		return false;
	}
	out->nfs_port = port(fs, "port");
	/* By UDP it has another port than by TCP. */
	if (strncmp(mountproto, "tcp", 3) == 0)
		out->mount_port = port(fs, "mountport");
	/* Where it is version 3 and has a port of this machine, that is the
	 * daemon's. */
	out->through =
	    *out->vers == '3' && out->nfs_port > 0 &&
	    (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0);
	if (!out->through) {
		snprintf(out->address, sizeof(out->address), "%s", address);
		return true;
	}
	snprintf(listen, sizeof(listen),
	    strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, out->nfs_port);
	return ask_daemon(socket, listen, out);
}

static bool is_nfs(struct libmnt_fs *fs)
{
	const char *type = fs ? mnt_fs_get_fstype(fs) : NULL;

	return type && strncmp(type, "nfs", 3) == 0 && mnt_fs_get_source(fs);
}

static bool find_mount(
    const char *dir, const char *socket, struct bench_target *out)
{
	struct libmnt_table *table = mnt_new_table_from_file(MOUNTS);
	struct libmnt_fs *fs =
	    table ? mnt_table_find_mountpoint(table, dir, MNT_ITER_BACKWARD)
		  : NULL;
	bool good = false;

	if (is_nfs(fs))
		good = from_mount(fs, dir, socket, out);
	else
		ctl_complain(dir,
		    "it is on no mount of NFS; name a directory of one, or "
		    "what would be mounted, as HOST:/PATH");
	mnt_unref_table(table);
	return good;
}

/* An absolute path. Root, who may be nobody at the server, may not enter every
 * directory of a user: then symbolic links stay. To be freed; NULL after a
 * message. */
static char *find_path(const char *text)
{
	char *path = realpath(text, NULL);

	if (!path && errno == EACCES)
		path = ctl_path_plain(text);
	if (!path)
		ctl_complain(text, "%s", strerror(errno));
	return path;
}

bool bench_target_find(
    const char *text, const char *socket, struct bench_target *out)
{
	struct mount_why why;
	char *dir;
	bool good;

	*out = (struct bench_target){.vers = "3"};
	if (access(text, F_OK) < 0 && errno == ENOENT && strstr(text, ":/")) {
		if (mount_source_parse(text, &out->source, &why))
			return true;
		ctl_complain(text, "%s", why.text);
		return false;
	}
	dir = find_path(text);
	if (!dir)
		return false;
	good = find_mount(dir, socket, out);
	free(dir);
	return good;
}
