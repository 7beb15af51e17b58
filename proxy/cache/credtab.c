/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Credentials in an array with a hash table of indices. When it is full, the
 * one that was used longest ago loses its number, which is never given again:
 * so what is kept for a number can never be taken for another user's.
 * caches_cred() asks once for each call of a client.
 */
#include "cache/credtab.h"

#include <stdlib.h>
#include <string.h>

#include "hashing/hash_key.h"

enum { SLOTS = CREDTAB_MAX * 2 }; /* a power of two */

/* Between two times that all rights of a credential end. */
#define REST_US     UINT64_C(60000000)
#define REST_MAX_US UINT64_C(3600000000)

struct cred {
	struct cred_key key;
	/* One more than its index; and CREDTAB_MAX more for each credential
	 * that had its place before. */
	uint32_t id;
	uint32_t next; /* index + 1 of the next of equal hash */
	uint64_t used; /* when it was last asked for, by `calls` */
	uint64_t rights_since_us;
	/* When credtab_end_rights() may do so again, and how long after that it
	 * then rests. */
	uint64_t rested_us;
	uint64_t rest_us;
};

struct credtab {
	struct cred *creds;
	uint32_t n;
	uint32_t room;
	uint64_t calls;
	/* Index + 1 of the first credential by hash; 0: none. */
	uint32_t slots[SLOTS];
};

struct credtab *credtab_new(void)
{
	return calloc(1, sizeof(struct credtab));
}

void credtab_free(struct credtab *ct)
{
	if (!ct)
		return;
	free(ct->creds);
	free(ct);
}

/* Copies the groups sorted, each once and without `gid`; returns how many there
 * are. An insertion sort will do: there are sixteen at most, mostly sorted
 * already. */
static uint32_t gids_sort(
    uint32_t *to, const uint32_t *gids, uint32_t n, uint32_t gid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = kept;

		while (at > 0 && to[at - 1] > gids[i])
			at--;
		if (gids[i] == gid || (at > 0 && to[at - 1] == gids[i]))
			continue;
		memmove(to + at + 1, to + at, (kept - at) * sizeof(*to));
		to[at] = gids[i];
		kept++;
	}
	return kept;
}

void cred_key_make(
    struct cred_key *key, uint32_t flavor, const struct rpc_auth_sys *auth)
{
	memset(key, 0, sizeof(*key));
	key->flavor = flavor;
	if (flavor != AUTH_SYS)
		return;
	key->uid = auth->uid;
	key->gid = auth->gid;
	key->ngids = gids_sort(key->gids, auth->gids, auth->ngids, auth->gid);
}

static uint32_t *slot_of(struct credtab *ct, const struct cred_key *key)
{
	return &ct->slots[hash_bytes(key, sizeof(*key), 0) & (SLOTS - 1)];
}

static void unlink_cred(struct credtab *ct, uint32_t index)
{
	uint32_t *link = slot_of(ct, &ct->creds[index].key);

	while (*link != index + 1)
		link = &ct->creds[*link - 1].next;
	*link = ct->creds[index].next;
}

/* Returns the index of a place for a new one, for which the one used longest
 * ago makes room; UINT32_MAX without memory, or where the numbers of its place
 * have all been given. */
static uint32_t take_index(struct credtab *ct)
{
	uint32_t oldest = 0;

	if (ct->n == ct->room && ct->room < CREDTAB_MAX) {
		uint32_t room = ct->room ? ct->room * 2 : 16;
		void *more = realloc(ct->creds, room * sizeof(*ct->creds));

		if (!more)
			return UINT32_MAX;
		ct->creds = more;
		ct->room = room;
	}
	if (ct->n < ct->room) {
		ct->creds[ct->n].id = 0;
		return ct->n++;
	}
	for (uint32_t i = 1; i < ct->n; i++)
		if (ct->creds[i].used < ct->creds[oldest].used)
			oldest = i;
	if (ct->creds[oldest].id > UINT32_MAX - CREDTAB_MAX)
		return UINT32_MAX;
	unlink_cred(ct, oldest);
	return oldest;
}

uint32_t credtab_get(struct credtab *ct, const struct cred_key *key)
{
	uint32_t *slot = slot_of(ct, key);
	uint32_t index, former;
	struct cred *c;

	ct->calls++;
	for (index = *slot; index != 0; index = ct->creds[index - 1].next) {
		c = &ct->creds[index - 1];
		if (memcmp(&c->key, key, sizeof(*key)) != 0)
			continue;
		c->used = ct->calls;
		return c->id;
	}
	index = take_index(ct);
	if (index == UINT32_MAX)
		return 0;
	c = &ct->creds[index];
	former = c->id;
	*c = (struct cred){.key = *key,
	    .id = former ? former + CREDTAB_MAX : index + 1,
	    .next = *slot,
	    .used = ct->calls};
	*slot = index + 1;
	return c->id;
}

/* The credential of that number; NULL where it has been given up. */
static struct cred *cred_of(const struct credtab *ct, uint32_t id)
{
	uint32_t index = (id - 1) % CREDTAB_MAX;

	return id != 0 && index < ct->n && ct->creds[index].id == id
		   ? &ct->creds[index]
		   : NULL;
}

bool credtab_end_rights(struct credtab *ct, uint32_t id, uint64_t since_us)
{
	struct cred *c = cred_of(ct, id);

	if (!c || since_us < c->rested_us)
		return false;
	/* It was quiet for long. */
	if (since_us - c->rested_us > REST_MAX_US)
		c->rest_us = 0;
	c->rest_us = c->rest_us == 0                ? REST_US
		     : c->rest_us * 2 < REST_MAX_US ? c->rest_us * 2
						    : REST_MAX_US;
	c->rested_us = since_us + c->rest_us;
	c->rights_since_us = since_us;
	return true;
}

bool credtab_end_rights_uid(struct credtab *ct, uint32_t uid, uint64_t since_us)
{
	bool found = false;

	for (uint32_t i = 0; i < ct->n; i++) {
		struct cred *c = &ct->creds[i];

		if (c->key.flavor != AUTH_SYS || c->key.uid != uid)
			continue;
		c->rights_since_us = since_us;
		found = true;
	}
	return found;
}

uint64_t credtab_rights_since(const struct credtab *ct, uint32_t id)
{
	const struct cred *c = cred_of(ct, id);

	return c ? c->rights_since_us : 0;
}

bool credtab_at(
    const struct credtab *ct, uint32_t i, struct cred_key *key, uint32_t *id)
{
	if (i >= ct->n)
		return false;
	*key = ct->creds[i].key;
	*id = ct->creds[i].id;
	return true;
}
