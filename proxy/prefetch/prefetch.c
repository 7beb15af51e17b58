/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From calls that were answered to calls ahead.
 *
 *	reply to a client (svc)
 *	   │ prefetch_observe(): what it says, by what the caches know now
 *	   ▼
 *	 ring ─▶ notes, hints, predictor, patterns ─▶ wants ─▶ calls
 *	   └───────── the pump, in a later turn of the loop ─────┘
 *
 * Only what has to be read from the caches at once is read in the reply's path:
 * the client has its reply before anything is predicted.
 */
#include "prefetch/prefetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/namemap.h"
#include "base/uint.h"
#include "config/config.h"
#include "nfsproto/nfs3_object.h"
#include "predictor/pattern/pattern.h"
#include "prefetch/sources/kinds.h"
#include "prefetch/prefetch_private.h"

enum {
	PREDICTIONS = 128, /* after one event */
	/* A confirmation, a listing or data behind it, and their way through
	 * the queue: a round trip each. */
	LEAD_RTTS = 3,
	/* A listing that is predicted for the names in it alone is taken to
	 * spare so many calls. */
	CALLS_SPARED_GUESS = 3,
	TURN_WANTS = 64,      /* in one turn of the loop */
	TURN_DEAR = 16,       /* … of those that cost too much just now */
	JOBS_POLL_US = 20000, /* while the server cannot be asked */
};

/* Of the last twenty accesses or so; and of how many it is a known job. */
#define FAMILIAR_STEP 0.05f
#define FAMILIAR_MIN  0.7f

/* pump() has nothing to wait for but replies and those who wake it. */
#define PUMP_RESTS UINT64_MAX

void prefetch_wake(struct prefetch *pf, uint64_t now_us)
{
	if (now_us > pf->now_us)
		pf->now_us = now_us;
	if (pf->active)
		return;
	pf->active = true;
	event_active(pf->ev, EV_TIMEOUT, 1);
}

static void wake_in(struct prefetch *pf, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	if (!pf->active)
		event_add(pf->ev, &tv);
}

struct predictor *prefetch_predictor(struct prefetch *pf)
{
	return pf->predictor;
}

struct budget *prefetch_budget(struct prefetch *pf)
{
	return pf->budget;
}

struct hold *prefetch_hold(struct prefetch *pf)
{
	return pf->hold;
}

bool prefetch_holds_jobs(const struct prefetch *pf)
{
	return pf->nqueued > 0 || !pf->p.ready(pf->p.ctx);
}

bool prefetch_sees_demand(const struct prefetch *pf)
{
	return fetch_in_flight(pf->p.fetch) > pf->nflights_all;
}

/* ---- observations ----------------------------------------------------- */

static bool is_listing(const struct observe_call *call)
{
	return call->proc->proc == NFSPROC3_READDIR ||
	       call->proc->proc == NFSPROC3_READDIRPLUS;
}

static void seen_name(
    struct prefetch *pf, struct pf_seen *seen, const struct observe_call *call)
{
	const nfs3_name *name = &call->args->dirop.name;

	if (call->proc->proc != NFSPROC3_LOOKUP)
		return;
	if (seen->obs.kind == PREDICTOR_ABSENT)
		namemap_put(
		    pf->absents, seen->obs.object, name->data, name->len);
	if (name->len >= sizeof(seen->name) || memchr(name->data, 0, name->len))
		return;
	memcpy(seen->name, name->data, name->len);
	seen->name[name->len] = 0;
}

