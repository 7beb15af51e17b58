/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that clients connect to: opened here, or taken over from systemd,
 * which keeps a copy of each (sd_notify(3), FDSTORE). */
#include "daemon/listens.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/notify.h"
#include "config/config.h"
#include "daemon/portowner.h"
#include "upstream/dial.h"

/* BACKLOG is how many connections wait while the daemon restarts. */
enum {
	BACKLOG = 128,
	SAFE_PORT = 307, /* as in the examples of forefetch.conf(5) */
	NAME_MAX_BYTES = NETMATCH_TEXT_MAX + 8,
};

/* A socket that systemd kept, or that a server gave back. */
struct kept {
	/* -1: it was handed out or closed, and the place is free. */
	int fd;
	/* Under which systemd has its copy; NULL: not known. Allocated. */
	char *name;
	/* Where it listens; len 0: it does not. */
	struct netmatch_addr at;
};

/* All sockets that nobody uses now. */
struct listens {
	struct kept *kept;
	size_t n;
	/* An address could not be had since somebody else listens there. */
	bool taken;
};

/* ---- what systemd kept ------------------------------------------------- */

/* Finds out where a descriptor listens, as it may be anything that systemd was
 * given. */
static void bound_address(int fd, struct netmatch_addr *at)
{
	struct sockaddr *sa = (struct sockaddr *)&at->addr;
	socklen_t len = sizeof(at->addr), one = sizeof(int);
	int listening = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &one) < 0 ||
	    !listening || getsockname(fd, sa, &len) < 0)
		return;
	if (sa->sa_family == AF_INET || sa->sa_family == AF_INET6)
		at->len = dial_addr_len(sa);
}

/* A place for one more; NULL without memory. */
static struct kept *free_place(struct listens *l)
{
	struct kept *list;

	for (size_t i = 0; i < l->n; i++)
		if (l->kept[i].fd < 0)
			return &l->kept[i];
	list = reallocarray(l->kept, l->n + 1, sizeof(*list));
	if (!list)
		return NULL;
	l->kept = list;
	list[l->n] = (struct kept){.fd = -1};
	return &list[l->n++];
}

/* Without memory the socket is closed, since nobody would ever serve it. */
static void on_kept(void *ctx, int fd, char *name)
{
	struct kept *k = free_place(ctx);

	if (!k) {
		close(fd);
		free(name);
		return;
	}
	*k = (struct kept){.fd = fd, .name = name};
	bound_address(fd, &k->at);
}

struct listens *listens_new(void)
{
	struct listens *l = calloc(1, sizeof(*l));

	if (l)
		notify_take_fds(on_kept, l);
	return l;
}

/* Closes it, if it is not closed. */
static void close_kept(struct kept *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

void listens_free(struct listens *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++) {
		close_kept(&l->kept[i]);
		free(l->kept[i].name);
	}
	free(l->kept);
	free(l);
}

/* Whether both are the same address and port, not only ones that clash. */
static bool same_address(
    const struct netmatch_addr *a, const struct netmatch_addr *b)
{
	char at[NETMATCH_TEXT_MAX], bt[NETMATCH_TEXT_MAX];

	if (a->len == 0 || a->len != b->len)
		return false;
	netmatch_addr_format(a, at);
	netmatch_addr_format(b, bt);
	return strcmp(at, bt) == 0;
}

/* Whether a section of the configuration listens there. */
static bool wanted(const struct config *c, const struct netmatch_addr *at)
{
	for (size_t i = 0; i < c->nservers; i++)
		for (size_t k = 0; k < c->servers[i].listen.n; k++)
			if (same_address(at, &c->servers[i].listen.list[k]))
				return true;
	return false;
}

/* A name for each address; systemd allows no colon in it. */
static void name_of(const struct netmatch_addr *na, char name[NAME_MAX_BYTES])
{
	char text[NETMATCH_TEXT_MAX];

	netmatch_addr_format(na, text);
	snprintf(name, NAME_MAX_BYTES, "listen-%s", text);
	for (char *p = name; *p; p++)
		if (*p == ':')
			*p = '-';
}

