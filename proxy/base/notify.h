/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells systemd how far the daemon is (sd_notify(3)), and has it keep
 * descriptors for the next one; does nothing where the daemon was built without
 * libsystemd or started by somebody else.
 */
#ifndef FOREFETCH_NOTIFY_H
#define FOREFETCH_NOTIFY_H

#include <stdint.h>

/* Say that the daemon serves, reads its configuration anew, or is about to end.
 */
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* Returns how often systemd wants to hear notify_alive(), in microseconds
 * (WatchdogSec=, systemd.service(5)); 0: it does not watch. */
uint64_t notify_watchdog_us(void);
void notify_alive(void);

/* Hands each descriptor that systemd kept to `take`, which is to close it, and
 * to free() its name. To be called once only. */
void notify_take_fds(void (*take)(void *ctx, int fd, char *name), void *ctx);
/* Has systemd keep `fd` over restarts and crashes, until it is dropped by that
 * name, which has neither ':' nor control characters. Needs
 * FileDescriptorStoreMax=. */
void notify_keep_fd(int fd, const char *name);
void notify_drop_fd(const char *name);
/* Waits until systemd has done all that it was told, for 5 s at most. Blocks.
 */
void notify_settle(void);

#endif
