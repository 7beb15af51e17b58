/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structs that the files share which pack and unpack what was learned. */
#ifndef FOREFETCH_PERSIST_PRIVATE_H
#define FOREFETCH_PERSIST_PRIVATE_H

#include <stdlib.h>

#include "predictor/core/core.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/predictor.pb-c.h"

#define VEC_NEW(n, vec) ((vec) = calloc((n) + 1, sizeof(*(vec))))

enum {
	/* Of an object, in the runs that are shared: from so many on, one more
	 * changes little of what is predicted. */
	RUN_USES = 4,
	/* A run is shared if at least one in so many of its objects has fewer
	 * uses in newer runs. */
	RUN_SHARE = 4,
};

/* A run of a trail, in the message's column `trail`. */
struct snapshot_run {
	uint32_t at;       /* event of its first use */
	uint32_t first, n; /* in the column */
	uint16_t owner;
	bool lost; /* the log has lost its beginning */
	bool keep;
};

/*
 * `objects` and `dirs` have the number of each in the file: index + 1, or 0 if
 * it is left out. Objects made after the beginning have no number. An object
 * that changes meanwhile is saved as it was when its phase came to it.
 */
struct predictor_snapshot {
	const struct predictor *p;
	Forefetch__TreeFile *f;
	uint32_t *objects, *dirs;
	uint32_t nobjects, ndirs;
	uint32_t began; /* event; objects that were made later are left out */
	uint32_t era;
	unsigned phase;
	uint32_t at; /* the next object, or session, of this phase */
	struct trails_at walk;
	size_t room; /* of the vectors that are being filled */
	int error;
	uint16_t only; /* bits of the uids whose trails go out */
	bool portable;
	bool user;    /* one uid's, with keys and sessions */
	bool walking; /* `walk` has begun */
	/* Of the form for one user: */
	struct snapshot_run *runs;
	size_t nruns;
	bool begins, lost; /* of the next use: a run begins, without its head */
	bool pruned;
	struct keymap *dir_set; /* keys of directories, once it is pruned */
};

/* Whether objects go out only if they were chosen. */
static inline bool snapshot_chooses(const struct predictor_snapshot *x)
{
	return x->portable || x->user;
}

/* persist.c: the object's number in the file; 0 if it has none, or the id means
 * another object by now. */
uint32_t snapshot_object(const struct predictor_snapshot *x, uint32_t id);
/* The object, and the directories above it, go out. */
void snapshot_choose(struct predictor_snapshot *x, uint32_t id);
/* Whether entry `i` still means the same object. */
bool snapshot_part_has(
    const struct predictor *p, const struct trail_part *part, uint32_t i);
struct predictor_snapshot *snapshot_begin(
    struct predictor *p, uint16_t only, bool portable, bool user);

/* persist_user.c: the form for one user. */
/* A phase: chooses the objects of its sessions. 1 if there are more. */
int user_choose_sessions(struct predictor_snapshot *x);
/* As export_trail(): each run becomes a trail. */
void user_export_part(
    struct predictor_snapshot *x, const struct trail_part *part);
/* In a thread: leaves out runs whose objects newer ones have often enough, and
 * then what is in no run. False without memory. */
bool user_prune(struct predictor_snapshot *x);

/* A message in memory. */
struct persist_message {
	ProtobufCAllocator allocator;
	size_t room_bytes;  /* that unpacking may still take */
	size_t room_pieces; /* the same, each of which is to be freed */
	Forefetch__TreeFile *file;
};

/* A hundred thousand objects take 20 MB. */
enum { PERSIST_UNPACKED_MAX = 96 << 20 };

/* A message is freed in one turn of the loop. Ours have a piece for each column
 * and for each file's order, a few thousand; a stranger's may have one for each
 * field that nobody knows. */
enum { PERSIST_PIECES_MAX = 65536 };

/* persist_load.c: 0, or -EBADMSG where it is damaged or takes more than `room`,
 * or, unless that is SIZE_MAX, more than PERSIST_PIECES_MAX. It stays where it
 * is until it is freed. */
int persist_unpack(
    struct persist_message *m, size_t room, const void *data, size_t len);
void persist_message_free(struct persist_message *m);
/* persist_load.c: whether columns are equally long and nothing points outside.
 */
bool persist_sane(const Forefetch__TreeFile *f);
/* An import of the message behind a header; `trees`: of portable ones that
 * anybody may have written. NULL and errno. */
struct predictor_import *persist_import_new(
    bool trees, const void *message, size_t len);
/* The message behind a good header; 0 or -errno as predictor_import(). */
int persist_open(
    const void *data, size_t len, const void **message, size_t *message_len);

#endif
