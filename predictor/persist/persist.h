/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs what was learned into the bytes of a file, loads it, and merges it.
 * Whoever has the disk writes the bytes. A file that is damaged or of a newer
 * version changes nothing. The folder works on core/ and store/, and is public
 * by this header, trees.h and merge.h.
 *
 *	persist.c        what was learned -> message -> bytes
 *	persist_load.c   bytes -> message
 *	persist_import.c message -> added to what is known
 *	persist_file.c   loading a file
 *	persist_user.c   one user's, for the other machines of a farm
 *	merge.c          the same, merged there (merge.h)
 *	portable.c       a form without keys, for another machine
 *	trees*.c         access trees: listed, shown, forgotten
 *	session_show.c   sessions among the trees
 */
#ifndef FOREFETCH_PERSIST_H
#define FOREFETCH_PERSIST_H

#include "predictor/predictor.h"

enum { PERSIST_VERSION = 2, PERSIST_ERR_MAX = 256 };

/*
 * Reads and unpacks a file, in any thread; predictor_import_step() adds what it
 * has (trees.h). NULL and errno, with a warning in `err`: ENOENT, EBADMSG for a
 * damaged file, EPROTONOSUPPORT for a newer one. These two kinds of files are
 * renamed to PATH.damaged and PATH.newer.
 */
struct predictor_import;
struct predictor_import *predictor_import_file(
    const char *path, char err[PERSIST_ERR_MAX]);
/* The same with all steps: 0, or -errno. */
int predictor_load(
    struct predictor *p, const char *path, char err[PERSIST_ERR_MAX]);

/* The same with bytes in memory. The export is to be freed; NULL without
 * memory. Only trusted bytes may be imported; see trees.h for others. */
void *predictor_export(const struct predictor *p, size_t *len);
int predictor_import(struct predictor *p, const void *data, size_t len);
/* The same with the message alone, without header and checksum; `trees` and
 * `uid` as predictor_import_trees() has them. */
int persist_apply(struct predictor *p, bool trees, uint64_t uid,
    const void *data, size_t len);

/*
 * An export in steps, while learning goes on. A step looks at 32 objects or
 * entries, and returns true at the end or after an error: -ENOMEM, or -ESTALE
 * where what was learned was cleared meanwhile. Then another thread may pack
 * and free it, since that does not touch `p`. Learning after the beginning may
 * be left out or not; the export is consistent in any case.
 */
struct predictor_snapshot;
/* NULL and errno without memory. `p` must outlive the last step. */
struct predictor_snapshot *predictor_snapshot_new(struct predictor *p);
/* A snapshot that gives, in steps, the bytes of predictor_export_trees(). */
struct predictor_snapshot *predictor_snapshot_trees(
    struct predictor *p, uint64_t uid);
/*
 * For another machine in front of the same server, where objects have the same
 * keys: what was learned from `uid`, with keys and sessions. It has the objects
 * that the uid used, and the directories above them, and nothing of anybody
 * else; no calibration. Of an object it has the last few uses only, and it is
 * cut to the 131,072 objects that were used last; a session or a run that goes
 * on is in it as far as it has come. ENOENT if nothing is known of the uid, or
 * it came when there were 16 others.
 */
struct predictor_snapshot *predictor_snapshot_user(
    struct predictor *p, uint64_t uid);
bool predictor_snapshot_step(struct predictor_snapshot *x, size_t steps);
int predictor_snapshot_error(const struct predictor_snapshot *x);
/* The bytes, to be freed; NULL without memory, or after an error. */
void *predictor_snapshot_pack(struct predictor_snapshot *x, size_t *len);
void predictor_snapshot_free(struct predictor_snapshot *x); /* or NULL */
/*
 * Of a user's snapshot that was packed: the keys of its directories and
 * objects, each once; or of its `absent` names only. Writes `max` of them at
 * most, from `*at` on, which is 0 at first; returns how many, 0 at the end.
 */
size_t predictor_snapshot_keys(const struct predictor_snapshot *x, size_t *at,
    bool absent, uint64_t *keys, size_t max);

#endif
