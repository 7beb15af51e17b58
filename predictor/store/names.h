/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name space: directories, what is listed in them, and runs of uses in
 * the order of names. It is all that can be said of what was never used.
 */
#ifndef FOREFETCH_NAMES_H
#define FOREFETCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIR_NONE  UINT32_MAX
#define RANK_NONE UINT16_MAX

struct dir {
	uint64_t key;
	uint32_t parent;    /* DIR_NONE if unknown */
	uint32_t name;      /* low half of its hash */
	uint32_t *list;     /* objects, by name */
	uint16_t *order;    /* ranks in the order of READDIR, then the place
			     * of each rank in it; NULL if that is by name */
	uint32_t n;         /* of them */
	uint16_t known;     /* a bit for each uid that has met it, wall.c */
	uint32_t used;      /* of them in this burst */
	uint32_t used_at;   /* event: last use */
	uint32_t last;      /* rank used last */
	uint32_t wanted_at; /* event: its listing was asked for; 0 */
	uint32_t run;       /* uses in order, up to now */
	uint32_t order_run; /* the same in the order of READDIR */
	uint64_t kinds;     /* in play: a bit for each used in this burst */
};

enum { NAMES_STEP_MAX = 3 /* names that a run may leave out */ };

struct names;

/* All listings together have `limit` entries at most. */
struct names *names_new(uint32_t max_dirs, size_t limit);
void names_free(struct names *ns);

/* DIR_NONE if it is not known. */
uint32_t names_find(const struct names *ns, uint64_t key);
/* DIR_NONE if there is no more room. */
uint32_t names_dir(struct names *ns, uint64_t key);
struct dir *names_at(const struct names *ns, uint32_t dir);
/* Where it hangs. */
void names_place(
    struct names *ns, uint32_t dir, uint32_t parent, uint32_t name);
/* The directory of that name in `parent`, DIR_NONE if not known. */
uint32_t names_below(const struct names *ns, uint32_t parent, uint32_t name);
/* Takes the list and the order, or frees them. */
void names_set_list(struct names *ns, uint32_t dir, uint32_t *list,
    uint16_t *order, uint32_t n);
/* The rank behind `rank`, by name or in the order of READDIR; RANK_NONE at
 * the end. */
uint16_t names_next(const struct dir *d, uint32_t rank, bool by_order);
/* The one that such a walk begins with. */
uint16_t names_begin(const struct dir *d, bool by_order);
/* How long the present run is, by whichever order. */
uint32_t names_run(const struct dir *d);
/* A directory that was not used for long begins anew. */
void names_wake(struct names *ns, uint32_t dir, uint32_t now);
/*
 * A use of the object at `rank`, of the kind that has this bit. The steps say
 * how far it is behind the last one, by name and in the order of READDIR: 0 if
 * it is not behind it, or far.
 */
void names_use(struct names *ns, uint32_t dir, uint32_t rank, uint64_t kind,
    uint32_t step, uint32_t order_step, uint32_t now);
/* How many directories there may ever be. */
size_t names_limit(const struct names *ns);
uint32_t names_count(const struct names *ns);
size_t names_memory_bytes(const struct names *ns);

#endif
