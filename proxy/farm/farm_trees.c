/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A value has what was learned of one user, with the handles and the absent
 * names that this is about. It is taken over when the user is first seen; after
 * that, each time that something was learned and a while has passed, it is
 * taken over again, and replaced by what is known then.
 *
 *	idle ─▶ asks ─▶ opens ─▶ merges ─┬──────────────────────────────▶ idle
 *	         │ nothing there         ▼
 *	         └────────▶ gathers ─▶ packs ─▶ adds ─▶ names ─▶ seals ─▶ idle
 *
 * Threads open, pack and seal; what touches the predictor or the caches
 * (merging, gathering, adding handles and names) goes in steps of the loop.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "farm/farm_private.h"
#include "farm/trees_job.h"
#include "predictor/persist/merge.h"
#include "predictor/persist/persist.h"
#include "predictor/predictor.h"

enum {
	USERS_MAX = 16, /* that a snapshot can be made of */
	/* Nobody waits for it. */
	DEADLINE_US = 5000000,
	TICK_US = 2000000,
	/* A value is published once nothing more is learned for so many
	 * ticks, or after so many in any case. */
	QUIET_TICKS = 2,
	BUSY_TICKS = 60,
	PART_US = 1000,
	PART_STEPS = 32,
	PART_ROWS = 512,
};

/* The states of the drawing above. */
enum trees_state {
	IDLE,
	ASKS,
	OPENS,
	MERGES,
	GATHERS,
	PACKS,
	ADDS,
	NAMES,
	SEALS
};

/* One user whose learned trees are shared. */
struct trees_user {
	struct engine_ask ask;
	LIST_ENTRY(trees_user) link;
	struct farm_trees *of;
	struct event *ev;
	struct farm_key key;
	uint32_t uid;
	enum trees_state state;
	/* Waits for another user, as one is at work at a time. */
	bool waits;
	/* After the merge, what is known here then is to be published. */
	bool publish;
	/* It was taken over once, or nothing is there. */
	bool taken;
	uint64_t hash; /* of what was published or taken over last */
	/* A value's handles and names that are still to be taken over. */
	bool handles, names;
	/* The next key of the snapshot whose handle or name is added. */
	size_t at;
	struct trees_job *job;
	struct predictor_merge *merge;
	struct predictor_snapshot *snapshot;
};

/* The users of one server whose learned trees are shared. */
struct farm_trees {
	struct farm_server *server;
	struct farm_trees_params p;
	struct event *ev; /* the tick */
	LIST_HEAD(, trees_user) users;
	unsigned nusers, nbusy;    /* busy ones are not idle */
	uint64_t events;           /* of the predictor, at the last tick */
	uint64_t published_events; /* when a value was published last */
	/* Ticks in a row without anything learned, and since something was. */
	unsigned quiet, busy;
	struct linkest_kept link; /* as a value said; zeros: none did */
};

/* ---- threads ----------------------------------------------------------- */

static void open_done(struct iopool_job *job);
static void pack_done(struct iopool_job *job);
static void seal_done(struct iopool_job *job);

/* A job for the user's next step in a thread; NULL without memory. */
static struct trees_job *job_new(struct trees_user *u)
{
	struct trees_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->user = u;
	j->seal = u->of->server->p.farm->seal;
	j->key = u->key;
	j->uid = u->uid;
	u->job = j;
	return j;
}

/* Have a thread do the next thing. */
static void submit(struct trees_user *u, enum trees_state state,
    void (*run)(struct iopool_job *job), void (*done)(struct iopool_job *job))
{
	u->state = state;
	u->job->job.run = run;
	u->job->job.done = done;
	iopool_submit(u->of->p.iopool, &u->job->job);
}

/* ---- one user ---------------------------------------------------------- */

static void begin(struct trees_user *u, bool publish);

/* The next part of it, after what waits for the loop by then. Nobody waits for
 * what is to be published: a millisecond is between its parts. */
