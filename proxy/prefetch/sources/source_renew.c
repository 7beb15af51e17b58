/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What came ahead so early that by its use it has to be confirmed again. Nobody
 * confirms all of it again and again; but whoever comes to its directory may be
 * about to use it, and an ACCESS is short.
 *
 * And what was read before. A program that ends, or goes on after a while,
 * comes back to pages of its libraries, which it has mapped, one library after
 * the other: python's end cost a round trip for each of a dozen. So when a READ
 * has to wait until its file is confirmed, what was mapped with it is confirmed
 * beside it.
 */
#include <stdlib.h>

#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

enum {
	/* A visit to a larger directory does not say which of its files will
	 * be used. */
	RENEW_NAMES = 256,
	RENEW_MOST = 48, /* names, in one visit */
	/* Programs that are known, a power of two; and the places in which one
	 * can be. */
	MAPPED = 512,
	MAPPED_SET = 4,
	/* What one program maps is read within this time, most of it. */
	MAPPED_US = 10000000,
	MAPPED_MOST = 128, /* that are confirmed beside one */
};

/* How likely it is that a file whose data came ahead, or a directory whose
 * listing did, is used once its parent is visited. Names alone, and what was
 * not used for a while (notes_age()), are less likely: in python's imports one
 * in twelve to one in six of them was used. */
#define P_RENEW  0.5f
#define P_UNUSED 0.15f

/* At the end of a python with 90 libraries it came back to 13 to 17 of them. */
#define P_MAPPED 0.15f

/* A program, or a library, that a client has mapped. */
struct pf_mapped {
	uint64_t object; /* 0: none */
	uint64_t us;     /* of the last READ */
	uint32_t cred;
};

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

/* For a while; so does the right to read it, if that is of interest. */
static bool stays_fresh(const struct renew *r, uint64_t object, bool read)
{
	struct caches *c = r->pf->p.caches;
	struct node *node = attrcache_by_key(c->attr, object);
	uint64_t slack_us = confirm_slack_us(caches_policy(c, node));
	struct asker soon = asker_now(c, r->cred->id, r->now_us + slack_us);
	struct known k;

	known_node(&k, &soon, node);
	return known_fresh(&k) && (!read || known_granted(&k, ACCESS3_READ));
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
	    stays_fresh(r, key, false))
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

/* ---- what is mapped ---------------------------------------------------- */

/* Where it is, or that of the one that was read longest ago. */
static struct pf_mapped *mapped_at(
    struct prefetch *pf, uint64_t object, uint32_t cred)
{
	struct pf_mapped *set = &pf->mapped[object & (MAPPED - MAPPED_SET)];
	struct pf_mapped *at = set;

	for (unsigned i = 0; i < MAPPED_SET; i++) {
		if (set[i].object == object && set[i].cred == cred)
			return &set[i];
		if (set[i].us < at->us)
			at = &set[i];
	}
	return at;
}

void renew_note_read(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;

	if (o->kind != PREDICTOR_READ || !o->exec)
		return;
	if (!pf->mapped)
		pf->mapped = calloc(MAPPED, sizeof(*pf->mapped));
	if (pf->mapped)
		*mapped_at(pf, o->object, seen->cred->id) = (struct pf_mapped){
		    .object = o->object, .us = now_us, .cred = seen->cred->id};
}

static void renew_mapped(struct renew *r, uint64_t object)
{
	const struct prediction pred = {.object = object,
	    .lead = 1,
	    .needs = PREDICTOR_NEEDS_ACCESS,
	    .p = P_MAPPED,
	    .source = NOTE_FROM_KIND};

	if (r->n == MAPPED_MOST ||
	    !attrcache_by_key(r->pf->p.caches->attr, object) ||
	    stays_fresh(r, object, true))
		return;
	r->n++;
	(void)want_add(r->pf, r->cred, &pred, r->now_us);
}

/* Whether it was read about when the other one was, by the same user. */
static bool goes_with(const struct pf_mapped *m, const struct pf_mapped *other)
{
	uint64_t apart =
	    m->us > other->us ? m->us - other->us : other->us - m->us;

	return m->object && m != other && m->cred == other->cred &&
	       apart < MAPPED_US;
}

void renew_begins(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	struct renew r = {.pf = pf, .cred = seen->cred, .now_us = now_us};
	const struct predictor_obs *o = &seen->obs;
	struct caches *c = pf->p.caches;
	struct node *node = attrcache_by_key(c->attr, o->object);
	const struct pf_mapped *at;

	if (!pf->mapped || o->kind != PREDICTOR_READ || !node ||
	    caches_policy(c, node)->consistency != CONFIG_CONSISTENCY_BOUNDED)
		return;
	at = mapped_at(pf, o->object, r.cred->id);
	if (at->object != o->object || at->cred != r.cred->id)
		return;
	for (unsigned i = 0; i < MAPPED; i++)
		if (goes_with(&pf->mapped[i], at))
			renew_mapped(&r, pf->mapped[i].object);
}
