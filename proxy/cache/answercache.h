/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that are kept as they came, one of a kind and node: symbolic
 * links, access control lists, FSINFO, FSSTAT, PATHCONF. Their attributes
 * are not of use; those of the node are put in their place.
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
	uint32_t key; /* what else was asked: the mask of GETACL */
	uint32_t len;
	struct binding bound;
	_Alignas(8) char body[]; /* results, encoded */
};

/* Whether an answer is about the object's version, not its file system. */
bool answer_of_version(const struct nfs_proc *proc);
/* Whether a change of our own has made it another one: how much room its file
 * system has. */
bool answer_is_past(const struct attrcache *ac, const struct node *node,
    const struct answer *a);
struct answercache *answercache_new(struct attrcache *ac);
void answercache_free(struct answercache *wc);

/* In whatever generation; NULL where there is none. */
const struct answer *answercache_find(struct answercache *wc,
    const struct node *node, const struct nfs_proc *proc, uint32_t key);
/* In place of an older one. */
void answercache_put(struct answercache *wc, struct node *node,
    const struct nfs_proc *proc, uint32_t key, const struct xdr_view *body,
    const struct binding *bound);
/* All of a node's. */
void answercache_drop(struct answercache *wc, struct node *node);
size_t answercache_count(const struct answercache *wc);
size_t answercache_bytes(const struct answercache *wc);

#endif
