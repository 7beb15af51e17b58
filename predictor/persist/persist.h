/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was learned, as the bytes of a file: packed, loaded, merged, looked at.
 * Whoever has the disk writes them. A file that is damaged or of a newer
 * version changes nothing.
 */
#ifndef FOREFETCH_PERSIST_H
#define FOREFETCH_PERSIST_H

#include "predictor/predictor.h"

enum { PERSIST_VERSION = 2, PERSIST_ERR_MAX = 256 };

/*
 * Adds what the file has to what is known: an empty predictor loads, another
 * one merges. 0, or -errno with a warning in `err`: -ENOENT, -EBADMSG for a
 * damaged file, -EPROTONOSUPPORT for a newer one. Those two are set aside as
 * PATH.damaged and PATH.newer.
 */
int predictor_load(
    struct predictor *p, const char *path, char err[PERSIST_ERR_MAX]);

/* The same with bytes in memory: to be freed; NULL without memory. Only bytes
 * that are to be trusted may be imported; see trees.h for others. */
void *predictor_export(const struct predictor *p, size_t *len);
int predictor_import(struct predictor *p, const void *data, size_t len);
/* The message without its header: for fuzzing past the checksum. */
int persist_apply(struct predictor *p, const void *data, size_t len);
int persist_apply_trees(
    struct predictor *p, uint64_t uid, const void *data, size_t len);

/*
 * The same from turn to turn, while things are learned: a step looks at some
 * 32 objects or entries, and returns true at the end, or after an error:
 * -ENOMEM, or -ESTALE where what was learned was cleared meanwhile. Then it
 * may be packed, and freed, by another thread: nothing of `p` is touched. What
 * is learned after the beginning is left out, or not; what comes out is whole.
 */
struct predictor_snapshot;
/* NULL and errno without memory. `p` outlives the last step. */
struct predictor_snapshot *predictor_snapshot_new(struct predictor *p);
/* As predictor_export_trees(); also ENOENT. */
struct predictor_snapshot *predictor_snapshot_trees(
    struct predictor *p, uint64_t uid);
bool predictor_snapshot_step(struct predictor_snapshot *x, size_t steps);
int predictor_snapshot_error(const struct predictor_snapshot *x);
/* To be freed; NULL without memory, or after an error. */
void *predictor_snapshot_pack(struct predictor_snapshot *x, size_t *len);
void predictor_snapshot_free(struct predictor_snapshot *x); /* or NULL */

/* Called with each trail's objects, oldest trail first; a long trail comes
 * in parts, `more` set from the second on. Nonzero stops, and is returned. */
typedef int (*predictor_on_trail)(
    void *ctx, const uint64_t *objects, size_t n, bool more);
int predictor_each_trail(
    const struct predictor *p, predictor_on_trail each, void *ctx);
/* The trails that begin with a program, as trees: `name` gives an object's
 * name, or NULL; nested programs are indented. */
void predictor_show(const struct predictor *p, FILE *out,
    const char *(*name)(void *ctx, uint64_t object), void *ctx);

#endif
