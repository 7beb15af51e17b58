/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to cached*.c: how an answer begins and ends. */
#ifndef FOREFETCH_CACHED_PRIVATE_H
#define FOREFETCH_CACHED_PRIVATE_H

#include "svc/cached.h"

/* Makes an answer with nothing in it and the status NFS3_OK. The pieces are
 * left as they are, because clearing so many would cost more than a hit does.
 */
static inline void answer_begin(struct cached_answer *a)
{
	a->res = (union nfs_res){.status = NFS3_OK};
	a->sent_us = 0;
	a->have = 0;
	a->npieces = 0;
	a->list = NULL;
}

/* Ends an answer that rests on what is known of this object and tells the
 * client its attributes, which a WRITE may rest on later (svc_write.c). */
static inline enum cached_verdict answer_end(
    struct cached_answer *a, const struct known *k)
{
	known_tell(k);
	a->sent_us = k->sent_us;
	return CACHED_HIT;
}

#endif
