/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling systemd how far the daemon is (sd_notify(3)), and having it keep
 * descriptors for the next one; does nothing where the daemon was built without
 * libsystemd or started by somebody else.
 */
#ifndef FOREFETCH_NOTIFY_H
#define FOREFETCH_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* How often it wants to hear notify_alive(); 0: it does not watch. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);

/*
 * The descriptors that systemd kept, each with its name: how many, 0 where
 * there are none. Both lists and each name are the caller's to free(), the
 * descriptors to close. Once only.
 */
size_t notify_take_fds(int **fds, char ***names);
/* Keep `fd` over restarts and crashes, until it is dropped by that name, which
 * has neither ':' nor control characters. */
void notify_keep_fd(int fd, const char *name);
void notify_drop_fd(const char *name);
/* Wait until systemd has done all that it was told, for 5 s at most. Blocks. */
void notify_settle(void);

#endif
