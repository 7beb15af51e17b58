/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees of one server that users have pinned: their data is not evicted
 * (datacache_pin()). The list survives a restart, in a file of its own that is
 * replaced as a whole; one that is damaged is set aside as PATH.damaged.
 *
 * A tree is walked (warm_begin_pin()) when it is pinned, and again after
 * demand: once after a start, a minute after data of it was lost or changed,
 * and else every ten minutes. Without demand nothing is asked. The walk has
 * the user, group and groups of whoever pinned the tree, as they were then.
 */
#ifndef FOREFETCH_PINS_H
#define FOREFETCH_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warm/warm.h"

struct caches;
struct datacache_pin_walk;
struct iopool;
struct pins;
struct statefile_text;
struct user;

enum {
	PINS_MAX = 32,     /* DATACACHE_PINS */
	PINS_KEPT = 4,     /* for root and the daemon's user (places.h) */
	PINS_UID_MAX = 16, /* of a uid other than these */
};

/* All that is pointed to outlives the pins, but for `path` and `text`. */
struct pins_params {
	struct iopool *iopool;
	struct caches *caches;
	struct warm *warm;
	const char *path; /* of the file; copied; "": there is no disk */
	/* The file, as it was read. */
	const struct statefile_text *text;
	const char *server; /* for log lines; outlives it */
};

/* All that the file has is pinned when this returns. NULL and errno without
 * memory. */
struct pins *pins_new(const struct pins_params *p);
/* Gives a file to pins that had none, because there was no disk: nothing can be
 * pinned yet. */
void pins_set_file(
    struct pins *ps, const char *path, const struct statefile_text *text);
/* Its name, and how many bytes it has at most. */
#define PINS_FILE "pins"
enum { PINS_FILE_MAX = 256 << 20 };
/* Whether the file is up to date; if not, begins to write it. All walks end.
 * For a server that leaves. */
bool pins_settle(struct pins *ps, uint64_t now_us);
/* Ends all walks, and writes the file where it is not up to date; waits for the
 * disk. */
void pins_finish(struct pins *ps);
/* Frees them, after pins_finish() or pins_settle(): what neither of them saved
 * is lost. NULL is allowed. */
void pins_free(struct pins *ps);

/*
 * Pins what lies at `path` below `export`, as warm_begin() has them, for `who`,
 * and begins to walk it. A tree that `who` has pinned already is walked again,
 * with the groups of now. 0 and the pin's number in `*id`, or -errno: those of
 * warm_begin(), -ENOSPC where there are too many pins, -ENODEV where there is
 * no data cache.
 */
int pins_add(struct pins *ps, const struct user *who, const char *export,
    const char *path, unsigned *id);
/* Unpin what `uid` has pinned there, or for root what anybody has. Returns how
 * many pins there were. */
unsigned pins_remove(
    struct pins *ps, uint32_t uid, const char *export, const char *path);

/* To be called once a second or so; `demand`: clients have called since the
 * last time. */
void pins_tick(struct pins *ps, bool demand, uint64_t now_us);

/* Tells of one pin. Texts are the pin's. */
struct pins_info {
	uint32_t uid;
	const char *export, *path; /* until the pin is removed */
	uint64_t files;
	/* The sizes of all its files. */
	uint64_t bytes;
	/* Bytes of these that are cached now. */
	uint64_t cached_bytes;
	/* All was found and fetched at the last walk, and is there. */
	bool complete;
	bool walking;
	uint64_t walked_s; /* end of the last walk that found all, since 1970;
			    * 0: none */
	struct warm_progress walk; /* the present one, or the last */
};
/* False where there is none of this number (below PINS_MAX). `sizes`: a walk
 * that has ended, or NULL: then what all its files have is not told. */
bool pins_get(struct pins *ps, unsigned id,
    const struct datacache_pin_walk *sizes, struct pins_info *out);
/* Sums the sizes of all pins' files up, `n` steps of the work; true at the end
 * (datacache_pin_stats_step()). `sizes` is zeros at first. */
bool pins_sizes_step(
    struct pins *ps, struct datacache_pin_walk *sizes, size_t n);
/* The bytes that all pins together have, and may have; 0 without a data
 * cache. */
void pins_room(struct pins *ps, uint64_t *bytes, uint64_t *limit_bytes);

#endif
