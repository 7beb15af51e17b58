/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directories that a walk has met, so that it enters each once: a server
 * may have a directory that holds itself, or a snapshot of all. They are kept
 * as hashes of 64 bits with a secret of the set, so nobody chooses two that are
 * equal, nor many that lie in one place.
 */
#ifndef FOREFETCH_DIRSET_H
#define FOREFETCH_DIRSET_H

#include <stddef.h>
#include <stdint.h>

#include "nfsproto/nfs_proc.h"

enum { DIRSET_TABLES = 16 };

/* The set. Zeros at first. A full table gets another one beside it that is
 * twice as large, so that none is ever rebuilt. */
struct dirset {
	uint64_t *tables[DIRSET_TABLES];
	unsigned n;
	/* Places of the last table that are taken. */
	size_t used;
	/* Directories in all tables. */
	size_t count;
	uint64_t secret;
};

/* Adds a directory by its handle: 1 where it is new, 0 where it was there,
 * -ENOMEM. Takes eight to 22 bytes each. */
int dirset_add(struct dirset *s, const nfs3_fh *fh);
/* Frees everything; the set is zeros again. */
void dirset_clear(struct dirset *s);

#endif
