/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file has which extents, in memory: a hash table of files, each with a
 * sorted array of extents in leaves.
 *
 *   index ─▶ bucket ─▶ file ─▶ file    file ─▶ leaf[] ─▶ extents by offset
 */
#include "datacache/datacache_index.h"

#include <string.h>

#include "hashing/hash_key.h"

enum { LEAF_MAX = 128, LEAF_FIRST = 3, BUCKETS_FIRST = 1024 };

struct leaf {
	uint32_t n, room;
	struct extent v[];
};

/* Files by key. Linear hashing (Litwin, VLDB 1980): it grows by one bucket at a
 * time, so that no call has to wait for a table to be copied. */
struct buckets {
	struct file **v;
	size_t room;  /* allocated; a power of two */
	size_t level; /* buckets before this round of splits; likewise */
	size_t split; /* the next to be split */
};

struct index {
	struct buckets now;
	struct buckets buried; /* flushed, and freed a little at a time */
};

bool index_init(struct datacache *dc)
{
	dc->index = dc_new(dc, sizeof(*dc->index));
	return dc->index != NULL;
}

static size_t leaf_bytes(uint32_t room)
{
	return sizeof(struct leaf) + room * sizeof(struct extent);
}

/* Whoever makes handles knows the keys: they are hashes without a secret, since
 * they are on disk. */
static uint64_t key_hash(const struct data_key *key)
{
	return hash_numbers(key->h[0], key->h[1]);
}

static struct file **index_bucket(
    struct buckets *ix, const struct data_key *key)
{
	uint64_t hash = key_hash(key);
	size_t at = hash & (ix->level - 1);

	if (at < ix->split)
		at = hash & (2 * ix->level - 1);
	return &ix->v[at];
}

struct file *index_lookup(struct datacache *dc, const struct data_key *key)
{
	struct file *f;

	if (!dc->index->now.v)
		return NULL;
	for (f = *index_bucket(&dc->index->now, key); f; f = f->next)
		if (f->key.h[0] == key->h[0] && f->key.h[1] == key->h[1])
			break;
	return f;
}

static bool index_reserve(struct datacache *dc)
{
	struct buckets *ix = &dc->index->now;
	size_t size = sizeof(*ix->v), room = ix->room;
	void *p;

	if (ix->v && ix->level + ix->split < room)
		return true;
	room = room ? 2 * room : BUCKETS_FIRST;
	p = dc_realloc(dc, ix->v, ix->room * size, room * size);
	if (!p)
		return ix->v != NULL; /* chains grow then */
	ix->v = p;
	/* Later buckets are emptied as they are taken into use. */
	if (ix->level == 0) {
		ix->level = room / 2;
		memset(ix->v, 0, ix->level * size);
	}
	ix->room = room;
	return true;
}

/* Move a part of the files of the bucket at `split` to a new one at the end. */
static void index_split(struct buckets *ix)
{
	struct file **from = &ix->v[ix->split];
	struct file **to = &ix->v[ix->level + ix->split];

	*to = NULL;
	while (*from) {
		struct file *f = *from;

		if (!(key_hash(&f->key) & ix->level)) {
			from = &f->next;
			continue;
		}
		*from = f->next;
		f->next = *to;
		*to = f;
	}
	if (++ix->split == ix->level) {
		ix->level *= 2;
		ix->split = 0;
	}
}

struct file *index_make(
    struct datacache *dc, const struct data_key *key, const uint64_t version[2])
{
	struct buckets *ix = &dc->index->now;
	struct file **bucket, *f;

	if (!index_reserve(dc))
		return NULL;
	f = dc_new(dc, sizeof(*f));
	if (!f)
		return NULL;
	f->key = *key;
	memcpy(f->version, version, sizeof(f->version));
	bucket = index_bucket(ix, key);
	f->next = *bucket;
	*bucket = f;
	dc->st.files++;
	if (dc->st.files > ix->level + ix->split &&
	    ix->level + ix->split < ix->room)
		index_split(ix);
	return f;
}

static void file_free(struct datacache *dc, struct file *f)
{
	for (uint32_t i = 0; i < f->leaves; i++)
		dc_free(dc, f->dir[i], leaf_bytes(f->dir[i]->room));
	if (f->leaves > 0)
		dc_free(dc, f->dir, f->room * sizeof(*f->dir));
	dc_free(dc, f, sizeof(*f));
}

/* Free up to `n` files and buckets, from the end; false where none is left. The
 * index is of no other use from the first call on. */
