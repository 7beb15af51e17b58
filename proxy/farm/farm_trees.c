/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was learned of each user, with the handles that it is about. A value is
 * taken over when the user is first seen; after that, each time that something
 * was learned and a while has passed, it is taken over again, and replaced by
 * what is known then.
 *
 *	idle ─▶ asks ─▶ opens ─▶ merges ─┬──────────────────────────────▶ idle
 *	         │ nothing there         ▼
 *	         └──────────────────▶ gathers ─▶ packs ─▶ adds ─▶ seals ─▶ idle
 *
 * Threads open, pack and seal; what touches the predictor or the caches
 * (merging, gathering, adding handles) goes in steps of the loop.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "farm/farm_private.h"
#include "farm/handles.h"
#include "predictor/persist/merge.h"
#include "predictor/persist/persist.h"
#include "predictor/predictor.h"

enum {
	USERS_MAX = 16, /* that a snapshot can be made of */
	/* Nobody waits for it. */
	DEADLINE_US = 5000000,
	TICK_US = 2000000,
	/* What was learned is published once nothing more is learned for so
	 * many ticks, or after so many in any case. */
	QUIET_TICKS = 2,
	BUSY_TICKS = 60,
	PART_US = 1000,
	PART_STEPS = 32,
	PART_HANDLES = 512,
	/* In front: how long the snapshot is. */
	TREES_HEAD = FARM_NUMBER_BYTES,
};

enum trees_state { IDLE, ASKS, OPENS, MERGES, GATHERS, PACKS, ADDS, SEALS };

struct trees_user;

/* What a thread works on. If the user is gone, it frees itself. */
struct trees_job {
	struct iopool_job job;
	struct trees_user *user; /* NULL: gone */
	const struct seal *seal;
	struct farm_key key;
	uint64_t uid;
	/* A sealed value, and what is in it. */
	unsigned char *value;
	size_t len;
	unsigned char *plain;
	size_t plain_len;
	struct predictor_merge *merge;
	struct predictor_snapshot *snapshot;
	void *trees; /* the snapshot, packed */
	size_t trees_len;
	struct handles handles;   /* to be sealed … */
	struct handles_view view; /* … or that came */
	bool sealed;
	uint64_t hash; /* of `plain` */
};

struct trees_user {
	struct engine_ask ask;
	LIST_ENTRY(trees_user) link;
	struct farm_trees *of;
	struct event *ev;
	struct farm_key key;
	uint32_t uid;
	enum trees_state state;
	bool publish;  /* behind the merge */
	bool taken;    /* it was taken over once, or is not there */
	uint64_t hash; /* of what was published or taken over last */
	bool handles;  /* that came with it are not taken yet */
	size_t at;     /* of keys */
	struct trees_job *job;
	struct predictor_merge *merge;
	struct predictor_snapshot *snapshot;
};

struct farm_trees {
	struct farm_server *server;
	struct farm_trees_params p;
	struct event *ev; /* the tick */
	LIST_HEAD(, trees_user) users;
	unsigned nusers;
	uint64_t events;           /* of the predictor, at the last tick … */
	uint64_t published_events; /* … and when it was published last */
	unsigned quiet, busy;      /* ticks */
};

/* ---- threads ----------------------------------------------------------- */

static void job_free(struct trees_job *j)
{
	predictor_merge_free(j->merge);
	predictor_snapshot_free(j->snapshot);
	handles_clear(&j->handles);
	free(j->trees);
	free(j->value);
	free(j->plain);
	free(j);
}

/* In a thread: a sealed value to a merge and handles. */
static void open_run(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	uint64_t n;

	if (j->len <= SEAL_EXTRA + TREES_HEAD)
		return;
	j->plain_len = j->len - SEAL_EXTRA;
	j->plain = malloc(j->plain_len);
	if (!j->plain ||
	    !seal_open(j->seal, j->key.name, j->value, j->len, j->plain))
		return;
	n = farm_get_number(j->plain);
	if (n <= j->plain_len - TREES_HEAD)
		j->merge = predictor_merge_new(
		    j->uid, j->plain + TREES_HEAD, (size_t)n);
	j->hash = XXH3_64bits(j->plain, j->plain_len);
}

/* In a thread: a snapshot to bytes. */
static void pack_run(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;

	j->trees = predictor_snapshot_pack(j->snapshot, &j->trees_len);
}

/* In a thread: these and handles to a sealed value. */
static void seal_run(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	size_t hn = j->handles.len;

	j->plain_len = TREES_HEAD + j->trees_len + hn;
	j->len = j->plain_len + SEAL_EXTRA;
	if (j->len > ENGINE_VALUE_MAX)
		return;
	j->plain = malloc(j->plain_len);
	j->value = malloc(j->len);
	if (!j->plain || !j->value)
		return;
	farm_put_number(j->plain, j->trees_len);
	memcpy(j->plain + TREES_HEAD, j->trees, j->trees_len);
	if (hn > 0)
		memcpy(
		    j->plain + TREES_HEAD + j->trees_len, j->handles.data, hn);
	j->hash = XXH3_64bits(j->plain, j->plain_len);
	seal_close(j->seal, j->key.name, j->plain, j->plain_len, j->value);
	j->sealed = true;
}

