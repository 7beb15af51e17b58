/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator's cache: files by number; the least recently used ones go when
 * there are too many bytes. A file in flight is in it already, with the time at
 * which it will arrive. */
#ifndef FOREFETCH_SIMCACHE_H
#define FOREFETCH_SIMCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simcache_entry {
	double arrival_s;
	uint32_t bytes;  /* 0: not in the cache */
	uint32_t issuer; /* the run that it was prefetched for, or below */
	bool unused;     /* it was prefetched and has not been wanted so far */
	uint32_t newer, older;
};

/* The issuer of what was not prefetched. */
#define SIMCACHE_DEMAND UINT32_MAX

/* Called when `e` leaves the cache. */
typedef void (*simcache_on_evict)(
    void *ctx, uint32_t file, const struct simcache_entry *e);

struct simcache;

/* A cache of `max_bytes` for files numbered from 0 to `nfiles` - 1. NULL
 * without memory. Every call takes constant time, but for evictions. */
struct simcache *simcache_new(
    size_t nfiles, size_t max_bytes, simcache_on_evict evict, void *ctx);
void simcache_free(struct simcache *c);

/* NULL if it is not in the cache. */
struct simcache_entry *simcache_get(struct simcache *c, uint32_t file);
/* The file is the one used last. */
void simcache_touch(struct simcache *c, uint32_t file);
/* Adds a file that must not be in the cache, as the newest one. */
struct simcache_entry *simcache_add(
    struct simcache *c, uint32_t file, uint32_t bytes, double arrival_s);
/* Evicts this one. */
void simcache_drop(struct simcache *c, uint32_t file);
/* Evicts all. */
void simcache_flush(struct simcache *c);

#endif
