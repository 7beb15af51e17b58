/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The credentials that calls came with, the last ones used; see the header. */
#include <stdlib.h>
#include <string.h>

#include "cache/caches.h"
#include "farm/farm.h"
#include "prefetch/credentials/credentials_private.h"

enum { CREDS_MAX = 256 };

struct credentials {
	struct caches *caches;
	struct farm_server *farm;
	TAILQ_HEAD(credential_list, credential) list;
	unsigned n;
};

struct credentials *credentials_new(
    struct caches *caches, struct farm_server *farm)
{
	struct credentials *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return NULL;
	cs->caches = caches;
	cs->farm = farm;
	TAILQ_INIT(&cs->list);
	return cs;
}

struct credential *credential_ref(struct credential *c)
{
	c->refs++;
	return c;
}

void credential_unref(struct credential *c)
{
	if (--c->refs > 0)
		return;
	for (int i = 0; i < CREDENTIAL_POCKETS; i++)
		free(c->pockets[i]);
	free(c);
}

void *credential_pocket(
    struct credential *c, enum credential_pocket which, size_t bytes)
{
	if (!c->pockets[which])
		c->pockets[which] = calloc(1, bytes);
	return c->pockets[which];
}

uint32_t credential_id(const struct credential *c)
{
	return c->id;
}

uint32_t credential_uid(const struct credential *c)
{
	return c->uid;
}

const struct rpc_cred *credential_rpc(const struct credential *c)
{
	return &c->rpc;
}

uint64_t credential_actor(const struct credential *c)
{
	return c->actor;
}

void credential_set_actor(struct credential *c, uint64_t actor)
{
	c->actor = actor;
}

struct credential *credentials_of_user(
    struct credentials *cs, const struct user *who)
{
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred rpc;
	uint32_t id = user_cred(cs->caches, who, &rpc, body);
	struct credential *c =
	    id ? credentials_get(cs, &rpc, id, (uint32_t)who->uid) : NULL;

	return c ? credential_ref(c) : NULL;
}

static void unlist(struct credentials *cs, struct credential *c)
{
	TAILQ_REMOVE(&cs->list, c, link);
	cs->n--;
	credential_unref(c);
}

static struct credential *credential_new(struct credentials *cs,
    const struct rpc_cred *rpc, uint32_t id, uint32_t uid)
{
	struct credential *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->id = id;
	c->uid = uid;
	c->actor = uid;
	c->rpc = (struct rpc_cred){.flavor = rpc->flavor,
	    .body = {.len = rpc->body.len, .data = c->body}};
	if (rpc->body.len > 0)
		memcpy(c->body, rpc->body.data, rpc->body.len);
	if (cs->n == CREDS_MAX)
		unlist(cs, TAILQ_LAST(&cs->list, credential_list));
	TAILQ_INSERT_HEAD(&cs->list, c, link);
	cs->n++;
	farm_trees_seen(cs->farm, uid);
	return c;
}

struct credential *credentials_find(struct credentials *cs, uint32_t id)
{
	struct credential *c;

	TAILQ_FOREACH (c, &cs->list, link)
		if (c->id == id)
			return c;
	return NULL;
}

struct credential *credentials_get(struct credentials *cs,
    const struct rpc_cred *rpc, uint32_t id, uint32_t uid)
{
	struct credential *c = credentials_find(cs, id);

	if (!c)
		return rpc->body.len > RPC_AUTH_BODY_MAX
			   ? NULL
			   : credential_new(cs, rpc, id, uid);
	if (c != TAILQ_FIRST(&cs->list)) {
		TAILQ_REMOVE(&cs->list, c, link);
		TAILQ_INSERT_HEAD(&cs->list, c, link);
	}
	return c;
}

void credentials_free(struct credentials *cs)
{
	if (!cs)
		return;
	while (!TAILQ_EMPTY(&cs->list))
		unlist(cs, TAILQ_FIRST(&cs->list));
	free(cs);
}