static void soon(struct trees_user *u)
{
	struct timeval tv = clock_timeval(u->state == MERGES ? 0 : PART_US);

	event_add(u->ev, &tv);
}

/* A value may take 100 MB when it is opened: users come one after another. */
static void begin_next(struct farm_trees *t)
{
	struct trees_user *u;

	LIST_FOREACH (u, &t->users, link)
		if (u->waits && t->nbusy == 0)
			begin(u, u->publish);
}

/* Gives up whatever the user is at; jobs in threads go on by themselves. */
static void clear(struct trees_user *u)
{
	predictor_merge_free(u->merge);
	u->merge = NULL;
	predictor_snapshot_free(u->snapshot);
	u->snapshot = NULL;
	if (u->job)
		trees_job_free(u->job);
	u->job = NULL;
	u->publish = false;
	u->of->nbusy -= u->state != IDLE;
	u->state = IDLE;
}

static void become_idle(struct trees_user *u)
{
	clear(u);
	begin_next(u->of);
}

/* Begins to publish what is known here, if that was the purpose. */
static void go_on_to_gather(struct trees_user *u)
{
	u->taken = true;
	if (!u->publish) {
		become_idle(u);
		return;
	}
	if (u->job)
		trees_job_free(u->job);
	u->job = NULL;
	u->snapshot = predictor_snapshot_user(u->of->p.predictor, u->uid);
	if (!u->snapshot) {
		become_idle(u);
		return;
	}
	u->state = GATHERS;
	soon(u);
}

/* A value came, or there is none; it is copied for the thread. */
static void on_value(struct engine_ask *ask, const void *data, size_t len)
{
	struct trees_user *u = (struct trees_user *)ask;
	struct trees_job *j;

	if (!data) {
		go_on_to_gather(u);
		return;
	}
	j = job_new(u);
	if (j)
		j->value = malloc(len);
	if (!j || !j->value) {
		become_idle(u);
		return;
	}
	memcpy(j->value, data, len);
	j->len = len;
	submit(u, OPENS, trees_job_open, open_done);
}

/* Takes the link's estimate over from another machine, if the link is not known
 * here. */
static void begin_link(struct farm_trees *t, const struct linkest_kept *kept)
{
	struct linkest *le = t->server->p.link;

	if (!linkest_kept_makes_sense(kept))
		return;
	t->link = *kept;
	if (linkest_rate_Bps(le) == 0)
		linkest_begin(le, kept);
}

/* A thread has opened the value. */
static void open_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;
	struct metrics *m;

	if (!u) {
		trees_job_free(j);
		return;
	}
	m = u->of->server->p.metrics;
	free(j->value);
	j->value = NULL;
	if (!j->merge || j->hash == u->hash) {
		/* It is damaged, or has nothing new. */
		if (!j->merge)
			metrics_add(m, METRICS_FARM_BAD, 1);
		go_on_to_gather(u);
		return;
	}
	begin_link(u->of, &j->link);
	u->hash = j->hash;
	u->merge = j->merge;
	j->merge = NULL;
	u->handles = j->has_handles;
	u->names = j->has_names;
	u->state = MERGES;
	metrics_add(m, METRICS_FARM_TREES, 1);
	metrics_add(m, METRICS_FARM_BYTES, j->plain_len);
	soon(u);
}

/* Handles and names first: what is predicted is asked for by them. */
static void step_merge(struct trees_user *u)
{
	const struct farm_trees_params *p = &u->of->p;

	if (u->handles) {
		u->handles = trees_take_handles(
		    &u->job->handles_came, u->of->server->p.caches, PART_ROWS);
		soon(u);
		return;
	}
	if (u->names) {
		u->names =
		    trees_take_names(&u->job->names_came, p->names, PART_ROWS);
		soon(u);
		return;
	}
	if (!predictor_merge_step(u->merge, p->predictor, PART_STEPS)) {
		soon(u);
		return;
	}
	p->on_merged(p->ctx);
	go_on_to_gather(u);
}

