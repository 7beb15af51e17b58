/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A prefetch with nothing but wants; see the header. */
#include "prefetch/prefetch_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/metrics.h"
#include "base/namemap.h"

void prefetch_open(struct prefetch *pf, struct pf_cred **creds, uint32_t n)
{
	pf->p.metrics = metrics_new();
	pf->p.link = linkest_new();
	pf->notes = calloc(1, sizeof(*pf->notes));
	pf->hold = hold_new();
	pf->waste = waste_new();
	pf->absents = namemap_new();
	TAILQ_INIT(&pf->spare);
	TAILQ_INIT(&pf->later);
	for (int i = 0; i < WANT_LANES; i++)
		lane_init(&pf->lanes[i]);
	/* The pump is about to run, and never does. */
	pf->active = true;
	for (uint32_t i = 0; i < n; i++) {
		creds[i] = calloc(1, sizeof(*creds[i]));
		creds[i]->refs = 1;
		creds[i]->id = i + 1;
	}
}

void prefetch_close(struct prefetch *pf, struct pf_cred **creds, uint32_t n)
{
	wants_free(pf);
	assert_int_equal(pf->nwants, 0);
	assert_int_equal(pf->nqueued, 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(creds[i]->refs, 1);
		pf_cred_unref(creds[i]);
	}
	free(pf->mapped);
	free(pf->notes);
	hold_free(pf->hold);
	waste_free(pf->waste);
	namemap_free(pf->absents);
	linkest_free(pf->p.link);
	metrics_free(pf->p.metrics);
}

struct want *prefetch_want_attr(
    struct prefetch *pf, struct pf_cred *cred, uint64_t object, uint32_t lead)
{
	struct prediction pred = {.object = object,
	    .p = 0.5f,
	    .lead = lead,
	    .needs = PREDICTOR_NEEDS_ATTR};

	return want_add(pf, cred, &pred, T0);
}
