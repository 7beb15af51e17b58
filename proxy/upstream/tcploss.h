/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts segments that were lost on their way to the server, as the kernel
 * tells. Of those that were lost on their way from there, only the sender
 * knows.
 */
#ifndef FOREFETCH_TCPLOSS_H
#define FOREFETCH_TCPLOSS_H

#include <stdint.h>

struct tcploss {
	uint64_t sent; /* segments with data */
	/* Segments that were sent again, since no acknowledgement came. */
	uint64_t resent;
};

/* Adds the segments of a connected socket (TCP_INFO, tcp(7)); nothing where
 * that fails, or the kernel does not count them. */
void tcploss_add(int fd, struct tcploss *sum);

#endif
