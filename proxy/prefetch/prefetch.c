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
#include "cache/caches.h"
#include "config/config.h"
#include "link/budget.h"
#include "link/waste.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/calls/flight.h"
#include "prefetch/credentials/credentials.h"
#include "prefetch/ground/hold.h"
#include "prefetch/ground/observe.h"
#include "prefetch/notes/notes.h"
#include "prefetch/prefetch_private.h"
#include "prefetch/queue/queue.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/steps.h"

void prefetch_wake(struct prefetch *pf, uint64_t now_us)
{
	ground_wake(&pf->g, now_us);
}

static void on_wake(void *ctx)
{
	struct prefetch *pf = ctx;

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
	return pf->g.predictor;
}

struct budget *prefetch_budget(struct prefetch *pf)
{
	return pf->g.budget;
}

struct hold *prefetch_hold(struct prefetch *pf)
{
	return pf->g.hold;
}

struct credentials *prefetch_credentials(struct prefetch *pf)
{
	return pf->creds;
}

struct queue *prefetch_queue(struct prefetch *pf)
{
	return pf->queue;
}

struct calls *prefetch_calls(struct prefetch *pf)
{
	return pf->calls;
}

bool prefetch_holds_jobs(const struct prefetch *pf)
{
	return queue_count_urgent(pf->queue) > 0 ||
	       !pf->g.ready(pf->g.ready_ctx);
}

bool prefetch_sees_demand(const struct prefetch *pf)
{
	return fetch_in_flight(pf->g.fetch) > calls_count(pf->calls);
}

/* ---- observations ----------------------------------------------------- */

static bool is_listing(const struct observe_call *call)
{
	return call->proc->proc == NFSPROC3_READDIR ||
	       call->proc->proc == NFSPROC3_READDIRPLUS;
}

static void seen_name(
    struct prefetch *pf, struct seen *seen, const struct observe_call *call)
{
	const nfs3_name *name = &call->args->dirop.name;

	if (call->proc->proc != NFSPROC3_LOOKUP)
		return;
	if (seen->obs.kind == PREDICTOR_ABSENT)
		namemap_put(
		    pf->g.absents, seen->obs.object, name->data, name->len);
	if (name->len >= sizeof(seen->name) || memchr(name->data, 0, name->len))
		return;
	memcpy(seen->name, name->data, name->len);
	seen->name[name->len] = 0;
}

void prefetch_observe(struct prefetch *pf, const struct observe_call *call)
{
	struct seen *seen = &pf->ring[pf->ring_in % RING];
	struct caches *c = pf->g.caches;
	struct node *node;
	bool listing;

	if (call->proc->prog != NFS_PROGRAM || !call->cred_id ||
	    call->proc->proc == NFSPROC3_NULL)
		return;
	if (call->missed)
		waste_demand(pf->g.waste, call->bytes, pf->g.now_us);
	else
		waste_cached(pf->g.waste, call->bytes, pf->g.now_us);
	node = observe_node(c, call);
	observe_count(c, node, call);
	if ((call->proc->flags & NFS_PROC_DRC) ||
	    pf->ring_in - pf->ring_out == RING)
		return;
	if (caches_policy(c, node)->prefetch == CONFIG_PREFETCH_OFF)
		return;
	*seen = (struct seen){.late = call->late, .missed = call->missed};
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
	seen->cred =
	    credentials_get(pf->creds, call->cred, call->cred_id, call->uid);
	if (!seen->cred)
		return;
	(void)credential_ref(seen->cred);
	pf->ring_in++;
	ground_wake(&pf->g, call->received_us + call->latency_us);
}

void prefetch_begins(struct prefetch *pf, const struct observe_call *call)
{
	struct seen *seen = &pf->ring[pf->ring_in % RING];
	struct caches *c = pf->g.caches;
	struct node *node = observe_node(c, call);

	if (!node || pf->ring_in - pf->ring_out == RING ||
	    caches_policy(c, node)->prefetch == CONFIG_PREFETCH_OFF)
		return;
	*seen = (struct seen){.begins = true, .missed = call->missed};
	if (!observe_call(c, node, call, &seen->obs))
		return;
	seen->cred =
	    credentials_get(pf->creds, call->cred, call->cred_id, call->uid);
	if (!seen->cred)
		return;
	(void)credential_ref(seen->cred);
	pf->ring_in++;
	ground_wake(&pf->g, call->received_us);
}

/* ---- the pump --------------------------------------------------------- */

static void see(struct prefetch *pf, const struct seen *seen, struct passed *p)
{
	struct attrcache *ac = pf->g.caches->attr;
	struct node *dir = seen->dir ? attrcache_by_key(ac, seen->dir) : NULL;
	struct note_use use = {.object = p->obs.object,
	    .uid = credential_uid(p->cred),
	    .late = p->late,
	    .missed = p->missed};

	if (seen->mounted)
		predictor_mounted(
		    pf->g.predictor, p->obs.client, seen->mounted);
	if (dir)
		sources_read_listing(
		    pf->sources, p->cred, dir, seen->page_bytes);
	if (!use.object)
		return;
	notes_used(pf->notes, &use, p->now_us);
	if (!p->missed && p->obs.parent)
		notes_name_used(pf->notes, p->obs.parent);
	if (p->missed)
		budget_demand(pf->g.budget, p->now_us);
	sources_passed(pf->sources, p);
}

