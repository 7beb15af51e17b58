/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The credentials that calls came with, the last ones used: calls ahead are
 * sent under them, and no others. What sources know of a credential's user they
 * keep in a pocket of it, which goes when it goes.
 */
#ifndef FOREFETCH_CREDENTIALS_H
#define FOREFETCH_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

struct caches;
struct credential;
struct credentials;
struct farm_server;
struct rpc_cred;
struct user;

/* NULL without memory. `caches` number them; `farm` may be NULL. */
struct credentials *credentials_new(
    struct caches *caches, struct farm_server *farm);
void credentials_free(struct credentials *cs);
/* As a client sent it; `id` is caches_cred(). The reference is the list's: take
 * one of your own. NULL without memory. */
struct credential *credentials_get(struct credentials *cs,
    const struct rpc_cred *rpc, uint32_t id, uint32_t uid);
/* One that was seen; NULL where it was not. */
struct credential *credentials_find(struct credentials *cs, uint32_t id);
/* That of a user of this machine, with a reference of the caller's; NULL
 * without memory. */
struct credential *credentials_of_user(
    struct credentials *cs, const struct user *who);

struct credential *credential_ref(struct credential *c);
void credential_unref(struct credential *c);
uint32_t credential_id(const struct credential *c); /* caches_cred() */
uint32_t credential_uid(const struct credential *c);
const struct rpc_cred *credential_rpc(const struct credential *c);
/* Who used it last, a user of a client (predictor_obs.actor); its uid before
 * any call told. Whatever goes on without a call, as sessions and mentions do,
 * counts for that one. */
uint64_t credential_actor(const struct credential *c);
void credential_set_actor(struct credential *c, uint64_t actor);

enum credential_pocket {
	CREDENTIAL_TREE,
	CREDENTIAL_HABIT,
	CREDENTIAL_SESSION,
	CREDENTIAL_POCKETS
};
/* `bytes` of zeros at first, the same for each call; NULL without memory. */
void *credential_pocket(
    struct credential *c, enum credential_pocket which, size_t bytes);

#endif
