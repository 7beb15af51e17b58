/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server's reply, as a test spells it, and caches that learn it. */
#ifndef FOREFETCH_TEST_LEARN_SAID_H
#define FOREFETCH_TEST_LEARN_SAID_H

#include <string.h>

#include "cache/learn.h"

static inline nfs3_fh fh_of(const char *text)
{
	return (nfs3_fh){.len = (uint32_t)strlen(text), .data = text};
}

/* Its procedure and its body are those of `proc`; the rest is the caller's. */
static inline void learn_said(struct learn l, uint32_t proc)
{
	char body[32768];
	struct xdr_view view = {.data = body};

	l.proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	l.body = &view;
	view.len = (uint32_t)nfs_res_encode(l.proc, l.res, body, sizeof(body));
	learn_reply(&l);
}

#endif
