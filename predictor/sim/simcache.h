/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator's cache: files by number, LRU by bytes. What is in flight
 * is in it already, with the time when it will be there. */
#ifndef FOREFETCH_SIMCACHE_H
#define FOREFETCH_SIMCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simcache_entry {
	double arrival_s;
	uint32_t bytes;  /* 0: not in the cache */
	uint32_t issuer; /* whoever prefetched it, SIMCACHE_DEMAND for demand */
	bool unused;     /* prefetched, and not wanted so far */
	uint32_t newer, older;
};

#define SIMCACHE_DEMAND UINT32_MAX

/* `e` leaves the cache. */
typedef void (*simcache_on_evict)(
    void *ctx, uint32_t file, const struct simcache_entry *e);

struct simcache;

struct simcache *simcache_new(
    size_t nfiles, size_t max_bytes, simcache_on_evict evict, void *ctx);
void simcache_free(struct simcache *c);

/* NULL if it is not there. */
struct simcache_entry *simcache_get(struct simcache *c, uint32_t file);
void simcache_touch(struct simcache *c, uint32_t file);
/* As the newest; it must not be there. */
struct simcache_entry *simcache_add(
    struct simcache *c, uint32_t file, uint32_t bytes, double arrival_s);
/* Evict this one. */
void simcache_drop(struct simcache *c, uint32_t file);
/* Evict all. */
void simcache_flush(struct simcache *c);

#endif
