/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings of one server's directories: what READDIR and READDIRPLUS said,
 * from the first entry on, for each credential apart, since a server may
 * hide entries from some. Entries are kept without attributes and handles,
 * which are the other caches' business. Cookies and verifiers are the
 * server's.
 */
#ifndef FOREFETCH_LISTCACHE_H
#define FOREFETCH_LISTCACHE_H

#include "cache/attrcache.h"
#include "cache/contract.h"

struct listcache;
struct listing;

struct list_entry {
	uint64_t fileid;
	uint64_t cookie;
	nfs3_name name; /* into the listing */
};

struct listcache *listcache_new(struct attrcache *ac);
void listcache_free(struct listcache *lc);

/* Of READDIRPLUS where `plus`; their cookies may differ. NULL: none. */
struct listing *listcache_find(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus);

/* One reply: the entries behind `cookie`. */
struct list_page {
	uint32_t cred;
	bool plus;
	uint64_t cookie;
	const char *verf; /* NFS3_COOKIEVERFSIZE bytes of the reply */
	const nfs3_dirlist *entries;
	struct binding bound;
};

/* Add a page to the listing that it continues, or begin one anew. */
void listcache_add(
    struct listcache *lc, struct node *dir, const struct list_page *page);

struct binding listing_binding(const struct listing *l);
const char *listing_verf(const struct listing *l);
uint32_t listing_cred(const struct listing *l);
bool listing_plus(const struct listing *l);
uint32_t listing_count(const struct listing *l);
/* Where a listing that is not complete goes on. */
uint64_t listing_last_cookie(const struct listing *l);
/* All entries are known. */
bool listing_complete(const struct listing *l);
/* Where the entries behind a cookie begin; false where it is not known, or
 * would take long to find. */
bool listing_seek(const struct listing *l, uint64_t cookie, size_t *pos);
/* The entry at `pos`, which moves on; false behind the last one. */
bool listing_next(const struct listing *l, size_t *pos, struct list_entry *e);
/* Remember where a reader that was answered up to here will go on. */
void listing_remember(struct listing *l, uint64_t cookie, size_t pos);
/* No more than so many bytes can come of it, encoded. */
size_t listing_size_max(const struct listing *l, bool plus);
/* Whether a complete listing has no such name for sure, in whatever case. Of
 * names that are not ASCII nothing is sure, nor of any name of a large listing
 * until this was asked of it for every four thousand entries. */
bool listing_lacks(
    struct listcache *lc, struct listing *l, const nfs3_name *name);

/* All of a directory's. */
void listcache_drop(struct listcache *lc, struct node *dir);
/* Give up the one used longest ago; false where there is none. */
bool listcache_evict(struct listcache *lc);
void listcache_each(struct listcache *lc, const struct node *dir,
    void (*cb)(void *arg, const struct listing *l), void *arg);
/* As it was saved: its packed entries. */
const void *listing_data(const struct listing *l, size_t *len);
void listcache_load(struct listcache *lc, struct node *dir, uint32_t cred,
    bool plus, const char *verf, const void *data, size_t len,
    const struct binding *bound);
size_t listcache_count(const struct listcache *lc);
size_t listcache_bytes(const struct listcache *lc);

#endif
