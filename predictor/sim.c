/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost model of the judge:
 *
 *	runs      dealt round robin to the streams, in file order; a stream
 *	          plays its runs one after another, 1 s apart, from a random
 *	          offset below 1 s on
 *	event     the first read of a file in a run, after its think time;
 *	          bytes = min(size, 64 KiB), at least 1
 *	hit       cached or in flight: max(0, arrival - now) + 0.1 ms
 *	miss      link_free = max(link_free, now) + bytes / rate;
 *	          latency = rtt + bytes / rate
 *	prefetch  of what is neither cached nor in flight, at most 64 an event:
 *	          link_free = max(link_free, now) + bytes / rate;
 *	          arrival = link_free + rtt
 *	cache     LRU by bytes
 *
 * Lines of other kinds than read take their think time and no more.
 */
#include "sim.h"

#include "keymap.h"
#include "simcache.h"
#include "simpolicy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	BLOCK_BYTES = 65536,
	AHEAD_MAX = 64,
	PREDICT_MAX = 256,
	PROGRESS_EVERY = 4096,
};
#define HIT_S     0.0001
#define RUN_GAP_S 1.0

struct player {
	uint32_t run; /* nruns at the end */
	uint32_t event;
	double next_s;
};

/* A directory whose listing is on its way to the predictor. */
struct listing {
	double arrival_s;
	uint32_t dir;
};

struct sim {
	const struct trace *t;
	const struct sim_options *opt;
	const struct model_ops *ops;
	void *model;
	struct sim_result *res;
	struct simcache *cache;
	struct keymap *files, *dirs; /* key → number */
	struct player *players;
	bool *seen, *listed; /* files, directories */
	bool *placed;        /* directories */
	struct listing *listings;
	size_t nlistings, listings_done;
	double link_free_s, now_s;
	uint64_t rng, spent_ns;
	size_t done;
	struct model_future future;
	uint64_t future_objects[AHEAD_MAX];
	bool future_seen[AHEAD_MAX], future_listed[AHEAD_MAX];
};

