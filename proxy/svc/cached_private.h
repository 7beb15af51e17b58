/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to cached*.c: how an answer begins and ends. */
#ifndef FOREFETCH_CACHED_PRIVATE_H
#define FOREFETCH_CACHED_PRIVATE_H

#include "svc/cached.h"

/* Nothing in it yet, and NFS3_OK. The pieces are not touched: they are many. */
static inline void answer_begin(struct cached_answer *a)
{
	a->res = (union nfs_res){.status = NFS3_OK};
	a->sent_us = 0;
	a->have = 0;
	a->npieces = 0;
	a->list = NULL;
}

/* It rests on what is known of this object, and tells its attributes. */
static inline enum cached_verdict answer_end(
    struct cached_answer *a, const struct known *k)
{
	known_tell(k);
	a->sent_us = k->sent_us;
	return CACHED_HIT;
}

#endif
