/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for `top`: calls ahead, wants, and the predictions that ended. */
#include "link/budget.h"
#include "link/waste.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/flight.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/worth.h"
#include "prefetch/prefetch_private.h"
#include "prefetch/queue/queue.h"
#include "prefetch/queue/want.h"
#include "prefetch/steps/steps.h"

static uint64_t age_us(uint64_t then_us, uint64_t now_us)
{
	return now_us > then_us ? now_us - then_us : 0;
}

static bool may_see(uint32_t uid, const struct credential *cred)
{
	return uid == 0 || credential_uid(cred) == uid;
}

/* ---- ahead ------------------------------------------------------------ */

/* NULL where the note is none, or of another user than the row: it would tell
 * one user what another one's calls or hints have led to. */
static const char *source_of(
    const struct prefetch *pf, uint64_t object, struct prefetch_ahead *out)
{
	const struct note *x = notes_find(pf->notes, object);

	if (!x || !notes_is_ahead(x) || x->uid != out->uid)
		return NULL;
	out->p = (double)x->p;
	return notes_source_name(x->source);
}

static const char *flight_source(const struct prefetch *pf,
    const struct flight *fl, struct prefetch_ahead *out)
{
	const char *source = NULL;

	if (fl->of->sent == METRICS_WARM_CALLS)
		return "warm";
	if (!steps_sent(pf->steps, fl))
		return "other";
	if (fl->call.proc->proc == NFSPROC3_LOOKUP)
		return "hint";
	if (out->object)
		source = source_of(pf, out->object, out);
	return source ? source : "directory";
}

static void fill_flight(const struct prefetch *pf, const struct flight *fl,
    uint64_t now_us, struct prefetch_ahead *out)
{
	const union nfs_args *args = &fl->call.args;

	*out = (struct prefetch_ahead){.procedure = fl->call.proc->name,
	    .age_us = age_us(fl->sent_us, now_us),
	    .uid = credential_uid(fl->cred),
	    .bytes = fl->bytes < UINT32_MAX ? (uint32_t)fl->bytes : UINT32_MAX};
	if (fl->call.proc->prog != MOUNT_PROGRAM)
		out->object = fh_key(&args->object);
	if (fl->call.proc->prog == NFS_PROGRAM &&
	    fl->call.proc->proc == NFSPROC3_LOOKUP) {
		out->entry = args->dirop.name.data;
		out->entry_len = args->dirop.name.len;
	}
	out->source = flight_source(pf, fl, out);
}

static const char *want_source(
    const struct prefetch *pf, const struct wish *w, struct prefetch_ahead *out)
{
	const char *source;

	if (w->name)
		return "hint";
	if (w->count > 0)
		return notes_source_name(w->source);
	if (wish_is_of_session(w))
		return notes_source_name(PREDICTOR_FROM_SESSION);
	source = source_of(pf, w->object, out);
	if (!source && wish_is_guess(w))
		source = notes_source_name(PREDICTOR_FROM_NAMES);
	return source ? source : "directory";
}

static void fill_want(const struct prefetch *pf, const struct wish *w,
    uint64_t now_us, struct prefetch_ahead *out)
{
	*out =
	    (struct prefetch_ahead){.object = w->name ? w->parent : w->object,
		.entry = w->name,
		.entry_len = w->name_len,
		.age_us = age_us(w->born_us, now_us),
		.uid = credential_uid(w->cred),
		.bytes = w->count > 0 ? w->count : w->first_bytes,
		.p = (double)w->p};
	out->source = want_source(pf, w, out);
}

size_t prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted)
{
	uint64_t all =
	    (uint64_t)calls_count(pf->calls) + queue_count_urgent(pf->queue);
	const struct want *wants[PREFETCH_SHOW_MAX];
	const struct flight *fl;
	size_t n = 0, nwants;

	for (fl = calls_first(pf->calls); fl && n < PREFETCH_SHOW_MAX;
	     fl = LIST_NEXT(fl, under_way))
		if (may_see(uid, fl->cred))
			fill_flight(pf, fl, now_us, &rows[n++]);
	nwants = queue_list(pf->queue, uid, wants, PREFETCH_SHOW_MAX - n);
	for (size_t i = 0; i < nwants; i++)
		fill_want(pf, want_wish(wants[i]), now_us, &rows[n++]);
	*omitted = all > n ? all - n : 0;
	return n;
}

/* ---- outcomes --------------------------------------------------------- */

static void fill_told(
    const struct note *x, uint64_t now_us, struct prefetch_told *out)
{
	*out = (struct prefetch_told){.predicted = true,
	    .state = notes_state_name(x->state),
	    .source = notes_source_name(x->source),
	    .age_us = age_us(x->us, now_us),
	    .p = (double)x->p,
	    .lead = x->lead,
	    .needs = x->needs,
	    .bytes = x->bytes};
}

void prefetch_tell(struct prefetch *pf, uint64_t object, uint32_t uid,
    uint64_t now_us, struct prefetch_told *out)
{
	const struct note *x = notes_find(pf->notes, object);

	if (x && (uid == 0 || x->uid == uid))
		fill_told(x, now_us, out);
	else
		*out = (struct prefetch_told){.predicted = false};
}

size_t prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX])
{
	const struct note *list[PREFETCH_SHOW_MAX];
	size_t n = notes_list(pf->notes, uid, list, PREFETCH_SHOW_MAX);

	for (size_t i = 0; i < n; i++) {
		rows[i].object = list[i]->object;
		rows[i].uid = list[i]->uid;
		fill_told(list[i], now_us, &rows[i].told);
	}
	return n;
}

void prefetch_get_stats(const struct prefetch *pf, struct prefetch_stats *st)
{
	struct waste_status waste;
	struct predictor_stats ps;

	worth_get_waste(&pf->g, &waste);
	predictor_get_stats(pf->g.predictor, &ps);
	*st = (struct prefetch_stats){.wants = queue_count(pf->queue),
	    .flights = steps_flights(pf->steps),
	    .flight_bytes = budget_inflight_bytes(pf->g.budget),
	    .flight_bytes_max = budget_inflight_max_bytes(pf->g.budget),
	    .window_bytes = budget_window_bytes(pf->g.budget),
	    .waste_bytes = waste.unused_bytes,
	    .waste_limit_bytes = waste.limit_bytes,
	    .memory_bytes = ps.memory_bytes,
	    .objects = ps.objects};
}
