/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration that was at work last, kept in the runtime directory of the
 * unit, which systemd empties when the unit is stopped, and leaves over a
 * restart or a crash. A daemon that is started again while the files are wrong
 * goes on with it: else every mount would hang until somebody corrects them.
 */
#ifndef FOREFETCH_LASTGOOD_H
#define FOREFETCH_LASTGOOD_H

struct config;

/* Keeps `config`; without RUNTIME_DIRECTORY nothing is kept. Writes a small
 * file, which is on a tmpfs. A failure is logged. */
void lastgood_save(const struct config *config);

/* Loads the configuration that was saved, to be freed by config_free(); NULL
 * where none can be used. */
struct config *lastgood_load(void);

#endif