static void take(struct prefetch *pf, const struct seen *seen, uint64_t now_us)
{
	struct attrcache *ac = pf->g.caches->attr;
	struct passed p = {.obs = seen->obs,
	    .cred = seen->cred,
	    .node = attrcache_by_key(ac, seen->obs.object),
	    .name = seen->name,
	    .now_us = now_us,
	    .late = seen->late,
	    .missed = seen->missed};

	if (p.obs.actor)
		credential_set_actor(p.cred, p.obs.actor);
	if (seen->begins)
		sources_begins(pf->sources, &p);
	else
		see(pf, seen, &p);
	credential_unref(p.cred);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;
	/* Reading the clock costs as much as the rest of a short turn, and
	 * whoever woke the pump has told the time. */
	uint64_t now_us = pf->active ? pf->g.now_us : clock_now_us();
	uint64_t due_us, wait_us;
	bool more;

	(void)fd;
	(void)what;
	pf->active = false;
	pf->g.now_us = now_us;
	while (pf->ring_out != pf->ring_in)
		take(pf, &pf->ring[pf->ring_out++ % RING], now_us);
	/* What is sent below is sent later than this turn began. */
	clock_give(0);
	notes_age(pf->notes, now_us);
	steps_tell_farmed(pf->steps);
	more = sources_turn(pf->sources, now_us);
	due_us = queue_ripen(pf->queue, now_us);
	wait_us = pump_run(pf->steps, now_us);
	if (!due_us)
		due_us = queue_ripen(pf->queue, now_us);
	if (due_us && due_us - now_us < wait_us)
		wait_us = due_us - now_us;
	if (more)
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
	const struct ground *g = ctx;
	struct node *dir = attrcache_by_key(g->caches->attr, parent);

	(void)object;
	if (!dir || !g->caller || credential_uid(g->caller) != uid)
		return false;
	return grant_search(
	    accesscache_find(g->caches->access, dir, credential_id(g->caller)));
}

static bool make_ground(struct ground *g)
{
	struct predictor_options po = {.budget_bytes = g->memory_bytes,
	    .recent_ns = contract_recent_us(&g->config->policy) * 1000,
	    .may_search = may_search,
	    .may_search_ctx = g};

	g->predictor = predictor_new(&po);
	g->absents = namemap_new();
	g->budget = budget_new(g->link, &g->config->prefetch_rate);
	g->hold = hold_new();
	g->waste = waste_new();
	if (g->waste)
		waste_set_share(g->waste, g->config->prefetch_waste);
	return g->predictor && g->absents && g->budget && g->hold && g->waste;
}

/* From the ground up. */
static bool make_rooms(struct prefetch *pf, const struct prefetch_params *p)
{
	struct sources_params sp = {
	    .ground = &pf->g, .on_seen = p->on_seen, .ctx = p->ctx};
	struct steps_params tp = {.ground = &pf->g};

	sp.credentials = pf->creds = credentials_new(p->caches, p->farm);
	sp.notes = tp.notes = pf->notes = notes_new(&pf->g);
	tp.calls = pf->calls = calls_new(&pf->g);
	if (!pf->creds || !pf->notes || !pf->calls)
		return false;
	sp.queue = tp.queue = pf->queue = queue_new(&pf->g, pf->notes);
	if (!pf->queue)
		return false;
	tp.sources = pf->sources = sources_new(&sp);
	if (!pf->sources)
		return false;
	pf->steps = steps_new(&tp);
	pf->ev = evtimer_new(pf->g.base, on_turn, pf);
	return pf->steps && pf->ev;
}

struct prefetch *prefetch_new(const struct prefetch_params *p)
{
	struct prefetch *pf = calloc(1, sizeof(*pf));

	if (!pf)
		return NULL;
	pf->g = (struct ground){.base = p->base,
	    .iopool = p->iopool,
	    .fetch = p->fetch,
	    .caches = p->caches,
	    .link = p->link,
	    .metrics = p->metrics,
	    .farm = p->farm,
	    .config = p->config,
	    .memory_bytes = p->memory_bytes,
	    .ready = p->ready,
	    .ready_ctx = p->ctx,
	    .wake = on_wake,
	    .wake_ctx = pf};
	pf->name = p->name;
	snprintf(pf->save.path, sizeof(pf->save.path), "%s", p->path);
	if (!make_ground(&pf->g) || !make_rooms(pf, p)) {
		prefetch_free(pf);
		errno = ENOMEM;
		return NULL;
	}
	prefetch_save_open(pf);
	prefetch_save_share(pf);
	return pf;
}

/* Wants go first, which watch calls; then calls, which learn no more. */
void prefetch_free(struct prefetch *pf)
{
	if (!pf)
		return;
	prefetch_save_close(pf);
	queue_free(pf->queue);
	steps_free(pf->steps);
	sources_free(pf->sources);
	while (pf->ring_out != pf->ring_in)
		credential_unref(pf->ring[pf->ring_out++ % RING].cred);
	calls_free(pf->calls);
	free(pf->notes);
	credentials_free(pf->creds);
	if (pf->ev)
		event_free(pf->ev);
	budget_free(pf->g.budget);
	hold_free(pf->g.hold);
	waste_free(pf->g.waste);
	namemap_free(pf->g.absents);
	predictor_free(pf->g.predictor);
	free(pf);
}

void prefetch_set_config(
    struct prefetch *pf, const struct config_server *config)
{
	pf->g.config = config;
	budget_set_cap(pf->g.budget, &config->prefetch_rate);
	waste_set_share(pf->g.waste, config->prefetch_waste);
	sources_configure(pf->sources);
}
