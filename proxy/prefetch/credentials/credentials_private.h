/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A credential from inside: for credentials.c, and its tests. */
#ifndef FOREFETCH_CREDENTIALS_PRIVATE_H
#define FOREFETCH_CREDENTIALS_PRIVATE_H

#include <sys/queue.h>

#include "nfsproto/rpc_msg.h"
#include "prefetch/credentials/credentials.h"

struct credential {
	TAILQ_ENTRY(credential) link; /* the one used last comes first */
	unsigned refs;
	uint32_t id;
	uint32_t uid;
	uint64_t actor;
	void *pockets[CREDENTIAL_POCKETS];
	struct rpc_cred rpc;
	char body[RPC_AUTH_BODY_MAX];
};

#endif
