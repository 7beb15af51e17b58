/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MOUNT version 3 (RFC 1813 section 5) of the daemon, by libtirpc. */
#include "mount/mount_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <rpc/rpc.h>

enum {
	MOUNT_PROGRAM = 100005,
	MOUNT_VERSION = 3,
	PROC_MNT = 1,
	PROC_EXPORT = 5,

	STATUS_PERM = 1,
	STATUS_NOENT = 2,
	STATUS_IO = 5,
	STATUS_ACCES = 13,
	STATUS_NOTDIR = 20,
	STATUS_NOTSUPP = 10004,

	PATH_BYTES = 1024,
	LIST_MAX = 10000, /* entries that are read; not all are told */
};

/* ---- messages --------------------------------------------------------- */

static bool_t put_nothing(XDR *xdrs, ...)
{
	(void)xdrs;
	return TRUE;
}

static bool_t put_path(XDR *xdrs, ...)
{
	va_list ap;
	char **path;

	va_start(ap, xdrs);
	path = va_arg(ap, char **);
	va_end(ap);
	return xdr_string(xdrs, path, PATH_BYTES);
}

/* What follows in a MNT3resok is for the kernel. */
static bool_t get_status(XDR *xdrs, ...)
{
	va_list ap;
	u_int *status;

	va_start(ap, xdrs);
	status = va_arg(ap, u_int *);
	va_end(ap);
	return xdr_u_int(xdrs, status);
}

static bool skip_string(XDR *xdrs, char out[PATH_BYTES + 1])
{
	return xdr_string(xdrs, &out, PATH_BYTES);
}

/* The groups of one export. */
static bool skip_groups(XDR *xdrs)
{
	char name[PATH_BYTES + 1];
	bool_t more;

	for (unsigned n = 0; n < LIST_MAX; n++) {
		if (!xdr_bool(xdrs, &more) || !more)
			return n < LIST_MAX;
		if (!skip_string(xdrs, name))
			return false;
	}
	return false;
}

struct exports {
	const char *wanted; /* the path that is asked for */
	bool covered;       /* it is one of them, or lies below one */
	struct mount_why text;
};

static bool covers(const char *export, const char *path)
{
	size_t len = strlen(export);

	return strncmp(path, export, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || len == 1);
}

/* As many paths as the text holds, with ", " between them. */
static bool_t get_exports(XDR *xdrs, ...)
{
	char path[PATH_BYTES + 1];
	struct exports *out;
	va_list ap;
	bool_t more;
	size_t len;

	va_start(ap, xdrs);
	out = va_arg(ap, struct exports *);
	va_end(ap);
	out->text.text[0] = '\0';
	for (unsigned n = 0; n < LIST_MAX; n++) {
		if (!xdr_bool(xdrs, &more))
			return FALSE;
		if (!more)
			return TRUE;
		if (!skip_string(xdrs, path) || !skip_groups(xdrs))
			return FALSE;
		out->covered |= covers(path, out->wanted);
		len = strlen(out->text.text);
		if (len + strlen(path) + 8 < sizeof(out->text.text) / 2)
			sprintf(out->text.text + len, "%s%s", len ? ", " : "",
			    path);
	}
	return FALSE;
}

/* ---- the connection --------------------------------------------------- */

static bool to_sockaddr(const char *address, unsigned port,
    struct sockaddr_storage *out, socklen_t *len)
{
	struct sockaddr_in *v4 = (void *)out;
	struct sockaddr_in6 *v6 = (void *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*len = sizeof(*v4);
		return true;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	*len = sizeof(*v6);
	return inet_pton(AF_INET6, address, &v6->sin6_addr) == 1;
}

/* The daemon takes calls from ports below 1024 only. */
static int dial(const char *address, unsigned port, const struct timeval *limit,
    struct mount_why *why)
{
	struct sockaddr_storage to, own = {.ss_family = AF_UNSPEC};
	socklen_t len;
	int fd = -1;

