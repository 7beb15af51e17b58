/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This source has objects confirmed again that came ahead so early that a use
 * would have to wait for that. Nobody confirms all of them again and again; but
 * whoever comes to their directory may be about to use them, and an ACCESS is
 * short.
 *
 * It does so for files that were read before, too. A program that ends, or goes
 * on after a while, comes back to pages of its libraries, which it has mapped,
 * one library after the other: python's end cost a round trip for each of a
 * dozen. So when a READ has to wait until its file is confirmed, what was
 * mapped with it is confirmed beside it.
 */
#include <stdlib.h>

#include "cache/known.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/source_private.h"

enum {
	/* A visit to a larger directory does not say which of its files will
	 * be used. */
	RENEW_NAMES = 256,
	RENEW_MOST = 48, /* names, in one visit */
	/* Programs that are known, a power of two; and the places in which one
	 * can be. */
	MAPPED = 512,
	MAPPED_SET = 4,
	/* A program reads most of what it maps within this time. */
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
struct mapped {
	uint64_t object; /* 0: none */
	uint64_t us;     /* of the last READ */
	uint32_t cred;
};

struct renew_source {
	struct source s;
	struct mapped *mapped; /* NULL: nothing was read */
};

struct renew {
	struct sources *all;
	struct credential *cred;
	uint64_t dir;
	uint64_t now_us;
	unsigned n;
};

static bool came_ahead(const struct note *x, const struct credential *cred)
{
	return x && (x->state == NOTE_READY || x->state == NOTE_UNUSED) &&
	       x->uid == credential_uid(cred);
}

/* For a while; so does the right to read it, if that is of interest. */
static bool stays_fresh(const struct renew *r, uint64_t object, bool read)
{
	struct caches *c = r->all->g->caches;
	struct node *node = attrcache_by_key(c->attr, object);
	uint64_t slack_us = contract_slack_us(caches_policy(c, node));
	struct asker soon =
	    asker_now(c, credential_id(r->cred), r->now_us + slack_us);
	struct known k;

	known_node(&k, &soon, node);
	return known_fresh(&k) && (!read || known_granted(&k, ACCESS3_READ));
}

static void renew(void *ctx, const nfs3_name *name, const struct node *child)
{
	struct renew *r = ctx;
	uint64_t key = node_key(child);
	const struct note *x = notes_find(r->all->notes, key);
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
	(void)want_add(r->all->queue, r->cred, &pred, 1, r->now_us);
}

/* The directory that a call visits; 0: none that is known. A client that has
 * listed it sends no LOOKUPs for its names, so that an ACCESS has to count,
 * too.
 */
static uint64_t visited(
    const struct sources *all, const struct predictor_obs *o)
{
	struct predictor_file file;

	if (o->kind != PREDICTOR_LOOKUP && o->kind != PREDICTOR_ACCESS)
		return 0;
	if (o->directory)
		return o->object;
	if (o->parent)
		return o->parent;
	predictor_get_file(all->g->predictor, o->object, &file);
	return file.parent;
}

static void visit(struct sources *all, const struct passed *p)
{
	struct renew r = {.all = all,
	    .cred = p->cred,
	    .dir = visited(all, &p->obs),
	    .now_us = p->now_us};
	struct caches *c = all->g->caches;
	struct node *dir = r.dir ? attrcache_by_key(c->attr, r.dir) : NULL;

	/* In frozen mode nothing grows too old, and in strict mode the client's
	 * own calls confirm what it uses. */
	if (!dir ||
	    caches_policy(c, dir)->consistency != CONFIG_CONSISTENCY_BOUNDED ||
	    !dirs_renew(all->dirs, r.dir, p->now_us) ||
	    observe_names_count(c, dir, credential_id(r.cred)) > RENEW_NAMES)
		return;
	observe_names(c, dir, credential_id(r.cred), renew, &r);
}

/* ---- what is mapped ---------------------------------------------------- */

/* Where it is, or that of the one that was read longest ago. */
static struct mapped *mapped_at(
    struct mapped *all, uint64_t object, uint32_t cred)
{
	struct mapped *set = &all[object & (MAPPED - MAPPED_SET)];
	struct mapped *at = set;

	for (unsigned i = 0; i < MAPPED_SET; i++) {
		if (set[i].object == object && set[i].cred == cred)
			return &set[i];
		if (set[i].us < at->us)
			at = &set[i];
	}
	return at;
}

static void read_mapped(struct renew_source *rs, const struct passed *p)
{
	const struct predictor_obs *o = &p->obs;
	uint32_t cred = credential_id(p->cred);

	if (o->kind != PREDICTOR_READ || !o->exec)
		return;
	if (!rs->mapped)
		rs->mapped = calloc(MAPPED, sizeof(*rs->mapped));
	if (rs->mapped)
		*mapped_at(rs->mapped, o->object, cred) = (struct mapped){
		    .object = o->object, .us = p->now_us, .cred = cred};
}

static void renew_mapped(struct renew *r, uint64_t object)
{
	const struct prediction pred = {.object = object,
	    .lead = 1,
	    .needs = PREDICTOR_NEEDS_ACCESS,
	    .p = P_MAPPED,
	    .source = NOTE_FROM_KIND};

	if (r->n == MAPPED_MOST ||
	    !attrcache_by_key(r->all->g->caches->attr, object) ||
	    stays_fresh(r, object, true))
		return;
	r->n++;
	(void)want_add(r->all->queue, r->cred, &pred, 1, r->now_us);
}

/* Whether it was read about when the other one was, by the same user. */
static bool goes_with(const struct mapped *m, const struct mapped *other)
{
	uint64_t apart =
	    m->us > other->us ? m->us - other->us : other->us - m->us;

	return m->object && m != other && m->cred == other->cred &&
	       apart < MAPPED_US;
}

static void begins(struct source *s, const struct passed *p)
{
	struct renew_source *rs = (struct renew_source *)s;
	struct renew r = {.all = s->all, .cred = p->cred, .now_us = p->now_us};
	const struct predictor_obs *o = &p->obs;
	const struct mapped *at;

	if (p->missed || !rs->mapped || o->kind != PREDICTOR_READ || !p->node ||
	    caches_policy(s->all->g->caches, p->node)->consistency !=
		CONFIG_CONSISTENCY_BOUNDED)
		return;
	at = mapped_at(rs->mapped, o->object, credential_id(r.cred));
	if (at->object != o->object || at->cred != credential_id(r.cred))
		return;
	for (unsigned i = 0; i < MAPPED; i++)
		if (goes_with(&rs->mapped[i], at))
			renew_mapped(&r, rs->mapped[i].object);
}

static void passed(struct source *s, struct passed *p)
{
	read_mapped((struct renew_source *)s, p);
	if (!p->hinted)
		visit(s->all, p);
}

static struct source *open_renew(struct sources *all)
{
	(void)all;
	return source_new(sizeof(struct renew_source));
}

static void close_renew(struct source *s)
{
	free(((struct renew_source *)s)->mapped);
	free(s);
}

const struct source_ops source_renew = {.open = open_renew,
    .close = close_renew,
    .passed = passed,
    .begins = begins};
