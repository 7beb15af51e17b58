/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers "what do the caches know of this object, and may it be used?".
 *
 * Everybody who answers from the caches, or asks for what they lack, puts
 * these questions: which node is it, which policy holds there, how old may a
 * confirmation be (contract.h), what was this credential granted, and when
 * were the attributes confirmed. `struct known` holds the answers for one
 * object and one asker. It lies on the stack and owns nothing: it is good
 * until something is learned (learn.h), since that may free what it points to.
 */
#ifndef FOREFETCH_KNOWN_H
#define FOREFETCH_KNOWN_H

#include "cache/caches.h"

/* The one who asks, and when. */
struct asker {
	struct caches *caches;
	uint32_t cred; /* caches_cred(); 0: nothing is kept for this one */
	struct machine machine;
	/* The node has no bit to remember what this machine was told
	 * (svc_machines.c), so the cache answers it about files only by a
	 * confirmation that is as new as its request. */
	bool apart;
	bool offline;         /* without a link, any confirmation will do */
	uint64_t received_us; /* when the request came in */
	uint64_t now_us;
	/* When the machine was last told that a handle is stale; 0: never. It
	 * goes through the path again from its beginning, and would end up at
	 * the same handle if directories were as they had been before. */
	uint64_t stale_us;
	uint64_t trip_us; /* round trip to the server; 0: not known */
};

/* The daemon itself asks, of its own accord and not for a client's request. */
static inline struct asker asker_now(
    struct caches *c, uint32_t cred, uint64_t now_us)
{
	return (struct asker){
	    .caches = c, .cred = cred, .received_us = now_us, .now_us = now_us};
}

/* One object as the caches know it, for one asker. See the top of this file for
 * how long it is good. */
struct known {
	struct caches *caches;
	struct node *node; /* NULL: nothing is known */
	const struct config_policy *policy;
	struct contract contract;
	/* The asker's rights; NULL: none are known. */
	const struct grant *grant;
	uint32_t cred;
	struct machine machine; /* the asker's */
	uint64_t sent_us;       /* attrcache_sent(); 0: no attributes */
};

/* Fills `k` with what the caches know of a node; of NULL, with the server's
 * policy only. */
void known_node(struct known *k, const struct asker *who, struct node *node);
/* The same by its handle; false where there is no such node. */
bool known_find(struct known *k, const struct asker *who, const nfs3_fh *fh);

/* How old a confirmation of the node may grow in bounded mode, in microseconds;
 * 0 where no answer rests on one. */
uint64_t known_age_us(struct caches *c, struct node *node, uint64_t now_us);

/* Whether the attributes, and with `rights` all rights of the asker, will be of
 * use to a client that comes a little later: contract_lasts(). A confirmation
 * lasts for two round trips at least. */
bool known_lasts(const struct known *k, uint64_t trip_us, bool rights);
/* The same of the rights alone. */
bool known_rights_last(const struct known *k);
/* Whether an answer may rest on the attributes. */
bool known_fresh(const struct known *k);
/* Whether a right may be used that a call sent at `sent_us` was given; `firm`:
 * any later change that takes it away would show at the object. */
bool known_right(const struct known *k, uint64_t sent_us, bool firm);
/* Whether ACCESS granted the asker all these bits (ACCESS3_READ …). */
bool known_granted(const struct known *k, uint32_t bits);
/* Whether the server's answer about these bits may be told to the asker,
 * whether it granted them or not. */
bool known_access(const struct known *k, uint32_t bits);
/* Whether a READ or LOOKUP of the asker's own was answered, which shows the
 * right to do it again. */
bool known_own(const struct known *k);
/* Whether any call of the asker's about this handle was answered. */
bool known_answered(const struct known *k);
/* Whether the asker may look up names in the directory. */
bool known_search(const struct known *k);
/* Whether the server has given `g` this right (ACCESS3_READ of a file, _LOOKUP
 * in a directory) within `grant_timeout`: so whoever has it may be told of what
 * is there, though no answer may rest on it. An older right says little, since
 * it may have changed. */
