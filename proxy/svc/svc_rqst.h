/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to svc*.c: svc.c has requests and what clients call, svc_reply.c
 * what they are answered.
 */
#ifndef FOREFETCH_SVC_RQST_H
#define FOREFETCH_SVC_RQST_H

#include "base/log.h"
#include "svc/svc.h"

enum {
	/* A record up to this size is copied, so that it does not keep a
	 * large buffer; also the room for edited arguments. */
	SVC_SMALL_BYTES = 1024,
};

struct svc {
	struct svc_params p;
	struct svc_rqsts orphans; /* their clients are gone */
	struct svc_rqsts waiting; /* for the server */
	unsigned norphans;
	struct exports *exports;
	struct svc_pieces *pieces;
	bool offline;
	uint64_t served_age_us;
	struct log_limit bad_call;
	struct log_limit bad_reply;
	struct log_limit doubt;
};

/* The request that a waiter lies in. */
static inline struct svc_rqst *svc_waiter_rqst(struct fetch_waiter *w)
{
	return (void *)((char *)w - offsetof(struct svc_rqst, waiter));
}

/* svc.c: it waits for the server, or no longer. */
void svc_rqst_wait(struct svc_rqst *rqst);
void svc_rqst_arrived(struct svc_rqst *rqst);
/* Try its row again; without a client, it is over. */
void svc_rqst_retry(struct svc_rqst *rqst);
/* What the caches are told of a reply, or of its absence. */
struct learn;
void svc_rqst_learn(const struct svc_rqst *rqst, struct learn *l);
/* svc_reply.c: a change whose effect is not known, sent at `sent_us`. */
void svc_rqst_unknown(struct svc_rqst *rqst, uint64_t sent_us);
/* As upstream_call_ops.on_doubt. */
bool svc_rqst_in_doubt(struct svc_rqst *rqst);
/* The request is over, answered or not. */
void svc_rqst_end(struct svc_rqst *rqst);
/* The cache that knows copies of the call. */
struct drc *svc_rqst_cache(const struct svc_rqst *rqst);
/* What comes says nothing about the call's effect: it may be repeated. */
void svc_rqst_forget(struct svc_rqst *rqst);

/* svc_join.c: wait for calls under way, most likely fetched ahead, whose
 * answers this request can be answered from; false where there is none. */
bool svc_join(struct svc_rqst *rqst);
/* … where the first `have` bytes of a READ are there. */
bool svc_join_rest(struct svc_rqst *rqst);
/* … where it waits for a confirmation of `fh` only. */
bool svc_join_confirm(struct svc_rqst *rqst, const nfs3_fh *fh);

/*
 * svc_reply.c: send a reply whose bytes behind the XID are `data`, and keep
 * it for copies of the call. `hold` as in xprt_queue(). Ends the request.
 */
void svc_reply_bytes(struct svc_rqst *rqst, const void *data, size_t len,
    struct rbuf *hold, bool error);
void svc_reply_auth_error(struct svc_rqst *rqst, enum auth_stat why);
void svc_reply_mismatch(struct svc_rqst *rqst);
/* The server's answer, for fetch. */
extern const struct fetch_ops svc_reply_ops;

#endif
