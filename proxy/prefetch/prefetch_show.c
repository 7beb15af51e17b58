/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is being fetched ahead, and what became of it, in rows. */
#include "nfsproto/nfs3_object.h"
#include "prefetch/prefetch_private.h"

/* Those who list wants look at no more than so many of a flow in a lane. */
enum { WANTS_LOOKED = 64 };

static uint64_t age_us(uint64_t then_us, uint64_t now_us)
{
	return now_us > then_us ? now_us - then_us : 0;
}

static bool may_see(uint32_t uid, const struct pf_cred *cred)
{
	return uid == 0 || cred->uid == uid;
}

/* ---- ahead ------------------------------------------------------------ */

/* NULL where the note is none, or of another user than the row: it would tell
 * one user what another one's calls or hints have led to. */
static const char *source_of(
    const struct prefetch *pf, uint64_t object, struct prefetch_ahead *out)
{
	const struct note *x = note_find(pf, object);

	if (!x || !note_is_ahead(x) || x->uid != out->uid)
		return NULL;
	out->p = (double)x->p;
	return note_source_name(x->source);
}

static const char *flight_source(
    const struct flight *fl, struct prefetch_ahead *out)
{
	const struct prefetch *pf = fl->of->pf;
	const char *source = NULL;

	if (fl->of->calls == METRICS_WARM_CALLS)
		return "warm";
	if (fl->of != &pf->flights)
		return "other";
	if (fl->call.proc->proc == NFSPROC3_LOOKUP)
		return "hint";
	if (out->object)
		source = source_of(pf, out->object, out);
	return source ? source : "directory";
}

static void fill_flight(
    const struct flight *fl, uint64_t now_us, struct prefetch_ahead *out)
{
	const union nfs_args *args = &fl->call.args;

	*out = (struct prefetch_ahead){.procedure = fl->call.proc->name,
	    .age_us = age_us(fl->sent_us, now_us),
	    .uid = fl->cred->uid,
	    .bytes = fl->bytes < UINT32_MAX ? (uint32_t)fl->bytes : UINT32_MAX};
	if (fl->call.proc->prog == NFS_PROGRAM)
		out->object = fh_key(&args->object);
	if (fl->call.proc->prog == NFS_PROGRAM &&
	    fl->call.proc->proc == NFSPROC3_LOOKUP) {
		out->entry = args->dirop.name.data;
		out->entry_len = args->dirop.name.len;
	}
	out->source = flight_source(fl, out);
}

static const char *want_source(const struct want *w, struct prefetch_ahead *out)
{
	const char *source;

	if (w->lane == WANT_LANE_JOBS)
		return "warm";
	if (w->name)
		return "hint";
	if (w->count > 0)
		return note_source_name(w->source);
	if (w->session)
		return note_source_name(PREDICTOR_FROM_SESSION);
	source = source_of(w->pf, w->object, out);
	if (!source && w->guess)
		source = note_source_name(PREDICTOR_FROM_NAMES);
	return source ? source : "directory";
}

static void fill_want(
    const struct want *w, uint64_t now_us, struct prefetch_ahead *out)
{
	*out =
	    (struct prefetch_ahead){.object = w->name ? w->parent : w->object,
		.entry = w->name,
		.entry_len = w->name_len,
		.age_us = age_us(w->born_us, now_us),
		.uid = w->cred->uid,
		.bytes = w->count > 0 ? w->count : w->first_bytes,
		.p = (double)w->p};
	out->source = want_source(w, out);
}

static size_t list_flow(const struct want_queue *flow, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead *rows, size_t n)
{
	const struct want *w;
	unsigned looked = 0;

	TAILQ_FOREACH (w, flow, link) {
		if (n == PREFETCH_SHOW_MAX || looked++ == WANTS_LOOKED)
			break;
		if (may_see(uid, w->cred))
			fill_want(w, now_us, &rows[n++]);
	}
	return n;
}

/* In each lane the flow whose turn it is comes first. */
static size_t list_wants(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead *rows, size_t n)
{
	for (int i = 0; i < WANT_LANES; i++) {
		const struct lane *l = &pf->lanes[i];

		for (unsigned f = 0; i != WANT_LANE_JOBS && f < LANE_FLOWS; f++)
			n = list_flow(&l->flows[(l->turn + f) % LANE_FLOWS],
			    uid, now_us, rows, n);
	}
	return n;
}

size_t prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted)
{
	uint64_t all = (uint64_t)pf->nflights_all + pf->nqueued;
	const struct flight *fl;
	size_t n = 0;

	LIST_FOREACH (fl, &pf->under_way, under_way) {
		if (n == PREFETCH_SHOW_MAX)
			break;
		if (may_see(uid, fl->cred))
			fill_flight(fl, now_us, &rows[n++]);
	}
	n = list_wants(pf, uid, now_us, rows, n);
	*omitted = all > n ? all - n : 0;
	return n;
}

/* ---- outcomes --------------------------------------------------------- */

/* Whether a call was sent for it. */
static bool was_sent(const struct note *x)
{
	return x->state == NOTE_USED || x->state == NOTE_LATE ||
	       x->state == NOTE_UNUSED || x->state == NOTE_FAILED;
}

/* What was fetched, the newest first, and then what was not: that would else
 * leave no room. */
static bool precedes(const struct note *x, const struct note *y)
{
	if (was_sent(x) != was_sent(y))
		return was_sent(x);
	return x->us > y->us;
}

static void insert(const struct note **list, size_t *n, const struct note *x)
{
	size_t i = *n;

	if (i == PREFETCH_SHOW_MAX && !precedes(x, list[i - 1]))
		return;
	if (i == PREFETCH_SHOW_MAX)
		i--;
	else
		++*n;
	for (; i > 0 && precedes(x, list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = x;
}

size_t prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX])
{
	const struct note *list[PREFETCH_SHOW_MAX];
	size_t n = 0;

	for (size_t i = 0; i < NOTES; i++) {
		const struct note *x = &pf->notes->at[i];

		/* That it was there already is no news. */
		if (x->object && !note_is_ahead(x) && x->state != NOTE_FRESH &&
		    (uid == 0 || x->uid == uid))
			insert(list, &n, x);
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].object = list[i]->object;
		rows[i].uid = list[i]->uid;
		note_tell(list[i], now_us, &rows[i].told);
	}
	return n;
}

void prefetch_get_stats(const struct prefetch *pf, struct prefetch_stats *st)
{
	struct waste_status waste;
	struct predictor_stats ps;

	waste_now(pf, &waste);
	predictor_get_stats(pf->predictor, &ps);
	*st = (struct prefetch_stats){.wants = pf->nwants,
	    .flights = pf->flights.n,
	    .flight_bytes = budget_inflight_bytes(pf->budget),
	    .flight_bytes_max = budget_inflight_max_bytes(pf->budget),
	    .window_bytes = budget_window_bytes(pf->budget),
	    .waste_bytes = waste.unused_bytes,
	    .waste_limit_bytes = waste.limit_bytes,
	    .memory_bytes = ps.memory_bytes,
	    .objects = ps.objects};
}
