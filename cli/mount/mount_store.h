/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of sections that mounts made, and the lock under which they change.
 * A section in the directory for this run goes when nothing needs it.
 */
#ifndef FOREFETCH_MOUNT_STORE_H
#define FOREFETCH_MOUNT_STORE_H

#include "config/config.h"
#include "control/control.pb-c.h"
#include "mount/mount_plan.h"

struct mount_store;

/* Makes the daemon's directory for this run, if it has one, and waits for the
 * lock; NULL with a reason. */
struct mount_store *mount_store_open(
    const Forefetch__Status *status, struct mount_why *why);
/* Gives the lock back, and frees it. NULL is allowed. */
void mount_store_close(struct mount_store *s);

/* The daemon's directory for this run; "" where it reads none. */
const char *mount_store_run_dir(const struct mount_store *s);
/* Where sections are that stay: the directory of the first file. */
const char *mount_store_save_dir(const struct mount_store *s);

/* Reads all of the configuration, as the daemon does; to be freed by
 * config_free(). NULL with a reason. */
struct config *mount_store_load(
    const struct mount_store *s, struct mount_why *why);

/* Write what the plan says, to `dir`. False with a reason, and then nothing has
 * changed. */
bool mount_store_write(
    const char *dir, const struct mount_plan *plan, struct mount_why *why);
/* Move a server's files from the directory for this run to the one that stays;
 * `moved` says whether there were any. */
bool mount_store_save(const struct mount_store *s, const char *name,
    bool *moved, struct mount_why *why);
/* Remove a server's files from `dir`. */
void mount_store_remove(const char *dir, const char *name);

/*
 * Remove the files of servers that no kernel and no client uses, and that no
 * other process is mounting. Returns how many.
 */
unsigned mount_store_clean(const struct mount_store *s,
    const struct config *cfg, const Forefetch__Status *status);

/* Keep the server's files until the descriptor is closed, or the process ends.
 * Needs the lock. -1 with a reason. */
int mount_store_hold(
    const struct mount_store *s, const char *name, struct mount_why *why);
/* Closes the descriptor, and removes its file unless another process holds it;
 * needs the lock. */
void mount_store_unhold(const struct mount_store *s, const char *name, int fd);

#endif
