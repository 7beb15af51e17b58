/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to predictor/mention/.
 *
 *	mention.c          the facade: sources, and what it is told
 *	mention_match.c    words against names, step by step
 *	mention_target.c   what was mentioned, and what became of it
 *	mention_place.c    where objects are, where names are looked up, and
 *	                   which names are used first in directories
 */
#ifndef FOREFETCH_MENTION_PRIVATE_H
#define FOREFETCH_MENTION_PRIVATE_H

#include "predictor/mention/mention.h"
#include "predictor/mention/odds.h"

enum {
	SOURCES = 1024,       /* files whose words are kept */
	SOURCE_WORDS = 65536, /* words of these files, in all */
	TASKS = 4096,
	WAITING = 4096, /* tasks that wait for a listing, or for rights */
	TARGETS = 8192,
	SCANNED = 4096,
	HOPS_MAX = 6,
	UPS_MAX = 4, /* directories above */
};

/* A mention that is less likely is not followed any further. */
#define P_LEAST 0.02

/* A file that was scanned. */
struct mention_source {
	uint64_t object;
	uint64_t version; /* of mention_data */
	uint64_t matched_ns;
	uint64_t dir;
	uint32_t cred;
	uint32_t generation; /* of the place in the table */
	float p;             /* that it will be read; 1: it was */
	uint16_t lead;
	float told; /* of what it mentions, so much is expected to be read */
	uint8_t kind;
	uint8_t hop;
	bool held; /* not all of what it mentions was told */
	uint16_t files_told, came_true;
	uint8_t ups; /* the most that a word of it has */
	uint16_t next;
	uint32_t n;
	struct token *words;
};

enum {
	TASK_ALL = UINT32_MAX,
	TASK_ENTER = UINT32_MAX - 1,
	TASK_NAMED = UINT32_MAX - 2,
};

/* Words of a source are to be looked for in a directory. */
struct task {
	uint64_t dir;
	uint32_t source, generation;
	/* TASK_ALL; TASK_ENTER: no word, but what is used first; TASK_NAMED:
	 * all, in the directory there that has the name of the source without
	 * its extension. */
	uint32_t word;
	uint32_t at;      /* of all words: the next one */
	float p;          /* TASK_ENTER: that it will be entered */
	uint8_t relation; /* enum mention_relation */
	uint8_t ups;
	uint8_t depth; /* directories that were entered without a word */
	bool whole;    /* the path's words before this one were found */
};

struct waiting {
	struct task task; /* dir 0: free */
	uint16_t next;    /* of equal hash; index + 1 */
};

enum target_state { TARGET_NONE, TARGET_OPEN, TARGET_USED, TARGET_OVER };

/* An object that was mentioned. */
struct target {
	uint64_t object;
	uint64_t source;   /* the object that mentions it */
	uint64_t armed_ns; /* when the source was read; 0: not yet */
	uint64_t told_ns;  /* when it was told last; 0: never */
	uint64_t made_ns;
	struct mention_class class;
	float p, told_p;
	uint32_t bytes; /* that were told */
	uint16_t next;
	uint16_t lead, told_lead;
	uint8_t state;
	uint8_t hop;
	uint8_t tells;
	bool wanted; /* the caller took it */
	bool first;  /* not mentioned, but used first in directories */
	bool paired; /* it is one of those in kind_pair.open */
};

/* How mentions of files of one kind do in files of another. Names that are used
 * first in directories have no kinds, and count as one pair. */
struct kind_pair {
	uint16_t open; /* told, and not decided yet */
	uint16_t came_true;
};

/* Whether scanning files of a kind is worth it: mention_may_scan() asks. */
struct kind_worth {
	uint16_t scans, came_true;
	uint8_t passed;
};

/* All that mentions know; tables of fixed size, but for words and names. */
struct mention {
	struct mention_params p;
	struct nameindex *names;
	struct mention_source *sources; /* a ring */
	uint16_t source_heads[SOURCES];
	uint32_t sources_in;
	size_t words;
	struct task *tasks; /* a ring */
	uint32_t task_in, task_out;
	struct waiting *waiting; /* a ring */
	uint16_t waiting_heads[WAITING];
	uint32_t waiting_in;
	struct target *targets; /* a ring */
	uint16_t target_heads[TARGETS];
	uint32_t target_in, target_look;
	uint32_t unlikely; /* mentions, counted */
	struct mention_places *places;
	struct {
		uint64_t key;
		uint16_t parts; /* of 4 KiB each */
	} * scanned;
	struct odds odds;
	struct kind_worth kinds[NAME_KINDS];
	struct kind_pair pairs[NAME_KINDS][NAME_KINDS];
	/* Keep the bytes of objects that were told below the bytes that are
	 * read. */
	uint64_t read_bytes, told_bytes, back_bytes;
	struct mention_stats stats;
	/* Of the step under way. */
	struct mention_want *out;
	size_t out_n, out_max;
	uint64_t now_ns;
};

/* mention.c */
struct mention_source *mention_source_find(struct mention *m, uint64_t object);
/* NULL where it is not any more what the task was made for. */
struct mention_source *mention_source_of(
    struct mention *m, const struct task *t);
/* Its words, from that one on, are to be looked for wherever they may be found.
 */
void mention_source_match(
    struct mention *m, struct mention_source *s, uint32_t from);

/* mention_match.c */
void task_add(struct mention *m, const struct task *t);
/* Until the directory is listed, or rights in it are known. */
void task_wait(struct mention *m, const struct task *t);
void tasks_wake(struct mention *m, uint64_t dir);

/* mention_target.c */
/* The source mentions the name, as the task found it. */
void target_add(struct mention *m, struct mention_source *s, uint64_t dir,
    const struct nameindex_name *n, const struct mention_class *c, double p,
    bool first);
struct target *target_find(struct mention *m, uint64_t object);
void target_used(struct mention *m, uint64_t object);
/* The source of these was read: now it shows whether they will be. */
void targets_age(struct mention *m);
void read_count(struct mention *m, uint64_t bytes);

#endif
