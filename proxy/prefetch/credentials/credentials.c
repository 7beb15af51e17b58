/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The credentials that calls came with, the last ones used, for calls ahead. */
#include <stdlib.h>
#include <string.h>

#include "cache/caches.h"
#include "prefetch/prefetch_private.h"

enum { CREDS_MAX = 256 };

struct pf_cred *pf_cred_ref(struct pf_cred *c)
{
	c->refs++;
	return c;
}

void pf_cred_unref(struct pf_cred *c)
{
	if (--c->refs == 0)
		free(c);
}

struct pf_cred *pf_cred_of_user(struct prefetch *pf, const struct user *who)
{
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;
	uint32_t id = user_cred(pf->p.caches, who, &cred, body);
	struct pf_cred *c =
	    id ? pf_cred_get(pf, &cred, id, (uint32_t)who->uid) : NULL;

	return c ? pf_cred_ref(c) : NULL;
}

uint32_t pf_cred_id(const struct pf_cred *c)
{
	return c->id;
}

static void unlist(struct prefetch *pf, struct pf_cred *c)
{
	TAILQ_REMOVE(&pf->creds, c, link);
	pf->ncreds--;
	pf_cred_unref(c);
}

static struct pf_cred *cred_new(
    struct prefetch *pf, const struct rpc_cred *cred, uint32_t id, uint32_t uid)
{
	struct pf_cred *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->id = id;
	c->uid = uid;
	c->flow = (uint8_t)lane_flow(uid);
	c->cred = (struct rpc_cred){.flavor = cred->flavor,
	    .body = {.len = cred->body.len, .data = c->body}};
	if (cred->body.len > 0)
		memcpy(c->body, cred->body.data, cred->body.len);
	if (pf->ncreds == CREDS_MAX)
		unlist(pf, TAILQ_LAST(&pf->creds, pf_creds));
	TAILQ_INSERT_HEAD(&pf->creds, c, link);
	pf->ncreds++;
	farm_trees_seen(pf->p.farm, uid);
	return c;
}

struct pf_cred *pf_cred_get(
    struct prefetch *pf, const struct rpc_cred *cred, uint32_t id, uint32_t uid)
{
	struct pf_cred *c;

	TAILQ_FOREACH (c, &pf->creds, link)
		if (c->id == id)
			break;
	if (!c)
		return cred->body.len > RPC_AUTH_BODY_MAX
			   ? NULL
			   : cred_new(pf, cred, id, uid);
	if (c != TAILQ_FIRST(&pf->creds)) {
		TAILQ_REMOVE(&pf->creds, c, link);
		TAILQ_INSERT_HEAD(&pf->creds, c, link);
	}
	return c;
}

void pf_creds_free(struct prefetch *pf)
{
	while (!TAILQ_EMPTY(&pf->creds))
		unlist(pf, TAILQ_FIRST(&pf->creds));
}
