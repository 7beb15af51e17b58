/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to cached*.c. */
#ifndef FOREFETCH_CACHED_PRIVATE_H
#define FOREFETCH_CACHED_PRIVATE_H

#include "base/metrics.h"
#include "cache/known.h"
#include "svc/svc.h"

/* What is known of an object to who asks; false where nothing is. */
bool cached_find(
    struct known *k, const struct svc_rqst *rqst, const nfs3_fh *fh);
/* An answer goes out that rests on these attributes. */
void cached_served(
    const struct known *k, struct svc_rqst *rqst, enum metrics_counter counter);
bool cached_missed(struct svc_rqst *rqst, enum metrics_counter counter);

#endif