/* All of the snapshot, then to a thread. */
static void step_gather(struct trees_user *u)
{
	struct trees_job *j;

	if (!predictor_snapshot_step(u->snapshot, PART_STEPS)) {
		soon(u);
		return;
	}
	j = predictor_snapshot_error(u->snapshot) ? NULL : job_new(u);
	if (!j) {
		become_idle(u);
		return;
	}
	j->snapshot = u->snapshot;
	u->snapshot = NULL;
	submit(u, PACKS, trees_job_pack, pack_done);
}

/* A thread has packed the snapshot. */
static void pack_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;

	if (!u) {
		trees_job_free(j);
		return;
	}
	if (!j->trees) {
		become_idle(u);
		return;
	}
	u->state = ADDS;
	u->at = 0;
	soon(u);
}

/* Adds the handles, or for what is absent the names, of some of the snapshot:
 * 1, or 0 at the end, less than that without memory. */
static int add_rows(struct trees_user *u)
{
	struct trees_job *j = u->job;
	bool names = u->state == NAMES, ok;
	uint64_t keys[PART_ROWS];
	size_t n = predictor_snapshot_keys(
	    j->snapshot, &u->at, names, keys, PART_ROWS);

	if (n == 0)
		return 0;
	ok = names ? trees_add_names(&j->names, u->of->p.names, keys, n)
		   : trees_add_handles(
			 &j->handles, u->of->server->p.caches, keys, n);
	return ok ? 1 : -1;
}

/* First the handles, then the names; then to a thread again. */
static void step_add(struct trees_user *u)
{
	int rc = add_rows(u);

	if (rc < 0) {
		become_idle(u);
	} else if (rc > 0) {
		soon(u);
	} else if (u->state == ADDS) {
		u->state = NAMES;
		u->at = 0;
		soon(u);
	} else {
		if (!linkest_keep(u->of->server->p.link, &u->job->link))
			u->job->link = u->of->link;
		submit(u, SEALS, trees_job_seal, seal_done);
	}
}

/* A thread has sealed the value: it is put, unless it is what the engine
 * has. */
static void seal_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;
	struct engine_key key;
	struct farm_server *s;

	if (!u) {
		trees_job_free(j);
		return;
	}
	s = u->of->server;
	key = farm_engine_key(&u->key);
	if (j->sealed && j->hash != u->hash &&
	    engine_put(s->p.farm->engine, &key, j->value, j->len, 0)) {
		u->hash = j->hash;
		metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED, 1);
		metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED_BYTES, j->len);
	} else if (!j->sealed) {
		/* It is too long, or there was no memory. */
		metrics_add(s->p.metrics, METRICS_FARM_LEFT_OUT, 1);
	}
	become_idle(u);
}

static void on_step(evutil_socket_t fd, short what, void *arg)
{
	struct trees_user *u = arg;

	(void)fd;
	(void)what;
	if (u->state == MERGES)
		step_merge(u);
	else if (u->state == GATHERS)
		step_gather(u);
	else if (u->state == ADDS || u->state == NAMES)
		step_add(u);
}

/* Take over what others have learned of the user; and `publish` all of it. */
static void begin(struct trees_user *u, bool publish)
{
	struct engine_key key = farm_engine_key(&u->key);
	struct farm_trees *t = u->of;

	if (u->state != IDLE)
		return;
	u->publish |= publish;
	u->waits = t->nbusy > 0;
	if (u->waits)
		return;
	if (!engine_get(t->server->p.farm->engine, &key, DEADLINE_US, &u->ask))
		return;
	u->state = ASKS;
	t->nbusy++;
}

/* A thread that works for the user keeps its job, and frees it at the end. */
static void user_free(struct trees_user *u)
{
	if (u->state == ASKS)
		engine_cancel(u->of->server->p.farm->engine, &u->ask);
	if (u->state == OPENS || u->state == PACKS || u->state == SEALS) {
		u->job->user = NULL;
		u->job = NULL;
	}
	clear(u);
	event_free(u->ev);
	LIST_REMOVE(u, link);
	u->of->nusers--;
	free(u);
}

