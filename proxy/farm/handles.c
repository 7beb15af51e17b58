/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of handles: see handles.h. */
#include "farm/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/caches.h"

enum {
	HEAD = 2, /* bytes before a handle */
	FIRST_ROOM = 4096,
	LOOK = 64, /* handles between two looks at the memory */
};

/* ---- out --------------------------------------------------------------- */

static bool room(struct handles *h, size_t bytes)
{
	size_t cap = h->cap ? h->cap : FIRST_ROOM;
	unsigned char *data;

	while (cap < h->len + bytes)
		cap *= 2;
	if (cap == h->cap)
		return true;
	data = realloc(h->data, cap);
	if (!data)
		return false;
	h->data = data;
	h->cap = cap;
	return true;
}

static uint8_t shared(const struct handles *h, const struct node *node)
{
	uint8_t n = 0;

	while (n < h->last_len && n < node->fh_len && h->last[n] == node->fh[n])
		n++;
	return n;
}

static bool add(struct handles *h, const struct node *node)
{
	uint8_t same = shared(h, node), rest = (uint8_t)(node->fh_len - same);

	if (!room(h, HEAD + rest))
		return false;
	h->data[h->len++] = same;
	h->data[h->len++] = node->fh_len;
	memcpy(&h->data[h->len], &node->fh[same], rest);
	h->len += rest;
	memcpy(h->last, node->fh, node->fh_len);
	h->last_len = node->fh_len;
	h->n++;
	return true;
}

bool handles_add(
    struct handles *h, struct caches *c, const uint64_t *keys, size_t n)
{
	struct handles was = *h;

	if (!room(h, 1))
		return false;
	if (h->len == 0)
		h->data[h->len++] = HANDLES_VERSION;
	for (size_t i = 0; i < n && h->n < HANDLES_MAX; i++) {
		const struct node *node = attrcache_by_key(c->attr, keys[i]);

		if (!node || add(h, node))
			continue;
		was.data = h->data;
		was.cap = h->cap;
		*h = was;
		return false;
	}
	return true;
}

void handles_clear(struct handles *h)
{
	free(h->data);
	*h = (struct handles){0};
}

/* ---- in ---------------------------------------------------------------- */

int handles_open(struct handles_view *v, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	*v = (struct handles_view){0};
	if (len == 0)
		return -EBADMSG;
	v->data = bytes + 1;
	v->end = bytes + len;
	return bytes[0] == HANDLES_VERSION ? 0 : -EPROTONOSUPPORT;
}

bool handles_next(struct handles_view *v, nfs3_fh *fh)
{
	size_t left = (size_t)(v->end - v->data);
	uint8_t same, len;

	if (left < HEAD || v->n == HANDLES_MAX)
		return false;
	same = v->data[0];
	len = v->data[1];
	if (len == 0 || len > NFS3_FHSIZE_MAX || same > len || same > v->len ||
	    left - HEAD < (size_t)(len - same))
		return false;
	memcpy(&v->fh[same], &v->data[HEAD], (size_t)(len - same));
	v->data += HEAD + len - same;
	v->len = len;
	v->n++;
	*fh = (nfs3_fh){.len = len, .data = (const char *)v->fh};
	return true;
}

bool handles_bad(const struct handles_view *v)
{
	return v->data != v->end && v->n < HANDLES_MAX;
}

bool handles_take(struct handles_view *v, struct caches *c, size_t max)
{
	size_t most = c->memory_bytes - c->memory_bytes / 4;
	struct node *node;
	nfs3_fh fh;

	for (size_t i = 0; i < max; i++) {
		if (i % LOOK == 0 && caches_bytes(c) > most)
			return false;
		if (!handles_next(v, &fh))
			return false;
		node = attrcache_get(c->attr, &fh);
		if (!node)
			return false;
		/* It was not used yet; still it has until the hand comes a
		 * second time. */
		node->flags |= NODE_USED;
	}
	return true;
}
