/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was learned, as the bytes of a file: packed, loaded and merged. Whoever
 * has the disk writes them. A file that is damaged or of a newer version
 * changes nothing. The folder works on core/ and store/, and is public by this
 * header and trees.h.
 *
 *	persist.c        what was learned -> message -> bytes
 *	persist_load.c   bytes -> message -> added to what is known
 *	persist_file.c   loading a file
 *	portable.c       a form without keys, for another machine
 *	trees*.c         access trees: listed, shown, forgotten
 *	session_show.c   sessions among the trees
 */
#ifndef FOREFETCH_PERSIST_H
#define FOREFETCH_PERSIST_H

#include "predictor/predictor.h"

enum { PERSIST_VERSION = 2, PERSIST_ERR_MAX = 256 };

/*
 * Adds what the file has to what is known. 0, or -errno with a warning in
 * `err`: -ENOENT, -EBADMSG for a damaged file, -EPROTONOSUPPORT for a newer
 * one. These two kinds of files are renamed to PATH.damaged and PATH.newer.
 */
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
 * and free it, since that does not touch `p`. What is learned after the
 * beginning may be left out or not; the export is consistent in any case.
 */
struct predictor_snapshot;
/* NULL and errno without memory. `p` must outlive the last step. */
struct predictor_snapshot *predictor_snapshot_new(struct predictor *p);
/* What predictor_export_trees() gives, in steps. */
struct predictor_snapshot *predictor_snapshot_trees(
    struct predictor *p, uint64_t uid);
bool predictor_snapshot_step(struct predictor_snapshot *x, size_t steps);
int predictor_snapshot_error(const struct predictor_snapshot *x);
/* The bytes, to be freed; NULL without memory, or after an error. */
void *predictor_snapshot_pack(struct predictor_snapshot *x, size_t *len);
void predictor_snapshot_free(struct predictor_snapshot *x); /* or NULL */

#endif
