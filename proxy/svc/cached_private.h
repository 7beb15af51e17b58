/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to cached*.c. */
#ifndef FOREFETCH_CACHED_PRIVATE_H
#define FOREFETCH_CACHED_PRIVATE_H

#include "base/metrics.h"
#include "cache/caches.h"
#include "svc/svc.h"

/* What is known of the object of a request. */
struct cached {
	struct caches *caches;
	struct contract contract;
	struct node *node;
	const struct grant *grant; /* of the caller; may be NULL */
	uint64_t sent_us;          /* attrcache_sent(): 0: no attributes */
};

/* False where nothing is known. */
bool cached_open(
    struct cached *k, const struct svc_rqst *rqst, const nfs3_fh *fh);
/* The same for another node, with the contract of its file system. */
void cached_open_node(
    struct cached *k, const struct svc_rqst *rqst, struct node *node);
bool cached_fresh(const struct cached *k);
/* Whether ACCESS granted all these bits. */
bool cached_granted(const struct cached *k, uint32_t bits);
/* … or a call of the caller's own was answered. */
bool cached_own(const struct cached *k);
/* … or any call about this handle was. */
bool cached_any(const struct cached *k);
/* Whether what hangs on the node holds; attributes need not be fresh where
 * it was itself asked for within the bound. */
bool cached_bound(const struct cached *k, const struct binding *b);
/* The attributes, if they may be told; else none. */
post_op_attr cached_attr(const struct cached *k);
/* An answer goes out that rests on these attributes. */
void cached_served(const struct cached *k, struct svc_rqst *rqst,
    enum metrics_counter counter);
bool cached_missed(struct svc_rqst *rqst, enum metrics_counter counter);

#endif
