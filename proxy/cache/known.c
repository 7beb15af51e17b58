/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The questions of known.h, put to all caches and to the contract.
 * svc/cached*.c answer clients by them, prefetch/, warm/ and farm/ decide by
 * them what is worth asking for; so all of them mean the same by "fresh" and
 * "granted". Nothing here changes what is known, but for marks of use. */
#include "cache/known.h"

#include <string.h>

#include "nfsproto/nfs3_object.h"

/*
 * Whether a confirmation of the node is believed for a shorter time if it
 * changed lately. A directory that we alone change is as good as still: what is
 * bound to it ends with each change. A file that came new, as by a pull on the
 * server, and that nobody was seen to change again, is most likely to stay.
 */
static bool may_change_soon(const struct attrcache *ac, const struct node *node)
{
	if (attrcache_type(ac, node) == NF3DIR)
		return !(node->flags & NODE_OURS);
	return node->flags & (NODE_WRITTEN | NODE_LIVELY);
}

/* Holds the node to less than its policy: a file whose contents were contested,
 * or that is told to a machine without a bit, to strict; one that may change
 * soon, by how long it has been still. Without attributes the type is not
 * known, and this is not called: the policy holds as it is. */
static void set_age(struct known *k, const struct asker *who)
{
	struct attrcache *ac = k->caches->attr;

	if (attrcache_type(ac, k->node) == NF3DIR)
		k->contract.stale_us = who->stale_us;
	if ((k->node->flags & NODE_CONTESTED) ||
	    (who->apart && attrcache_type(ac, k->node) == NF3REG))
		k->contract.mode = CONFIG_CONSISTENCY_STRICT;
	else if (k->contract.mode == CONFIG_CONSISTENCY_BOUNDED &&
		 may_change_soon(ac, k->node))
		contract_set_still(
		    &k->contract, attrcache_still_us(ac, k->node, k->sent_us,
				      k->contract.now_us));
}

void known_node(struct known *k, const struct asker *who, struct node *node)
{
	struct caches *c = who->caches;

	k->caches = c;
	k->node = node;
	k->policy = caches_policy(c, node);
	contract_init(&k->contract, k->policy, who->offline, who->received_us,
	    who->now_us);
	k->cred = who->cred;
	k->machine = who->machine;
	k->grant = node ? accesscache_find(c->access, node, who->cred) : NULL;
	k->sent_us = node ? attrcache_sent(c->attr, node) : 0;
	if (k->sent_us != 0)
		set_age(k, who);
}

/* Nobody asks, so rights and the machine do not count. */
uint64_t known_age_us(struct caches *c, struct node *node, uint64_t now_us)
{
	struct asker who = asker_now(c, 0, now_us);
	struct known k;

	known_node(&k, &who, node);
	return k.contract.mode == CONFIG_CONSISTENCY_STRICT ? 0
							    : k.contract.age_us;
}

/* Whether ACCESS denied some of these bits that a user may get without a sign
 * at the object. What may be executed or removed goes with the others. Servers
 * give LOOKUP in directories only. */
static bool denied(const struct known *k, uint32_t bits)
{
	bits &= ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY | ACCESS3_EXTEND;
	if (k->sent_us != 0 &&
	    attrcache_type(k->caches->attr, k->node) != NF3DIR)
		bits &= ~(uint32_t)ACCESS3_LOOKUP;
	return (bits & ~(uint32_t)k->grant->given) != 0;
}

/* Whether attributes that are fresh show that a right still stands. After a
 * change of our own they do not: another one may have met the same tick of the
 * server's clock. */
static bool may_keep(const struct known *k, uint64_t sent_us, bool firm)
{
	const struct fsys *fs;

	if (!firm || !attrcache_may_fill(k->caches->attr, k->node, sent_us))
		return false;
	fs = attrcache_fsys(k->caches->attr, k->node);
	return fs && !fs->clock_back;
}