/* splitmix64, in [0, 1). */
static double sim_random(struct sim *s)
{
	uint64_t x = s->rng += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

static uint64_t host_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t demand_bytes(uint64_t size_bytes)
{
	if (size_bytes == 0)
		return 1;
	return size_bytes < BLOCK_BYTES ? (uint32_t)size_bytes : BLOCK_BYTES;
}

static struct sim_class *sim_class_of(struct sim *s, uint32_t run)
{
	return s->t->runs[run].cold ? &s->res->cold : &s->res->warm;
}

static struct sim_class *sim_label_of(struct sim *s, uint32_t run)
{
	return &s->res->labels[s->t->runs[run].label];
}

static void sim_on_evict(
    void *ctx, uint32_t file, const struct simcache_entry *e)
{
	struct sim *s = ctx;

	if (e->issuer == SIMCACHE_DEMAND || !e->unused)
		return;
	sim_class_of(s, e->issuer)->waste_bytes += e->bytes;
	sim_class_of(s, e->issuer)->unused++;
	sim_label_of(s, e->issuer)->waste_bytes += e->bytes;
	if (s->ops->feedback)
		s->ops->feedback(
		    s->model, s->t->files[file].key, PREDICTOR_UNUSED);
}

/* The first use of what was prefetched. */
static void sim_used(struct sim *s, uint32_t file, struct simcache_entry *e)
{
	struct sim_class *c;
	bool late = e->arrival_s > s->now_s;

	if (e->issuer == SIMCACHE_DEMAND || !e->unused)
		return;
	e->unused = false;
	c = sim_class_of(s, e->issuer);
	c->used++;
	c->late += late;
	sim_label_of(s, e->issuer)->used++;
	if (s->ops->feedback)
		s->ops->feedback(s->model, s->t->files[file].key,
		    late ? PREDICTOR_LATE : PREDICTOR_USED);
}

/* Returns the latency. */
static double sim_demand(struct sim *s, const struct trace_event *ev)
{
	uint32_t bytes = demand_bytes(ev->size_bytes);
	double wire_s = bytes / s->opt->bytes_per_s;
	double base_s = s->opt->rtt_s + wire_s, latency_s = base_s;
	struct simcache_entry *e = simcache_get(s->cache, ev->file);
	struct sim_class *cls[2] = {
	    sim_class_of(s, ev->run), sim_label_of(s, ev->run)};

	if (e) {
		latency_s = HIT_S + fmax(0, e->arrival_s - s->now_s);
		sim_used(s, ev->file, e);
		simcache_touch(s->cache, ev->file);
	} else {
		s->link_free_s = fmax(s->link_free_s, s->now_s) + wire_s;
		simcache_add(s->cache, ev->file, bytes, s->now_s + base_s);
	}
	for (int i = 0; i < 2; i++) {
		cls[i]->events++;
		cls[i]->hits += e != NULL;
		cls[i]->demand_bytes += bytes;
		cls[i]->stall_s += latency_s;
		cls[i]->base_s += base_s;
	}
	return latency_s;
}

static void sim_prefetch(
    struct sim *s, const struct trace_event *ev, uint32_t file)
{
	uint32_t bytes = demand_bytes(s->t->files[file].size_bytes);
	struct simcache_entry *e;
	struct sim_class *cls[2] = {
	    sim_class_of(s, ev->run), sim_label_of(s, ev->run)};

	s->link_free_s =
	    fmax(s->link_free_s, s->now_s) + bytes / s->opt->bytes_per_s;
	e = simcache_add(s->cache, file, bytes, s->link_free_s + s->opt->rtt_s);
	e->issuer = ev->run;
	e->unused = true;
	for (int i = 0; i < 2; i++) {
		cls[i]->issued++;
		cls[i]->issued_bytes += bytes;
	}
}

/* The directory is listed as soon as a file of it was wanted; the reply
 * takes a round trip. */
static void sim_want_listing(struct sim *s, uint32_t dir)
{
	if (s->listed[dir] || s->nlistings == s->t->ndirs)
		return;
	s->listed[dir] = true;
	s->listings[s->nlistings].arrival_s = s->now_s + s->opt->rtt_s;
	s->listings[s->nlistings].dir = dir;
	s->nlistings++;
}

static void sim_want_listing_of(struct sim *s, uint64_t key)
{
	uint32_t dir = keymap_get(s->dirs, key);

	if (dir != KEYMAP_NONE)
		sim_want_listing(s, dir);
}

/* Fetch what is worth it. */
static void sim_issue(struct sim *s, const struct trace_event *ev,
    struct prediction *preds, size_t n)
{
	unsigned issued = 0;

	if (!s->ops->ungated)
		simpolicy_order(preds, n);
	for (size_t i = 0; i < n && issued < AHEAD_MAX; i++) {
		uint32_t file = keymap_get(s->files, preds[i].object);
		struct simpolicy_link link = {s->opt->rtt_s,
		    s->opt->bytes_per_s, fmax(0, s->link_free_s - s->now_s),
		    s->opt->price};
		uint32_t bytes;

		if (preds[i].needs == PREDICTOR_NEEDS_LISTING)
			sim_want_listing_of(s, preds[i].object);
		if (file == KEYMAP_NONE || simcache_get(s->cache, file))
			continue;
		bytes = demand_bytes(s->t->files[file].size_bytes);
		if (!s->ops->ungated &&
		    !simpolicy_worth(&link, &preds[i], bytes))
			continue;
		sim_prefetch(s, ev, file);
		issued++;
	}
}

static void sim_observation(struct sim *s, const struct trace_event *ev,
    double latency_s, struct predictor_obs *o)
{
	const struct trace_file *f = &s->t->files[ev->file];

	memset(o, 0, sizeof(*o));
	o->kind = PREDICTOR_READ;
	o->exec = ev->exec;
	o->now_ns = (uint64_t)(s->now_s * 1e9);
	o->latency_ns = (uint64_t)(latency_s * 1e9);
	o->actor = 1;
	o->connection = 1;
	/* Two streams may run commands of the same pid. */
	o->pid = s->opt->use_pids ? ((uint64_t)ev->run + 1) << 32 | ev->pid : 0;
	o->object = f->key;
	o->parent = f->parent;
	o->name_hash = f->name_hash;
	o->type_hash = f->type_hash;
	o->size_bytes = ev->size_bytes;
}

static void sim_set_future(struct sim *s, const struct trace_event *ev)
{
	const struct trace *t = s->t;
	const struct trace_run *run = &t->runs[ev->run];
	const struct trace_event *end = &t->events[run->first + run->n];
	size_t n = 0;

	for (const struct trace_event *e = ev + 1; e < end; e++) {
		if (n == AHEAD_MAX)
			break;
		if (e->kind != PREDICTOR_READ)
			continue;
		s->future_objects[n] = t->files[e->file].key;
		s->future_seen[n] = s->seen[e->file];
		s->future_listed[n] = s->listed[t->files[e->file].dir];
		n++;
	}
	s->future.objects = s->future_objects;
	s->future.seen = s->future_seen;
	s->future.listed = s->future_listed;
	s->future.n = n;
	s->ops->future(s->model, &s->future);
}

/* The lookups on the way to a file show where its directories hang. */
static void sim_place(struct sim *s, uint32_t dir)
{
	if (!s->ops->place_dir)
		return;
	for (; dir != UINT32_MAX && !s->placed[dir]; dir = s->t->dirs[dir].up) {
		const struct trace_dir *d = &s->t->dirs[dir];

		s->placed[dir] = true;
		s->ops->place_dir(s->model, d->key, d->parent, d->name_hash);
	}
}

/* The predictor sees the event, and says what comes next. */
static size_t sim_ask(struct sim *s, const struct trace_event *ev,
    double latency_s, struct prediction *preds)
{
	struct predictor_obs o;
	uint64_t begin_ns;
	size_t n;

	sim_observation(s, ev, latency_s, &o);
	sim_place(s, s->t->files[ev->file].dir);
	if (s->ops->future)
		sim_set_future(s, ev);
	begin_ns = host_now_ns();
	s->ops->observe(s->model, &o);
	n = s->ops->predict(s->model, preds, PREDICT_MAX);
	s->spent_ns += host_now_ns() - begin_ns;
	s->res->seen++;
	return n;
}

static void sim_deliver_listing(struct sim *s, uint32_t dir)
{
	const struct trace_dir *d = &s->t->dirs[dir];
	struct predictor_dirent *ents = calloc(d->nfiles + 1, sizeof(*ents));
	size_t n = 0;

	if (!ents)
		return;
	for (uint32_t i = 0; i < d->nfiles; i++) {
		const struct trace_file *f = &s->t->files[d->files[i]];

		if (!f->exists)
			continue;
		ents[n].object = f->key;
		ents[n].name_hash = f->name_hash;
		ents[n].type_hash = f->type_hash;
		ents[n].size_bytes = f->size_bytes;
		ents[n].exec = f->exec;
		ents[n].directory = f->directory;
		ents[n].rank = (uint32_t)n;
		n++;
	}
	for (uint32_t i = 0; i < s->t->ndirs && s->ops->place_dir; i++) {
		const struct trace_dir *sub = &s->t->dirs[i];

		if (sub->up == dir)
			s->ops->place_dir(
			    s->model, sub->key, sub->parent, sub->name_hash);
	}
	s->ops->list(s->model, d->key, ents, n);
	free(ents);
}

/* Those which came before now. */
static void sim_deliver_listings(struct sim *s)
{
	if (!s->ops->wants_listings)
		return;
	while (s->listings_done < s->nlistings &&
	       s->listings[s->listings_done].arrival_s <= s->now_s)
		sim_deliver_listing(s, s->listings[s->listings_done++].dir);
}

/* One event of a stream; returns the time until the stream goes on. */
static double sim_event(struct sim *s, const struct trace_event *ev)
{
	struct prediction preds[PREDICT_MAX];
	double latency_s;
	size_t n;

	sim_deliver_listings(s);
	s->t->files[ev->file].size_bytes = ev->size_bytes;
	latency_s = sim_demand(s, ev);
	n = sim_ask(s, ev, latency_s, preds);
	sim_issue(s, ev, preds, n);
	s->seen[ev->file] = true;
	for (uint32_t d = s->t->files[ev->file].dir; d != UINT32_MAX;
	     d = s->t->dirs[d].up)
		sim_want_listing(s, d);
	if (s->opt->noise > 0 && sim_random(s) < s->opt->noise)
		return 0;
	return latency_s;
}

static double sim_think(struct sim *s, const struct trace_event *ev)
{
	double think_s = ev->think_us * 1e-6;

	return s->opt->noise > 0 ? think_s * (0.5 + sim_random(s)) : think_s;
}

/* The think time before the next read; false at the end of the run. */
static bool player_advance(struct sim *s, struct player *p, double *think_s)
{
	const struct trace_run *run = &s->t->runs[p->run];

	for (; p->event < run->first + run->n; p->event++) {
		const struct trace_event *ev = &s->t->events[p->event];

		*think_s += sim_think(s, ev);
		if (ev->kind == PREDICTOR_READ)
			return true;
	}
	return false;
}

/* To the next read of the stream, `from_s` being the end of the last. */
static void player_next(struct sim *s, struct player *p, double from_s)
{
	double think_s = 0;

	while (p->run < s->t->nruns && !player_advance(s, p, &think_s)) {
		p->run += s->opt->streams;
		think_s += RUN_GAP_S;
		if (p->run < s->t->nruns)
			p->event = s->t->runs[p->run].first;
	}
	p->next_s = p->run < s->t->nruns ? from_s + think_s : INFINITY;
}

static void sim_play(struct sim *s)
{
	for (unsigned i = 0; i < s->opt->streams; i++) {
		struct player *p = &s->players[i];

		p->run = i;
		if (i < s->t->nruns)
			p->event = s->t->runs[i].first;
		player_next(s, p, sim_random(s));
	}
	for (;;) {
		struct player *p = &s->players[0];
		double wait_s;

		for (unsigned i = 1; i < s->opt->streams; i++)
			if (s->players[i].next_s < p->next_s)
				p = &s->players[i];
		if (isinf(p->next_s))
			break;
		s->now_s = p->next_s;
		wait_s = sim_event(s, &s->t->events[p->event]);
		p->event++;
		player_next(s, p, s->now_s + wait_s);
		if (++s->done % PROGRESS_EVERY == 0 && s->opt->on_progress)
			s->opt->on_progress(
			    s->opt->progress_ctx, s->done, s->t->nevents);
	}
}

static int sim_init(struct sim *s)
{
	const struct trace *t = s->t;
	struct model_options mo = {
	    s->opt->budget_bytes, s->opt->use_pids, AHEAD_MAX};

	s->res->nlabels = t->nlabels;
	s->res->labels = calloc(t->nlabels + 1, sizeof(*s->res->labels));
	s->cache =
	    simcache_new(t->nfiles, s->opt->cache_bytes, sim_on_evict, s);
	s->files = keymap_new(0);
	s->dirs = keymap_new(0);
	s->players = calloc(s->opt->streams, sizeof(*s->players));
	s->seen = calloc(t->nfiles + 1, sizeof(*s->seen));
	s->listed = calloc(t->ndirs + 1, sizeof(*s->listed));
	s->placed = calloc(t->ndirs + 1, sizeof(*s->placed));
	s->listings = calloc(t->ndirs + 1, sizeof(*s->listings));
	s->model = s->ops->create(&mo);
	if (!s->res->labels || !s->cache || !s->files || !s->dirs ||
	    !s->players || !s->seen || !s->listed || !s->placed ||
	    !s->listings || !s->model)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nfiles; i++) {
		t->files[i].size_bytes = t->files[i].first_size_bytes;
		if (keymap_put(s->files, t->files[i].key, i))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->ndirs; i++)
		if (keymap_put(s->dirs, t->dirs[i].key, i))
			return -ENOMEM;
	return 0;
}

