/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From calls that were answered to calls ahead.
 *
 *	reply to a client (svc)
 *	   │ prefetch_observe(): a copy of the call
 *	   ▼
 *	 calls heard ─▶ what they say ─▶ notes, sources ─▶ wants ─▶ calls
 *	   └──────────── the pump, in a later turn of the loop ──────┘
 *
 * The reply's path copies the call, and no more: the client has its reply
 * before anything is made of it.
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
#include "prefetch/sources/dirs.h"
#include "prefetch/sources/sources.h"
#include "prefetch/steps/answers.h"
#include "prefetch/steps/steps.h"

static void wake(struct prefetch *pf, uint64_t now_us)
{
	if (now_us > pf->g.now_us)
		pf->g.now_us = now_us;
	if (pf->active)
		return;
	pf->active = true;
	event_active(pf->ev, EV_TIMEOUT, 1);
}

void prefetch_wake(struct prefetch *pf, uint64_t now_us)
{
	wake(pf, now_us);
}

static void on_wake(void *ctx)
{
	wake(ctx, 0);
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

/* ---- calls that pass -------------------------------------------------- */

/* Returns the copy. An empty view may point nowhere. */
static const char *copy(char *to, const char *from, uint32_t len)
{
	if (len > 0)
		memcpy(to, from, len);
	return to;
}

/* NULL where there are too many, or where the call has too much. */
static struct heard *heard_new(
    struct prefetch *pf, const struct observe_call *call)
{
	struct heard *h = &pf->calls_heard[pf->heard];
	const nfs3_fh *fh = &call->args->object;

	if (pf->heard == HEARD || fh->len > sizeof(h->fh) ||
	    call->cred->body.len > sizeof(h->body))
		return NULL;
	h->call = *call;
	h->args = *call->args;
	h->cred = *call->cred;
	h->call.args = &h->args;
	h->call.cred = &h->cred;
	h->args.object.data = copy(h->fh, fh->data, fh->len);
	h->cred.body.data = copy(h->body, h->cred.body.data, h->cred.body.len);
	pf->heard++;
	return h;
}

/* A name that nobody can have asked for is left out. */
static void heard_name(struct heard *h)
{
	nfs3_name *name = &h->args.dirop.name;

	if (name->len >= sizeof(h->name))
		name->len = 0;
	name->data = copy(h->name, name->data, name->len);
	h->name[name->len] = 0;
}

void prefetch_observe(struct prefetch *pf, const struct observe_call *call)
{
	struct heard *h;

	if ((call->proc->prog != NFS_PROGRAM && !answers_has(call->proc)) ||
	    !call->cred_id || call->proc->proc == NFSPROC3_NULL)
		return;
	*(call->missed ? &pf->demand_bytes : &pf->cached_bytes) += call->bytes;
	h = heard_new(pf, call);
	if (!h) {
		observe_sum(&pf->beside, call);
		return;
	}
	h->begins = false;
	if (call->proc->proc == NFSPROC3_LOOKUP)
		heard_name(h);
	wake(pf, call->received_us + call->latency_us);
}

void prefetch_begins(struct prefetch *pf, const struct observe_call *call)
{
	struct heard *h = heard_new(pf, call);

	if (!h)
		return;
	h->begins = true;
	wake(pf, call->received_us);
}

/* ---- what is made of them --------------------------------------------- */

static void count(struct prefetch *pf, const struct node *node,
    const struct observe_call *call)
{
	struct observe_sums sums = pf->beside;

	observe_sum(&sums, call);
	observe_count(pf->g.caches, node, &sums);
	pf->beside = (struct observe_sums){0};
}

/* Counts the bytes that clients have had since the last turn. */
static void count_bytes(struct prefetch *pf, uint64_t now_us)
{
	if (pf->demand_bytes > 0)
		waste_demand(pf->g.waste, pf->demand_bytes, now_us);
	if (pf->cached_bytes > 0)
		waste_cached(pf->g.waste, pf->cached_bytes, now_us);
	pf->demand_bytes = pf->cached_bytes = 0;
}

static bool is_listing(const struct observe_call *call)
{
	return call->status == NFS3_OK &&
	       (call->proc->proc == NFSPROC3_READDIR ||
		   call->proc->proc == NFSPROC3_READDIRPLUS);
}

/* "" where no name was looked up, or none that C has as a string. */
static const char *name_of(const struct heard *h)
{
	enum { SHORT = 32 };
	uint32_t len = h->args.dirop.name.len;

	return h->call.proc->proc == NFSPROC3_LOOKUP && len < SHORT &&
		       strlen(h->name) == len
		   ? h->name
		   : "";
}

static void passed(struct prefetch *pf, const struct heard *h, struct passed *p)
{
	const nfs3_name *name = &h->args.dirop.name;
	struct note_use use = {.object = p->obs.object,
	    .uid = credential_uid(p->cred),
	    .late = p->late,
	    .missed = p->missed};

	if (p->obs.kind == PREDICTOR_ABSENT)
		namemap_put(
		    pf->g.absents, p->obs.object, name->data, name->len);
	notes_used(pf->notes, &use, p->now_us);
	if (!p->missed && p->obs.parent)
		notes_name_used(pf->notes, p->obs.parent);
	if (p->missed)
		budget_demand(pf->g.budget, p->now_us);
	sources_passed(pf->sources, p);
}

/* Tells everybody what the call says; its credential stays for as long. */
static void hear(struct prefetch *pf, const struct heard *h, struct node *node,
    struct passed *p)
{
	const struct observe_call *call = &h->call;
	bool plus = call->proc->proc == NFSPROC3_READDIRPLUS;
	uint64_t mounted = observe_mount(pf->g.caches, node, call);

	if (p->obs.actor)
		credential_set_actor(p->cred, p->obs.actor);
	if (h->begins) {
		sources_begins(pf->sources, p);
		return;
	}
	if (answers_has(call->proc)) {
		if (node && call->status == NFS3_OK)
			answers_told(pf->answers, p->cred, node,
			    answer_key(call->proc, call->args), p->now_us);
		return;
	}
	if (mounted)
		predictor_mounted(pf->g.predictor, call->actor, mounted);
	if (node && is_listing(call)) {
		answers_listed(pf->answers, p->cred, node, p->now_us);
		sources_read_listing(pf->sources, p->cred, node,
		    plus ? h->args.readdirplus.maxcount : DIRS_NAMES);
	}
	if (p->obs.object)
		passed(pf, h, p);
}

static void take(struct prefetch *pf, struct heard *h, uint64_t now_us)
{
	const struct observe_call *call = &h->call;
	struct caches *c = pf->g.caches;
	struct node *node = observe_node(c, call);
	struct passed p = {.name = name_of(h),
	    .now_us = now_us,
	    .late = call->late,
	    .missed = call->missed};

	if (!h->begins)
		count(pf, node, call);
	if ((call->proc->flags & NFS_PROC_DRC) ||
	    caches_policy(c, node)->prefetch == CONFIG_PREFETCH_OFF)
		return;
	if (!observe_call(c, node, call, &p.obs, &p.node) &&
	    !answers_has(call->proc) &&
	    (h->begins || (!is_listing(call) && !observe_mount(c, node, call))))
		return;
	p.cred =
	    credentials_get(pf->creds, call->cred, call->cred_id, call->uid);
	if (!p.cred)
		return;
	(void)credential_ref(p.cred);
	hear(pf, h, node, &p);
	credential_unref(p.cred);
}

/* ---- the pump --------------------------------------------------------- */

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
	count_bytes(pf, now_us);
	for (unsigned i = 0; i < pf->heard; i++)
		take(pf, &pf->calls_heard[i], now_us);
	pf->heard = 0;
	notes_age(pf->notes, now_us);
	answers_age(pf->answers, now_us);
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

	sp.credentials = pf->creds = credentials_new(pf->g.caches, pf->g.farm);
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
	pf->answers = answers_new(&tp);
	pf->ev = evtimer_new(pf->g.base, on_turn, pf);
	return pf->steps && pf->answers && pf->ev;
}

struct prefetch *prefetch_new(const struct prefetch_params *p)
{
	struct prefetch *pf = calloc(1, sizeof(*pf));

	if (!pf)
		return NULL;
	pf->g = p->ground;
	pf->g.wake = on_wake;
	pf->g.wake_ctx = pf;
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

/* Jobs go first, and wants, which watch calls; then calls, which learn no more.
 */
void prefetch_free(struct prefetch *pf)
{
	if (!pf)
		return;
	prefetch_save_close(pf);
	answers_free(pf->answers);
	queue_free(pf->queue);
	steps_free(pf->steps);
	sources_free(pf->sources);
	calls_free(pf->calls);
	free(pf->notes);
	credentials_free(pf->creds);
	if (pf->ev)
		event_free(pf->ev);
	budget_free(pf->g.budget);
	hold_free(pf->g.hold);
	waste_free(pf->g.waste);
	namemap_free(pf->g.absents);
	prefetch_save_bury(pf);
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
