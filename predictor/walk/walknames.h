/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that a walk asks for in directory after directory: a .gitignore, a
 * package.json. Of the many that it looks up, those are kept that come back
 * (Misra and Gries, 1982): a name that is counted takes a place, and each that
 * finds none takes one off every count.
 */
#ifndef FOREFETCH_PREDICTOR_WALKNAMES_H
#define FOREFETCH_PREDICTOR_WALKNAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
	WALKNAMES = 8,
	WALKNAME_SIZE = 32, /* longer names are not kept; with the 0 */
	WALKTEXTS = 64,
	/* Directories without others in them, and with. Programs that look for
	 * a file of settings do so where they go on. */
	WALKCLASSES = 2,
};

/* A name that is counted. */
struct walkname {
	uint64_t hash;  /* 0: none */
	uint64_t dir;   /* where it was asked for last */
	unsigned count; /* Misra and Gries's */
	/* Of either class: in how many directories it was asked for, since
	 * the walk's directory of this number. */
	unsigned asked[WALKCLASSES], since[WALKCLASSES];
	const char *text; /* of struct walktexts; NULL: asked for once */
};

/* Texts stay where they are for ten seconds after they were told, so that wants
 * may refer to them. */
struct walktexts {
	struct {
		char text[WALKNAME_SIZE];
		uint64_t told_us;
	} at[WALKTEXTS];
};

/* Where a name is asked for. */
struct walkplace {
	uint64_t dir;
	unsigned class;
	const unsigned *numbers; /* of the walk's directories of each class */
};

/* The walk asks for the name `text` at that place, and it is counted: constant
 * time. A name of WALKNAME_SIZE bytes or more is left out. */
void walknames_asked(struct walkname names[WALKNAMES], struct walktexts *texts,
    const struct walkplace *at, const char *text, uint64_t now_us);
/* In which share of the class's directories it was asked for; 0 where it is not
 * known to come back. */
float walkname_share(
    const struct walkname *n, unsigned class, const unsigned *numbers);
/* It is referred to from now on. */
void walkname_told(
    const struct walkname *n, struct walktexts *texts, uint64_t now_us);

#endif