bool listens_drop_unwanted(struct listens *l, const struct config *config)
{
	bool dropped = false;

	for (size_t i = 0; i < l->n; i++) {
		struct kept *k = &l->kept[i];

		if (k->fd < 0 || wanted(config, &k->at))
			continue;
		close_kept(k);
		if (k->name)
			notify_drop_fd(k->name);
		free(k->name);
		k->name = NULL;
		dropped = true;
	}
	return dropped;
}

void listens_give_back(struct listens *l, int fd)
{
	struct kept *k = free_place(l);
	char name[NAME_MAX_BYTES];

	if (!k)
		return;
	free(k->name);
	*k = (struct kept){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	if (k->fd < 0)
		return;
	bound_address(k->fd, &k->at);
	name_of(&k->at, name);
	k->name = strdup(name);
}

/* Hands out a socket that listens at the address; -1: there is none. */
static int take_kept(struct listens *l, const struct netmatch_addr *na)
{
	for (size_t i = 0; i < l->n; i++) {
		struct kept *k = &l->kept[i];
		int fd = k->fd;

		if (fd < 0 || !same_address(na, &k->at))
			continue;
		k->fd = -1;
		if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

/* Gives systemd a copy. */
static void keep(int fd, const struct netmatch_addr *na)
{
	char name[NAME_MAX_BYTES];

	name_of(na, name);
	notify_keep_fd(fd, name);
}

/* ---- new ones ---------------------------------------------------------- */

/* A new socket that listens at the address: a descriptor or -errno. IPv6
 * sockets take no calls over IPv4, so that both families can have one port
 * (ipv6(7), IPV6_V6ONLY). */
static int listen_at(const struct netmatch_addr *na)
{
	int one = 1, err;
	int fd = socket(
	    na->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (na->addr.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&na->addr, na->len) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* The first port that any user may listen at (Linux, ip-sysctl.rst). */
static unsigned unprivileged_start(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	unsigned start = IPPORT_RESERVED;

	if (f && fscanf(f, "%u", &start) != 1)
		start = IPPORT_RESERVED;
	if (f)
		fclose(f);
	return start;
}

/* A sentence for the errno of listen_at(), and what to do about it. */
static void say_why(
    const struct netmatch_addr *na, int err, char text[LISTENS_TEXT_MAX])
{
	char who[PORTOWNER_TEXT_MAX];

	if (err == EADDRINUSE && portowner_find(na, who))
		snprintf(text, LISTENS_TEXT_MAX,
		    "the port is taken by %s; stop that, or choose another "
		    "port here and in the mounts",
		    who);
	else if (err == EACCES)
		snprintf(text, LISTENS_TEXT_MAX,
		    "%s; a port below %u needs root or CAP_NET_BIND_SERVICE",
		    strerror(err), unprivileged_start());
	else
		snprintf(text, LISTENS_TEXT_MAX, "%s", strerror(err));
}

int listens_open(struct listens *l, const struct netmatch_addr *na,
    char text[LISTENS_TEXT_MAX])
{
	int fd = take_kept(l, na);

	if (fd >= 0)
		return fd;
	fd = listen_at(na);
	if (fd >= 0) {
		keep(fd, na);
		return fd;
	}
	if (fd == -EADDRINUSE)
		l->taken = true;
	say_why(na, -fd, text);
	return fd;
}

bool listens_taken(const struct listens *l)
{
	return l->taken;
}

bool listens_unsafe(const struct netmatch_addr *na, char text[LISTENS_TEXT_MAX])
{
	unsigned port = dial_addr_port((const struct sockaddr *)&na->addr);
	unsigned start = unprivileged_start();
	char at[NETMATCH_TEXT_MAX];
	int n;

	if (port < start)
		return false;
	netmatch_addr_format(na, at);
	n = snprintf(text, LISTENS_TEXT_MAX,
	    "listen = %s: while the daemon is stopped, any local user may "
	    "listen there and answer in its place; ",
	    at);
	if (start > SAFE_PORT)
		snprintf(text + n, LISTENS_TEXT_MAX - (size_t)n,
		    "choose a port below %u, such as %d", start, SAFE_PORT);
	else
		snprintf(text + n, LISTENS_TEXT_MAX - (size_t)n,
		    "set net.ipv4.ip_unprivileged_port_start to %d, and choose "
		    "a port below it",
		    IPPORT_RESERVED);
	return true;
}
