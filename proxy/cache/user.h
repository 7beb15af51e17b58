/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user of this machine, as a server sees it. */
#ifndef FOREFETCH_USER_H
#define FOREFETCH_USER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nfsproto/rpc_msg.h"

struct caches;

struct user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t ngroups;
};

/*
 * Its AUTH_SYS credential, whose bytes are in `body`. Of more than 16 groups
 * the first count, as with the kernel's client. Returns its number
 * (caches_cred()); 0 without memory.
 */
uint32_t user_cred(struct caches *c, const struct user *user,
    struct rpc_cred *cred, char body[RPC_AUTH_BODY_MAX]);

#endif
