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
 *
 * In the finer model (`calls`) every line is a call, unless the run's client
 * has had the answer already; name and attributes are one call. Sizes are
 * those of replies. Attributes, absent names and listings hold for 3 s, as
 * they do in a proxy in `bounded` mode; data holds as long as it is cached.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/sim/sim_private.h"
#include "predictor/sim/simpolicy.h"

#define HIT_S     0.0001
#define RUN_GAP_S 1.0
#define HOLDS_S   3.0

/* A random number in [0, 1), by splitmix64. */
static double sim_random(struct sim *s)
{
	uint64_t x = s->rng += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

static enum part event_part(const struct trace_event *ev)
{
	return ev->kind == PREDICTOR_READ      ? PART_DATA
	       : ev->kind == PREDICTOR_READDIR ? PART_LISTING
					       : PART_META;
}

/* The number that the cache has for this part of the file. */
static uint32_t unit_of(const struct sim *s, uint32_t file, enum part part)
{
	return s->opt->calls ? file * PARTS + part : file;
}

static uint32_t demand_bytes(uint64_t size_bytes)
{
	if (size_bytes == 0)
		return 1;
	return size_bytes < BLOCK_BYTES ? (uint32_t)size_bytes : BLOCK_BYTES;
}

static uint32_t part_bytes(const struct sim *s, uint32_t file, enum part part)
{
	const struct trace_file *f = &s->t->files[file];
	uint32_t dir;

	if (part == PART_DATA)
		return demand_bytes(f->size_bytes);
	if (part == PART_META)
		return META_BYTES;
	dir = keymap_get(s->dirs, f->key);
	return META_BYTES +
	       (dir == KEYMAP_NONE ? 0 : s->t->dirs[dir].nfiles * DIRENT_BYTES);
}

/* NULL where it is not in the cache, or is too old to be used. */
static struct simcache_entry *unit_get(struct sim *s, uint32_t unit)
{
	struct simcache_entry *e = simcache_get(s->cache, unit);

	if (!e || !s->opt->calls || unit % PARTS == PART_DATA ||
	    s->now_s - e->arrival_s < HOLDS_S)
		return e;
	simcache_drop(s->cache, unit);
	return NULL;
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
    void *ctx, uint32_t unit, const struct simcache_entry *e)
{
	struct sim *s = ctx;
	uint32_t file = s->opt->calls ? unit / PARTS : unit;

	if (e->issuer == SIMCACHE_DEMAND || !e->unused)
		return;
	sim_class_of(s, e->issuer)->waste_bytes += e->bytes;
	sim_class_of(s, e->issuer)->unused++;
	sim_label_of(s, e->issuer)->waste_bytes += e->bytes;
	if (s->ops->feedback)
		s->ops->feedback(
		    s->model, s->t->files[file].key, PREDICTOR_UNUSED);
}

/* Counts the first use of what was prefetched. */
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
	enum part part = event_part(ev);
	uint32_t bytes = part_bytes(s, ev->file, part);
	uint32_t unit = unit_of(s, ev->file, part);
	double wire_s = bytes / s->opt->bytes_per_s;
	double base_s = s->opt->rtt_s + wire_s, latency_s = base_s;
	struct simcache_entry *e = unit_get(s, unit);
	struct sim_class *cls[2] = {
	    sim_class_of(s, ev->run), sim_label_of(s, ev->run)};

	if (e) {
		latency_s = HIT_S + fmax(0, e->arrival_s - s->now_s);
		sim_used(s, ev->file, e);
		simcache_touch(s->cache, unit);
	} else {
		s->link_free_s = fmax(s->link_free_s, s->now_s) + wire_s;
		simcache_add(s->cache, unit, bytes, s->now_s + base_s);
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
    struct sim *s, const struct trace_event *ev, uint32_t file, enum part part)
{
	uint32_t bytes = part_bytes(s, file, part);
	struct simcache_entry *e;
	struct sim_class *cls[2] = {
	    sim_class_of(s, ev->run), sim_label_of(s, ev->run)};

	s->link_free_s =
	    fmax(s->link_free_s, s->now_s) + bytes / s->opt->bytes_per_s;
	e = simcache_add(s->cache, unit_of(s, file, part), bytes,
	    s->link_free_s + s->opt->rtt_s);
	e->issuer = ev->run;
	e->unused = true;
	for (int i = 0; i < 2; i++)
		cls[i]->issued++;
}

static void sim_want_listing_of(struct sim *s, uint64_t key)
{
	uint32_t dir = keymap_get(s->dirs, key);

	if (dir != KEYMAP_NONE)
		sim_want_listing(s, dir, s->now_s + s->opt->rtt_s);
}

/* Fetches one part, if it is worth it; returns whether it was. */
static bool sim_issue_part(struct sim *s, const struct trace_event *ev,
    const struct prediction *pred, uint32_t file, enum part part)
{
	struct simpolicy_link link = {s->opt->rtt_s, s->opt->bytes_per_s,
	    fmax(0, s->link_free_s - s->now_s), s->opt->price};

	if (unit_get(s, unit_of(s, file, part)))
		return false;
	if (!s->ops->ungated &&
	    !simpolicy_worth(&link, pred, part_bytes(s, file, part))) {
		if (s->ops->feedback)
			s->ops->feedback(
			    s->model, pred->object, PREDICTOR_DROPPED);
		return false;
	}
	sim_prefetch(s, ev, file, part);
	return true;
}

/* Whether the prediction asks for that part. The judge's model has only data;
 * baselines do not say what they need and get attributes and data. */
static bool pred_has(
    const struct sim *s, const struct prediction *pred, enum part part)
{
	static const uint8_t needs[PARTS] = {[PART_DATA] = PREDICTOR_NEEDS_DATA,
	    [PART_META] = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
			  PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_ABSENCE,
	    [PART_LISTING] = PREDICTOR_NEEDS_LISTING};

	if (!s->opt->calls)
		return part == PART_DATA;
	if (!pred->needs)
		return part != PART_LISTING;
	return pred->needs & needs[part];
}

/* Fetches those predictions that are worth it. */
static void sim_issue(struct sim *s, const struct trace_event *ev,
    struct prediction *preds, size_t n)
{
	unsigned issued = 0, most = s->opt->calls ? AHEAD_CALLS : AHEAD_MAX;

	if (!s->ops->ungated)
		simpolicy_order(preds, n);
	for (size_t i = 0; i < n && issued < most; i++) {
		uint32_t file = keymap_get(s->files, preds[i].object);

		if (preds[i].needs & PREDICTOR_NEEDS_LISTING)
			sim_want_listing_of(s, preds[i].object);
		if (file == KEYMAP_NONE)
			continue;
		for (enum part part = 0; part < PARTS; part++)
			if (pred_has(s, &preds[i], part))
				issued += sim_issue_part(
				    s, ev, &preds[i], file, part);
	}
}

/* In the judge's model a directory is listed as soon as a file of it was
 * wanted, and the listing takes a round trip. In the finer model it is listed
 * when the trace lists it. */
static void sim_list_for(struct sim *s, const struct trace_event *ev)
{
	if (s->opt->calls) {
		if (ev->kind == PREDICTOR_READDIR)
			sim_want_listing_of(s, s->t->files[ev->file].key);
		return;
	}
	for (uint32_t d = s->t->files[ev->file].dir; d != UINT32_MAX;
	     d = s->t->dirs[d].up)
		sim_want_listing(s, d, s->now_s + s->opt->rtt_s);
}

/* One event of a stream; returns the time until the stream goes on. */
static double sim_event(struct sim *s, const struct trace_event *ev)
{
	struct prediction preds[AHEAD_CALLS];
	double latency_s;
	size_t n;

	sim_deliver_listings(s);
	if (ev->size_bytes || ev->kind == PREDICTOR_READ)
		s->t->files[ev->file].size_bytes = ev->size_bytes;
	latency_s = sim_demand(s, ev);
	n = sim_ask(s, ev, latency_s, preds);
	sim_issue(s, ev, preds, n);
	s->seen[ev->file] = true;
	sim_list_for(s, ev);
	if (s->opt->noise > 0 && sim_random(s) < s->opt->noise)
		return 0;
	return latency_s;
}

static double sim_think(struct sim *s, const struct trace_event *ev)
{
	double think_s = ev->think_us * 1e-6;

	return s->opt->noise > 0 ? think_s * (0.5 + sim_random(s)) : think_s;
}

/* Whether the client has to ask. */
static bool sim_is_call(
    struct sim *s, uint32_t run, const struct trace_event *ev)
{
	if (ev->kind == PREDICTOR_READ)
		return true;
	if (!s->opt->calls)
		return false;
	if (ev->kind == PREDICTOR_READDIR)
		return true;
	if (s->met[ev->file] == run + 1)
		return false;
	s->met[ev->file] = run + 1;
	return true;
}

/* Adds up the think time before the next read; false at the end of the run. */
static bool player_advance(struct sim *s, struct player *p, double *think_s)
{
	const struct trace_run *run = &s->t->runs[p->run];

	for (; p->event < run->first + run->n; p->event++) {
		const struct trace_event *ev = &s->t->events[p->event];

		*think_s += sim_think(s, ev);
		if (sim_is_call(s, p->run, ev))
			return true;
	}
	return false;
}

/* Goes to the stream's next read; the last one ended at `from_s`. */
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
	struct model_options mo = {s->opt->budget_bytes, s->opt->use_pids};

	s->res->nlabels = t->nlabels;
	s->res->labels = calloc(t->nlabels + 1, sizeof(*s->res->labels));
	s->cache = simcache_new(t->nfiles * (s->opt->calls ? PARTS : 1),
	    s->opt->cache_bytes, sim_on_evict, s);
	s->met = calloc(t->nfiles + 1, sizeof(*s->met));
	s->files = keymap_new();
	s->dirs = keymap_new();
	s->players = calloc(s->opt->streams, sizeof(*s->players));
	s->seen = calloc(t->nfiles + 1, sizeof(*s->seen));
	s->listed = calloc(t->ndirs + 1, sizeof(*s->listed));
	s->placed = calloc(t->ndirs + 1, sizeof(*s->placed));
	s->listings = calloc(t->ndirs + 1, sizeof(*s->listings));
	s->model = model_new(s->ops, &mo);
	if (!s->res->labels || !s->cache || !s->files || !s->dirs || !s->met ||
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
	model_free(s->ops, s->model);
	simcache_free(s->cache);
	keymap_free(s->files);
	keymap_free(s->dirs);
	free(s->players);
	free(s->met);
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
