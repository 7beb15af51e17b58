/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A listing is one run of packed entries, in the order in which the server gave
 * them. Where a reader will go on is remembered as hints; whether a name is
 * missing is asked of a hash table, which is made when that is first asked. The
 * table of a large listing takes several questions to be made.
 *
 * learn.c adds pages, svc/cached_list.c answers from them, known.c asks for
 * absences. Listings hang on their directory (struct node_ext) and in one list
 * by use, from whose end caches.c gives them up.
 */
#include "cache/listcache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "hashing/hash_key.h"
#include "nfsproto/nfs3_list.h"

enum {
	HINTS = 8,
	ENTRY_HEAD = 17,        /* fileid, cookie, length of the name */
	LISTING_MAX = 64 << 20, /* bytes; a larger one is not kept */
	/* Listings of one directory, of all credentials. */
	CREDS_MAX = 16,
	/* The entries that are searched for a cookie that nobody was answered
	 * up to; behind them the server is asked. */
	SEEK_MAX = 1 << 15,
	/* The names that one question adds to the table, in a third of a
	 * millisecond. */
	NAMES_AT_ONCE = 4096,
	/* The places of the table that are looked at for one name. By chance a
	 * name comes to a quarter of this among a million; where somebody chose
	 * the names so that they collide, the listing tells nothing of
	 * absences. */
	PROBES_MAX = 256,
};

struct listing {
	/* The next listing of the same directory; attrcache_ext() has the
	 * first. */
	struct listing *next;
	TAILQ_ENTRY(listing) lru;
	slab_ref dir;
	uint32_t cred;
	bool plus;
	bool complete;
	struct binding bound;
	char verf[NFS3_COOKIEVERFSIZE];
	char *data;
	/* Bytes of entries in `data`, and the bytes that there is room for. */
	size_t len;
	size_t room;
	uint32_t entries;
	uint64_t last_cookie;
	struct {
		uint64_t cookie;
		size_t pos;
	} hints[HINTS];
	unsigned next_hint;
	/* Hashes of the names, open addressing, at most half full; made when
	 * first wanted. */
	uint32_t *names;
	size_t names_mask;
	size_t names_len; /* how many bytes of the entries are in the table */
	/* A name found no place, so the table tells nothing. */
	bool crowded;
};

TAILQ_HEAD(listing_queue, listing);

struct listcache {
	struct attrcache *ac;
	struct listing_queue lru; /* the latest used first */
	size_t count;
	size_t bytes;
};

struct listcache *listcache_new(struct attrcache *ac)
{
	struct listcache *lc = calloc(1, sizeof(*lc));

	if (!lc)
		return NULL;
	lc->ac = ac;
	TAILQ_INIT(&lc->lru);
	return lc;
}

static void listing_free(struct listcache *lc, struct listing *l)
{
	TAILQ_REMOVE(&lc->lru, l, lru);
	lc->count--;
	lc->bytes -= sizeof(*l) + l->room;
	if (l->names)
		lc->bytes -= (l->names_mask + 1) * sizeof(*l->names);
	free(l->names);
	free(l->data);
	free(l);
}

void listcache_free(struct listcache *lc)
{
	if (!lc)
		return;
	while (!TAILQ_EMPTY(&lc->lru))
		listing_free(lc, TAILQ_FIRST(&lc->lru));
	free(lc);
}

/* Returns the link to the listing, so that it can be taken out; NULL where
 * there is none. */
static struct listing **find(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus)
{
	struct node_ext *x = attrcache_ext(lc->ac, dir);
	struct listing **link;

	if (!x)
		return NULL;
	for (link = &x->listings; *link; link = &(*link)->next)
		if ((*link)->cred == cred && (*link)->plus == plus)
			return link;
	return NULL;
}

struct listing *listcache_find(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus)
{
	struct listing **link = cred ? find(lc, dir, cred, plus) : NULL;

	if (!link)
		return NULL;
	TAILQ_REMOVE(&lc->lru, *link, lru);
	TAILQ_INSERT_HEAD(&lc->lru, *link, lru);
	return *link;
}

struct listing *listcache_find_current(
    struct listcache *lc, const struct node *dir, uint32_t cred, bool plus)
{
	struct listing *l = listcache_find(lc, dir, cred, plus);

