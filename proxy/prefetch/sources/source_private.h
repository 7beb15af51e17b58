/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How sources are made, and what they share; private to this folder. */
#ifndef FOREFETCH_SOURCE_PRIVATE_H
#define FOREFETCH_SOURCE_PRIVATE_H

#include <stddef.h>

#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/worth.h"
#include "prefetch/notes/notes.h"
#include "prefetch/queue/want.h"
#include "prefetch/sources/sources.h"

struct kinds;
struct source;

/* A listing of a directory that is known whole. */
struct listed {
	struct credential *cred;
	struct node *dir;
	bool news; /* more of its entries are known than before */
	/* Set by the tree: how many entries the predictor has heard of. */
	size_t known;
};

/* A source does this when something happens; NULL: nothing. */
struct source_ops {
	/* Makes it, with a struct source as its first member; NULL without
	 * memory. The default holds nothing. */
	struct source *(*open)(struct sources *all);
	void (*close)(struct source *s); /* NULL: free() */
	void (*configure)(struct source *s);
	void (*passed)(struct source *s, struct passed *p);
	bool of_reads; /* `passed` is called for READs only */
	void (*begins)(struct source *s, const struct passed *p);
	void (*listed)(struct source *s, struct listed *l);
	void (*allowed)(struct source *s, uint64_t dir);
	/* A turn of the pump; true where more is left to be done. */
	bool (*turn)(struct source *s, uint64_t now_us);
};

struct source {
	const struct source_ops *ops;
	struct sources *all;
};

extern const struct source_ops source_rest, source_kind, source_hint,
    source_miss, source_mention, source_habit, source_renew, source_walk,
    source_tree, source_pattern, source_session;

/* One that nothing but its struct has to be made for; zeroed. */
struct source *source_new(size_t bytes);

enum { SOURCES_MAX = 16 };

/* A listing that the predictor has heard of. */
struct listing_told {
	uint64_t mix; /* of the directory and its generation */
	uint64_t again_us, wait_us;
	size_t known; /* entries with attributes, when it last heard */
	bool in_part; /* some entries had no attributes */
};
enum { LISTINGS_TOLD = 1024 };

struct sources {
	struct sources_params p;
	struct ground *g;
	struct notes *notes;
	struct queue *queue;
	struct dirs *dirs;
	struct kinds *kinds;
	uint32_t first_read_bytes; /* how much is read first of files */
	struct listing_told told[LISTINGS_TOLD]; /* by key */
	struct source *at[SOURCES_MAX];
	unsigned n;
	/* Whose `passed` is called for a READ, and for any other call; and who
	 * has a `turn`. */
	struct hearers {
		struct source *at[SOURCES_MAX];
		unsigned n;
	} reads, others;
	struct source *take_turns[SOURCES_MAX];
	unsigned nturns;
};

/* None of the table, and one more. */
struct sources *sources_new_empty(const struct sources_params *p);
bool sources_add(struct sources *all, const struct source_ops *ops);

/* A prediction becomes a want; false where it is not worth it, or there are too
 * many. It has to be noted before (notes_predicted()). */
bool sources_want(struct sources *all, struct credential *cred,
    const struct prediction *pred, uint64_t now_us);
/* How likely a file is read that is looked up (source_habit.c). */
float source_habit_reads(
    const struct sources *all, struct credential *cred, uint64_t object);
/* How many names a credential looks up in a directory that it comes to, on
 * average (source_habit.c). */
float source_habit_names(struct credential *cred);
/* The same as what the directory's listing spares; 0: the credential often
 * reads the listing itself. */
float source_habit_spares(struct credential *cred);
/* History has, or has not, foretold an access of the credential's user: while
 * it does, guesses that are made for what nobody did before have nothing to
 * add. */
void sources_count_familiar(struct credential *cred, enum predictor_led led);
/* More pages of a listing that a client reads are wanted (source_pages.c). */
void source_pages_read(
    struct sources *all, struct credential *cred, struct node *dir);
/* A client has missed a name in the directory. If it has read names there
 * alone, behind a page with attributes, all the rest is wanted, and this
 * returns true: Linux asks for no more attributes than with the first page
 * until somebody has used them, which is now. */
bool source_pages_looked_up(struct sources *all, struct credential *cred,
    uint64_t dir, uint64_t now_us);

#endif