/* ---- all of them ------------------------------------------------------- */

/* Accesses that the predictor has observed. */
static uint64_t events(const struct farm_trees *t)
{
	struct predictor_stats st;

	predictor_get_stats(t->p.predictor, &st);
	return st.events;
}

/* Whether what was learned is to be published at this tick: after a pause of
 * the users, or after two minutes without one. */
static bool is_due(struct farm_trees *t)
{
	uint64_t now = events(t);

	t->quiet = now == t->events ? t->quiet + 1 : 0;
	t->events = now;
	if (now == t->published_events) {
		t->busy = 0;
		return false;
	}
	t->busy++;
	return t->quiet >= QUIET_TICKS || t->busy >= BUSY_TICKS;
}

/* Called every TICK_US. Also asks again for users whose trees could not be
 * asked for when they were seen. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct farm_trees *t = arg;
	bool due = engine_is_up(t->server->p.farm->engine) && is_due(t);
	struct trees_user *u;

	(void)fd;
	(void)what;
	LIST_FOREACH (u, &t->users, link)
		if (due || !u->taken || u->publish)
			begin(u, due);
	if (!due)
		return;
	t->published_events = t->events;
	t->busy = 0;
}

/* Whether something is to be published, and the engine could not be asked when
 * that should have begun. */
static bool is_owed(const struct farm_trees *t)
{
	const struct trees_user *u;

	LIST_FOREACH (u, &t->users, link)
		if (u->publish)
			return true;
	return false;
}

bool farm_trees_settle(struct farm_server *s)
{
	struct farm_trees *t = s->trees;
	struct trees_user *u;

	if (!t)
		return true;
	LIST_FOREACH (u, &t->users, link)
		if (u->state != IDLE || u->waits)
			return false;
	if (events(t) == t->published_events && !is_owed(t))
		return true;
	t->published_events = events(t);
	LIST_FOREACH (u, &t->users, link)
		begin(u, true);
	return LIST_EMPTY(&t->users);
}

void farm_trees_seen(struct farm_server *s, uint32_t uid)
{
	struct farm_trees *t = s ? s->trees : NULL;
	struct trees_user *u;

	if (!t || t->nusers == USERS_MAX)
		return;
	LIST_FOREACH (u, &t->users, link)
		if (u->uid == uid)
			return;
	u = calloc(1, sizeof(*u));
	if (!u)
		return;
	u->ask.on_value = on_value;
	u->of = t;
	u->uid = uid;
	u->ev = evtimer_new(s->p.farm->base, on_step, u);
	if (!u->ev) {
		free(u);
		return;
	}
	farm_trees_key(s, uid, &u->key);
	LIST_INSERT_HEAD(&t->users, u, link);
	t->nusers++;
	begin(u, false);
}

void farm_trees_begin(struct farm_server *s, const struct farm_trees_params *p)
{
	struct timeval tick = clock_timeval(TICK_US);
	struct farm_trees *t;

	if (!s || !(s->p.farm->config->share & CONFIG_SHARE_TREES))
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	t->server = s;
	t->p = *p;
	LIST_INIT(&t->users);
	t->ev = event_new(s->p.farm->base, -1, EV_PERSIST, on_tick, t);
	if (!t->ev || event_add(t->ev, &tick) < 0) {
		if (t->ev)
			event_free(t->ev);
		free(t);
		return;
	}
	t->events = t->published_events = events(t);
	s->trees = t;
}

void farm_trees_know(struct farm_server *s)
{
	struct farm_trees *t = s ? s->trees : NULL;

	if (t)
		t->events = t->published_events = events(t);
}

void farm_trees_end(struct farm_server *s)
{
	struct farm_trees *t = s ? s->trees : NULL;

	if (!t)
		return;
	while (!LIST_EMPTY(&t->users))
		user_free(LIST_FIRST(&t->users));
	event_free(t->ev);
	free(t);
	s->trees = NULL;
}
