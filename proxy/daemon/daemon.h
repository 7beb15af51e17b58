/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: a configuration at work on one event loop. There is one in a
 * process, and main.c makes it. */
#ifndef FOREFETCH_DAEMON_H
#define FOREFETCH_DAEMON_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_source;
struct daemon;

/* Whether a daemon may start: no writes of a later release are pending, and
 * cache_dir may be used, as far as can be told without a daemon (root does not
 * know which user that will run as). False and a sentence in `err`. May
 * block. */
bool daemon_check(const struct config *config, char *err, size_t errlen);

/*
 * Makes the daemon, which takes `config`, read from `source` (and read again on
 * HUP); the texts of `source` outlive it. It listens when this returns, whether
 * or not any server can be reached. Waits for the disk for some seconds.
 *
 * NULL and a sentence in `err`; `config` is freed then, and errno is EADDRINUSE
 * where somebody else has a `listen` port, EINVAL where the configuration is
 * wrong or writes of a later release are pending, else EIO or ENOMEM.
 */
struct daemon *daemon_new(struct config *config,
    const struct config_source *source, char *err, size_t errlen);
/* Ends everything, and saves it; waits for the disk. NULL is allowed. */
void daemon_free(struct daemon *d);

/* The configuration works: keep it for a restart while it does not. */
void daemon_keep(const struct daemon *d);
/* The configuration that is in the files was refused, and this daemon has the
 * one before it: to be told as after a reload that failed. */
void daemon_refused(struct daemon *d, const char *why);

/* Serves until TERM or INT, after which calls in flight are answered for some
 * seconds: 0, or -EIO where the loop fails. */
int daemon_run(struct daemon *d);

#endif
