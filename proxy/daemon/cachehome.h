/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server's caches and their files: cache_dir/NAME/data and …/names. The files
 * belong to one server address; if the configuration names another one, they
 * are thrown away, since file handles mean something to their server only.
 *
 * The disk may be missing, full, broken or slow. A thread opens it, and tries
 * again until it works; until then the caches are in memory only. All functions
 * are for the loop's thread, and none waits for the disk unless it says so.
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
struct statefile_text;

/* Everything that is pointed to outlives the cachehome, but for `config`. */
struct cachehome_params {
	struct event_base *base;
	struct iopool *iopool;
	struct statedir *state;
	/* The configuration of the start, which only cachehome_new() reads. */
	const struct config_server *config;
	const char *name; /* outlives this */
	struct metrics *metrics;
	/* This server's share of cache_size. */
	uint64_t disk_bytes;
	/* This server's share of memory_size. */
	uint64_t memory_bytes;
	/* A former daemon served without the disk, so the disk may be outdated.
	 */
	bool detached;
	/* The disk works, which it did not when cachehome_wait() returned. */
	void (*on_disk)(void *ctx);
	void *ctx;
};

/* Makes the caches, and begins to open the disk. NULL and errno where there is
 * no memory. */
struct cachehome *cachehome_new(const struct cachehome_params *p);
/* The owner is about to be freed: on_disk() is not called any more. NULL is
 * allowed. */
void cachehome_stop(struct cachehome *h);
/* Saves the caches, and frees them; waits for the disk. NULL is allowed. */
void cachehome_free(struct cachehome *h);
/* The caches, which live as long as the cachehome and stay the same. */
struct caches *cachehome_caches(struct cachehome *h);

/* Waits for the disk for at most `us`, at the start. -EINVAL and a sentence in
 * `err` where the configuration is wrong; else 0, whether or not the disk
 * answered. */
int cachehome_wait(struct cachehome *h, uint64_t us, char *err, size_t errlen);
/* Takes up a part of what is on disk, so that cachehome_wait() has nothing to
 * wait for or to do. 0, -EAGAIN where it is to be called again, or -EBUSY where
 * the disk does not answer yet. */
int cachehome_load(struct cachehome *h);
/* Whether the disk has worked, so that its small files were read. */
bool cachehome_on_disk(const struct cachehome *h);

/* Small files of other modules, which a thread reads for them: the loop never
 * waits for the disk. */
enum cachehome_file {
	CACHEHOME_ADDRESS_NFS,
	CACHEHOME_ADDRESS_MOUNT,
	CACHEHOME_LINK,
	CACHEHOME_TOTALS,
	CACHEHOME_MOUNT_TOTALS,
	CACHEHOME_PINS,
	CACHEHOME_FILES
};
/* Returns what a file held; NULL until the disk has worked. Only within
 * server_open() and on_disk(), behind which cachehome_forget_texts() frees it.
 */
struct statefile_text *cachehome_text(
    struct cachehome *h, enum cachehome_file file);
/* Frees what was read; to be called when all modules have taken theirs up. */
void cachehome_forget_texts(struct cachehome *h);
/* Whether its directory was made by this, and not found. */
bool cachehome_is_new(const struct cachehome *h);
/* Tries the disk again now, if it does not work. */
void cachehome_retry(struct cachehome *h);
/* To be called every second; `patient` as in datacache_tick(). */
void cachehome_tick(struct cachehome *h, uint64_t now_us, bool patient);

/* Why no data is kept on disk. */
struct cachehome_problem {
	char text[512];    /* empty: it is */
	uint64_t since_us; /* 0: not known */
};
/* Tells why no data is kept on disk, or is not kept now. */
void cachehome_get_problem(
    const struct cachehome *h, struct cachehome_problem *p);

/* Sets the shares of disk and memory; what is above them is evicted a part at a
 * time. */
void cachehome_set_shares(
    struct cachehome *h, uint64_t disk_bytes, uint64_t memory_bytes);
/* Whether all names are saved; if not, begins to. */
bool cachehome_settle(struct cachehome *h);
/* Frees a part of the caches, before cachehome_free(), so that no turn is long;
 * true where it is to be called again. Nothing else may use them from then on.
 */
bool cachehome_take_apart(struct cachehome *h);

/* The caches were emptied: save them at once, so that the files are, too. */
void cachehome_hurry(struct cachehome *h);

#endif
