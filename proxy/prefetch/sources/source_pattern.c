/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns in the reads of a file (pattern.h): the ranges that follow are
 * wanted, and those that turn out not to follow are dropped. */
#include <stdlib.h>

#include "base/metrics.h"
#include "cache/caches.h"
#include "config/config.h"
#include "link/budget.h"
#include "link/linkest.h"
#include "predictor/pattern/pattern.h"
#include "prefetch/sources/source_private.h"

struct pattern_source {
	struct source s;
	struct patterns *patterns;
};

/* Whether data of the file may be fetched ahead, and then be used. In strict
 * mode a READ asks the server anyway, and is answered no sooner. */
static bool allowed(const struct sources *all, const struct node *node)
{
	const struct caches *c = all->g->caches;
	const struct config_policy *policy;

	if (!node || !c->data)
		return false;
	policy = caches_policy(c, node);
	return policy->prefetch == CONFIG_PREFETCH_ON &&
	       policy->consistency != CONFIG_CONSISTENCY_STRICT;
}

/* Bytes that the link holds; while its rate is not known, the window says it.
 */
static uint64_t pipe_bytes(const struct sources *all)
{
	return linkest_rate_Bps(all->g->link)
		   ? budget_limit_bytes(all->g->budget)
		   : budget_window_bytes(all->g->budget);
}

static void hear(struct source *s, const struct passed *p, bool begins)
{
	struct sources *all = s->all;
	struct patterns *patterns = ((struct pattern_source *)s)->patterns;
	const struct predictor_obs *o = &p->obs;
	struct pattern_news news;
	struct pattern_read r = {.object = o->object,
	    .reader = credential_id(p->cred),
	    .offset_bytes = o->offset_bytes,
	    .size_bytes = o->size_bytes,
	    .count_bytes = o->count_bytes,
	    .now_us = o->now_ns / 1000,
	    .begins = begins,
	    .latency_us = o->latency_ns / 1000,
	    .pipe_bytes = pipe_bytes(all),
	    .fetch_us = linkest_srtt_us(all->g->link) +
			linkest_wire_us(all->g->link, o->count_bytes)};

	if (p->hinted || !allowed(all, p->node))
		return;
	r.run = predictor_run(all->g->predictor, o->object);
	patterns_read(patterns, &r, &news);
	metrics_add(all->g->metrics, METRICS_PATTERN_HITS, news.hit);
	metrics_add(all->g->metrics, METRICS_PATTERN_BROKEN, news.broken);
	metrics_add(all->g->metrics, METRICS_PATTERN_TOLD, news.nwant);
	for (size_t i = 0; i < news.ndrop; i++) {
		struct want_range gone = {.object = o->object,
		    .offset_bytes = news.drop[i].offset_bytes,
		    .source = NOTE_FROM_PATTERN};

		want_drop_range(all->queue, p->cred, &gone);
	}
	for (size_t i = 0; i < news.nwant; i++) {
		struct want_range w = {.object = o->object,
		    .offset_bytes = news.want[i].offset_bytes,
		    .count_bytes = news.want[i].count_bytes,
		    .p = news.p,
		    .lead = news.lead + (uint32_t)i,
		    .source = NOTE_FROM_PATTERN};

		(void)want_add_range(all->queue, p->cred, &w, p->now_us);
	}
}

static void passed(struct source *s, struct passed *p)
{
	hear(s, p, false);
}

/* Nothing is wanted before the reply: only then is it known whether somebody
 * has said what comes. */
static void begins(struct source *s, const struct passed *p)
{
	if (p->missed && p->obs.kind == PREDICTOR_READ)
		hear(s, p, true);
}

/* In which order the file was read in a run before this one. */
static size_t order(
    void *ctx, uint64_t object, struct predictor_extent *out, size_t max)
{
	const struct ground *g = ctx;

	return predictor_order(g->predictor, object, out, max);
}

static struct source *open_pattern(struct sources *all)
{
	struct source *s = source_new(sizeof(struct pattern_source));
	struct patterns *patterns = s ? patterns_new(order, all->g) : NULL;

	if (!patterns) {
		free(s);
		return NULL;
	}
	((struct pattern_source *)s)->patterns = patterns;
	return s;
}

static void close_pattern(struct source *s)
{
	patterns_free(((struct pattern_source *)s)->patterns);
	free(s);
}

const struct source_ops source_pattern = {.open = open_pattern,
    .close = close_pattern,
    .passed = passed,
    .begins = begins,
    .of_reads = true};
