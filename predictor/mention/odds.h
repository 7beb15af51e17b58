/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How likely what is mentioned will be read, once the file that mentions it
 * was: by what became of mentions that looked alike.
 */
#ifndef FOREFETCH_ODDS_H
#define FOREFETCH_ODDS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the name stands, as seen from the file that mentions it. */
enum mention_relation {
	MENTION_SAME,     /* in the same directory, or below it */
	MENTION_ABOVE,    /* in a directory above */
	MENTION_SEARCHED, /* in one where names were looked up lately */
	/* In one beside the file that has its name without the extension. */
	MENTION_NAMED,
	MENTION_RELATIONS
};

/* The part of the name that is mentioned. */
enum mention_form {
	MENTION_NAME,      /* all of it, with an extension */
	MENTION_PLAIN,     /* all of it: it has none */
	MENTION_STEM,      /* what stands before its extension */
	MENTION_PATH,      /* all of it, and the directories that it is in */
	MENTION_PATH_STEM, /* the same without its extension */
	MENTION_MODULE,    /* a word with dots, taken for slashes */
	MENTION_TAIL,      /* a path of which the beginning led nowhere */
	MENTION_FORMS
};

enum mention_strength {
	MENTION_BARE,   /* a word among words */
	MENTION_QUOTED, /* between quotes or the like */
	MENTION_HERE,   /* "./x", "../x" */
	MENTION_STRENGTHS
};

/* Mentions that look alike. Kinds are those of nameindex.h. */
struct mention_class {
	uint8_t source_kind, target_kind;
	uint8_t relation, form, strength;
};

/* So many came true, of so many; the older ones count for less. */
struct odds_count {
	uint16_t true_, all;
};

enum { ODDS_CLASSES = 4096, ODDS_GROUPS = 1024 };

struct odds {
	struct odds_count classes[ODDS_CLASSES]; /* by a hash */
	struct odds_count groups[ODDS_GROUPS];   /* of any target kind */
};

/* The odds of a mention of that class, 0 to 1. Constant time. */
double odds_p(const struct odds *o, const struct mention_class *c);
/* Counts the outcome of one mention. */
void odds_add(struct odds *o, const struct mention_class *c, bool came_true);
/* It came true after it was taken to have not. */
void odds_correct(struct odds *o, const struct mention_class *c);
/* The same for anything that is counted so, beginning with `prior`. */
double odds_count_p(const struct odds_count *n, double prior, double weight);
void odds_count_add(struct odds_count *n, bool came_true);

#endif
