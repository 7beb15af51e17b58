/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ONC RPC version 2 messages (RFC 5531): call and reply headers, AUTH_SYS.
 * Decoded views point into the record.
 */
#ifndef FOREFETCH_RPC_MSG_H
#define FOREFETCH_RPC_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/xdr_view.h"

enum {
	RPC_AUTH_BODY_MAX = 400, /* RFC 5531 section 8.2 */
	RPC_GIDS_MAX = 16,       /* appendix A */
	RPC_MACHINE_MAX = 255,
	/* The longest headers that are encoded here. */
	RPC_CALL_HEADER_MAX = 4 * 10 + RPC_AUTH_BODY_MAX,
	RPC_REPLY_HEADER_MAX = 32,
};

struct rpc_cred {
	uint32_t flavor;      /* AUTH_NONE, AUTH_SYS, … */
	struct xdr_view body; /* at most RPC_AUTH_BODY_MAX bytes */
};

/* The body of an AUTH_SYS credential, appendix A. */
struct rpc_auth_sys {
	uint32_t stamp;
	struct xdr_view machine;
	uint32_t uid;
	uint32_t gid;
	uint32_t ngids;
	uint32_t gids[RPC_GIDS_MAX];
};

struct rpc_call {
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	uint32_t proc;
	struct rpc_cred cred;
	struct xdr_view body; /* the arguments */
};

enum rpc_call_status {
	RPC_CALL_OK,
	RPC_CALL_NOT_A_CALL, /* no header, or a reply: close the connection */
	RPC_CALL_MISMATCH,   /* not RPC version 2; xid is valid */
	RPC_CALL_BAD_CRED,   /* credential or verifier too long; xid is valid */
};

enum rpc_call_status rpc_call_decode(
    const void *rec, size_t len, struct rpc_call *call);

bool rpc_auth_sys_decode(
    const struct xdr_view *body, struct rpc_auth_sys *auth);
/* Bytes written, or 0 where they do not fit. */
size_t rpc_auth_sys_encode(
    const struct rpc_auth_sys *auth, void *buf, size_t size);

/* Encode a call's header; `call->body` is left to the caller. */
size_t rpc_call_encode(const struct rpc_call *call, void *buf, size_t size);

struct rpc_reply {
	uint32_t xid;
	bool accepted;
	uint32_t status;      /* accept_stat where accepted, else reject_stat */
	uint32_t auth_status; /* where rejected with AUTH_ERROR */
	uint32_t low, high;   /* versions that there are, at PROG_MISMATCH */
	struct xdr_view body; /* results, where accepted with SUCCESS */
};

/* False where `rec` is no well-formed reply. */
bool rpc_reply_decode(const void *rec, size_t len, struct rpc_reply *reply);

/* Accepted, with AUTH_NONE as verifier. `low` and `high` go into the
 * PROG_MISMATCH only. */
size_t rpc_reply_encode_accepted(uint32_t xid, uint32_t accept_stat,
    uint32_t low, uint32_t high, void *buf, size_t size);
/* Rejected: RPC version (2 is all there is) or authentication. */
size_t rpc_reply_encode_mismatch(uint32_t xid, void *buf, size_t size);
size_t rpc_reply_encode_auth_error(
    uint32_t xid, uint32_t auth_status, void *buf, size_t size);

#endif
