/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/explain.h"

#include <string.h>

#include "cache/caches.h"
#include "cache/user.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/observe.h"

/* Of a file: one in more parts is told to have less than it has. */
enum { EXTENTS_MAX = 1 << 17 };

/* One question. */
struct question {
	struct caches *c;
	const struct config_policy *policy;
	struct contract contract;
	uint32_t cred;
	bool all; /* whoever asks may know everything */
	uint64_t now_us;
	struct explain *out;
};

static uint64_t age(const struct question *q, uint64_t sent_us)
{
	uint64_t now_us = TIME48(q->now_us);

	if (sent_us == 0)
		return UINT64_MAX;
	return now_us > sent_us ? now_us - sent_us : 0;
}

/* ---- the way there ---------------------------------------------------- */

/* A right that the server gave long ago says little: it may have changed. */
static bool lately(const struct question *q, uint64_t sent_us)
{
	return sent_us != 0 && age(q, sent_us) <= q->policy->grant_timeout_us;
}

static bool may_search(const struct question *q, struct node *dir)
{
	const struct grant *g;

	if (q->all)
		return true;
	g = accesscache_find(q->c->access, dir, q->cred);
	return g && (((g->known & g->given & ACCESS3_LOOKUP) &&
			 lately(q, g->access_us)) ||
			lately(q, g->own_us));
}

static void use_policy(struct question *q, const struct node *node)
{
	q->policy = caches_policy(q->c, node);
	contract_init(&q->contract, q->policy, false, q->now_us, q->now_us);
}

/* The node of a name, or NULL: then `found` says why. */
static struct node *look_up(
    struct question *q, struct node *dir, const nfs3_name *name, uint64_t *key)
{
	struct node *child;
	struct dentry *d;
	struct binding b;
	nfs3_fh fh = node_fh(dir);

	use_policy(q, dir);
	q->out->found = EXPLAIN_HIDDEN;
	if (!may_search(q, dir))
		return NULL;
	q->out->found = EXPLAIN_UNKNOWN;
	d = namecache_find(q->c->names, dir, name);
	if (!d)
		return NULL;
	b = dentry_binding(d);
	q->out->name_fresh =
	    contract_fresh(&q->contract, attrcache_sent(q->c->attr, dir)) &&
	    contract_bound(&q->contract, q->c->attr, dir, &b);
	child = dentry_child(q->c->names, d);
	if (!child && d->child == 0) {
		q->out->found = EXPLAIN_ABSENT;
		*key = observe_absent(&fh, name);
	}
	return child;
}

static struct node *walk(
    struct question *q, struct node *node, const char *path, uint64_t *key)
{
	while (*path) {
		nfs3_name name = {
		    .data = path, .len = (uint32_t)strcspn(path, "/")};

		q->out->left = strlen(path);
		node = look_up(q, node, &name, key);
		if (!node)
			return NULL;
		path += name.len;
		path += *path == '/';
	}
	q->out->left = 0;
	return node;
}

/* ---- what is known of it ---------------------------------------------- */

static void tell_rights(const struct question *q, struct node *node)
{
	const struct grant *g = accesscache_find(q->c->access, node, q->cred);

	q->out->rights_age_us = UINT64_MAX;
	if (!g || !g->known)
		return;
	q->out->rights_known = g->known;
	q->out->rights_given = g->given;
	q->out->rights_age_us = age(q, g->access_us);
	q->out->rights_fresh = contract_granted(&q->contract, g->access_us);
}

static void tell_listing(const struct question *q, struct node *node)
{
	struct listing *l = listcache_find(q->c->lists, node, q->cred, true);
	struct binding b;

	if (!l)
		l = listcache_find(q->c->lists, node, q->cred, false);
	if (!l)
		return;
	b = listing_binding(l);
	q->out->listed = true;
	q->out->list_entries = listing_count(l);
	q->out->list_complete = listing_complete(l);
	q->out->list_fresh = q->out->attr_fresh &&
			     contract_bound(&q->contract, q->c->attr, node, &b);
}

/* How large it is said to be does not matter: servers may say anything. */
static void tell_data(const struct question *q, struct node *node)
{
	struct data_version version = caches_data_version(q->c, node);
	struct data_key key = caches_data_key(node);

	if (q->c->data)
		q->out->data_bytes = datacache_have_file(q->c->data, &key,
		    &version, contract_data_valid(&q->contract), EXTENTS_MAX);
}

static void tell_object(struct question *q, struct node *node)
{
	struct explain *out = q->out;
	uint64_t sent_us = attrcache_sent(q->c->attr, node);

	use_policy(q, node);
	out->found = EXPLAIN_OBJECT;
	out->attr_age_us = age(q, sent_us);
	tell_rights(q, node);
	if (!(node->flags & NODE_ATTRS))
		return;
	out->type = attrcache_type(q->c->attr, node);
	out->size = node->size;
	out->attr_fresh = contract_fresh(&q->contract, sent_us);
	if (out->type == NF3DIR)
		tell_listing(q, node);
	else if (out->type == NF3REG)
		tell_data(q, node);
}

void explain(struct caches *c, struct prefetch *pf, const struct user *user,
    const char *export, const char *path, uint64_t now_us, struct explain *out)
{
	struct question q = {
	    .c = c, .all = user->uid == 0, .now_us = now_us, .out = out};
	char body[RPC_AUTH_BODY_MAX];
	struct rpc_cred cred;
	struct node *node;
	uint64_t key = 0;
	nfs3_fh fh;

	/* A mount needs no name. */
	*out =
	    (struct explain){.found = EXPLAIN_UNMOUNTED, .name_fresh = !*path};
	q.cred = user_cred(c, user, &cred, body);
	node = caches_mounted(c, export, &fh) ? attrcache_find(c->attr, &fh)
					      : NULL;
	use_policy(&q, node);
	if (node)
		node = walk(&q, node, path, &key);
	if (node) {
		fh = node_fh(node);
		key = fh_key(&fh);
		tell_object(&q, node);
	}
	out->consistency = config_consistency_name(q.policy->consistency);
	if (key)
		prefetch_tell(pf, key, (uint32_t)user->uid, now_us, &out->told);
}
