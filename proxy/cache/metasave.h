/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, attributes, handles, rights, listings and mounts on disk, so that they
 * survive a restart: one file, written anew from time to time, a slice in a
 * turn of the loop, and put in place by rename. Loaded state counts as not
 * confirmed (contract.h). A damaged file is set aside.
 *
 * A daemon that ends in good order leaves a second file, PATH.whole, that holds
 * the checksum of the first: so much is all that was ever known. The next
 * daemon removes it before it answers anybody. Where it is missing, changes of
 * our own may have been answered that the first file knows nothing of; what was
 * loaded then and not confirmed since is saved as such.
 */
#ifndef FOREFETCH_METASAVE_H
#define FOREFETCH_METASAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caches;
struct event_base;
struct iopool;
struct metasave;

struct metasave_params {
	struct event_base *base;
	struct iopool *iopool;
	struct caches *caches;
	const char *path;   /* path of the file; copied */
	const char *server; /* for log lines; outlives this */
};

/* Makes the saving of these caches, which begins after some seconds. `p` is
 * copied. NULL and errno without memory. */
struct metasave *metasave_new(const struct metasave_params *p);
/* Saves what is not saved yet, and leaves PATH.whole where all went well; waits
 * for the disk. Before metasave_free(), while the caches are still there. */
void metasave_finish(struct metasave *ms);
/* Frees it, after metasave_finish() or metasave_settle(): what neither of them
 * saved is lost. No job of it may be under way. NULL is allowed. */
void metasave_free(struct metasave *ms);
/* Returns how many saves have failed; `*error` gets how the last one did, an
 * errno, 0: none did. */
unsigned metasave_failures(const struct metasave *ms, int *error);
/* Returns since when something that was handed to the disk is not written; 0:
 * there is nothing. A disk that hangs shows by it. */
uint64_t metasave_waits_since_us(const struct metasave *ms);
/* Has the next save begin at once, since the caches were emptied and the file
 * must say so. */
void metasave_hurry(struct metasave *ms);
/* Whether all is saved and PATH.whole left; if not, begins to. To be called
 * again until it is true. */
bool metasave_settle(struct metasave *ms);
/* Loading is done in two halves: a thread reads the file (metasave_read()),
 * then the loop fills the caches (metasave_use_some()). Between them the file's
 * bytes and its checksum are in this. */
struct metasave_file {
	unsigned char *data; /* NULL: there is none, or it was set aside */
	size_t len;
	uint64_t sum;
	bool whole; /* it has all that the daemon before knew */
};
/* Reads the file, checks it, and takes PATH.whole away; blocks. A file that is
 * damaged, of another version, or not the daemon's own is set aside as
 * PATH.damaged, and counts as none. */
void metasave_read(
    const char *path, const char *server, struct metasave_file *f);
/* Loads a part of the file; `f` is forgotten at the end. True where it is to be
 * called again; until then nothing is saved, and nobody may use the caches.
 * Where the file is malformed the caches are flushed. */
bool metasave_use_some(struct metasave *ms, struct metasave_file *f);
/* Loads all of the file at once. */
void metasave_use(struct metasave *ms, struct metasave_file *f);
/* Frees what metasave_read() read; it may be called twice. */
void metasave_forget(struct metasave_file *f);

#endif