	if (to_sockaddr(address, port, &to, &len))
		fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	own.ss_family = to.ss_family;
	if (fd >= 0 &&
	    bindresvport_sa(fd, (struct sockaddr *)(void *)&own) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, limit, sizeof(*limit)) ==
		0 &&
	    connect(fd, (struct sockaddr *)(void *)&to, len) == 0)
		return fd;
	mount_refuse(why, "forefetchd cannot be reached at %s port %u: %s",
	    address, port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static CLIENT *open_client(const char *address, unsigned port,
    const struct timeval *limit, struct mount_why *why)
{
	struct sockaddr_storage to;
	struct netbuf at = {.maxlen = sizeof(to), .buf = &to};
	int fd = dial(address, port, limit, why);
	CLIENT *client;
	socklen_t len;

	if (fd < 0)
		return NULL;
	to_sockaddr(address, port, &to, &len);
	at.len = len;
	client = clnt_vc_create(fd, &at, MOUNT_PROGRAM, MOUNT_VERSION, 0, 0);
	if (!client) {
		mount_refuse(why, "%s", clnt_spcreateerror("forefetchd"));
		close(fd);
		return NULL;
	}
	clnt_control(client, CLSET_FD_CLOSE, NULL);
	client->cl_auth = authunix_create((char[]){"localhost"}, 0, 0, 0, NULL);
	return client;
}

/* ---- what the answer means -------------------------------------------- */

static bool tell_exports(
    const struct exports *all, const char *what, struct mount_why *why)
{
	const char *list = all->text.text;

	return mount_refuse(why, "%s %s; %s%s", what, all->wanted,
	    *list ? "it exports " : "it exports nothing for NFSv3", list);
}

static bool tell_status(CLIENT *client, struct timeval limit, unsigned status,
    const char *path, struct mount_why *why)
{
	struct exports all = {.wanted = path};
	bool listed = clnt_call(client, PROC_EXPORT, put_nothing, NULL,
			  get_exports, &all, limit) == RPC_SUCCESS;

	if (listed && !all.covered)
		return tell_exports(&all, "the server does not export", why);
	switch (status) {
	case STATUS_NOENT:
	case STATUS_NOTDIR:
		return mount_refuse(
		    why, "the server has no directory %s", path);
	case STATUS_PERM:
	case STATUS_ACCES:
		return mount_refuse(why,
		    "the server does not let this machine mount %s; look at "
		    "its /etc/exports, and at `exports` in the server's "
		    "section "
		    "of forefetch.conf(5)",
		    path);
	case STATUS_NOTSUPP:
		return mount_refuse(
		    why, "the server does not support mounting %s", path);
	case STATUS_IO:
		return mount_refuse(why,
		    "the server cannot read %s (an I/O error there)", path);
	default:
		return mount_refuse(why,
		    "the server refuses to mount %s (status %u of MOUNT)", path,
		    status);
	}
}

static bool ask(CLIENT *client, struct timeval limit, const char *path,
    struct mount_why *why)
{
	char *arg = strdup(path);
	u_int status = STATUS_IO;
	enum clnt_stat stat = RPC_CANTENCODEARGS;
	bool good;

	if (arg)
		stat = clnt_call(client, PROC_MNT, put_path, &arg, get_status,
		    &status, limit);
	if (stat == RPC_TIMEDOUT)
		good = mount_refuse(why,
		    "the server has not answered for %ld s whether %s may be "
		    "mounted; forefetch status says what it waits for",
		    (long)limit.tv_sec, path);
	else if (stat == RPC_CANTRECV || stat == RPC_CANTSEND)
		good = mount_refuse(why,
		    "forefetchd closed the connection; see that `allow` in its "
		    "section has this host, and its log");
	else if (stat != RPC_SUCCESS)
		good = mount_refuse(
		    why, "MOUNT of %s failed: %s", path, clnt_sperrno(stat));
	else if (status != 0)
		good = tell_status(client, limit, status, path, why);
	else
		good = true;
	free(arg);
	return good;
}

bool mount_ask(const char *address, unsigned port, const char *path,
    unsigned wait_s, struct mount_why *why)
{
	struct timeval limit = {.tv_sec = wait_s > 5 ? wait_s : 5};
	CLIENT *client = open_client(address, port, &limit, why);
	bool good;

	if (!client)
		return false;
	good = ask(client, limit, path, why);
	auth_destroy(client->cl_auth);
	clnt_destroy(client);
	return good;
}
