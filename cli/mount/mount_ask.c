/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MOUNT version 3 (RFC 1813 appendix I, section 5) of the daemon, asked as the
 * kernel will ask it a moment later. The kernel tells an errno only, and often
 * the same for a path that does not exist and one that is not exported. */
#include "mount/mount_ask.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/ask_host.h"
#include "base/clock.h"
#include "nfsproto/nfs3_list.h"

/* Seconds that the server gets at least, whatever `wait` says; and bytes of the
 * list of exports in a message. */
enum { LEAST_S = 5, TEXT_BYTES = 1024 };

/* The exports of the server, for a message. */
struct export_text {
	/* The paths, as many as it holds, with commas between them. */
	char text[TEXT_BYTES];
	/* The path is one of them, or lies below one. */
	bool covered;
};

/* False where the server does not list them, as it need not. */
static bool ask_exports(
    struct ask *a, const char *path, struct export_text *out)
{
	struct mnt3_export e;
	union nfs_res res;
	size_t len = 0;
	bool more;
	XDR xdrs;

	if (ask_proc(a, MOUNT_PROGRAM, MOUNTPROC3_EXPORT, NULL, &res) != 0)
		return false;
	nfs3_list_open(&xdrs, &res.export_list.exports);
	while (mnt3_export_decode(&xdrs, &e, &more) && more) {
		out->covered |= ask_path_below(path, e.dir.data, e.dir.len);
		if (len + e.dir.len + 3 < sizeof(out->text))
			len += (size_t)sprintf(out->text + len, "%s%.*s",
			    len ? ", " : "", (int)e.dir.len, e.dir.data);
	}
	return true;
}

/* Puts a mountstat3 into words. Servers answer MNT3ERR_ACCES, or even NOENT,
 * for what they do not export, so their list is asked before the status is
 * believed. */
static bool tell_status(
    struct ask *a, uint32_t status, const char *path, struct mount_why *why)
{
	struct export_text all = {.covered = false};

	if (ask_exports(a, path, &all) && !all.covered)
		return mount_refuse(why,
		    "the server does not export %s; it exports %s%s", path,
		    *all.text ? "" : "nothing for NFSv3", all.text);
	switch (status) {
	case MNT3ERR_NOENT:
	case MNT3ERR_NOTDIR:
		return mount_refuse(
		    why, "the server has no directory %s", path);
	case MNT3ERR_PERM:
	case MNT3ERR_ACCES:
		return mount_refuse(why,
		    "the server does not let this machine mount %s; look at "
		    "its /etc/exports, and at `exports` in the server's "
		    "section "
		    "of forefetch.conf(5)",
		    path);
	case MNT3ERR_NOTSUPP:
		return mount_refuse(
		    why, "the server does not support mounting %s", path);
	case MNT3ERR_IO:
		return mount_refuse(why,
		    "the server cannot read %s (an I/O error there)", path);
	default:
		return mount_refuse(why,
		    "the server refuses to mount %s (status %u of MOUNT)", path,
		    status);
	}
}

/* The daemon closed the connection, as it does with one from a host or a port
 * that it does not serve. */
static bool tell_closed(const struct ask *a, struct mount_why *why)
{
	int err = ask_port_error(a);

	if (err)
		return mount_refuse(why,
		    "forefetchd closed the connection, since it takes calls "
		    "from ports below 1024 only: %s",
		    err == EADDRINUSE ? "no port below 1024 is free here"
				      : strerror(err));
	return mount_refuse(why, "forefetchd closed the connection; "
				 "check that `allow` in its "
				 "section has this host, and its log");
}

/* Puts an errno of ask.h into words. */
static bool tell_error(const struct ask *a, int err, unsigned limit_s,
    const char *path, struct mount_why *why)
{
	if (err == ETIMEDOUT)
		return mount_refuse(why,
		    "the server has not answered for %u s whether %s may be "
		    "mounted; forefetch status says what it is waiting for",
		    limit_s, path);
	if (err == ECONNRESET)
		return tell_closed(a, why);
	return mount_refuse(why, "MOUNT of %s failed: %s", path, strerror(err));
}

/* Connects to the daemon's listener; NULL with a reason. With `secure` the
 * daemon takes calls from ports below 1024 only, as root's are. */
static struct ask *open_daemon(const char *address, unsigned port,
    uint64_t limit_us, struct mount_why *why)
{
	struct sockaddr_storage to;
	unsigned count = 1;
	struct ask *a = NULL;
	int err = EADDRNOTAVAIL;

	if (ask_host(address, limit_us, &to, &count) == 0)
		a = ask_open((struct sockaddr *)&to, (uint16_t)port,
		    clock_now_us() + limit_us, &err);
	if (!a)
		mount_refuse(why,
		    "forefetchd cannot be reached at %s port %u: %s", address,
		    port, strerror(err));
	return a;
}

bool mount_ask(const char *address, unsigned port, const char *path,
    unsigned wait_s, struct mount_why *why)
{
	unsigned limit_s = wait_s > LEAST_S ? wait_s : LEAST_S;
	struct ask *a =
	    open_daemon(address, port, (uint64_t)limit_s * 1000000, why);
	union nfs_args args = {
	    .mnt.dirpath = {.len = (uint32_t)strlen(path), .data = path}};
	union nfs_res res;
	bool good;
	int err;

	if (!a)
		return false;
	ask_wait_long(a);
	err = ask_proc(a, MOUNT_PROGRAM, MOUNTPROC3_MNT, &args, &res);
	good = !err && res.mnt.status == MNT3_OK;
	if (err)
		tell_error(a, err, limit_s, path, why);
	else if (!good)
		tell_status(a, res.mnt.status, path, why);
	ask_close(a);
	return good;
}