void prefetch_observe(struct prefetch *pf, const struct observe_call *call)
{
	struct pf_seen *seen = &pf->ring[pf->ring_in % RING];
	struct caches *c = pf->p.caches;
	struct node *node;
	bool listing;

	if (call->proc->prog != NFS_PROGRAM || !call->cred_id ||
	    call->proc->proc == NFSPROC3_NULL)
		return;
	if (call->missed)
		waste_demand(pf->waste, call->bytes, pf->now_us);
	else
		waste_cached(pf->waste, call->bytes, pf->now_us);
	node = observe_node(c, call);
	observe_count(c, node, call);
	if ((call->proc->flags & NFS_PROC_DRC) ||
	    pf->ring_in - pf->ring_out == RING)
		return;
	if (caches_policy(c, node)->prefetch == CONFIG_PREFETCH_OFF)
		return;
	*seen = (struct pf_seen){.late = call->late, .missed = call->missed};
	listing = is_listing(call) && call->status == NFS3_OK;
	seen->mounted = observe_mount(c, node, call);
	if (!observe_call(c, node, call, &seen->obs) && !listing &&
	    !seen->mounted)
		return;
	seen_name(pf, seen, call);
	if (listing)
		seen->dir = fh_key(&call->args->object);
	if (listing && call->proc->proc == NFSPROC3_READDIRPLUS)
		seen->page_bytes = call->args->readdirplus.maxcount;
	seen->cred = pf_cred_get(pf, call->cred, call->cred_id, call->uid);
	if (!seen->cred)
		return;
	(void)pf_cred_ref(seen->cred);
	pf->ring_in++;
	prefetch_wake(pf, call->received_us + call->latency_us);
}

void prefetch_begins(struct prefetch *pf, const struct observe_call *call)
{
	struct pf_seen *seen = &pf->ring[pf->ring_in % RING];
	struct caches *c = pf->p.caches;
	struct node *node = observe_node(c, call);

	if (!node || pf->ring_in - pf->ring_out == RING ||
	    caches_policy(c, node)->prefetch == CONFIG_PREFETCH_OFF)
		return;
	*seen = (struct pf_seen){.begins = true, .missed = call->missed};
	if (!observe_call(c, node, call, &seen->obs))
		return;
	seen->cred = pf_cred_get(pf, call->cred, call->cred_id, call->uid);
	if (!seen->cred)
		return;
	(void)pf_cred_ref(seen->cred);
	pf->ring_in++;
	prefetch_wake(pf, call->received_us);
}

static uint64_t lead_ns(const struct prefetch *pf)
{
	return LEAD_RTTS * 1000 * linkest_srtt_us(pf->p.link);
}

/* Guesses that are made for what nobody did before: while history foretells
 * what comes, they have nothing to add. */
static bool needs_no_guess(
    const struct pf_cred *cred, const struct prediction *pred)
{
	return cred->familiar > FAMILIAR_MIN &&
	       (pred->source == NOTE_FROM_MENTION ||
		   pred->source == NOTE_FROM_WALK);
}

bool prefetch_want(struct prefetch *pf, struct pf_cred *cred,
    const struct prediction *pred, uint64_t now_us)
{
	struct prediction wanted = *pred;

	if (needs_no_guess(cred, pred) ||
	    note_came_in_vain(note_find(pf, pred->object), pred) ||
	    !want_worth(pf, source_is_guess(pred->source), (double)pred->p,
		CONFIRM_BYTES)) {
		note_set(pf, pred->object, NOTE_UNLIKELY, now_us);
		metrics_add(pf->p.metrics, METRICS_PREFETCH_UNLIKELY, 1);
		return false;
	}
	/* Nobody will read that directory, but look up names in it. */
	if (pred->source == PREDICTOR_FROM_NAMES &&
	    pred->needs == PREDICTOR_NEEDS_LISTING)
		wanted.calls_spared = CALLS_SPARED_GUESS;
	return want_add(pf, cred, &wanted, now_us) != NULL;
}

static void predict(struct prefetch *pf, struct pf_cred *cred, uint64_t now_us)
{
	struct prediction preds[PREDICTIONS];
	size_t n;

	pf->caller = cred;
	predictor_set_lead(pf->predictor, lead_ns(pf));
	n = predictor_predict(pf->predictor, preds, PREDICTIONS);
	metrics_add(pf->p.metrics, METRICS_PREFETCH_PREDICTED, n);
	for (size_t i = 0; i < n; i++) {
		note_predicted(pf, &preds[i], cred->uid, now_us);
		if (prefetch_want(pf, cred, &preds[i], now_us))
			continue;
		/* The predictor says it again when it is nearer, and perhaps
		 * likelier. */
		predictor_feedback(
		    pf->predictor, preds[i].object, PREDICTOR_DROPPED);
	}
}

