/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mentions: names of what comes next stand in what was just read.
 *
 *	listings ───────▶ names of directories (nameindex.h) ──┐
 *	data ─▶ words in it (tokens.h, in a thread) ─▶ matched ┴▶ predictions
 *	calls of users ─▶ what became of them (odds.h) ─────────▶ their odds
 *
 * A word of a file may be a name in the file's own directory, in one above it,
 * in one beside the file that has its name without the extension (Rust), or in
 * one where names were looked up lately; a path leads on from there. Data that
 * is fetched ahead is scanned like data that was read, so that this runs ahead
 * of the reader; each hop lowers the probability. Where a mention ends at a
 * directory, two kinds of names in it are likely: those by which other
 * directories were entered, and those by which languages enter one.
 *
 * A kind of file whose mentions do not come true is scanned now and then only.
 * Objects and directories are opaque keys, never zero; credentials are numbers,
 * and nothing is said of a directory that the credential may not search. Times
 * are nanoseconds and come as arguments. Memory is bounded from the start.
 */
#ifndef FOREFETCH_MENTION_H
#define FOREFETCH_MENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/mention/nameindex.h"
#include "predictor/mention/tokens.h"
#include "predictor/predictor.h"

struct mention;

struct mention_params {
	size_t memory_bytes; /* for names; 2 MiB come beside it */
	/* Whether the credential may search the directory; called by
	 * mention_step() only. */
	bool (*may_search)(void *ctx, uint32_t cred, uint64_t dir);
	void *ctx;
};

/* `p` is copied; its `may_search` is asked before anything is said of a
 * directory. NULL and errno without memory. */
struct mention *mention_new(const struct mention_params *p);
/* Frees it with all that it knows; NULL is allowed. */
void mention_free(struct mention *m);

/* The directory was listed: `names` are all of its names, in place of those
 * known before. They are copied. Words that waited for the listing are looked
 * for in it by the next steps. */
void mention_listed(struct mention *m, uint64_t dir,
    const struct nameindex_name *names, size_t n, uint64_t now_ns);
/* More is known of a credential's rights in the directory. */
void mention_allowed(struct mention *m, uint64_t dir);

/* A call of a user was answered, under the credential `cred`: it shows what is
 * used, where names are looked up, and what became of mentions. The time that
 * this takes is bounded by the sizes of tables. */
void mention_seen(struct mention *m, const struct predictor_obs *o,
    uint32_t cred, uint64_t now_ns);

/* Data of a file has come. */
struct mention_data {
	uint64_t object;
	uint64_t version; /* any number that a change of the file changes */
	uint64_t offset_bytes;
	uint32_t len;
	uint32_t cred; /* under which it came */
	/* How likely its file will be read; 1: it is being read. */
	float p;
};

/* Whether it should be scanned: then it counts as scanned. */
bool mention_may_scan(
    struct mention *m, const struct mention_data *d, uint64_t now_ns);
/* The words that tokens_scan() found in it, after mention_may_scan() said yes;
 * they are copied. Data of another version of the file takes the place of what
 * was known. */
void mention_scanned(struct mention *m, const struct mention_data *d,
    const struct tokens *t, uint64_t now_ns);

/* A prediction, and under which credential its object may be asked for. */
struct mention_want {
	struct prediction pred; /* but its source */
	uint32_t cred;
};

/* A part of the work that is to be done, some tenths of a millisecond. Returns
 * how many predictions came of it, `max` at most. */
size_t mention_step(
    struct mention *m, uint64_t now_ns, struct mention_want *out, size_t max);
/* Say whether the caller accepted a prediction: it asks for the object, or it
 * refuses, since that is not worth it as long as the prediction is not
 * likelier. One of them, for each. */
void mention_accepted(struct mention *m, uint64_t object);
void mention_refused(struct mention *m, uint64_t object);
/* Whether there is more to be done. */
bool mention_has_work(const struct mention *m);

struct mention_stats {
	uint64_t scanned; /* pieces of data */
	uint64_t passed;  /* pieces that were passed over, since scanning does
			     not pay */
	uint64_t wanted;  /* objects */
	uint64_t used;    /* of them */
	uint64_t unused;
	size_t names;
};
/* Figures since it was made. */
void mention_get_stats(const struct mention *m, struct mention_stats *st);

#endif