static void sim_finish(struct sim *s)
{
	struct sim_result *res = s->res;
	double n = res->seen ? (double)res->seen : 1;

	simcache_flush(s->cache);
	res->ns_per_event = (double)s->spent_ns / n;
	if (s->ops->memory_bytes)
		res->bytes_per_event =
		    (double)s->ops->memory_bytes(s->model) / n;
	if (s->ops->reliability)
		res->has_reliability =
		    s->ops->reliability(s->model, &res->reliability);
}

static void sim_done(struct sim *s)
{
	if (s->model)
		s->ops->destroy(s->model);
	simcache_free(s->cache);
	keymap_free(s->files);
	keymap_free(s->dirs);
	free(s->players);
	free(s->seen);
	free(s->listed);
	free(s->placed);
	free(s->listings);
}

int sim_run(const struct trace *t, const struct model_ops *ops,
    const struct sim_options *opt, struct sim_result *res)
{
	struct sim s = {.t = t, .ops = ops, .opt = opt, .res = res};
	int ret;

	memset(res, 0, sizeof(*res));
	res->predictor = ops->name;
	res->streams = opt->streams;
	res->price = opt->price;
	s.rng = opt->seed;
	ret = sim_init(&s);
	if (!ret) {
		sim_play(&s);
		sim_finish(&s);
	}
	sim_done(&s);
	if (ret)
		sim_result_done(res);
	return ret;
}

void sim_result_done(struct sim_result *res)
{
	free(res->labels);
	res->labels = NULL;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

double sim_stall(const struct sim_class *c)
{
	return ratio(c->stall_s, c->base_s);
}

double sim_precision(const struct sim_class *c)
{
	return ratio((double)c->used, (double)c->issued);
}

double sim_waste(const struct sim_class *c)
{
	return ratio((double)c->waste_bytes, (double)c->demand_bytes);
}

double sim_late(const struct sim_class *c)
{
	return ratio((double)c->late, (double)c->used);
}