	return l && l->bound.generation == attrcache_generation(lc->ac, dir)
		   ? l
		   : NULL;
}

static void listing_drop(
    struct listcache *lc, struct node_ext *x, struct listing *l)
{
	struct listing **link = &x->listings;

	while (*link != l)
		link = &(*link)->next;
	*link = l->next;
	listing_free(lc, l);
}

/* Makes an empty listing; the directory gives up one where it has too many. */
static struct listing *listing_new(struct listcache *lc, struct node *dir,
    uint32_t cred, bool plus, const char *verf)
{
	struct node_ext *x = attrcache_make_ext(lc->ac, dir);
	struct listing *l = x ? calloc(1, sizeof(*l)) : NULL;
	unsigned n = 0;

	if (!l)
		return NULL;
	l->dir = slab_ref_of(dir);
	l->cred = cred;
	l->plus = plus;
	memcpy(l->verf, verf, sizeof(l->verf));
	l->next = x->listings;
	x->listings = l;
	TAILQ_INSERT_HEAD(&lc->lru, l, lru);
	lc->count++;
	lc->bytes += sizeof(*l);
	for (struct listing *old = l; old->next; old = old->next)
		if (++n == CREDS_MAX) {
			listing_drop(lc, x, old->next);
			break;
		}
	return l;
}

/* Makes room for `more` bytes; false without memory, or above LISTING_MAX. */
static bool listing_grow(struct listcache *lc, struct listing *l, size_t more)
{
	size_t room = l->room ? l->room * 2 : 1024;
	char *data;

	if (l->len + more <= l->room)
		return true;
	while (room < l->len + more)
		room *= 2;
	if (room > LISTING_MAX)
		return false;
	data = realloc(l->data, room);
	if (!data)
		return false;
	lc->bytes += room - l->room;
	l->data = data;
	l->room = room;
	return true;
}

/* Adds an entry: file number and cookie of eight bytes, the name's length, the
 * name. */
static bool listing_append(
    struct listcache *lc, struct listing *l, const struct nfs3_dirent *e)
{
	char *to;

	if (e->name.len > NFS3_NAME_MAX ||
	    !listing_grow(lc, l, ENTRY_HEAD + e->name.len))
		return false;
	to = l->data + l->len;
	memcpy(to, &e->fileid, 8);
	memcpy(to + 8, &e->cookie, 8);
	to[16] = (char)e->name.len;
	if (e->name.len > 0)
		memcpy(to + ENTRY_HEAD, e->name.data, e->name.len);
	l->len += ENTRY_HEAD + e->name.len;
	l->entries++;
	l->last_cookie = e->cookie;
	return true;
}

/* Whether the page is of a listing that is known whole and holds: then it
 * brings nothing new but what it says of the entries, which is not kept here. A
 * listing from before a change of our own is valid for a time only, and is then
 * renewed. */
static bool listing_has(const struct node_ext *x, const struct listing *l,
    const struct list_page *page)
{
	return l->complete && l->bound.firm &&
	       l->bound.sent_us > x->changed_us &&
	       l->bound.generation == page->bound.generation &&
	       memcmp(l->verf, page->verf, sizeof(l->verf)) == 0;
}

/* Returns the listing that the page goes on from, or a new one for a first
 * page; NULL: neither. A page of another verifier or generation goes on from
 * none. */
static struct listing *listing_for(
    struct listcache *lc, struct node *dir, const struct list_page *page)
{
	struct listing **link = find(lc, dir, page->cred, page->plus);
	struct listing *l = link ? *link : NULL;

	if (l && listing_has(attrcache_ext(lc->ac, dir), l, page))
		return NULL;
	if (l && page->cookie != 0)
		return !l->complete && l->last_cookie == page->cookie &&
			       l->bound.generation == page->bound.generation &&
			       memcmp(l->verf, page->verf, sizeof(l->verf)) == 0
			   ? l
			   : NULL;
	if (page->cookie != 0)
		return NULL;
	if (l)
		listing_drop(lc, attrcache_ext(lc->ac, dir), l);
	l = listing_new(lc, dir, page->cred, page->plus, page->verf);
	if (l)
		l->bound = page->bound;
	return l;
}

