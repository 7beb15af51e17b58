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
	nfs3_name name; /* lies in the listing, and is good as long as that */
};

/* Makes the listings of one server's directories, whose nodes outlive them.
 * NULL without memory. */
struct listcache *listcache_new(struct attrcache *ac);
/* Frees all listings. NULL is allowed. */
void listcache_free(struct listcache *lc);

/* Finds the listing that the credential was given, of READDIRPLUS where `plus`:
 * the two may have other cookies. NULL where there is none. It counts as used
 * now, and is good until something is learned. */
struct listing *listcache_find(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus);
/* The same, but NULL where the directory has changed since the listing came. */
struct listing *listcache_find_current(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus);

/* One reply to READDIR or READDIRPLUS: the entries behind `cookie` (0: the
 * first ones), as they came. */
struct list_page {
	uint32_t cred;
	bool plus;
	uint64_t cookie;
	const char *verf; /* NFS3_COOKIEVERFSIZE bytes of the reply */
	const nfs3_dirlist *entries;
	struct binding bound;
};

/* Adds a page to the listing that it continues, or begins one anew with the
 * first page. A page that does neither is dropped, and so is a listing for
 * which there is no memory. */
void listcache_add(
    struct listcache *lc, struct node *dir, const struct list_page *page);

/* These tell of a listing as a whole: how it is bound, the server's verifier,
 * to whom it was given, of which procedure it is, and how many entries it has.
 */
struct binding listing_binding(const struct listing *l);
const char *listing_verf(const struct listing *l);
uint32_t listing_cred(const struct listing *l);
bool listing_plus(const struct listing *l);
uint32_t listing_count(const struct listing *l);
/* Returns the cookie behind which a listing that is not complete goes on. */
uint64_t listing_last_cookie(const struct listing *l);
/* Whether all entries are known. */
bool listing_complete(const struct listing *l);
/* Finds where the entries behind a cookie begin, a position for listing_next();
 * false where the cookie is not known, or would take long to find. */
bool listing_seek(const struct listing *l, uint64_t cookie, size_t *pos);
/* Gives the entry at `*pos`, which moves on; false behind the last one. */
bool listing_next(const struct listing *l, size_t *pos, struct list_entry *e);
/* Remembers that `cookie` is at `pos`, where a reader that was answered up to
 * there will go on. */
void listing_remember(struct listing *l, uint64_t cookie, size_t pos);
/* Returns how many bytes all of its entries can take at most, encoded in XDR.
 */
size_t listing_size_max(const struct listing *l, bool plus);
/* Whether a complete listing has no such name for sure, in whatever case. Of
 * names that are not ASCII nothing is sure, nor of any name of a large listing
 * until this was asked of it for every four thousand entries. */
bool listing_lacks(
    struct listcache *lc, struct listing *l, const nfs3_name *name);

/* Forgets all listings of a directory. */
void listcache_drop(struct listcache *lc, struct node *dir);
/* Gives up the listing used longest ago; false where there is none. */
bool listcache_evict(struct listcache *lc);
/* Calls `cb` for each listing of a directory; it must not change them. */
void listcache_each(struct listcache *lc, const struct node *dir,
    void (*cb)(void *arg, const struct listing *l), void *arg);
/* Gives the packed entries, as they are saved; and takes a complete listing as
 * it was saved. Entries that are malformed are refused. Their generation is the
 * directory's present one. */
const void *listing_data(const struct listing *l, size_t *len);
void listcache_load(struct listcache *lc, struct node *dir, uint32_t cred,
    bool plus, const char *verf, const void *data, size_t len,
    const struct binding *bound);
/* How many listings there are, and the bytes that they take. */
size_t listcache_count(const struct listcache *lc);
size_t listcache_bytes(const struct listcache *lc);

#endif
