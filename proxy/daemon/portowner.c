/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds who has a port, by /proc/net and the descriptors of processes
 * (proc(5)), so that "address in use" names the program that is to be
 * stopped. */
#include "daemon/portowner.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* Bytes of a program's name in /proc, and the number of TCP_LISTEN there. */
enum { COMM_MAX = 16, STATE_LISTEN = 0x0a };

/* The user who owns a socket, and the number that its descriptors show. */
struct owner {
	unsigned uid;
	unsigned long inode;
};

/* One line of /proc/net/tcp or tcp6 (proc(5)). */
struct portowner_line {
	struct netmatch_addr local;
	unsigned state;
	struct owner owner;
};

/* An IPv4 address that is mapped into IPv6, and [::] of both families, stand
 * for IPv4. */
static void as_v4(struct netmatch_addr *na)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in4 = {.sin_family = AF_INET};

	memcpy(&in6, &na->addr, sizeof(in6));
	if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
	    !IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr))
		return;
	in4.sin_port = in6.sin6_port;
	memcpy(&in4.sin_addr, in6.sin6_addr.s6_addr + 12, 4);
	memcpy(&na->addr, &in4, sizeof(in4));
	na->len = sizeof(in4);
}

/* Parses an address of /proc/net: 32-bit words in hexadecimal, of the bytes as
 * they lie in memory. */
static bool parse_address(
    const char *hex, unsigned port, struct portowner_line *out)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	size_t words = strlen(hex) / 8;
	uint32_t word[4];

	for (size_t i = 0; i < words && i < 4; i++)
		if (sscanf(hex + 8 * i, "%8x", &word[i]) != 1)
			return false;
	memset(&out->local, 0, sizeof(out->local));
	if (words == 1) {
		in4.sin_port = htons((uint16_t)port);
		in4.sin_addr.s_addr = word[0];
		memcpy(&out->local.addr, &in4, sizeof(in4));
		out->local.len = sizeof(in4);
		return true;
	}
	in6.sin6_port = htons((uint16_t)port);
	memcpy(&in6.sin6_addr, word, sizeof(word));
	memcpy(&out->local.addr, &in6, sizeof(in6));
	out->local.len = sizeof(in6);
	return words == 4;
}

/* Reads a socket's line of /proc/net/tcp or tcp6. False for the first line of
 * these files, which names the columns, and for any other form. */
static bool parse_line(const char *text, struct portowner_line *out)
{
	char hex[33];
	unsigned port;

	if (sscanf(text,
		" %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x "
		"%u %*d %lu",
		hex, &port, &out->state, &out->owner.uid,
		&out->owner.inode) != 5)
		return false;
	return parse_address(hex, port, out);
}

/* Whether a socket with the address of `line` keeps us from binding `at`. */
static bool stands_in_the_way(
    const struct portowner_line *line, const struct netmatch_addr *at)
{
	struct netmatch_addr local = line->local;

	if (netmatch_addr_clash(&local, at))
		return true;
	if (local.addr.ss_family == AF_INET6 && at->addr.ss_family == AF_INET)
		as_v4(&local);
	return netmatch_addr_clash(&local, at);
}

/* Finds the owner of such a socket. Who listens counts before who is connected
 * from that port. */
static bool search(
    const char *file, const struct netmatch_addr *at, struct owner *out)
{
	FILE *f = fopen(file, "re");
	bool found = false, listens = false;
	char text[512];
	struct portowner_line line;

	while (f && !listens && fgets(text, sizeof(text), f)) {
		if (!parse_line(text, &line) || !stands_in_the_way(&line, at))
			continue;
		listens = line.state == STATE_LISTEN;
		if (!found || listens)
			*out = line.owner;
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

/* Whether one of a process's descriptors is the socket. Those of other users
 * are not shown to us unless we are root. */
static bool has_socket(const char *pid, unsigned long inode)
{
	char path[PATH_MAX], want[64], link[64];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	d = opendir(path);
	while (d && !found && (e = readdir(d)) != NULL) {
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		found = strcmp(link, want) == 0;
	}
	if (d)
		closedir(d);
	return found;
}

/* The name of the program, escaped: any user can choose one. */
static void read_comm(const char *pid, char comm[LOG_ESCAPE_MAX(COMM_MAX)])
{
	char path[PATH_MAX], raw[COMM_MAX + 1] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(raw, sizeof(raw), f))
		raw[0] = '\0';
	if (f)
		fclose(f);
	log_escape(comm, LOG_ESCAPE_MAX(COMM_MAX), raw, strcspn(raw, "\n"));
}

bool portowner_find(
    const struct netmatch_addr *at, char text[PORTOWNER_TEXT_MAX])
{
	char comm[LOG_ESCAPE_MAX(COMM_MAX)];
	struct owner owner;
	struct dirent *e;
	DIR *proc;

	if (!search("/proc/net/tcp", at, &owner) &&
	    !search("/proc/net/tcp6", at, &owner))
		return false;
	snprintf(
	    text, PORTOWNER_TEXT_MAX, "a program of user id %u", owner.uid);
	proc = opendir("/proc");
	while (proc && (e = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !has_socket(e->d_name, owner.inode))
			continue;
		read_comm(e->d_name, comm);
		snprintf(text, PORTOWNER_TEXT_MAX,
		    "%s (process %.16s, user id %u)", comm, e->d_name,
		    owner.uid);
		break;
	}
	if (proc)
		closedir(proc);
	return true;
}