static bool add_entries(
    struct listcache *lc, struct listing *l, const struct list_page *page)
{
	struct nfs3_dirent e;
	bool more = false;
	XDR xdrs;

	nfs3_list_open(&xdrs, page->entries);
	while (nfs3_dirent_decode(&xdrs, page->plus, &e, &more) && more)
		if (!listing_append(lc, l, &e))
			return false;
	return true;
}

void listcache_add(
    struct listcache *lc, struct node *dir, const struct list_page *page)
{
	struct listing *l = page->cred ? listing_for(lc, dir, page) : NULL;

	if (!l)
		return;
	if (page->bound.sent_us < l->bound.sent_us)
		l->bound.sent_us = page->bound.sent_us;
	l->bound.firm = l->bound.firm && page->bound.firm;
	if (add_entries(lc, l, page))
		l->complete = nfs3_dirlist_eof(page->entries);
	else
		listing_drop(lc, attrcache_ext(lc->ac, dir), l);
}

struct binding listing_binding(const struct listing *l)
{
	return l->bound;
}

const char *listing_verf(const struct listing *l)
{
	return l->verf;
}

uint32_t listing_cred(const struct listing *l)
{
	return l->cred;
}

bool listing_plus(const struct listing *l)
{
	return l->plus;
}

uint32_t listing_count(const struct listing *l)
{
	return l->entries;
}

uint64_t listing_last_cookie(const struct listing *l)
{
	return l->last_cookie;
}

bool listing_complete(const struct listing *l)
{
	return l->complete;
}

bool listing_next(const struct listing *l, size_t *pos, struct list_entry *e)
{
	const char *from;

	/* An empty listing has no data. */
	if (*pos >= l->len)
		return false;
	from = l->data + *pos;
	memcpy(&e->fileid, from, 8);
	memcpy(&e->cookie, from + 8, 8);
	e->name.len = (unsigned char)from[16];
	e->name.data = from + ENTRY_HEAD;
	*pos += ENTRY_HEAD + e->name.len;
	return true;
}

bool listing_seek(const struct listing *l, uint64_t cookie, size_t *pos)
{
	struct list_entry e;

	*pos = 0;
	if (cookie == 0)
		return true;
	for (unsigned i = 0; i < HINTS; i++) {
		if (l->hints[i].cookie != cookie)
			continue;
		*pos = l->hints[i].pos;
		return true;
	}
	for (unsigned i = 0; i < SEEK_MAX && listing_next(l, pos, &e); i++)
		if (e.cookie == cookie)
			return true;
	return false;
}

void listing_remember(struct listing *l, uint64_t cookie, size_t pos)
{
	unsigned i = l->next_hint++ % HINTS;

	if (cookie == 0)
		return;
	l->hints[i].cookie = cookie;
	l->hints[i].pos = pos;
}

size_t listing_size_max(const struct listing *l, bool plus)
{
	struct nfs3_dirent e = {.attributes = {.attributes_follow = TRUE},
	    .handle = {.handle_follows = TRUE}};

	/* Names and their padding are no longer than what is kept of an
	 * entry, which has its cookie and file number, too. */
	e.handle.post_op_fh3_u.handle.len = NFS3_FHSIZE_MAX;
	return l->entries * nfs3_dirent_size(plus, &e) + l->len +
	       NFS3_DIRLIST_END_SIZE;
}

/* ---- absences --------------------------------------------------------- */

/* Hashes a name as if upper and lower case were the same, since some servers
 * tell wrongly whether they are (knfsd on a folder of ext4's that folds). */
