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
	const char *path;   /* of the file */
	const char *server; /* for log lines; outlives this */
};

/* NULL and errno without memory. */
struct metasave *metasave_new(const struct metasave_params *p);
/* Saves what is not saved yet; waits for the disk. */
void metasave_free(struct metasave *ms);
/* How many saves have failed, and how the last one did, an errno. */
unsigned metasave_failures(const struct metasave *ms, int *error);
/* Since when something that was handed to the disk is not written; 0: nothing
 * is. */
uint64_t metasave_waits_since_us(const struct metasave *ms);
/* The caches were emptied: have the file say so at once. */
void metasave_hurry(struct metasave *ms);
/* Whether all is saved; if not, begins to. */
bool metasave_settle(struct metasave *ms);
/* The two halves of it, for a thread and for the loop. */
struct metasave_file {
	unsigned char *data; /* NULL: there is none, or it was set aside */
	size_t len;
	uint64_t sum;
	bool whole; /* it has all that the daemon before knew */
};
void metasave_read(
    const char *path, const char *server, struct metasave_file *f);
/* A part of it; `f` is forgotten at the end. True where it is to be called
 * again; nothing is saved, and the caches are not to be used, until then. */
bool metasave_use_some(struct metasave *ms, struct metasave_file *f);
/* All of it. */
void metasave_use(struct metasave *ms, struct metasave_file *f);
void metasave_forget(struct metasave_file *f);

#endif
