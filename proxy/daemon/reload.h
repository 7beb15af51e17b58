/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration read again, by HUP or `forefetch reload`: a thread reads
 * it, the servers take it up, and what became of each change is told. One at a
 * time; whoever asks meanwhile is told of the next one.
 */
#ifndef FOREFETCH_RELOAD_H
#define FOREFETCH_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "control/control.h"

struct event_base;
struct reload;
struct servers;

/* Everything that is pointed to outlives the reload. */
struct reload_params {
	struct event_base *base;
	/* The files, as at the start; its `former` is not used. */
	struct config_source source;
	struct servers *servers;
	/* Another configuration is in force; it is the servers' after this
	 * call. */
	void (*on_config)(void *ctx, const struct config *config);
	void *ctx;
};

/* Makes it, with a thread of its own. NULL and errno. */
struct reload *reload_new(const struct reload_params *p);
/* Waits for the thread. NULL is allowed. */
void reload_free(struct reload *r);

/* Begins a reload; if one is under way, has another follow that one. Returns
 * the number of the reload that reads the files as they are now, from 1. */
uint64_t reload_begin(struct reload *r);
/* Whether the reload of that number is over; if so, `out` tells what came of
 * it, with texts in the arena. */
bool reload_answer(struct reload *r, uint64_t number, struct arena *a,
    Forefetch__Reloaded *out);

/* The files were refused at the start, which is told as if this had read them.
 */
void reload_refused(struct reload *r, const char *why);

/* To be called by servers.h's callbacks of the same names. */
void reload_on_serves(struct reload *r, const char *server);
void reload_on_failed(struct reload *r, const char *server, const char *why);
void reload_on_used(struct reload *r);

/* When the last one began, what of it failed, and the settings, with commas
 * between them, that a restart takes up: 0 and "" where there was none. */
uint64_t reload_time_us(const struct reload *r);
const char *reload_error(const struct reload *r);
const char *reload_restart(const struct reload *r);

#endif
