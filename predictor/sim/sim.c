/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost model of the judge:
 *
 *	runs      workloads dealt round robin to the clients, and the runs of a
 *	          client to its streams, in file order; a stream plays its runs
 *	          one after another, 1 s apart, from a random offset below 1 s
 *	          on; with `evict`, none of its files is cached when it begins
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
#include <math.h>

#include "predictor/sim/sim_private.h"
#include "predictor/sim/simpolicy.h"

#define HIT_S   0.0001
#define HOLDS_S 3.0

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

/* Where what happens in that run is counted. */
static void sim_tallies(
    struct sim *s, uint32_t run, struct sim_class *out[TALLIES])
{
	const struct trace_run *r = &s->t->runs[run];
	struct sim_label *label = &s->res->labels[r->label];
	bool cold = r->cold;

	for (int i = 0; i < TALLIES; i++)
		out[i] = &s->nowhere;
	if (s->pass == PASS_ALL) {
		out[0] = cold ? &s->res->cold : &s->res->warm;
		out[1] = &label->all;
		if (cold)
			out[2] = &label->cold;
	} else if (s->pass == PASS_FIRST) {
		out[0] = &s->res->first;
		out[1] = &label->first;
	} else if (s->pass == PASS_OTHERS) {
		out[0] = &s->res->others;
		out[1] = &label->others;
	}
}

void sim_on_evict(void *ctx, uint32_t unit, const struct simcache_entry *e)
{
	struct sim *s = ctx;
	uint32_t file = s->opt->calls ? unit / PARTS : unit;
	struct sim_class *c[TALLIES];

	if (e->issuer == SIMCACHE_DEMAND || !e->unused)
		return;
	sim_tallies(s, e->issuer, c);
	for (int i = 0; i < TALLIES; i++) {
		c[i]->waste_bytes += e->bytes;
		c[i]->unused++;
	}
	if (s->ops->feedback)
		s->ops->feedback(
		    s->model, s->t->files[file].key, PREDICTOR_UNUSED);
}

/* Counts the first use of what was prefetched. */
static void sim_used(struct sim *s, uint32_t file, struct simcache_entry *e)
{
	struct sim_class *c[TALLIES];
	bool late = e->arrival_s > s->now_s;

	if (e->issuer == SIMCACHE_DEMAND || !e->unused)
		return;
	e->unused = false;
	sim_tallies(s, e->issuer, c);
	for (int i = 0; i < TALLIES; i++) {
		c[i]->used++;
		c[i]->late += late;
	}
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
	struct sim_class *c[TALLIES];

	sim_tallies(s, ev->run, c);
	if (e) {
		latency_s = HIT_S + fmax(0, e->arrival_s - s->now_s);
		sim_used(s, ev->file, e);
		simcache_touch(s->cache, unit);
	} else {
		s->link_free_s = fmax(s->link_free_s, s->now_s) + wire_s;
		simcache_add(s->cache, unit, bytes, s->now_s + base_s);
	}
	for (int i = 0; i < TALLIES; i++) {
		c[i]->events++;
		c[i]->hits += e != NULL;
		c[i]->demand_bytes += bytes;
		c[i]->stall_s += latency_s;
		c[i]->base_s += base_s;
	}
	return latency_s;
}

static void sim_prefetch(
    struct sim *s, const struct trace_event *ev, uint32_t file, enum part part)
{
	uint32_t bytes = part_bytes(s, file, part);
	struct simcache_entry *e;
	struct sim_class *c[TALLIES];

	s->link_free_s =
	    fmax(s->link_free_s, s->now_s) + bytes / s->opt->bytes_per_s;
	e = simcache_add(s->cache, unit_of(s, file, part), bytes,
	    s->link_free_s + s->opt->rtt_s);
	e->issuer = ev->run;
	e->unused = true;
	sim_tallies(s, ev->run, c);
	for (int i = 0; i < TALLIES; i++)
		c[i]->issued++;
}

static void sim_want_listing_of(struct sim *s, uint64_t key, uint32_t run)
{
	uint32_t dir = keymap_get(s->dirs, key);

	if (dir != KEYMAP_NONE)
		sim_want_listing(s, dir, run);
}