/* Whether the server refused the asker something here since, or all rights of
 * the asker have ended; these do not while the server is away, since nobody can
 * ask for others. */
static bool has_ended(const struct known *k, uint64_t sent_us)
{
	const struct grant *g = k->grant;

	if (g && g->known == 0 && sent_us <= g->access_us)
		return true;
	return !k->contract.offline &&
	       sent_us < credtab_rights_since(k->caches->creds, k->cred);
}

bool known_rights_last(const struct known *k)
{
	const struct grant *g = k->grant;

	return g && g->known == ACCESS_ALL && !has_ended(k, g->access_us) &&
	       contract_right_lasts(&k->contract, g->access_us,
		   !denied(k, ACCESS_ALL) &&
		       may_keep(k, g->access_us, g->access_firm));
}

bool known_lasts(const struct known *k, uint64_t trip_us, bool rights)
{
	return contract_lasts(&k->contract, k->sent_us, 2 * trip_us) &&
	       (!rights || known_rights_last(k));
}

bool known_find(struct known *k, const struct asker *who, const nfs3_fh *fh)
{
	struct node *node = attrcache_find(who->caches->attr, fh);

	if (!node)
		return false;
	known_node(k, who, node);
	return true;
}

bool known_fresh(const struct known *k)
{
	return contract_fresh(&k->contract, k->sent_us);
}

bool known_right(const struct known *k, uint64_t sent_us, bool firm)
{
	if (has_ended(k, sent_us))
		return false;
	if (contract_right(&k->contract, sent_us))
		return true;
	return may_keep(k, sent_us, firm) && known_fresh(k) &&
	       contract_right_kept(&k->contract, sent_us);
}

bool known_granted(const struct known *k, uint32_t bits)
{
	const struct grant *g = k->grant;

	return g && (g->known & bits) == bits && (g->given & bits) == bits &&
	       known_right(k, g->access_us, g->access_firm);
}

bool known_access(const struct known *k, uint32_t bits)
{
	const struct grant *g = k->grant;

	if (!g || (g->known & bits) != bits)
		return false;
	return known_right(k, g->access_us, g->access_firm && !denied(k, bits));
}

bool known_own(const struct known *k)
{
	return k->grant && known_right(k, k->grant->own_us, k->grant->own_firm);
}

bool known_answered(const struct known *k)
{
	return k->grant && known_right(k, k->grant->any_us, k->grant->any_firm);
}

bool known_search(const struct known *k)
{
	return known_granted(k, ACCESS3_LOOKUP) || known_own(k);
}

bool known_given(const struct caches *c, const struct node *node,
    const struct grant *g, uint32_t right, uint64_t now_us)
{
	uint64_t timeout_us = caches_policy(c, node)->grant_timeout_us;
	uint64_t last_us = 0;

	if (!g)
		return false;
	if (g->known & g->given & right)
		last_us = g->access_us;
	if (g->own_us > last_us)
		last_us = g->own_us;
	return last_us != 0 && TIME48(now_us) <= last_us + timeout_us;
}

bool known_holds(const struct known *k, const struct binding *b)
{
	return contract_bound(&k->contract, k->caches->attr, k->node, b);
}

bool known_bound(const struct known *k, const struct binding *b)
{
	/* An object whose attributes must not be used any more may be gone,
	 * with all that hangs on it: a directory that we removed. */
	return k->sent_us != 0 && known_holds(k, b) &&
	       (known_fresh(k) || contract_fresh(&k->contract, b->sent_us));
}

bool known_absent(const struct known *k, const struct binding *b)
{
	uint64_t sent_us = b->sent_us;

	if (b->firm && k->sent_us > sent_us)
		sent_us = k->sent_us;
	return known_bound(k, b) && contract_absent(&k->contract, sent_us);
}

