/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the data cache of one server is laid out (datacache_layout_begin()):
 * when its clients have been silent for some seconds, and something was read
 * since the last pass; or when somebody says so. A pass ends when a client
 * calls. After one that moved something the next has to wait for ten minutes,
 * and twice as long each time that what was laid out was not read in that
 * order: who reads in an order that never comes again must not wear the disk.
 */
#ifndef FOREFETCH_COMPACT_H
#define FOREFETCH_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

struct compact;
struct datacache;
struct event_base;

/* Bytes a second of a pass that was asked for, where the rate is 0. */
#define COMPACT_RATE UINT64_C(8000000) /* 64mbit */

struct compact_params {
	struct event_base *base; /* NULL: compact_tick() is called by hand */
	struct datacache *data;  /* NULL: there is none, so nothing is done */
	uint64_t rate_bytes;     /* a second; 0: not by itself */
	/* Calls of clients until now. */
	uint64_t (*calls)(void *ctx);
	/* Something is under way to the server. */
	bool (*busy)(void *ctx);
	void *ctx;
};

/* NULL and errno without memory. */
struct compact *compact_new(const struct compact_params *p, uint64_t now_us);
/* NULL is allowed. */
void compact_free(struct compact *c);
/* The data, where there was none; 0 or -ENOMEM. */
int compact_set_data(struct compact *c, struct datacache *data);
void compact_set_rate(struct compact *c, uint64_t rate_bytes);

/* Begin now, whatever clients do, and with whatever order: 0 or -errno of
 * datacache_layout_begin(); -ENODEV where there is no data cache. */
int compact_begin(struct compact *c);
bool compact_busy(const struct compact *c);

/* Does what is due at `now_us`; returns in how many microseconds to call again.
 */
uint64_t compact_tick(struct compact *c, uint64_t now_us);

#endif
