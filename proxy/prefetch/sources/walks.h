/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks through trees that go on, each with the record of how it went: which
 * directories it came to, how fast, and how many of those that were told ahead
 * of it were used. From that follow how many are told, and how likely each is.
 */
#ifndef FOREFETCH_WALKS_H
#define FOREFETCH_WALKS_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/walk/walknames.h"
#include "predictor/walk/walktree.h"

enum {
	WALKS = 32,         /* that go on at the same time */
	AGAIN_US = 1000000, /* calls in a directory that are one visit */
	RISE_MAX = 64,      /* levels in one step */
};

struct walk {
	uint32_t number; /* 0: none */
	uint32_t cred;
	bool lists;      /* its directories are listed */
	bool known;      /* it is one */
	bool hidden;     /* it lists hidden directories, too */
	unsigned listed; /* directories */
	unsigned branches;
	unsigned window; /* the most directories to tell ahead: walks_used() */
	unsigned told, used;    /* directories that were told ahead, of late */
	unsigned visits, looks; /* directories, and lookups of files there */
	unsigned numbers[WALKCLASSES]; /* directories that it came to */
	uint64_t last_us;
	uint64_t pace_us; /* from directory to directory, of late */
	struct walkname names[WALKNAMES];
};

struct walk_table {
	struct walk at[WALKS]; /* by number */
	uint32_t numbers;
};

/* NULL where it is over. */
struct walk *walks_find(struct walk_table *ws, uint32_t number);
/* The walk that comes to this directory; a new one if there is none. */
struct walk *walks_for(
    struct walk_table *ws, struct walkdir *d, bool lists, uint64_t now_us);

/* How likely what is told next will be used. */
float walks_odds(const struct walk *w);
/* The lookups that a listing will probably spare; 0: the walk reads it. */
float walks_calls_spared(const struct walk *w);
/* The directory after `d` that the walk will come to; NULL: none is known.
 * `*depth`: how many levels below where it began; from there on it rises as far
 * as the walk does. */
struct walkdir *walks_next(
    const struct walk *w, struct walkdir *d, unsigned *depth);

/* It has come to a directory where it was not just before. */
void walks_arrives(struct walk *w, struct walkdir *d, bool lists);
/* A directory was told ahead of it; one that was told was used. */
void walks_told(struct walk *w);
void walks_used(struct walk *w);
/* Another directory was visited. */
void walks_paces(struct walk *w, uint64_t now_us);
void walks_visits(struct walk *w);

#endif
