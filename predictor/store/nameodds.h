/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The odds that a name of a directory is used soon, now that another one was:
 * by what it is, not by which one it is, so that they hold in directories that
 * nobody used before. Each of these contexts counts how often it came true:
 *
 *	its kind (extension, size)       its kind, and its directory's name
 *	its name                         its name, and its directory's name
 *	its name, and the name by which the directory was entered
 *	its kind, and the kind that was used last there
 *	how many of its kind are there, and how many of them were used
 *
 * A logistic mix of them and of what calib.h says of its place in the listing
 * is the probability; the weights are learned, too. The odds at the start are a
 * table learned from bench/traces (nameodds_shipped.inc, made by
 * bench/predictor/nameodds); it counts as few outcomes, so that one's own
 * experience soon outweighs it. It goes by names and extensions, and therefore
 * needs the hashes that predictor.h asks for.
 */
#ifndef FOREFETCH_NAMEODDS_H
#define FOREFETCH_NAMEODDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nameodds_context {
	NAMEODDS_KIND,
	NAMEODDS_KIND_DIR,
	NAMEODDS_NAME,
	NAMEODDS_NAME_DIR,
	NAMEODDS_NAME_ENTRY,
	NAMEODDS_KIND_KIND,
	NAMEODDS_SHARE,
	NAMEODDS_CONTEXTS
};

/* The kind of all directories; that of a file is the low half of a type_hash,
 * 0 without an extension. */
enum { NAMEODDS_DIRECTORY = 1 };

/* Features of an object whose odds are asked for: names are low halves of
 * hashes, 0 if unknown. */
struct nameodds_about {
	uint32_t name, dir_name;
	uint32_t entry;      /* the name by which its directory was entered */
	uint32_t size_bytes; /* of a file */
	uint16_t kind, kind_last; /* its own, and the one used last there */
	uint16_t siblings, used;  /* of its kind */
	uint32_t run;             /* uses in order that lead to it */
	bool below;               /* its directory was not entered yet */
};

/* The slots that an estimate was made of, so that its outcome can teach them.
 */
struct nameodds_seen {
	uint16_t slot[NAMEODDS_CONTEXTS];
	uint8_t tag[NAMEODDS_CONTEXTS];
	uint8_t set;
	float place;
};

struct nameodds;

/* NULL without memory. */
struct nameodds *nameodds_new(void);
void nameodds_free(struct nameodds *o);

/*
 * The probability that it is used; fills `seen`. `place` is what its place in
 * the listing gives, or, if its directory was not entered yet, the probability
 * that it will be.
 */
float nameodds_p(const struct nameodds *o, const struct nameodds_about *about,
    float place, struct nameodds_seen *seen);
/* It was used (hit), or not. `entered`: its directory was; else this says
 * nothing of the name. */
void nameodds_learn(struct nameodds *o, const struct nameodds_seen *seen,
    bool hit, bool entered);

size_t nameodds_memory_bytes(const struct nameodds *o);

#endif
