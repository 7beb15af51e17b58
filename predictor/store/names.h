/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name space: directories, their listings, and runs of uses in the order of
 * names. It is all that can be said of objects that were never used.
 *
 * `list` has a directory's objects by name, and an object's rank is its index
 * there. `order` has the ranks in the order of READDIR, and behind these n the
 * inverse: where in that order each rank stands.
 *
 *	rank    0 1 2 3        order   2 0 3 1 | 1 3 0 2
 *	list    a b c d        so READDIR said  c a d b
 *
 * Uses of a directory within BURST_EVENTS of each other are a burst.
 * Directories are numbered as they are met, and never given up: when there are
 * `max_dirs`, new ones are left out. A listing goes with the first of its
 * objects that does.
 */
#ifndef FOREFETCH_NAMES_H
#define FOREFETCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIR_NONE  UINT32_MAX
#define RANK_NONE UINT16_MAX

/* How many names of a kind are there, and how many uses this burst had. */
struct dir_kind {
	uint16_t kind, n, used;
};

enum { DIR_KINDS = 6 /* that are counted; the first ones by name */ };

struct dir {
	uint64_t key;
	uint32_t parent;    /* DIR_NONE if unknown */
	uint32_t name;      /* low half of its hash */
	uint32_t *list;     /* objects by name; NULL: not listed */
	uint16_t *order;    /* NULL if READDIR has them by name */
	uint32_t n;         /* entries of `list` */
	uint16_t met_by;    /* wall_bit() of each uid that has met it */
	uint32_t used;      /* uses in this burst */
	uint32_t used_at;   /* event of the last one */
	uint32_t last;      /* the rank used last */
	uint32_t wanted_at; /* event: its listing was asked for; or 0 */
	uint32_t run;       /* uses in a row by name; halves otherwise */
	uint32_t order_run; /* the same in the order of READDIR */
	uint32_t entry;     /* the name used first in this burst */
	uint16_t kind_last; /* of the one used last, nameodds.h */
	struct dir_kind by_kind[DIR_KINDS];
	uint64_t kinds; /* in play, guess.c: used in this burst */
};

enum { NAMES_STEP_MAX = 3 /* a run goes on over steps of so many names */ };

struct names;

/* Room for `max_dirs` directories, whose listings together have `limit` entries
 * at most. NULL without memory. */
struct names *names_new(uint32_t max_dirs, size_t limit);
void names_free(struct names *ns);

/* The directory of that key; DIR_NONE if it is not known. */
uint32_t names_find(const struct names *ns, uint64_t key);
/* The same, and it is made; DIR_NONE if there is no more room. */
uint32_t names_dir(struct names *ns, uint64_t key);
struct dir *names_at(const struct names *ns, uint32_t dir);
/* The directory's key; 0 for DIR_NONE. */
uint64_t names_key(const struct names *ns, uint32_t dir);
/* Says where the directory hangs. */
void names_place(
    struct names *ns, uint32_t dir, uint32_t parent, uint32_t name);
/* The directory of that name in `parent`, DIR_NONE if not known. */
uint32_t names_below(const struct names *ns, uint32_t parent, uint32_t name);
/* Takes the directory's new listing: both arrays, from malloc(), or NULL for
 * none. Where all listings together would have more than `limit` entries, it
 * frees the arrays, and the old listing stays. */
void names_set_list(struct names *ns, uint32_t dir, uint32_t *list,
    uint16_t *order, uint32_t n);
/* No kinds are counted; to be said before a listing is counted. */
void names_clear_kinds(struct names *ns, uint32_t dir);
/* A name of that kind is there. */
void names_count_kind(struct names *ns, uint32_t dir, uint16_t kind);
/* NULL if that kind is not counted. */
const struct dir_kind *names_kind(const struct dir *d, uint16_t kind);
/* A name of that kind is used now; names_use() comes next. */
void names_use_kind(
    struct names *ns, uint32_t dir, uint32_t name, uint16_t kind);
/* The rank that comes behind `rank`, by name or in the order of READDIR;
 * RANK_NONE at the end. */
uint16_t names_next(const struct dir *d, uint32_t rank, bool by_order);
/* The first rank in that order. */
uint16_t names_begin(const struct dir *d, bool by_order);
/* How long the present run is, by the order in which it is longer. */
uint32_t names_run(const struct dir *d);
/* Begins a new burst if the last use was long ago. */
void names_wake(struct names *ns, uint32_t dir, uint32_t now);
/*
 * Counts a use of the object at `rank`, whose kind has this bit. The steps say
 * how far it comes behind the last one, by name and in the order of READDIR; 0
 * if it does not, or is far.
 */
void names_use(struct names *ns, uint32_t dir, uint32_t rank, uint64_t kind,
    uint32_t step, uint32_t order_step, uint32_t now);
/* How many directories there may ever be, and how many there are. */
size_t names_limit(const struct names *ns);
uint32_t names_count(const struct names *ns);
size_t names_memory_bytes(const struct names *ns);

#endif