bool known_given(const struct caches *c, const struct node *node,
    const struct grant *g, uint32_t right, uint64_t now_us);
/* Whether what is bound to the node (a name, a listing, an answer) belongs to
 * the node's version that is known, whether that is fresh or not. */
bool known_holds(const struct known *k, const struct binding *b);
/* Whether an answer may rest on what is bound: it holds, and either the node's
 * attributes are fresh, or the bound thing itself was asked for recently enough
 * to be. */
bool known_bound(const struct known *k, const struct binding *b);
/* The same of a binding that says that a name is absent, which has a timeout of
 * its own. */
bool known_absent(const struct known *k, const struct binding *b);
/* The same where nothing but a listing says so, since nobody ever asked for
 * that name. Somebody else may just have made it, and told the asker: so where
 * names come and go, that is, in a directory that others were seen to change
 * more than once, and that changed in the last ten minutes, the confirmation
 * must be no older than `recent_us`. */
bool known_absent_unasked(
    const struct known *k, const struct binding *b, uint64_t recent_us);
/* Returns the attributes if they are fresh, so that they may be told; else
 * none. */
post_op_attr known_attr(const struct known *k);
/* Notes that a client is told what is known, because a WRITE that rests on that
 * has to be confirmed first. State that was loaded after a kill may lack
 * changes that the client itself made, so it is not judged by that. */
static inline void known_tell(const struct known *k)
{
	attrcache_tell(k->caches->attr, k->node, k->machine, NULL, k->sent_us,
	    k->contract.received_us);
}

/* Describes a part of the file's data as datacache_find() and its like want it.
 * Into `*version` goes the version that they compare; it must live as long. */
struct datacache_read known_data(const struct known *k,
    struct data_version *version, uint64_t offset, uint32_t len);

/* Where a name leads, in whatever version of its directory. `bound` says by
 * what that counts. */
struct named {
	bool known;
	bool absent;
	/* NULL: the name is absent, or its node of no use any more. */
	struct node *child;
	struct binding bound;
};

/* Looks a name up; `known` is false where nothing is known of it. */
struct named known_name(
    const struct caches *c, const struct node *dir, const nfs3_name *name);

/* Whether anything says that the directory has no such name: what is known of
 * it (`to`, known_name()), or a complete listing of the asker's. Whether that
 * may be used, known_absent() or known_holds() says of `*b`. */
bool known_absence(const struct known *dir, const nfs3_name *name,
    const struct named *to, struct binding *b);

/* Whether the attributes of an entry, of whatever type, were confirmed by a
 * call that was sent at `since_us` or later; "." and ".." need not be. */
bool known_entry_since(const struct caches *c, const struct node *dir,
    const struct list_entry *e, uint64_t since_us);
/* Counts, of the first `look` entries, those that were not confirmed since
 * then. */
unsigned known_stale_entries(const struct caches *c, const struct node *dir,
    const struct listing *l, uint64_t since_us, unsigned look);

/*
 * A way along a path, name by name:
 *
 *	known_walk_begin(&w, &who, root, "src/lib.c");
 *	while (known_walk_next(&w))
 *		look at w.dir, w.name and w.named; stop, or go on
 *
 * Whether the asker may search `dir`, and whether the name holds, is for the
 * caller to say. At the end `node` is what the whole path leads to.
 */
struct known_walk {
	struct asker who;
	struct node *node; /* where the walk has come to; NULL: nowhere */
	struct known dir;  /* the directory that `name` was looked up in */
	nfs3_name name;    /* the name, as it lies in the path */
	struct named named;
	const char *left; /* the rest of the path, behind `name` */
};

/* Begins a walk at `root`; `path` must live as long as the walk. */
void known_walk_begin(struct known_walk *w, const struct asker *who,
    struct node *root, const char *path);
/* Goes on by one name. False at the end of the path, and where the last name
 * led nowhere. */
bool known_walk_next(struct known_walk *w);

#endif
