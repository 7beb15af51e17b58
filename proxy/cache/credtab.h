/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Credentials by number, so that what is kept for one takes four bytes.
 * Equal are those that a server cannot tell apart by what they may do: the
 * order of groups, the stamp and the machine's name do not count.
 */
#ifndef FOREFETCH_CREDTAB_H
#define FOREFETCH_CREDTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsproto/rpc_msg.h"

struct credtab;

enum { CREDTAB_GIDS_MAX = 16, CREDTAB_MAX = 4096 };

/* In canonical form: flavor; uid; gid; gids sorted, each once, without gid. */
struct cred_key {
	uint32_t flavor;
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[CREDTAB_GIDS_MAX];
};

/* Makes an empty table; NULL without memory. */
struct credtab *credtab_new(void);
void credtab_free(struct credtab *ct);

/* Makes the key of a credential. `auth` is looked at for AUTH_SYS only; it has
 * CREDTAB_GIDS_MAX groups at most. */
void cred_key_make(
    struct cred_key *key, uint32_t flavor, const struct rpc_auth_sys *auth);

/*
 * Returns the number of a credential, from 1 on: the same one for as long as
 * the credential is among the CREDTAB_MAX used last, and never given to another
 * one. 0 without memory.
 */
uint32_t credtab_get(struct credtab *ct, const struct cred_key *key);
/*
 * Ends what the credential of number `id` was granted in answer to calls that
 * were sent before `since_us`. Returns false
 * where `id` is none, or it was done just before: then it rests for a minute at
 * first, and for twice as long each time, up to an hour.
 */
bool credtab_end_rights(struct credtab *ct, uint32_t id, uint64_t since_us);
/* The same for all AUTH_SYS credentials of a user, at any time; false where
 * there are none. */
bool credtab_end_rights_uid(
    struct credtab *ct, uint32_t uid, uint64_t since_us);
/* Returns since when calls must have been sent whose answers grant the
 * credential anything; 0: at any time. */
uint64_t credtab_rights_since(const struct credtab *ct, uint32_t id);
/* Gives all credentials that are known, from `i` = 0 on; false behind the last
 * one. */
bool credtab_at(
    const struct credtab *ct, uint32_t i, struct cred_key *key, uint32_t *id);

#endif