bool known_absent_unasked(
    const struct known *k, const struct binding *b, uint64_t recent_us)
{
	enum { LIVELY_US = 600000000 };
	const struct contract *c = &k->contract;

	if (c->mode == CONFIG_CONSISTENCY_BOUNDED && !c->offline &&
	    (k->node->flags & NODE_LIVELY) &&
	    k->sent_us + recent_us < c->now_us &&
	    attrcache_still_us(
		k->caches->attr, k->node, k->sent_us, c->now_us) < LIVELY_US)
		return false;
	return known_absent(k, b);
}

post_op_attr known_attr(const struct known *k)
{
	post_op_attr attr = {.attributes_follow = FALSE};

	if (!known_fresh(k))
		return attr;
	attr.attributes_follow = TRUE;
	attrcache_fattr(
	    k->caches->attr, k->node, &attr.post_op_attr_u.attributes);
	return attr;
}

struct datacache_read known_data(const struct known *k,
    struct data_version *version, uint64_t offset, uint32_t len)
{
	*version = caches_data_version(k->caches, k->node);
	return (struct datacache_read){.key = caches_data_key(k->node),
	    .version = version,
	    .offset = offset,
	    .len = len,
	    .valid_us = contract_data_valid(&k->contract)};
}

struct named known_name(
    const struct caches *c, const struct node *dir, const nfs3_name *name)
{
	struct dentry *d = namecache_find(c->names, dir, name);

	if (!d)
		return (struct named){0};
	return (struct named){.known = true,
	    .absent = d->child == 0,
	    .child = dentry_child(c->names, d),
	    .bound = dentry_binding(d)};
}

/* Whether a complete listing of the asker's own has no such name. READDIR and
 * READDIRPLUS have one each; the later one tells, by which the answer is bound.
 */
static bool listed_absent(
    const struct known *dir, const nfs3_name *name, struct binding *b)
{
	const struct caches *c = dir->caches;
	bool lacks = false;

	/* Names with a leading dot may be there though they are not listed:
	 * .snapshot, .zfs. */
	if (!fsys_lists_all(attrcache_fsys(c->attr, dir->node)) ||
	    name->len == 0 || name->data[0] == '.')
		return false;
	for (int plus = 0; plus < 2; plus++) {
		struct listing *l =
		    listcache_find(c->lists, dir->node, dir->cred, plus != 0);
		struct binding own;

		if (!l || !listing_lacks(c->lists, l, name))
			continue;
		own = listing_binding(l);
		if (!lacks || own.sent_us > b->sent_us)
			*b = own;
		lacks = true;
	}
	return lacks;
}

bool known_absence(const struct known *dir, const nfs3_name *name,
    const struct named *to, struct binding *b)
{
	*b = to->bound;
	return to->known ? to->absent : listed_absent(dir, name, b);
}

bool known_entry_since(const struct caches *c, const struct node *dir,
    const struct list_entry *e, uint64_t since_us)
{
	struct node *child;

	if (nfs3_name_is_dots(&e->name))
		return true;
	child = known_name(c, dir, &e->name).child;
	return child && attrcache_sent(c->attr, child) >= since_us;
}

unsigned known_stale_entries(const struct caches *c, const struct node *dir,
    const struct listing *l, uint64_t since_us, unsigned look)
{
	struct list_entry e;
	unsigned stale = 0;
	size_t pos = 0;

	while (look-- > 0 && listing_next(l, &pos, &e))
		stale += !known_entry_since(c, dir, &e, since_us);
	return stale;
}

void known_walk_begin(struct known_walk *w, const struct asker *who,
    struct node *root, const char *path)
{
	*w = (struct known_walk){.who = *who, .node = root, .left = path};
}

bool known_walk_next(struct known_walk *w)
{
	if (!w->node || !*w->left)
		return false;
	known_node(&w->dir, &w->who, w->node);
	w->name = (nfs3_name){
	    .data = w->left, .len = (uint32_t)strcspn(w->left, "/")};
	w->left += w->name.len;
	w->left += *w->left == '/';
	w->named = known_name(w->dir.caches, w->dir.node, &w->name);
	w->node = w->named.child;
	return true;
}
