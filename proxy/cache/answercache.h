/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that are kept as they came, one of a kind and node: symbolic links,
 * access control lists, FSINFO, FSSTAT, PATHCONF. The attributes in them soon
 * grow old; whoever answers puts those of the node in their place
 * (cached_whole()).
 */
#ifndef FOREFETCH_ANSWERCACHE_H
#define FOREFETCH_ANSWERCACHE_H

#include "cache/attrcache.h"
#include "cache/contract.h"
#include "nfsproto/nfs_proc.h"

struct answercache;

enum { ANSWER_BYTES_MAX = 16384 };

struct answer {
	struct answer *next;
	const struct nfs_proc *proc;
	/* The mask of GETACL, which is a part of the question; else 0. */
	uint32_t key;
	uint32_t len;
	struct binding bound;
	_Alignas(8) char body[]; /* the results as they came, in XDR */
};

/* Returns the `key` under which the answer to a call is kept: of a GETACL its
 * mask, else 0. */
uint32_t answer_key(const struct nfs_proc *proc, const union nfs_args *args);
/* Whether an answer is about the object's version (READLINK, GETACL), and not
 * about its file system. */
bool answer_of_version(const struct nfs_proc *proc);
/* Whether a change of our own has made the answer wrong: an FSSTAT, which says
 * how much room the file system has. */
bool answer_is_past(const struct attrcache *ac, const struct node *node,
    const struct answer *a);
/* Makes the answers of one server's nodes, which outlive it. NULL without
 * memory. */
struct answercache *answercache_new(struct attrcache *ac);
/* Frees it. answercache_drop() must have been called for all nodes before. NULL
 * is allowed. */
void answercache_free(struct answercache *wc);

/* Finds an answer, bound to whatever generation; NULL where there is none. It
 * is good until something about the node is learned. */
const struct answer *answercache_find(struct answercache *wc,
    const struct node *node, const struct nfs_proc *proc, uint32_t key);
/* Keeps an answer, a copy, in place of an older one. One that is too long, or
 * for which there is no memory, is not kept. */
void answercache_put(struct answercache *wc, struct node *node,
    const struct nfs_proc *proc, uint32_t key, const struct xdr_view *body,
    const struct binding *bound);
/* Forgets all answers of a node. */
void answercache_drop(struct answercache *wc, struct node *node);
/* How many answers there are, and the bytes that they take. */
size_t answercache_count(const struct answercache *wc);
size_t answercache_bytes(const struct answercache *wc);

#endif