/* Fetches one part, if it is worth it; returns whether it was. */
static bool sim_issue_part(struct sim *s, const struct trace_event *ev,
    const struct prediction *pred, uint32_t file, enum part part)
{
	struct simpolicy_link link = {s->opt->rtt_s, s->opt->bytes_per_s,
	    fmax(0, s->link_free_s - s->now_s), s->opt->price};

	if (part == PART_DATA && s->t->files[file].no_data)
		return false;
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
			sim_want_listing_of(s, preds[i].object, ev->run);
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
			sim_want_listing_of(
			    s, s->t->files[ev->file].key, ev->run);
		return;
	}
	for (uint32_t d = s->t->files[ev->file].dir; d != UINT32_MAX;
	     d = s->t->dirs[d].up)
		sim_want_listing(s, d, ev->run);
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
	uint32_t nr = s->runs[p->at];
	const struct trace_run *run = &s->t->runs[nr];

	for (; p->event < run->first + run->n; p->event++) {
		const struct trace_event *ev = &s->t->events[p->event];

		*think_s += sim_think(s, ev);
		if (sim_is_call(s, nr, ev))
			return true;
	}
	return false;
}

/* Nothing of what the run uses is in the cache any more. */
static void sim_evict_run(struct sim *s, const struct trace_run *run)
{
	for (uint32_t i = run->first; i < run->first + run->n; i++)
		for (enum part part = 0; part < PARTS; part++) {
			uint32_t unit = unit_of(s, s->t->events[i].file, part);

			if (simcache_get(s->cache, unit))
				simcache_drop(s->cache, unit);
		}
}

/* Goes to the stream's first run that is not before `at`. */
static void player_go_to(struct sim *s, struct player *p, size_t at)
{
	while (at < s->nruns && s->player_of[at] != p - s->players)
		at++;
	p->at = at;
	if (at == s->nruns)
		return;
	p->event = s->t->runs[s->runs[at]].first;
	p->begun = false;
}

/* Deals the runs: each to its label's client, and a client's round robin to its
 * streams. */
static void sim_deal(struct sim *s)
{
	for (unsigned c = 0; c < s->opt->clients; c++) {
		unsigned n = 0;

		for (size_t i = 0; i < s->nruns; i++)
			if (s->client_of[s->t->runs[s->runs[i]].label] == c)
				s->player_of[i] =
				    c * s->opt->streams + n++ % s->opt->streams;
	}
}

/* Goes to the stream's next read; the last one ended at `from_s`. */
static void player_next(struct sim *s, struct player *p, double from_s)
{
	double think_s = 0;

	while (p->at < s->nruns && !player_advance(s, p, &think_s)) {
		player_go_to(s, p, p->at + 1);
		think_s += RUN_GAP_S;
	}
	p->next_s = p->at < s->nruns ? from_s + think_s : INFINITY;
}

static void sim_progress(struct sim *s)
{
	if (++s->done % PROGRESS_EVERY == 0 && s->pass == PASS_ALL &&
	    s->opt->on_progress)
		s->opt->on_progress(
		    s->opt->progress_ctx, s->done, s->t->nevents);
}

void sim_play(struct sim *s, const uint32_t *runs, size_t n)
{
	double from_s = s->now_s;

	s->runs = runs;
	s->nruns = n;
	sim_deal(s);
	for (unsigned i = 0; i < s->nplayers; i++) {
		struct player *p = &s->players[i];

		player_go_to(s, p, 0);
		player_next(s, p, from_s + sim_random(s));
	}
	for (;;) {
		struct player *p = &s->players[0];
		double wait_s;

		for (unsigned i = 1; i < s->nplayers; i++)
			if (s->players[i].next_s < p->next_s)
				p = &s->players[i];
		if (isinf(p->next_s))
			break;
		s->now_s = p->next_s;
		s->client = (unsigned)(p - s->players) / s->opt->streams;
		if (s->opt->evict && !p->begun)
			sim_evict_run(s, &s->t->runs[s->runs[p->at]]);
		p->begun = true;
		wait_s = sim_event(s, &s->t->events[p->event]);
		p->event++;
		player_next(s, p, s->now_s + wait_s);
		sim_progress(s);
	}
}
