/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles that go with learned trees from one machine to another. Trees know
 * objects by fh_key() of their handles; a machine that has not met an object
 * itself could not ask for it. With its handle it asks ACCESS at once, under
 * the user's own credential, and need not look up names on the way.
 *
 *	keys of a snapshot ──▶ attrcache ──▶ table ──▶ engine
 *	engine ──▶ table ──▶ nodes without attributes ──▶ prefetch
 *
 * A handle is a hint and grants nothing: such a node has no attributes, names
 * or rights, so nothing is answered from it. The server says what it is worth;
 * one that is STALE is forgotten as any other is (learn_failed.c). What is not
 * used goes as other nodes do when memory is short: a node that a table brought
 * outlasts one pass of the clock's hand. Such nodes are not saved over a
 * restart; a table brings them again.
 *
 * The table: a version byte; then of each handle how many bytes it begins with
 * that the handle before had (one byte), its length (one), and the rest.
 */
#ifndef FOREFETCH_HANDLES_H
#define FOREFETCH_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/nfs3.h"

struct caches;

enum {
	HANDLES_VERSION = 1,
	HANDLES_MAX = 1 << 18, /* of a table; the rest is left out */
};

/* ---- a table that grows ------------------------------------------------- */

struct handles {
	unsigned char *data; /* NULL at first; of whoever has it */
	size_t len, cap;
	size_t n;
	uint8_t last_len;
	unsigned char last[NFS3_FHSIZE_MAX];
};

/* Adds the handles of those of the keys that have a node. False without
 * memory: then the table is as it was. Begins with a struct of zeros. */
bool handles_add(
    struct handles *h, struct caches *c, const uint64_t *keys, size_t n);
/* Frees its bytes. */
void handles_clear(struct handles *h);

/* ---- a table that came --------------------------------------------------- */

struct handles_view {
	const unsigned char *data, *end;
	size_t n; /* handles up to now */
	uint8_t len;
	unsigned char fh[NFS3_FHSIZE_MAX]; /* the handle at hand */
};

/* 0, or -EBADMSG, -EPROTONOSUPPORT. The bytes must outlive the view. */
int handles_open(struct handles_view *v, const void *data, size_t len);
/* The next handle, which is valid until the next call. False at the end, or
 * where the bytes make no sense: handles_bad() tells. */
bool handles_next(struct handles_view *v, nfs3_fh *fh);
bool handles_bad(const struct handles_view *v);

/*
 * Makes nodes of the next `max` handles. False at the end, or where nodes would
 * take the last quarter of the caches' memory; else it is to be called again,
 * in another turn of the loop: a thousand handles take half a
 * millisecond.
 */
bool handles_take(struct handles_view *v, struct caches *c, size_t max);

#endif
