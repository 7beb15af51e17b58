/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses of a process's own. */
#include "scenario/hosts.h"

#include <stdio.h>
#include <unistd.h>

uint32_t hosts_address(unsigned host)
{
	unsigned pid = (unsigned)getpid();

	return 127u << 24 | (1 + (pid >> 8) % 254) << 16 | (pid & 255) << 8 |
	       host;
}

void hosts_text(unsigned host, char text[16])
{
	uint32_t a = hosts_address(host);

	snprintf(text, 16, "%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255,
	    a & 255);
}
