/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Telling systemd how far the daemon is (sd_notify(3)); does nothing where
 * the daemon was built without libsystemd or started by somebody else.
 */
#ifndef FOREFETCH_NOTIFY_H
#define FOREFETCH_NOTIFY_H

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

#endif
