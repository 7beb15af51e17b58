/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of metasave: records one after the other, in the machine's byte
 * order, between a head and a checksum of all.
 *
 *	magic 8 bytes | record … | XXH3 of all before it, 8 bytes
 *	record: length 4 | type 1 | payload, packed by what follows here
 */
#ifndef FOREFETCH_METAFILE_H
#define FOREFETCH_METAFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digit at the end is the version of the layout. */
#define METAFILE_MAGIC "ffnames1"

enum metafile_type {
	METAFILE_CRED = 'C', /* u32 id, struct cred_key */
	METAFILE_FSYS = 'F', /* u64 fsid, u8 flags, bytes path */
	METAFILE_NODE = 'N', /* bytes fh, fattr3, grants, answers, listings */
	/* The same, of a node that nobody has confirmed since a kill. */
	METAFILE_NODE_DOUBT = 'n',
	METAFILE_NAME = 'D', /* bytes dir, bytes child, bytes name, u8 how */
	METAFILE_MOUNT =
	    'M', /* bytes path, struct cred_key, u64 time, bytes body */
};

/* Bytes to be written, which grow as they are put in. Zeros at first; `data` is
 * the owner's to free(). */
struct metabuf {
	unsigned char *data;
	size_t len;
	size_t room;
	bool failed; /* memory ran out, and bytes are missing */
};

/* Each puts something at the end, in the machine's byte order. Without memory
 * `failed` is set, which the caller looks at once, at the end. */
void metabuf_put(struct metabuf *b, const void *data, size_t len);
void metabuf_put_u8(struct metabuf *b, uint8_t v);
void metabuf_put_u32(struct metabuf *b, uint32_t v);
void metabuf_put_u64(struct metabuf *b, uint64_t v);
/* Puts a length in four bytes, then the bytes. */
void metabuf_put_bytes(struct metabuf *b, const void *data, size_t len);
/* Begins a record; metabuf_end() is given what this returned, and fills in the
 * record's length. */
size_t metabuf_begin(struct metabuf *b, enum metafile_type type);
void metabuf_end(struct metabuf *b, size_t at);

/* Bytes to be read; they belong to somebody else. `bad` is set once something
 * was missing. */
struct metaview {
	const unsigned char *data;
	size_t len;
	bool bad;
};

/* Each takes something off the beginning: zeros, or an empty text, where too
 * little is left, and then `bad` is set, which the caller looks at once, at the
 * end. */
void metaview_get(struct metaview *v, void *to, size_t len);
uint8_t metaview_get_u8(struct metaview *v);
uint32_t metaview_get_u32(struct metaview *v);
uint64_t metaview_get_u64(struct metaview *v);
/* Takes bytes that metabuf_put_bytes() put; the result points into the view. */
const void *metaview_get_bytes(struct metaview *v, uint32_t *len);
/* Takes the next record; false behind the last one, and at one that is
 * malformed (`bad`). */
bool metaview_next(
    struct metaview *v, enum metafile_type *type, struct metaview *record);

/* ---- metapack.c: the caches' contents as records ------------------------ */

struct caches;

/* How far the packing has got. Zeros at first, but `caches` and `out`. */
struct metapack {
	struct caches *caches;
	struct metabuf *out;
	size_t nodes; /* the next bucket of nodes */
	/* The next bucket of names. */
	size_t names;
	bool begun;
	uint64_t real_us; /* the wall clock less the daemon's */
};

/* Packs on until `out` has about `bytes` more; false when all is in, or `out`
 * has failed. The caches may change between two calls: what came behind the
 * packing is not in the file then, and makes them dirty. */
bool metapack_some(struct metapack *p, size_t bytes);

/* Fills empty caches from records, a part at a time; the records must outlive
 * this. `whole`: nothing was learned after they were saved. NULL without
 * memory. */
struct metaload;
struct metaload *metaload_new(struct caches *c, const struct metaview *records,
    bool whole, uint64_t now_us);
/* Takes up to `n` records: 1 where there are more, 0 at the end, -EINVAL where
 * they are malformed. */
int metaload_some(struct metaload *ld, unsigned n);
/* Ends the loading; NULL is allowed. What was loaded stays. */
void metaload_free(struct metaload *ld);
/* Loads all records at once; false where they are malformed, or without memory.
 */
bool metapack_load(struct caches *c, const struct metaview *records, bool whole,
    uint64_t now_us);

#endif
