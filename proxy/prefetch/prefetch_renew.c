/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What came ahead so early that by its use it has to be confirmed again. Nobody
 * confirms all of it again and again; but whoever comes to its directory may be
 * about to use it, and an ACCESS is short.
 */
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	/* A visit to a larger directory does not say which of its files will
	 * be used. */
	RENEW_NAMES = 256,
	RENEW_MOST = 24, /* of one directory, at once */
};

/* How likely a file that came ahead is used, once its directory is. */
#define P_RENEW 0.5f

struct renew {
	struct prefetch *pf;
	struct pf_cred *cred;
	uint64_t dir;
	uint64_t now_us;
	unsigned n;
};

static bool came_ahead(const struct note *x, const struct pf_cred *cred)
{
	return x && (x->state == NOTE_READY || x->state == NOTE_UNUSED) &&
	       (x->needs & PREDICTOR_NEEDS_DATA) && x->uid == cred->uid;
}

static void renew(void *ctx, const nfs3_name *name, const struct node *child)
{
	struct renew *r = ctx;
	struct prediction pred = {.object = node_key(child),
	    .parent = r->dir,
	    .p = P_RENEW,
	    .lead = 2,
	    .needs = PREDICTOR_NEEDS_ACCESS,
	    .source = NOTE_FROM_KIND};

	(void)name;
	if (r->n == RENEW_MOST ||
	    !came_ahead(note_find(r->pf, pred.object), r->cred))
		return;
	r->n++;
	(void)want_add(r->pf, r->cred, &pred, r->now_us);
}

void renew_seen(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct renew r = {.pf = pf, .cred = seen->cred, .now_us = now_us};
	struct caches *c = pf->p.caches;
	struct node *dir;

	if (o->kind != PREDICTOR_LOOKUP)
		return;
	r.dir = o->directory ? o->object : o->parent;
	dir = attrcache_by_key(c->attr, r.dir);
	if (!dir || !dir_renews(pf, r.dir, now_us) ||
	    observe_names_count(c, dir, r.cred->id) > RENEW_NAMES)
		return;
	observe_names(c, dir, r.cred->id, renew, &r);
}
