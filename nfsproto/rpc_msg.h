/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ONC RPC version 2 messages (RFC 5531): call and reply headers, AUTH_SYS.
 *
 * Decoders take a record that begins on a four-byte boundary, allocate nothing,
 * and leave views into it, which are valid as long as the record. Encoders
 * write `size` bytes at most, and return how many, or 0 where they do not fit.
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

/* A credential, or a verifier: opaque_auth, section 8.2. */
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

/* A call's header, call_body in section 9, and the arguments behind it. */
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

/* Decodes a call's header; `call` is filled as far as the status says. The
 * verifier is checked for its length and left out. */
enum rpc_call_status rpc_call_decode(
    const void *rec, size_t len, struct rpc_call *call);

/* Decodes the body of an AUTH_SYS credential. False where it is malformed, has
 * more than RPC_GIDS_MAX groups, or bytes behind its end. */
bool rpc_auth_sys_decode(
    const struct xdr_view *body, struct rpc_auth_sys *auth);
/* Encodes such a body, which rpc_call.cred then carries; 0 also for too many
 * groups. */
size_t rpc_auth_sys_encode(
    const struct rpc_auth_sys *auth, void *buf, size_t size);

/* Encodes a call's header, with AUTH_NONE as verifier; the caller puts the
 * arguments behind it, and `call->body` is not looked at. */
size_t rpc_call_encode(const struct rpc_call *call, void *buf, size_t size);

/* A reply's header, reply_body in section 9, and the results behind it. */
struct rpc_reply {
	uint32_t xid;
	bool accepted;
	uint32_t status;      /* accept_stat where accepted, else reject_stat */
	uint32_t auth_status; /* where rejected with AUTH_ERROR */
	uint32_t low, high;   /* versions that there are, at PROG_MISMATCH */
	struct xdr_view body; /* results, where accepted with SUCCESS */
};

/* Decodes a reply's header. False where `rec` is no well-formed reply. */
bool rpc_reply_decode(const void *rec, size_t len, struct rpc_reply *reply);

/* Encodes the header of an accepted call, with AUTH_NONE as verifier; the
 * caller puts results behind it. `low` and `high` go into the PROG_MISMATCH
 * only. */
size_t rpc_reply_encode_accepted(uint32_t xid, uint32_t accept_stat,
    uint32_t low, uint32_t high, void *buf, size_t size);
/* Encode the whole reply to a rejected call: for its RPC version (2 is all
 * there is), or for its authentication. */
size_t rpc_reply_encode_mismatch(uint32_t xid, void *buf, size_t size);
size_t rpc_reply_encode_auth_error(
    uint32_t xid, uint32_t auth_status, void *buf, size_t size);

#endif
