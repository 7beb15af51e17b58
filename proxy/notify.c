/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notify.h"

#ifdef FF_SYSTEMD

#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "clock.h"

void notify_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	(void)sd_notifyf(
	    0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_now_us());
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
