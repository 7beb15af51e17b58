/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What came ahead so early that by its use it has to be confirmed again. Nobody
 * confirms all of it again and again; but whoever comes to its directory may be
 * about to use it, and an ACCESS is short.
 */
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	/* A visit to a larger directory does not say which of its files will
	 * be used. */
	RENEW_NAMES = 256,
	RENEW_MOST = 48, /* names, in one visit */
};

/* How likely it is that a file whose data came ahead, or a directory whose
 * listing did, is used once its parent is visited. Names alone, and what was
 * not used for a while (notes_age()), are less likely: in python's imports one
 * in twelve to one in six of them was used. */
#define P_RENEW  0.5f
#define P_UNUSED 0.15f

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
	       x->uid == cred->uid;
}

static bool stays_fresh(const struct renew *r, uint64_t object)
{
	struct caches *c = r->pf->p.caches;
	struct node *node = attrcache_by_key(c->attr, object);
	uint64_t slack_us = confirm_slack_us(caches_policy(c, node));
	struct asker soon = asker_now(c, r->cred->id, r->now_us + slack_us);
	struct known k;

	known_node(&k, &soon, node);
	return known_fresh(&k);
}

static void renew(void *ctx, const nfs3_name *name, const struct node *child)
{
	struct renew *r = ctx;
	uint64_t key = node_key(child);
	const struct note *x = note_find(r->pf, key);
	uint8_t much = PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_LISTING;
	struct prediction pred = {.object = key,
	    .parent = r->dir,
	    .lead = 2,
	    .needs = PREDICTOR_NEEDS_ACCESS,
	    .source = NOTE_FROM_KIND};

	(void)name;
	if (r->n == RENEW_MOST || !came_ahead(x, r->cred) ||
	    stays_fresh(r, key))
		return;
	r->n++;
	pred.p =
	    x->state == NOTE_READY && (x->needs & much) ? P_RENEW : P_UNUSED;
	(void)want_add(r->pf, r->cred, &pred, r->now_us);
}

/* The directory that a call visits; 0: none that is known. A client that has
 * listed it sends no LOOKUPs for its names, so that an ACCESS has to count,
 * too.
 */
static uint64_t visited(
    const struct prefetch *pf, const struct predictor_obs *o)
{
	struct predictor_file file;

	if (o->kind != PREDICTOR_LOOKUP && o->kind != PREDICTOR_ACCESS)
		return 0;
	if (o->directory)
		return o->object;
	if (o->parent || !pf->predictor)
		return o->parent;
	predictor_get_file(pf->predictor, o->object, &file);
	return file.parent;
}

void renew_seen(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	struct renew r = {.pf = pf,
	    .cred = seen->cred,
	    .dir = visited(pf, &seen->obs),
	    .now_us = now_us};
	struct caches *c = pf->p.caches;
	struct node *dir = r.dir ? attrcache_by_key(c->attr, r.dir) : NULL;

	/* In frozen mode nothing grows too old, and in strict mode the client's
	 * own calls confirm what it uses. */
	if (!dir ||
	    caches_policy(c, dir)->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    !dir_renews(pf, r.dir, now_us) ||
	    observe_names_count(c, dir, r.cred->id) > RENEW_NAMES)
		return;
	observe_names(c, dir, r.cred->id, renew, &r);
}
