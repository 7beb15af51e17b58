/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notify.h"

#ifdef FF_SYSTEMD

#include <inttypes.h>
#include <stdint.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
	    (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

#else

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

#endif