static bool buckets_free(struct datacache *dc, struct buckets *ix, uint64_t n)
{
	size_t end = ix->v ? ix->level + ix->split : 0;

	for (; end > 0; n--) {
		struct file *f = ix->v[end - 1];

		if (n == 0)
			break;
		if (f) {
			ix->v[end - 1] = f->next;
			file_free(dc, f);
		} else {
			end--;
		}
	}
	ix->level = end;
	ix->split = 0;
	if (end > 0)
		return true;
	if (ix->v)
		dc_free(dc, ix->v, ix->room * sizeof(*ix->v));
	memset(ix, 0, sizeof(*ix));
	return false;
}

static void index_clear(struct datacache *dc)
{
	(void)buckets_free(dc, &dc->index->now, UINT64_MAX);
	dc->st.files = 0;
	dc->st.extents = 0;
	dc->st.live_bytes = 0;
	dc->st.pinned_bytes = 0;
}

void index_tidy(struct datacache *dc, struct file *f)
{
	struct file **at;

	if (f->leaves > 0 || f->one.len > 0)
		return;
	at = index_bucket(&dc->index->now, &f->key);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	dc->st.files--;
	file_free(dc, f);
	/* The table shrinks only when it is empty. */
	if (dc->st.files == 0 && dc->index->now.room > BUCKETS_FIRST)
		index_clear(dc);
}

enum { BURY_MIN = 4096 /* files */ };

void index_bury(struct datacache *dc)
{
	/* A small index is freed at once; so is what came in since the last
	 * flush, while that is still being buried. */
	if (!dc->index->buried.v && dc->st.files > BURY_MIN) {
		dc->index->buried = dc->index->now;
		dc->index->now = (struct buckets){0};
	}
	index_clear(dc);
}

bool datacache_bury(struct datacache *dc, unsigned n)
{
	return buckets_free(dc, &dc->index->buried, n);
}

void index_free(struct datacache *dc)
{
	if (!dc->index)
		return;
	index_clear(dc);
	(void)buckets_free(dc, &dc->index->buried, UINT64_MAX);
	dc_free(dc, dc->index, sizeof(*dc->index));
}

bool index_walk(struct datacache *dc, size_t *bucket, size_t n,
    void (*each)(void *ctx, struct file *f), void *ctx)
{
	const struct buckets *ix = &dc->index->now;
	struct file *f, *next;

	for (; n > 0 && *bucket < ix->level + ix->split; n--, ++*bucket) {
		for (f = ix->v[*bucket]; f; f = next) {
			next = f->next;
			each(ctx, f);
		}
	}
	return *bucket < ix->level + ix->split;
}

struct extent *cursor_get(const struct extent_cursor *c)
{
	struct file *f = c->file;

	if (f->leaves == 0)
		return c->leaf == 0 && c->at == 0 && f->one.len > 0 ? &f->one
								    : NULL;
	return c->leaf < f->leaves ? &f->dir[c->leaf]->v[c->at] : NULL;
}

/* A cursor that is past the end of its leaf goes to the start of the next. */
static void cursor_settle(struct extent_cursor *c)
{
	if (c->leaf < c->file->leaves && c->at >= c->file->dir[c->leaf]->n) {
		c->leaf++;
		c->at = 0;
	}
}

void cursor_next(struct extent_cursor *c)
{
	c->at++;
	cursor_settle(c);
}

void index_seek(struct file *f, uint64_t offset, struct extent_cursor *c)
{
	uint32_t lo = 0, hi = f->leaves;
	const struct leaf *leaf;

	*c = (struct extent_cursor){.file = f};
	if (f->leaves == 0) {
		c->at = extent_end(&f->one) <= offset;
		return;
	}
	/* Find the last leaf that starts at or before `offset`. */
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->dir[mid]->v[0].offset <= offset)
			lo = mid;
		else
			hi = mid;
	}
	c->leaf = lo;
	leaf = f->dir[lo];
	lo = 0;
	hi = leaf->n;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (extent_end(&leaf->v[mid]) <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	c->at = lo;
	cursor_settle(c);
}

static struct leaf *leaf_resize(
    struct datacache *dc, struct leaf *leaf, uint32_t room)
{
	struct leaf *p = dc_realloc(
	    dc, leaf, leaf ? leaf_bytes(leaf->room) : 0, leaf_bytes(room));

	if (!p)
		return NULL;
	if (!leaf)
		p->n = 0;
	p->room = room;
	return p;
}

/* Put a leaf into the directory at `at`. */
static bool dir_insert(
    struct datacache *dc, struct file *f, uint32_t at, struct leaf *leaf)
{
	size_t size = sizeof(*f->dir);

