/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that were answered, as the predictor wants to hear of them: objects
 * by the keys of their handles (fh_key()), names by their hashes, and what
 * the caches know of them. To be asked when the reply has been learned from.
 */
#ifndef FOREFETCH_OBSERVE_H
#define FOREFETCH_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsproto/nfs_proc.h"
#include "predictor/predictor.h"

struct caches;
struct known;
struct node;
struct rpc_cred;

struct observe_call {
	const struct nfs_proc *proc;
	const union nfs_args *args;
	nfsstat3 status;
	const struct rpc_cred *cred;
	uint32_t cred_id; /* caches_cred() */
	uint32_t uid;
	uint64_t actor; /* the client's address, hashed */
	uint64_t received_us;
	uint64_t latency_us;
	bool late;      /* it waited for what was fetched ahead */
	bool missed;    /* the server was asked for it */
	bool asked;     /* the server was asked for it, or to confirm it */
	uint64_t bytes; /* of the reply */
};

/* The node of the handle that the arguments begin with; NULL: not known. */
struct node *observe_node(struct caches *c, const struct observe_call *call);
/* Calls, summed up. */
struct observe_sums {
	uint64_t calls, changes;
	uint64_t asked; /* of the server, no changes */
	uint64_t bytes; /* of replies */
};
void observe_sum(struct observe_sums *s, const struct observe_call *call);
/* Counts them for the node's file system. NULL: it is not known. */
void observe_count(
    struct caches *c, const struct node *node, const struct observe_sums *s);
/* False where the call says nothing about what will come. `node` is
 * observe_node(). `*about` becomes the node of obs.object; NULL: it has none.
 */
bool observe_call(struct caches *c, struct node *node,
    const struct observe_call *call, struct predictor_obs *obs,
    struct node **about);

/* The file system that a client mounts, as the predictor numbers it: a client
 * asks FSINFO of the root when it mounts, and not again. 0: it mounts none. */
uint64_t observe_mount(
    struct caches *c, const struct node *node, const struct observe_call *call);

/* Of a name in a directory, hashed. */
uint64_t observe_name(const nfs3_name *name);

/* The object that stands for a name that is not there. */
uint64_t observe_absent(const nfs3_fh *dir, const nfs3_name *name);

/* Whether all names of a directory were listed to the credential. */
bool observe_listed(struct caches *c, struct node *dir, uint32_t cred);
/* Whether a directory's listing for the asker is cached, but must not be relied
 * on any more. */
bool observe_listing_is_loose(const struct known *dir);
/*
 * The entries of a complete listing whose objects are known, in its order;
 * 0 and NULL where there are none, or too many. To be freed.
 */
size_t observe_listing(struct caches *c, struct node *dir, uint32_t cred,
    struct predictor_dirent **out);

/* How many names a complete listing has; 0: there is none. */
size_t observe_names_count(struct caches *c, struct node *dir, uint32_t cred);
/* Each of them whose object is known. */
void observe_names(struct caches *c, struct node *dir, uint32_t cred,
    void (*each)(void *ctx, const nfs3_name *name, const struct node *child),
    void *ctx);

#endif
