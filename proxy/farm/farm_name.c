/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of values. Each names all that the value depends on, so that what
 * is found under it is the right bytes or no bytes: the server, the handle,
 * the version that the server gave, and the place. All numbers are little
 * endian, since a farm may have machines of both kinds.
 */
#include <string.h>

#include <xxhash.h>

#include "farm/farm_private.h"

/* The forms of values: values of another form have other keys. */
enum { DATA_VERSION = 1, TREES_VERSION = 1 };

/* All that a key depends on, one after the other; it is hashed, never kept. */
struct key_text {
	unsigned char data[1024];
	size_t len;
};

void farm_put_number(unsigned char *to, uint64_t n)
{
	for (int i = 0; i < FARM_NUMBER_BYTES; i++)
		to[i] = (unsigned char)(n >> (8 * i));
}

uint64_t farm_get_number(const unsigned char *from)
{
	uint64_t n = 0;

	for (int i = FARM_NUMBER_BYTES; i-- > 0;)
		n = n << 8 | from[i];
	return n;
}

/* Adds bytes, or as many as there is room for; all parts have bounds below
 * it. */
static void add(struct key_text *t, const void *data, size_t len)
{
	if (len > sizeof(t->data) - t->len)
		len = sizeof(t->data) - t->len;
	memcpy(t->data + t->len, data, len);
	t->len += len;
}

static void add_number(struct key_text *t, uint64_t n)
{
	unsigned char le[FARM_NUMBER_BYTES];

	farm_put_number(le, n);
	add(t, le, sizeof(le));
}

/* With its length in front, so that no two lists of parts are alike. */
static void add_bytes(struct key_text *t, const void *data, size_t len)
{
	add_number(t, len);
	add(t, data, len);
}

/* Adds what all values of an object depend on: its server, its handle and its
 * version. */
static void begin(struct key_text *t, const struct farm_server *s,
    const nfs3_fh *fh, const struct data_version *v)
{
	t->len = 0;
	add_bytes(t, s->name, strnlen(s->name, 256));
	add_bytes(t, fh->data, fh->len);
	add_number(t, v->fsid);
	add_number(t, v->fileid);
	add_number(t, v->size);
	add_number(t, (uint64_t)v->mtime_s << 32 | v->mtime_ns);
	add_number(t, (uint64_t)v->ctime_s << 32 | v->ctime_ns);
}

/* Makes the key of what was added. */
static void end(const struct key_text *t, const struct farm_server *s,
    char kind, struct farm_key *key)
{
	seal_name(s->p.farm->seal, kind, t->data, t->len, key->name);
	key->tag = XXH3_64bits(key->name, SEAL_NAME_LEN);
}

/* Cells are CELL_BYTES long, but for the first two, of which one is short and
 * the other shorter by that. */
uint64_t cell_at(uint64_t offset)
{
	return offset < CELL_FIRST ? 0 : 1 + offset / CELL_BYTES;
}

uint64_t cell_begin(uint64_t cell)
{
	if (cell <= 1)
		return cell == 0 ? 0 : CELL_FIRST;
	return (cell - 1) * CELL_BYTES;
}

void farm_data_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint64_t cell, struct farm_key *key)
{
	struct key_text t;

	begin(&t, s, fh, v);
	add_number(&t, cell);
	add_number(&t, DATA_VERSION);
	end(&t, s, KIND_DATA, key);
}

void farm_listing_key(const struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, const struct cred_key *cred, bool plus,
    struct farm_key *key)
{
	struct key_text t;

	begin(&t, s, fh, v);
	add_number(&t, plus);
	add_number(&t, cred->flavor);
	add_number(&t, cred->uid);
	add_number(&t, cred->gid);
	add_number(&t, cred->ngids);
	for (uint32_t i = 0; i < cred->ngids; i++)
		add_number(&t, cred->gids[i]);
	end(&t, s, KIND_LISTING, key);
}

void farm_trees_key(
    const struct farm_server *s, uint32_t uid, struct farm_key *key)
{
	struct key_text t = {.len = 0};

	add_bytes(&t, s->name, strnlen(s->name, 256));
	add_number(&t, uid);
	add_number(&t, TREES_VERSION);
	end(&t, s, KIND_TREES, key);
}

void farm_others_key(const struct farm_server *s, struct farm_key *key)
{
	struct key_text t = {.len = 0};

	add_bytes(&t, s->name, strnlen(s->name, 256));
	end(&t, s, KIND_OTHERS, key);
}

struct engine_key farm_engine_key(const struct farm_key *key)
{
	return (struct engine_key){.data = key->name, .len = SEAL_NAME_LEN};
}
