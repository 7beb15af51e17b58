/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns in the reads of a file (pattern.h): the ranges that follow are
 * wanted, and those that turn out not to follow are dropped. */
#include "base/metrics.h"
#include "config/config.h"
#include "predictor/pattern/pattern.h"
#include "prefetch/prefetch_private.h"

/* Whether data of the file may be fetched ahead, and then be used. In strict
 * mode a READ asks the server anyway, and is answered no sooner. */
static bool allowed(const struct prefetch *pf, uint64_t object)
{
	struct caches *c = pf->p.caches;
	struct node *node = attrcache_by_key(c->attr, object);
	const struct config_policy *policy;

	if (!node || !c->data)
		return false;
	policy = caches_policy(c, node);
	return policy->prefetch == CONFIG_PREFETCH_ON &&
	       policy->consistency != CONFIG_CONSISTENCY_STRICT;
}

/* What the link holds; while its rate is not known, the window says it. */
static uint64_t pipe_bytes(const struct prefetch *pf)
{
	return linkest_rate_Bps(pf->p.link) ? budget_limit_bytes(pf->budget)
					    : budget_window_bytes(pf->budget);
}

void pattern_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct pattern_news news;
	struct pattern_read r = {.object = o->object,
	    .reader = seen->cred->id,
	    .offset_bytes = o->offset_bytes,
	    .size_bytes = o->size_bytes,
	    .count_bytes = o->count_bytes,
	    .now_us = o->now_ns / 1000,
	    .latency_us = o->latency_ns / 1000,
	    .pipe_bytes = pipe_bytes(pf),
	    .fetch_us = linkest_srtt_us(pf->p.link) +
			linkest_wire_us(pf->p.link, o->count_bytes)};

	if (o->kind != PREDICTOR_READ || !allowed(pf, o->object))
		return;
	r.run = predictor_run(pf->predictor, o->object);
	patterns_read(pf->patterns, &r, &news);
	metrics_add(pf->p.metrics, METRICS_PATTERN_HITS, news.hit);
	metrics_add(pf->p.metrics, METRICS_PATTERN_BROKEN, news.broken);
	metrics_add(pf->p.metrics, METRICS_PATTERN_TOLD, news.nwant);
	for (size_t i = 0; i < news.ndrop; i++)
		want_drop_range(pf, seen->cred, o->object,
		    news.drop[i].offset_bytes, NOTE_FROM_PATTERN);
	for (size_t i = 0; i < news.nwant; i++) {
		struct want_range w = {.object = o->object,
		    .offset_bytes = news.want[i].offset_bytes,
		    .count_bytes = news.want[i].count_bytes,
		    .p = news.p,
		    .lead = news.lead + (uint32_t)i,
		    .source = NOTE_FROM_PATTERN};

		(void)want_add_range(pf, seen->cred, &w, now_us);
	}
}

/* In which order the file was read in a run before this one. */
static size_t order(
    void *ctx, uint64_t object, struct predictor_extent *out, size_t max)
{
	const struct prefetch *pf = ctx;

	return predictor_order(pf->predictor, object, out, max);
}

struct patterns *pattern_open(struct prefetch *pf)
{
	return patterns_new(order, pf);
}
