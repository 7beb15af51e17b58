/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles and absent names, out and in: see trees_objects.h. */
#include "farm/trees_objects.h"

#include <string.h>

#include "base/namemap.h"
#include "cache/caches.h"
#include "farm/farm_private.h"

enum {
	LOOK = 64, /* handles between two looks at the memory */
	HASH_BYTES = FARM_NUMBER_BYTES,
};

_Static_assert(
    (int)BYTETABLE_ROW_MAX >= (int)NFS3_FHSIZE_MAX, "a handle is a row");

bool trees_add_handles(
    struct bytetable *t, struct caches *c, const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n && t->n < BYTETABLE_ROWS_MAX; i++) {
		const struct node *node = attrcache_by_key(c->attr, keys[i]);

		if (node && !bytetable_add(t, node->fh, node->fh_len))
			return false;
	}
	return true;
}

/* Nodes are made only as long as the caches have room to spare: what is cached
 * is worth more than what may be asked for. */
bool trees_take_handles(struct bytetable_view *v, struct caches *c, size_t max)
{
	size_t most = c->memory_bytes - c->memory_bytes / 4;
	struct node *node;
	nfs3_fh fh;

	for (size_t i = 0; i < max; i++) {
		if (i % LOOK == 0 && caches_bytes(c) > most)
			return false;
		if (!bytetable_next(v))
			return false;
		fh = (nfs3_fh){.len = v->len, .data = (const char *)v->row};
		node = attrcache_get(c->attr, &fh);
		if (!node)
			return false;
		/* It was not used yet; still it has until the hand comes a
		 * second time. */
		node->flags |= NODE_USED;
	}
	return true;
}

/* ---- names ------------------------------------------------------------- */

_Static_assert((int)NAMEMAP_LEN_MAX + (int)HASH_BYTES <= (int)BYTETABLE_ROW_MAX,
    "a name and its hash are a row");

bool trees_add_names(struct bytetable *t, const struct namemap *names,
    const uint64_t *hashes, size_t n)
{
	unsigned char row[BYTETABLE_ROW_MAX];
	const char *name;
	size_t len;

	for (size_t i = 0; i < n && t->n < BYTETABLE_ROWS_MAX; i++) {
		name = namemap_get(names, hashes[i], &len);
		if (!name)
			continue;
		memcpy(row, name, len);
		farm_put_number(row + len, hashes[i]);
		if (!bytetable_add(t, row, len + HASH_BYTES))
			return false;
	}
	return true;
}

/* A name that no directory can have is not asked for. */
static bool is_name(const unsigned char *text, size_t len)
{
	nfs3_name name = {.data = (const char *)text, .len = (uint32_t)len};

	return !memchr(text, 0, len) && !memchr(text, '/', len) &&
	       !nfs3_name_is_dots(&name);
}

bool trees_take_names(
    struct bytetable_view *v, struct namemap *names, size_t max)
{
	for (size_t i = 0; i < max; i++) {
		size_t len;

		if (!bytetable_next(v))
			return false;
		if (v->len <= HASH_BYTES)
			continue;
		len = v->len - HASH_BYTES;
		if (is_name(v->row, len))
			namemap_put(names, farm_get_number(v->row + len),
			    (const char *)v->row, len);
	}
	return true;
}
