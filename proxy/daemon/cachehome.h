/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server's caches and where they live on disk: cache_dir/NAME/data and
 * …/names. What is there belongs to one server address; where the
 * configuration names another one, it is thrown away.
 *
 * The disk may be away, full, broken or slow. It is opened by a thread, and
 * tried again until it is well; until then there are the caches in memory.
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
	struct statedir *state;
	const struct config_server *config;
	const char *name; /* outlives this */
	struct metrics *metrics;
	uint64_t disk_bytes;   /* this server's shares of cache_size … */
	uint64_t memory_bytes; /* … and of memory_size */
	/* A daemon served without the disk since it was written to last. */
	bool detached;
	/* The disk was had, or data is kept on it again, after
	 * cachehome_wait(). */
	void (*on_disk)(void *ctx);
	void *ctx;
};

/* Begins to open the disk. NULL and errno where there is no memory. */
struct cachehome *cachehome_new(const struct cachehome_params *p);
/* on_disk() will not be called any more: its owner is going. */
void cachehome_stop(struct cachehome *h);
/* Saves what is to be saved. */
void cachehome_free(struct cachehome *h);
struct caches *cachehome_caches(struct cachehome *h);

/* Wait for the disk, but no longer than that: -EINVAL and a sentence where the
 * configuration is wrong; 0 whether or not the disk was had. */
int cachehome_wait(struct cachehome *h, uint64_t us, char *err, size_t errlen);
/* The directory is had, and what it has of small files is in memory. */
bool cachehome_on_disk(const struct cachehome *h);
/* Try again now, if there is something to try. */
void cachehome_retry(struct cachehome *h);
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
