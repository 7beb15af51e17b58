/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon: a configuration at work on one event loop.
 */
#ifndef FOREFETCH_DAEMON_H
#define FOREFETCH_DAEMON_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_source;
struct daemon;

/* Whether a daemon may start: no writes of a later release are pending, and
 * cache_dir may be used, as far as can be told without a daemon: root does not
 * know which user that will run as. False and a sentence in `err`. */
bool daemon_check(const struct config *config, char *err, size_t errlen);

/* Takes `config`, which was read from `source` (read again on HUP). Listens
 * when it returns. NULL and a sentence in `err`; `config` is freed then, and
 * errno is EADDRINUSE where somebody else has a `listen` port, EINVAL where
 * the configuration is wrong, or writes of a later release are pending. */
struct daemon *daemon_new(struct config *config,
    const struct config_source *source, char *err, size_t errlen);
void daemon_free(struct daemon *d);

/* The configuration works: keep it for a restart while it does not. */
void daemon_keep(const struct daemon *d);
/* The configuration that is in the files was refused, and this daemon has the
 * one before it: to be told as after a reload that failed. */
void daemon_refused(struct daemon *d, const char *why);

/* Serve until TERM or INT; 0, or -errno where the loop fails. */
int daemon_run(struct daemon *d);

#endif
