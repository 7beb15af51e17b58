/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loopback addresses, of this process alone: 127.x.y.host, where x and y come
 * from its PID. */
#ifndef FOREFETCH_TESTS_HOSTS_H
#define FOREFETCH_TESTS_HOSTS_H

#include <stdint.h>

enum {
	HOSTS_SERVER = 1,
	HOSTS_PROXY = 2,
	HOSTS_CLIENT = 10, /* A; B is the next one */
};

uint32_t hosts_address(unsigned host);
void hosts_text(unsigned host, char text[16]);

#endif
