/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lower rooms of prefetch; see the header. */
#include "prefetch/prefetch_fixture.h"

#include "unittest.h"
#include "base/namemap.h"
#include "cache/caches.h"

void rooms_open(struct rooms *pf, struct credential **creds, uint32_t n)
{
	struct predictor_options po = {.budget_bytes = 2 << 20};
	struct sources_params sp = {.ground = &pf->g};
	struct ground *g = &pf->g;

	g->metrics = metrics_new();
	g->link = linkest_new();
	g->hold = hold_new();
	g->waste = waste_new();
	g->absents = namemap_new();
	if (!g->predictor)
		g->predictor = predictor_new(&po);
	if (!g->config)
		g->config = &pf->config;
	sp.notes = pf->notes = notes_new(g);
	sp.queue = pf->queue = queue_new(g, pf->notes);
	pf->sources = sources_new_empty(&sp);
	assert_non_null(pf->sources);
	for (uint32_t i = 0; i < n; i++) {
		creds[i] = calloc(1, sizeof(*creds[i]));
		creds[i]->refs = 1;
		creds[i]->id = i + 1;
		creds[i]->actor = rooms_actor_of(0);
	}
}

void rooms_close(struct rooms *pf, struct credential **creds, uint32_t n)
{
	sources_free(pf->sources);
	queue_free(pf->queue);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(creds[i]->refs, 1);
		credential_unref(creds[i]);
	}
	free(pf->notes);
	predictor_free(pf->g.predictor);
	hold_free(pf->g.hold);
	waste_free(pf->g.waste);
	namemap_free(pf->g.absents);
	linkest_free(pf->g.link);
	metrics_free(pf->g.metrics);
}

void rooms_add(struct rooms *pf, const struct source_ops *ops)
{
	assert_true(sources_add(pf->sources, ops));
}

static struct passed at(
    struct rooms *pf, const struct passed *p, uint64_t now_us)
{
	struct passed x = *p;

	x.now_us = pf->g.now_us = now_us;
	if (!x.name)
		x.name = "";
	if (!x.node && pf->g.caches)
		x.node = attrcache_by_key(pf->g.caches->attr, x.obs.object);
	return x;
}

void rooms_hear(struct rooms *pf, const struct passed *p, uint64_t now_us)
{
	struct passed x = at(pf, p, now_us);

	sources_passed(pf->sources, &x);
}

void rooms_begin(struct rooms *pf, const struct passed *p, uint64_t now_us)
{
	struct passed x = at(pf, p, now_us);

	sources_begins(pf->sources, &x);
}

struct want *rooms_want_attr(
    struct rooms *pf, struct credential *cred, uint64_t object, uint32_t lead)
{
	struct prediction pred = {.object = object,
	    .p = 0.5f,
	    .lead = lead,
	    .needs = PREDICTOR_NEEDS_ATTR};

	return want_add(pf->queue, cred, &pred, 1, T0);
}

uint64_t rooms_actor_of(unsigned flow)
{
	uint64_t actor = 0;

	while (lane_flow(actor) != flow)
		actor++;
	return actor;
}
