/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes along a path through the caches, and tells what they would answer at its
 * end. It is for `forefetch explain`, and may say nothing that the server has
 * not let the user see: where access is not known, the answer is
 * EXPLAIN_HIDDEN, whatever is cached behind it. */
#include "explain/explain.h"

#include <string.h>

#include "cache/known.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"

/* Parts of a file that are counted: one in more of them is told to have less
 * than it has. */
enum { EXTENTS_MAX = 1 << 17 };

/* One question. */
struct question {
	struct asker who;
	bool all; /* whoever asks may know everything */
	struct explain *out;
};

/* Microseconds since a call was sent; UINT64_MAX where none is known. Times in
 * the caches have 48 bits. */
static uint64_t age(const struct question *q, uint64_t sent_us)
{
	uint64_t now_us = TIME48(q->who.now_us);

	if (sent_us == 0)
		return UINT64_MAX;
	return now_us > sent_us ? now_us - sent_us : 0;
}

/* ---- the way there ---------------------------------------------------- */

/* Whether whoever asks may know what is there. */
static bool may(const struct question *q, const struct known *k, uint32_t right)
{
	return q->all ||
	       known_given(k->caches, k->node, k->grant, right, q->who.now_us);
}

/* The node that the walk `w` has reached; NULL: none, and `found` says why. */
static struct node *look_at_name(
    struct question *q, const struct known_walk *w, uint64_t *key)
{
	const struct known *dir = &w->dir;

	q->out->found = EXPLAIN_HIDDEN;
	if (!may(q, dir, ACCESS3_LOOKUP))
		return NULL;
	q->out->found = EXPLAIN_UNKNOWN;
	if (!w->named.known)
		return NULL;
	q->out->name_fresh =
	    known_fresh(dir) && known_holds(dir, &w->named.bound);
	if (w->named.absent) {
		nfs3_fh fh = node_fh(dir->node);

		q->out->found = EXPLAIN_ABSENT;
		*key = observe_absent(&fh, &w->name);
	}
	return w->named.child;
}

/* Follows the path as far as names are known. Leaves in `k` what is known of
 * the object, or of the last directory; NULL where the object is not
 * reached. */
static struct node *walk(
    struct question *q, struct known *k, const char *path, uint64_t *key)
{
	struct node *node = k->node;
	struct known_walk w;

	known_walk_begin(&w, &q->who, node, path);
	while (node && known_walk_next(&w)) {
		q->out->left = strlen(w.name.data);
		*k = w.dir;
		node = look_at_name(q, &w, key);
	}
	if (!node)
		return NULL;
	q->out->left = 0;
	known_node(k, &q->who, node);
	return node;
}

/* ---- what is known of it ---------------------------------------------- */

/* The server's own answers to ACCESS, and how old they are. */
static void tell_rights(const struct question *q, const struct known *k)
{
	const struct grant *g = k->grant;

	q->out->rights_age_us = UINT64_MAX;
	if (!g || !g->known)
		return;
	q->out->rights_known = g->known;
	q->out->rights_given = g->given;
	q->out->rights_age_us = age(q, g->access_us);
	q->out->rights_fresh = known_access(k, g->known);
}

/* The listing that this credential was given, with attributes or without. */
static void tell_listing(const struct question *q, const struct known *k)
{
	struct listcache *lists = k->caches->lists;
	struct listing *l = listcache_find(lists, k->node, k->cred, true);
	struct binding b;

	if (!l)
		l = listcache_find(lists, k->node, k->cred, false);
	if (!l)
		return;
	b = listing_binding(l);
	q->out->listed = true;
	q->out->list_entries = listing_count(l);
	q->out->list_complete = listing_complete(l);
	q->out->list_fresh = q->out->attr_fresh && known_holds(k, &b);
}

/* How large it is said to be does not matter: servers may say anything. A user
 * who may not read a file is not told how much others have read of it. */
static void tell_data(const struct question *q, const struct known *k)
{
	struct data_version version = caches_data_version(k->caches, k->node);
	struct data_key key = caches_data_key(k->node);

	q->out->data_told = may(q, k, ACCESS3_READ);
	if (k->caches->data && q->out->data_told)
		q->out->data_bytes = datacache_have_file(k->caches->data, &key,
		    &version, contract_data_valid(&k->contract), EXTENTS_MAX);
}

/* Attributes, and what goes with the type of the object. */
static void tell_object(struct question *q, const struct known *k)
{
	struct explain *out = q->out;

	out->found = EXPLAIN_OBJECT;
	out->attr_age_us = age(q, k->sent_us);
	tell_rights(q, k);
	if (!(k->node->flags & NODE_ATTRS))
		return;
	out->type = attrcache_type(k->caches->attr, k->node);
	out->size = k->node->size;
	out->attr_fresh = known_fresh(k);
	out->attr_limit_us = known_age_us(k->caches, k->node, q->who.now_us);
	if (k->sent_us != 0)
		out->attr_still_us = attrcache_still_us(
		    k->caches->attr, k->node, k->sent_us, q->who.now_us);
	out->contested = k->node->flags & NODE_CONTESTED;
	if (out->type == NF3DIR)
		tell_listing(q, k);
	else if (out->type == NF3REG)
		tell_data(q, k);
}

/* A name that is absent has a key of its own, under which its prediction is
 * found. */
void explain(struct caches *c, struct prefetch *pf, const struct user *user,
    const char *export, const char *path, uint64_t now_us, struct explain *out)
{
	struct question q = {.all = user->uid == 0, .out = out};
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;
	struct node *node;
	struct known k;
	uint64_t key = 0;
	nfs3_fh fh;

	/* A mount needs no name. */
	*out =
	    (struct explain){.found = EXPLAIN_UNMOUNTED, .name_fresh = !*path};
	q.who = asker_now(c, user_cred(c, user, &cred, body), now_us);
	node = caches_mounted(c, export, &fh) ? attrcache_find(c->attr, &fh)
					      : NULL;
	known_node(&k, &q.who, node);
	if (node)
		node = walk(&q, &k, path, &key);
	if (node) {
		key = node_key(node);
		tell_object(&q, &k);
	}
	out->consistency = config_consistency_name(k.policy->consistency);
	if (key)
		prefetch_tell(pf, key, (uint32_t)user->uid, now_us, &out->told);
}