static void open_done(struct iopool_job *job);
static void pack_done(struct iopool_job *job);
static void seal_done(struct iopool_job *job);

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

static void soon(struct trees_user *u)
{
	struct timeval tv = clock_timeval(PART_US);

	event_add(u->ev, &tv);
}

static void become_idle(struct trees_user *u)
{
	predictor_merge_free(u->merge);
	u->merge = NULL;
	predictor_snapshot_free(u->snapshot);
	u->snapshot = NULL;
	if (u->job)
		job_free(u->job);
	u->job = NULL;
	u->publish = false;
	u->state = IDLE;
}

/* What is known here is to be published, if that was the purpose. */
static void go_on_to_gather(struct trees_user *u)
{
	u->taken = true;
	if (!u->publish) {
		become_idle(u);
		return;
	}
	if (u->job)
		job_free(u->job);
	u->job = NULL;
	u->snapshot = predictor_snapshot_user(u->of->p.predictor, u->uid);
	if (!u->snapshot) {
		become_idle(u);
		return;
	}
	u->state = GATHERS;
	soon(u);
}

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
	submit(u, OPENS, open_run, open_done);
}

/* They stand behind the snapshot. */
static void open_handles(struct trees_user *u, struct trees_job *j)
{
	size_t at = TREES_HEAD + (size_t)farm_get_number(j->plain);

	u->handles =
	    handles_open(&j->view, j->plain + at, j->plain_len - at) == 0;
}

static void open_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;
	struct metrics *m;

	if (!u) {
		job_free(j);
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
	u->hash = j->hash;
	u->merge = j->merge;
	j->merge = NULL;
	open_handles(u, j);
	u->state = MERGES;
	metrics_add(m, METRICS_FARM_TREES, 1);
	metrics_add(m, METRICS_FARM_BYTES, j->plain_len);
	soon(u);
}

/* The handles first: what is predicted is asked for by them. */
static void step_merge(struct trees_user *u)
{
	const struct farm_trees_params *p = &u->of->p;

	if (u->handles) {
		u->handles = handles_take(
		    &u->job->view, u->of->server->p.caches, PART_HANDLES);
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
	submit(u, PACKS, pack_run, pack_done);
}

static void pack_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;

	if (!u) {
		job_free(j);
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

/* The handles of all that is in the snapshot, then to a thread again. */
static void step_add(struct trees_user *u)
{
	struct trees_job *j = u->job;
	uint64_t keys[PART_HANDLES];
	size_t n =
	    predictor_snapshot_keys(j->snapshot, &u->at, keys, PART_HANDLES);

	if (n == 0)
		submit(u, SEALS, seal_run, seal_done);
	else if (handles_add(&j->handles, u->of->server->p.caches, keys, n))
		soon(u);
	else
		become_idle(u);
}

static void seal_done(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	struct trees_user *u = j->user;
	struct engine_key key;
	struct farm_server *s;

	if (!u) {
		job_free(j);
		return;
	}
	s = u->of->server;
	key = farm_engine_key(&u->key);
	if (j->sealed && j->hash != u->hash &&
	    engine_put(s->p.farm->engine, &key, j->value, j->len, 0)) {
		u->hash = j->hash;
		metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED, 1);
		metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED_BYTES, j->len);
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
	else if (u->state == ADDS)
		step_add(u);
}

/* Take over what others have learned of the user; and `publish` all of it. */
static void begin(struct trees_user *u, bool publish)
{
	struct engine_key key = farm_engine_key(&u->key);

	if (u->state != IDLE)
		return;
	u->publish = publish;
	u->state = ASKS;
	if (!engine_get(
		u->of->server->p.farm->engine, &key, DEADLINE_US, &u->ask))
		u->state = IDLE;
}

static void user_free(struct trees_user *u)
{
	if (u->state == ASKS)
		engine_cancel(u->of->server->p.farm->engine, &u->ask);
	if (u->state == OPENS || u->state == PACKS || u->state == SEALS) {
		u->job->user = NULL;
		u->job = NULL;
	}
	become_idle(u);
	event_free(u->ev);
	LIST_REMOVE(u, link);
	u->of->nusers--;
	free(u);
}

/* ---- all of them ------------------------------------------------------- */

static uint64_t events(const struct farm_trees *t)
{
	struct predictor_stats st;

	predictor_get_stats(t->p.predictor, &st);
	return st.events;
}

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

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct farm_trees *t = arg;
	bool due = engine_is_up(t->server->p.farm->engine) && is_due(t);
	struct trees_user *u;

	(void)fd;
	(void)what;
	LIST_FOREACH (u, &t->users, link)
		if (due || !u->taken)
			begin(u, due);
	if (!due)
		return;
	t->published_events = t->events;
	t->busy = 0;
}

bool farm_trees_settle(struct farm_server *s)
{
	struct farm_trees *t = s->trees;
	struct trees_user *u;

	if (!t)
		return true;
	LIST_FOREACH (u, &t->users, link)
		if (u->state != IDLE)
			return false;
	if (events(t) == t->published_events)
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