static uint32_t short_hash(const nfs3_name *name)
{
	char folded[256];
	uint32_t len =
	    name->len < sizeof(folded) ? name->len : (uint32_t)sizeof(folded);

	folded[0] = '\0'; /* gcc 14 warns of a name without a byte */
	for (uint32_t i = 0; i < len; i++) {
		char c = name->data[i];

		folded[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	/* 0 is an empty place. */
	return (uint32_t)hash_bytes(folded, len, 0) | 1;
}

/* Whether the name has ASCII letters only. Others have several spellings on
 * some file systems: upper and lower case, or several ways to compose them. */
static bool is_ascii(const nfs3_name *name)
{
	for (uint32_t i = 0; i < name->len; i++)
		if ((unsigned char)name->data[i] >= 0x80)
			return false;
	return true;
}

/* Makes the table, with room for twice as many names; false without memory. */
static bool names_begin(struct listcache *lc, struct listing *l)
{
	size_t mask = 15;

	while (mask < (size_t)l->entries * 2)
		mask = mask * 2 + 1;
	l->names = calloc(mask + 1, sizeof(*l->names));
	if (!l->names)
		return false;
	l->names_mask = mask;
	lc->bytes += (mask + 1) * sizeof(*l->names);
	return true;
}

/* Returns the place where the hash stands, or is to stand; NULL: it would be
 * too far from where it belongs. */
static uint32_t *names_place(const struct listing *l, uint32_t hash)
{
	size_t at = hash >> 1;

	for (int probes = 0; probes < PROBES_MAX; probes++, at++) {
		uint32_t *place = &l->names[at & l->names_mask];

		if (*place == 0 || *place == hash)
			return place;
	}
	return NULL;
}

/* Adds some more names to the table; true: all are there. Nothing is added to a
 * listing that is complete, so its entries stay as they are between two turns.
 */
static bool names_make(struct listcache *lc, struct listing *l)
{
	struct list_entry e;

	if (!l->names && !names_begin(lc, l))
		return false;
	for (int n = 0; n < NAMES_AT_ONCE && !l->crowded &&
			listing_next(l, &l->names_len, &e);
	     n++) {
		uint32_t hash = short_hash(&e.name);
		uint32_t *place = names_place(l, hash);

		if (place)
			*place = hash;
		else
			l->crowded = true;
	}
	return !l->crowded && l->names_len >= l->len;
}

bool listing_lacks(
    struct listcache *lc, struct listing *l, const nfs3_name *name)
{
	const uint32_t *place;

	if (!l->complete || !is_ascii(name) || !names_make(lc, l))
		return false;
	place = names_place(l, short_hash(name));
	return place && *place == 0;
}

/* ---- giving up, saving ------------------------------------------------ */

void listcache_drop(struct listcache *lc, struct node *dir)
{
	struct node_ext *x = attrcache_ext(lc->ac, dir);

	while (x && x->listings)
		listing_drop(lc, x, x->listings);
}

bool listcache_evict(struct listcache *lc)
{
	struct listing *l = TAILQ_LAST(&lc->lru, listing_queue);

	if (!l)
		return false;
	listing_drop(
	    lc, attrcache_ext(lc->ac, attrcache_node(lc->ac, l->dir)), l);
	return true;
}

void listcache_each(struct listcache *lc, const struct node *dir,
    void (*cb)(void *arg, const struct listing *l), void *arg)
{
	const struct node_ext *x = attrcache_ext(lc->ac, dir);

	for (const struct listing *l = x ? x->listings : NULL; l; l = l->next)
		cb(arg, l);
}

const void *listing_data(const struct listing *l, size_t *len)
{
	*len = l->len;
	return l->data;
}

/* Counts packed entries from a file; false where they are damaged, since
 * reading must not lead outside of them. */
static bool packed_ok(const unsigned char *data, size_t len, uint32_t *n)
{
	size_t pos = 0;

	for (*n = 0; pos < len; (*n)++) {
		if (len - pos < ENTRY_HEAD ||
		    len - pos - ENTRY_HEAD < data[pos + 16])
			return false;
		pos += ENTRY_HEAD + data[pos + 16];
	}
	return true;
}

void listcache_load(struct listcache *lc, struct node *dir, uint32_t cred,
    bool plus, const char *verf, const void *data, size_t len,
    const struct binding *bound)
{
	struct listing *l;
	uint32_t n;

	if (!packed_ok(data, len, &n))
		return;
	l = listing_new(lc, dir, cred, plus, verf);
	if (!l)
		return;
	l->bound = *bound;
	l->bound.generation = attrcache_generation(lc->ac, dir);
	if (!listing_grow(lc, l, len)) {
		listing_drop(lc, attrcache_ext(lc->ac, dir), l);
		return;
	}
	if (len > 0)
		memcpy(l->data, data, len);
	l->len = len;
	l->entries = n;
	l->complete = true;
}

size_t listcache_count(const struct listcache *lc)
{
	return lc->count;
}

size_t listcache_bytes(const struct listcache *lc)
{
	return lc->bytes;
}
