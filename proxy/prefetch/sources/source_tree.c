/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The predictor (predictor.h): it hears of every call and listing, and what it
 * foretells after a call is wanted under the credential of that call.
 */
#include <stdlib.h>

#include "base/metrics.h"
#include "link/linkest.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/source_private.h"
#include "cache/caches.h"

enum {
	PREDICTIONS = 128, /* after one event */
	/* A confirmation, a listing or data behind it, and their way through
	 * the queue: a round trip each. */
	LEAD_RTTS = 3,
};

static void predict(struct sources *all, const struct passed *p)
{
	struct prediction preds[PREDICTIONS];
	struct ground *g = all->g;
	size_t n;

	predictor_set_lead(
	    g->predictor, LEAD_RTTS * 1000 * linkest_srtt_us(g->link));
	n = predictor_predict(g->predictor, preds, PREDICTIONS);
	metrics_add(g->metrics, METRICS_PREFETCH_PREDICTED, n);
	for (size_t i = 0; i < n; i++) {
		notes_predicted(
		    all->notes, &preds[i], credential_uid(p->cred), p->now_us);
		if (sources_want(all, p->cred, &preds[i], p->now_us))
			continue;
		/* The predictor says it again when it is nearer, and perhaps
		 * likelier. */
		predictor_feedback(
		    g->predictor, preds[i].object, PREDICTOR_DROPPED);
	}
}

static void withdraw(struct sources *all, const struct passed *p)
{
	uint64_t gone[PREDICTIONS];
	size_t n = predictor_withdrawn(all->g->predictor, gone, PREDICTIONS);

	for (size_t i = 0; i < n; i++)
		want_withdraw(all->queue, p->cred, gone[i], p->now_us);
}

static void passed(struct source *s, struct passed *p)
{
	struct ground *g = s->all->g;
	struct predictor *predictor = g->predictor;

	/* While it observes, too, the predictor may ask which directories the
	 * user of this call may search. */
	g->caller = p->cred;
	predictor_observe(predictor, &p->obs);
	sources_count_familiar(p->cred, predictor_led(predictor));
	if (!p->hinted)
		predict(s->all, p);
	withdraw(s->all, p);
	g->caller = NULL;
}

static void listed(struct source *s, struct listed *l)
{
	struct ground *g = s->all->g;
	struct predictor_dirent *ents;

	if (!l->news)
		return;
	l->known =
	    observe_listing(g->caches, l->dir, credential_id(l->cred), &ents);
	if (l->known > 0)
		predictor_list(g->predictor, credential_uid(l->cred),
		    node_key(l->dir), ents, l->known);
	free(ents);
}

const struct source_ops source_tree = {.passed = passed, .listed = listed};
