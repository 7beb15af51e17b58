/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rest of a file that was read before: once its beginning is read, what the
 * predictor knows to follow is wanted. */
#include "config/config.h"
#include "cache/caches.h"
#include "prefetch/sources/source_private.h"

/* How likely a file whose beginning is read will be read on as it was in former
 * runs. */
#define P_REST 0.9f

/* How many bytes files are asked for first: the largest READ at a beginning,
 * which counts for an eighth less with each that follows. */
static void first_read(struct sources *all, uint32_t bytes)
{
	uint32_t was = all->first_read_bytes - all->first_read_bytes / 8;

	all->first_read_bytes = bytes > was ? bytes : was;
}

static void passed(struct source *s, struct passed *p)
{
	struct sources *all = s->all;
	struct prediction pred = {.object = p->obs.object,
	    .needs = PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_EXTENTS,
	    .p = P_REST,
	    .lead = 1};
	struct predictor_extent one;

	if (p->obs.offset_bytes > 0)
		return;
	first_read(all, p->obs.count_bytes);
	if (caches_policy(all->g->caches, p->node)->prefetch ==
		CONFIG_PREFETCH_ON &&
	    predictor_extents(all->g->predictor, pred.object, &one, 1) > 0)
		(void)want_add(all->queue, p->cred, &pred, 1, p->now_us);
}

const struct source_ops source_rest = {.passed = passed, .of_reads = true};