static void withdraw(struct prefetch *pf, struct pf_cred *cred, uint64_t now_us)
{
	uint64_t gone[PREDICTIONS];
	size_t n = predictor_withdrawn(pf->predictor, gone, PREDICTIONS);

	for (size_t i = 0; i < n; i++)
		want_withdraw(pf, cred, gone[i], now_us);
}

/* How many bytes files are asked for first: the largest READ at a beginning,
 * which counts for an eighth less with each that follows. */
static void first_read(struct prefetch *pf, uint32_t bytes)
{
	uint32_t was = pf->first_read_bytes - pf->first_read_bytes / 8;

	pf->first_read_bytes = bytes > was ? bytes : was;
}

static void read_begins(
    struct prefetch *pf, const struct pf_seen *seen, uint64_t now_us)
{
	struct node *node =
	    attrcache_by_key(pf->p.caches->attr, seen->obs.object);

	first_read(pf, seen->obs.count_bytes);
	if (caches_policy(pf->p.caches, node)->prefetch != CONFIG_PREFETCH_ON)
		return;
	(void)want_rest(pf, seen->cred, seen->obs.object, now_us);
}

static void count_familiar(struct pf_cred *cred, enum predictor_led led)
{
	if (led != PREDICTOR_GOES_ON)
		cred->familiar +=
		    ((led == PREDICTOR_LED) - cred->familiar) * FAMILIAR_STEP;
}

static void see(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	struct node *dir =
	    seen->dir ? attrcache_by_key(pf->p.caches->attr, seen->dir) : NULL;
	bool known;

	if (seen->mounted)
		predictor_mounted(
		    pf->predictor, seen->obs.client, seen->mounted);
	if (dir) {
		dir_is_read(pf, seen->dir, seen->page_bytes, now_us);
		prefetch_listed(pf, seen->cred, dir);
		listing_read(pf, seen->cred, dir, now_us);
	}
	if (!seen->obs.object)
		return;
	note_used(pf, seen->obs.object, seen->cred->uid, seen->late,
	    seen->missed, now_us);
	if (!seen->missed && seen->obs.parent)
		note_name_used(pf, seen->obs.parent);
	if (seen->obs.kind == PREDICTOR_READ && seen->obs.offset_bytes == 0)
		read_begins(pf, seen, now_us);
	kind_seen(pf, seen, now_us);
	renew_note_read(pf, seen, now_us);
	if (seen->missed)
		budget_demand(pf->budget, now_us);
	known = pf->p.on_seen && pf->p.on_seen(pf->p.ctx, &seen->obs);
	if (seen->missed && !known)
		dir_missed(pf, seen, now_us);
	mention_observe(pf, seen, now_us);
	if (!known) {
		habit_seen(pf, seen, now_us);
		renew_seen(pf, seen, now_us);
		walk_seen(pf, seen, now_us);
	}
	predictor_observe(pf->predictor, &seen->obs);
	count_familiar(seen->cred, predictor_led(pf->predictor));
	if (!known) {
		predict(pf, seen->cred, now_us);
		pattern_seen(pf, seen, now_us);
	}
	withdraw(pf, seen->cred, now_us);
	session_seen(pf, seen->cred);
}

/* ---- the pump --------------------------------------------------------- */

static bool have_jobs(const struct prefetch *pf)
{
	return !lane_is_empty(&pf->lanes[WANT_LANE_JOBS]);
}

static bool have_dear(const struct prefetch *pf)
{
	return !lane_is_empty(&pf->lanes[WANT_LANE_DEAR]);
}

/* How long nobody has to look at the queue, but for replies. */
static uint64_t rest_us(const struct prefetch *pf, uint64_t now_us)
{
	if (!have_dear(pf))
		return PUMP_RESTS;
	return pf->dear_us > now_us ? pf->dear_us - now_us : 1;
}

