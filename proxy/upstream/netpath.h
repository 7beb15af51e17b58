/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way to an address: by which interface and gateway the kernel would send
 * there now, from rtnetlink(7). Networks change all the time without any change
 * of the way to the server: a container starts, a router tells of itself,
 * somebody captures packets.
 */
#ifndef FOREFETCH_NETPATH_H
#define FOREFETCH_NETPATH_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

/* A way; addresses are in network byte order, IPv4 ones in the first four
 * bytes. The gateway may be of the other family. */
struct netpath {
	unsigned ifindex;         /* 0: there is no way, or it is not known */
	uint32_t carrier_changes; /* how often its cable was pulled or put in */
	unsigned char gateway[16]; /* all 0: none, it is a neighbour */
	unsigned char source[16];
};

/* Asks the kernel for the way to `to`, AF_INET or AF_INET6. The kernel answers
 * at once; `*path` is all zeros where it does not, or there is no way. */
void netpath_find(const struct sockaddr *to, struct netpath *path);

/* Whether both are the same way, and were all the time between them. */
bool netpath_same(const struct netpath *a, const struct netpath *b);

#endif
