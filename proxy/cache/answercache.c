/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers hang on their node in a list, the latest one first. A node has a
 * handful at most, one for each procedure and each mask of GETACL that makes
 * sense, so the list needs no index. learn.c puts them in; svc/cached.c looks
 * whether their binding holds.
 */
#include "cache/answercache.h"

#include <stdlib.h>
#include <string.h>

/* The most answers of a node: four procedures, and GETACL with the sixteen
 * masks of four bits. There is a bound because a client may send masks of 32
 * bits. */
enum { ANSWERS_MAX = 20 };

struct answercache {
	struct attrcache *ac;
	size_t count;
	size_t bytes;
};

uint32_t answer_key(const struct nfs_proc *proc, const union nfs_args *args)
{
	return proc->prog == NFSACL_PROGRAM ? args->getacl.mask : 0;
}

bool answer_of_version(const struct nfs_proc *proc)
{
	return proc->prog == NFSACL_PROGRAM || proc->proc == NFSPROC3_READLINK;
}

bool answer_is_past(
    const struct attrcache *ac, const struct node *node, const struct answer *a)
{
	const struct fsys *fs = attrcache_fsys(ac, node);

	return a->proc->prog == NFS_PROGRAM &&
	       a->proc->proc == NFSPROC3_FSSTAT && fs &&
	       a->bound.sent_us <= fs->room_us;
}

struct answercache *answercache_new(struct attrcache *ac)
{
	struct answercache *wc = calloc(1, sizeof(*wc));

	if (wc)
		wc->ac = ac;
	return wc;
}

void answercache_free(struct answercache *wc)
{
	free(wc);
}

const struct answer *answercache_find(struct answercache *wc,
    const struct node *node, const struct nfs_proc *proc, uint32_t key)
{
	const struct node_ext *x = attrcache_ext(wc->ac, node);
	const struct answer *a = x ? x->answers : NULL;

	while (a && (a->proc != proc || a->key != key))
		a = a->next;
	return a;
}

static void answer_free(struct answercache *wc, struct answer *a)
{
	wc->count--;
	wc->bytes -= sizeof(*a) + a->len;
	free(a);
}

void answercache_put(struct answercache *wc, struct node *node,
    const struct nfs_proc *proc, uint32_t key, const struct xdr_view *body,
    const struct binding *bound)
{
	struct node_ext *x = attrcache_make_ext(wc->ac, node);
	struct answer **link, *a;
	unsigned n = 0;

	if (!x || body->len > ANSWER_BYTES_MAX)
		return;
	for (link = &x->answers; (a = *link) != NULL; link = &a->next) {
		/* Where there are too many answers, the oldest one makes room.
		 */
		if ((a->proc != proc || a->key != key) && ++n < ANSWERS_MAX)
			continue;
		*link = a->next;
		answer_free(wc, a);
		break;
	}
	a = malloc(sizeof(*a) + body->len);
	if (!a)
		return;
	*a = (struct answer){.next = x->answers,
	    .proc = proc,
	    .key = key,
	    .len = body->len,
	    .bound = *bound};
	memcpy(a->body, body->data, body->len);
	x->answers = a;
	wc->count++;
	wc->bytes += sizeof(*a) + a->len;
}

void answercache_drop(struct answercache *wc, struct node *node)
{
	struct node_ext *x = attrcache_ext(wc->ac, node);

	while (x && x->answers) {
		struct answer *a = x->answers;

		x->answers = a->next;
		answer_free(wc, a);
	}
}

size_t answercache_count(const struct answercache *wc)
{
	return wc->count;
}

size_t answercache_bytes(const struct answercache *wc)
{
	return wc->bytes;
}