static enum step take_turn(struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	struct want_owner *o = w->owner;

	return o && o->on_turn ? o->on_turn(o, now_us, wait_us)
			       : want_step(w, now_us, wait_us);
}

/* False where the link has no room for more; then `*wait_us` is set. */
static bool pump_one(struct want *w, uint64_t now_us, uint64_t *wait_us)
{
	switch (take_turn(w, now_us, wait_us)) {
	case STEP_DONE:
		want_drop(w);
		break;
	case STEP_MORE:
		want_queue(w, false);
		break;
	case STEP_WAITS:
		break;
	case STEP_LATER:
		want_delay(w, now_us);
		break;
	case STEP_BLOCKED:
		want_queue_blocked(w);
		return false;
	}
	return true;
}

/*
 * How long to wait before it goes on; PUMP_RESTS: until something happens. A
 * want that is blocked ends the turn, since those behind it are less urgent. A
 * job that is blocked does not: another may have nothing to ask the server. Nor
 * does a want that costs too much now: another may be worth it.
 */
static uint64_t pump(struct prefetch *pf, uint64_t now_us)
{
	uint64_t least_us = PUMP_RESTS;
	unsigned dear = 0;
	struct want *w = NULL;

	if (pf->nqueued == 0 && !have_jobs(pf) && !have_dear(pf))
		return PUMP_RESTS;
	if (!pf->p.ready(pf->p.ctx))
		return have_jobs(pf) ? JOBS_POLL_US : PUMP_RESTS;
	pf->turn++;
	for (int i = 0; i < TURN_WANTS; i++) {
		uint64_t wait_us = 0; /* until a reply */

		w = want_next(pf);
		if (!w)
			break;
		if (pump_one(w, now_us, &wait_us))
			continue;
		if (wait_us > 0 && wait_us < least_us)
			least_us = wait_us;
		if (w->lane < WANT_LANE_JOBS)
			return least_us;
		if (w->lane == WANT_LANE_DEAR && ++dear == TURN_DEAR)
			break;
	}
	if (dear > 0)
		pf->dear_us = now_us + DEAR_US;
	if (w && dear < TURN_DEAR)
		return 0;
	return min_u64(least_us, rest_us(pf, now_us));
}

static void begins(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	if (!seen->missed) {
		renew_begins(pf, seen, now_us);
		return;
	}
	habit_begins(pf, seen, now_us);
	kind_begins(pf, seen, now_us);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;
	/* Reading the clock costs as much as the rest of a short turn, and
	 * whoever woke the pump has told the time. */
	uint64_t now_us = pf->active ? pf->now_us : clock_now_us();
	uint64_t due_us, wait_us;
	bool mentions;

	(void)fd;
	(void)what;
	pf->active = false;
	pf->now_us = now_us;
	while (pf->ring_out != pf->ring_in) {
		struct pf_seen *seen = &pf->ring[pf->ring_out++ % RING];

		if (seen->obs.actor)
			seen->cred->flow = (uint8_t)lane_flow(seen->obs.actor);
		if (seen->begins)
			begins(pf, seen, now_us);
		else
			see(pf, seen, now_us);
		pf_cred_unref(seen->cred);
	}
	/* What is sent below is sent later than this turn began. */
	clock_give(0);
	notes_age(pf, now_us);
	kinds_age(pf->kinds, now_us);
	session_go_on(pf, now_us);
	if (pf->nfarmed > 0)
		farmed_tell(pf, false);
	mentions = mention_turn(pf, now_us);
	due_us = wants_ripen(pf, now_us);
	wait_us = pump(pf, now_us);
	if (!due_us)
		due_us = wants_ripen(pf, now_us);
	if (due_us && due_us - now_us < wait_us)
		wait_us = due_us - now_us;
	if (mentions)
		wait_us = 0;
	/* By a timer, even if at once: libevent would run an event that
	 * activates itself again before it looks at any socket. */
	if (wait_us != PUMP_RESTS)
		wake_in(pf, wait_us);
}