	if (f->leaves == f->room) {
		uint32_t room = f->room + f->room / 2 + 1;
		struct leaf **p = dc_realloc(
		    dc, f->room ? f->dir : NULL, f->room * size, room * size);

		if (!p)
			return false;
		f->dir = p;
		f->room = room;
	}
	memmove(f->dir + at + 1, f->dir + at, (f->leaves - at) * size);
	f->dir[at] = leaf;
	f->leaves++;
	return true;
}

/* Move the extent that lies in the struct itself into a first leaf. */
static bool file_grow(struct datacache *dc, struct file *f)
{
	struct extent one = f->one;
	struct leaf *leaf = leaf_resize(dc, NULL, LEAF_FIRST);

	if (!leaf)
		return false;
	leaf->v[0] = one;
	leaf->n = 1;
	f->room = 0;
	if (dir_insert(dc, f, 0, leaf))
		return true;
	f->one = one;
	dc_free(dc, leaf, leaf_bytes(leaf->room));
	return false;
}

/* Make room beside a full leaf: halve it; or, where a file is read from front
 * to back, put an empty leaf behind it, so that leaves get full. */
static bool leaf_split(struct datacache *dc, struct extent_cursor *c)
{
	struct leaf *leaf = c->file->dir[c->leaf], *right;
	bool append = c->at == leaf->n && c->leaf + 1 == c->file->leaves;
	uint32_t keep = append ? leaf->n : leaf->n / 2;

	right = leaf_resize(dc, NULL, append ? LEAF_FIRST : LEAF_MAX);
	if (!right)
		return false;
	if (!dir_insert(dc, c->file, c->leaf + 1, right)) {
		dc_free(dc, right, leaf_bytes(right->room));
		return false;
	}
	right->n = leaf->n - keep;
	memcpy(right->v, leaf->v + keep, right->n * sizeof(right->v[0]));
	leaf->n = keep;
	if (append || c->at > keep) {
		c->leaf++;
		c->at -= keep;
	}
	return true;
}

static bool leaf_insert(
    struct datacache *dc, struct extent_cursor *c, const struct extent *x)
{
	struct leaf *leaf = c->file->dir[c->leaf];

	if (leaf->n == leaf->room && leaf->room < LEAF_MAX) {
		uint32_t room = leaf->room + leaf->room / 2 + 1;

		leaf = leaf_resize(dc, leaf, room < LEAF_MAX ? room : LEAF_MAX);
		if (!leaf)
			return false;
		c->file->dir[c->leaf] = leaf;
	} else if (leaf->n == leaf->room) {
		if (!leaf_split(dc, c))
			return false;
		leaf = c->file->dir[c->leaf];
	}
	memmove(leaf->v + c->at + 1, leaf->v + c->at,
	    (leaf->n - c->at) * sizeof(*x));
	leaf->v[c->at] = *x;
	leaf->n++;
	return true;
}

bool index_put(struct datacache *dc, struct file *f, const struct extent *x)
{
	struct extent_cursor c;

	if (f->leaves == 0 && f->one.len == 0) {
		f->one = *x;
		return true;
	}
	if (f->leaves == 0 && !file_grow(dc, f))
		return false;
	index_seek(f, x->offset, &c);
	if (c.leaf > 0 && c.at == 0) {
		c.leaf--;
		c.at = f->dir[c.leaf]->n;
	}
	return leaf_insert(dc, &c, x);
}

static void leaf_remove(struct datacache *dc, struct extent_cursor *c)
{
	struct file *f = c->file;
	struct leaf *leaf = f->dir[c->leaf], *less;

	leaf->n--;
	memmove(leaf->v + c->at, leaf->v + c->at + 1,
	    (leaf->n - c->at) * sizeof(leaf->v[0]));
	if (leaf->n == 0) {
		dc_free(dc, leaf, leaf_bytes(leaf->room));
		f->leaves--;
		memmove(f->dir + c->leaf, f->dir + c->leaf + 1,
		    (f->leaves - c->leaf) * sizeof(*f->dir));
	} else if (leaf->n < leaf->room / 4) {
		less = leaf_resize(dc, leaf, leaf->room / 2);
		if (less)
			f->dir[c->leaf] = less;
	}
	if (f->leaves == 0) {
		dc_free(dc, f->dir, f->room * sizeof(*f->dir));
		f->room = 0;
		memset(&f->one, 0, sizeof(f->one));
	}
}

void index_take(struct datacache *dc, struct extent_cursor *c)
{
	if (c->file->leaves == 0) {
		memset(&c->file->one, 0, sizeof(c->file->one));
	} else {
		leaf_remove(dc, c);
		if (c->file->leaves > 0)
			cursor_settle(c);
	}
}
