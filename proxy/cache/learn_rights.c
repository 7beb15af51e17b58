/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rights of whoever asks, as far as replies tell: that a call was answered,
 * what ACCESS gave, and what was refused. A right that was given counts for
 * long, because whoever takes it away changes the object. Where a reply shows
 * that this is not so, no right of that credential counts any more.
 */
#include "cache/caches.h"
#include "cache/learn_private.h"

bool learn_rights_differ(const fattr3 *x, const fattr3 *y)
{
	return x->mode != y->mode || x->uid != y->uid || x->gid != y->gid;
}

void learn_answered(const struct learn *l, struct node *node, bool own)
{
	/* Our own change may have taken the right away since the call was
	 * sent. */
	own = own && node &&
	      attrcache_may_fill(l->caches->attr, node, l->sent_us);
	if (node && l->cred)
		accesscache_set_answered(
		    l->caches->access, node, l->cred, own, l->sent_us);
}

void learn_access(const struct learn *l)
{
	const ACCESS3resok *r = &l->res->access.ACCESS3res_u.resok;
	struct node *node =
	    learn_node(l, &l->args->access.object, &r->obj_attributes);

	if (node && l->cred &&
	    attrcache_may_fill(l->caches->attr, node, l->sent_us) &&
	    learn_is_of_version(l, node, &r->obj_attributes) &&
	    !accesscache_set_access(l->caches->access, node, l->cred,
		l->args->access.access | ACCESS_ALL, r->access, l->sent_us))
		caches_end_rights(l->caches, l->cred, l->sent_us);
}

/* Whether the credential was given what the server refuses it now, though the
 * object has not changed. */
static bool was_given(const struct learn *l, const struct node *node)
{
	const struct grant *g =
	    accesscache_find(l->caches->access, node, l->cred);

	if (l->proc->prog != NFS_PROGRAM)
		return false;
	switch (l->proc->proc) {
	case NFSPROC3_LOOKUP:
		return grant_search(g);
	case NFSPROC3_READ:
		return grant_read(g) || (g && g->own_us != 0);
	case NFSPROC3_READDIR:
	case NFSPROC3_READDIRPLUS:
		return grant_read(g);
	default:
		return false;
	}
}

void learn_refused(const struct learn *l, const nfs3_fh *fh)
{
	struct node *node =
	    l->cred ? attrcache_find(l->caches->attr, fh) : NULL;

	if (!node)
		return;
	if (was_given(l, node))
		caches_end_rights(l->caches, l->cred, l->sent_us);
	accesscache_refused(l->caches->access, node, l->cred, l->sent_us);
}