/* ---- making one ------------------------------------------------------- */

/* Whether a user may hear of what lies in a directory. The predictor asks while
 * it predicts for one caller, whose rights are known from its calls. */
static bool may_search(
    void *ctx, uint64_t uid, uint64_t parent, uint64_t object)
{
	const struct prefetch *pf = ctx;
	struct node *dir = attrcache_by_key(pf->p.caches->attr, parent);

	(void)object;
	if (!dir || !pf->caller || pf->caller->uid != uid)
		return false;
	return grant_search(
	    accesscache_find(pf->p.caches->access, dir, pf->caller->id));
}

/* What was confirmed within half of the time bound need not be again. */
static uint64_t recent_ns(const struct config_server *config)
{
	return config->policy.attr_timeout_us * 1000 / 2;
}

static bool make_parts(struct prefetch *pf)
{
	struct predictor_options po = {.budget_bytes = pf->p.memory_bytes,
	    .recent_ns = recent_ns(pf->p.config),
	    .may_search = may_search,
	    .may_search_ctx = pf};

	pf->notes = calloc(1, sizeof(*pf->notes));
	pf->predictor = predictor_new(&po);
	pf->patterns = pattern_open(pf);
	pf->kinds = kinds_new();
	pf->absents = namemap_new();
	pf->mentions = mention_open(pf);
	pf->walks = walk_open();
	pf->budget = budget_new(pf->p.link, &pf->p.config->prefetch_rate);
	pf->hold = hold_new();
	pf->waste = waste_new();
	pf->ev = evtimer_new(pf->p.base, on_turn, pf);
	if (pf->waste)
		waste_set_share(pf->waste, pf->p.config->prefetch_waste);
	return pf->notes && pf->predictor && pf->patterns && pf->kinds &&
	       pf->absents && pf->mentions && pf->walks && pf->budget &&
	       pf->hold && pf->waste && pf->ev && session_open(pf);
}

struct prefetch *prefetch_new(const struct prefetch_params *p)
{
	struct prefetch *pf = calloc(1, sizeof(*pf));

	if (!pf)
		return NULL;
	pf->p = *p;
	pf->p.path = pf->path;
	snprintf(pf->path, sizeof(pf->path), "%s", p->path);
	TAILQ_INIT(&pf->creds);
	pf_flights_init(pf);
	TAILQ_INIT(&pf->spare);
	TAILQ_INIT(&pf->later);
	for (int i = 0; i < WANT_LANES; i++)
		lane_init(&pf->lanes[i]);
	if (!make_parts(pf)) {
		prefetch_free(pf);
		errno = ENOMEM;
		return NULL;
	}
	pf_save_open(pf);
	pf_save_share(pf);
	return pf;
}

void prefetch_free(struct prefetch *pf)
{
	if (!pf)
		return;
	pf_save_close(pf);
	wants_free(pf);
	flights_free(&pf->flights);
	session_close(pf);
	while (pf->ring_out != pf->ring_in)
		pf_cred_unref(pf->ring[pf->ring_out++ % RING].cred);
	farmed_tell(pf, true);
	pf_creds_free(pf);
	if (pf->ev)
		event_free(pf->ev);
	budget_free(pf->budget);
	hold_free(pf->hold);
	waste_free(pf->waste);
	mention_close(pf->mentions);
	patterns_free(pf->patterns);
	kinds_free(pf->kinds);
	namemap_free(pf->absents);
	walk_close(pf->walks);
	predictor_free(pf->predictor);
	free(pf->mapped);
	free(pf->notes);
	free(pf);
}

void prefetch_set_config(
    struct prefetch *pf, const struct config_server *config)
{
	pf->p.config = config;
	predictor_set_recent(pf->predictor, recent_ns(config));
	budget_set_cap(pf->budget, &config->prefetch_rate);
	waste_set_share(pf->waste, config->prefetch_waste);
	session_configure(pf);
}
