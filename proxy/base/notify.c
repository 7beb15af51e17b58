/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells systemd how the daemon fares (sd_notify(3)); does nothing in a build
 * without libsystemd. */
#include "base/notify.h"

#ifdef FF_SYSTEMD

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

enum { SETTLE_US = 5000000 }; /* as notify.h promises */

void notify_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	(void)sd_notifyf(
	    0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_awake_us());
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

uint64_t notify_watchdog_us(void)
{
	uint64_t us = 0;

	return sd_watchdog_enabled(0, &us) > 0 ? us : 0;
}

void notify_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

/* libsystemd leaves `names` alone where there are none. */
void notify_take_fds(void (*take)(void *ctx, int fd, char *name), void *ctx)
{
	char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < n; i++)
		take(ctx, SD_LISTEN_FDS_START + i, names[i]);
	free(names);
}

/* FDPOLL=0 keeps systemd from looking at the descriptor, which it would drop at
 * an error: that is ours to see. */
void notify_keep_fd(int fd, const char *name)
{
	char text[128];

	snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	(void)sd_pid_notify_with_fds(0, 0, text, &fd, 1);
}

void notify_drop_fd(const char *name)
{
	(void)sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

void notify_settle(void)
{
	(void)sd_notify_barrier(0, SETTLE_US);
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

uint64_t notify_watchdog_us(void)
{
	return 0;
}

void notify_alive(void)
{
}

void notify_take_fds(void (*take)(void *ctx, int fd, char *name), void *ctx)
{
	(void)take;
	(void)ctx;
}

void notify_keep_fd(int fd, const char *name)
{
	(void)fd;
	(void)name;
}

void notify_drop_fd(const char *name)
{
	(void)name;
}

void notify_settle(void)
{
}

#endif
