/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which interface and gateway the kernel would send to an address now, from
 * rtnetlink(7). Networks change all the time without any change of the way to
 * the server: a container starts, a router tells of itself, somebody captures
 * packets.
 */
#ifndef FOREFETCH_NETPATH_H
#define FOREFETCH_NETPATH_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

struct netpath {
	unsigned ifindex;         /* 0: there is no way, or it is not known */
	uint32_t carrier_changes; /* how often its cable was pulled or put in */
	unsigned char gateway[16]; /* all 0: none, it is a neighbour */
	unsigned char source[16];
};

/* Asks the kernel, which answers at once. *path is all 0 where it does not. */
void netpath_find(const struct sockaddr *to, struct netpath *path);

/* Whether both are the same way, and were all the time between them. */
bool netpath_same(const struct netpath *a, const struct netpath *b);

#endif
