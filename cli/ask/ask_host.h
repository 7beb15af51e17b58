/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by the system's resolver (nsswitch), within a time. */
#ifndef FOREFETCH_ASK_HOST_H
#define FOREFETCH_ASK_HOST_H

#include <stdint.h>
#include <sys/socket.h>

/*
 * Finds the addresses of a host, `*count` at most. 0, or what getaddrinfo(3)
 * returns; EAI_AGAIN where it took longer than `limit_us`: the C library's
 * thread is left behind then, which ends by itself.
 */
int ask_host(const char *host, uint64_t limit_us, struct sockaddr_storage *addr,
    unsigned *count);

#endif
