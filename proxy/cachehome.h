/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server's caches and where they live on disk: cache_dir/NAME/data and
 * …/names. What is there belongs to one server address; where the
 * configuration names another one, it is thrown away.
 */
#ifndef FOREFETCH_CACHEHOME_H
#define FOREFETCH_CACHEHOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cachehome;
struct caches;
struct config_server;
struct event_base;
struct iopool;
struct metrics;
struct statedir;

struct cachehome_params {
	struct event_base *base;
	struct iopool *iopool;
	const struct statedir *state;
	const struct config_server *config;
	const char *name; /* outlives this */
	struct metrics *metrics;
	uint64_t disk_bytes;   /* this server's shares of cache_size … */
	uint64_t memory_bytes; /* … and of memory_size */
};

/* Never without memory caches; without a disk there is a warning. NULL and
 * errno where there is no memory. */
struct cachehome *cachehome_new(const struct cachehome_params *p);
/* Saves what is to be saved. */
void cachehome_free(struct cachehome *h);
struct caches *cachehome_caches(struct cachehome *h);
/* To be called every second; see datacache_tick(). */
void cachehome_tick(struct cachehome *h, uint64_t now_us, bool patient);

/* Why no data is kept on disk. */
struct cachehome_problem {
	char text[512];    /* empty: it is */
	uint64_t since_us; /* 0: not known */
};
void cachehome_get_problem(
    const struct cachehome *h, struct cachehome_problem *p);

/* The caches were emptied: what is on disk is to follow at once. */
void cachehome_hurry(struct cachehome *h);

#endif
