/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the judge's passes: the trace as it stands (cold and warm), and the
 * first run of each label on its own, in one stream, with an empty cache, by a
 * predictor that knows nothing (first) or all other workloads (others).
 *
 * The link's and the cache's rules are in sim.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/sim/sim_private.h"

/* Whether the labels are those of one workload: equal, up to an `@`. */
static bool same_workload(const char *a, const char *b)
{
	size_t len = strcspn(a, "@");

	return len == strcspn(b, "@") && memcmp(a, b, len) == 0;
}

/* Workloads go round robin to the clients, in the order of the trace; both
 * checkouts of one go to the same client. */
static void deal_labels(struct sim *s)
{
	const struct trace *t = s->t;
	unsigned workloads = 0;

	for (uint32_t i = 0; i < t->nlabels; i++) {
		uint32_t j = 0;

		while (j < i && !same_workload(t->labels[j], t->labels[i]))
			j++;
		s->client_of[i] =
		    j < i ? s->client_of[j] : workloads++ % s->opt->clients;
	}
}

/* Maps of keys, and who plays what: the same in all passes. */
static int sim_index(struct sim *s)
{
	const struct trace *t = s->t;

	s->files = keymap_new();
	s->dirs = keymap_new();
	s->nplayers = s->opt->streams * s->opt->clients;
	s->client_of = calloc(t->nlabels + 1, sizeof(*s->client_of));
	s->player_of = calloc(t->nruns + 1, sizeof(*s->player_of));
	if (!s->files || !s->dirs || !s->client_of || !s->player_of)
		return -ENOMEM;
	deal_labels(s);
	for (uint32_t i = 0; i < t->nfiles; i++)
		if (keymap_put(s->files, t->files[i].key, i))
			return -ENOMEM;
	for (uint32_t i = 0; i < t->ndirs; i++)
		if (keymap_put(s->dirs, t->dirs[i].key, i))
			return -ENOMEM;
	return 0;
}

/* A predictor that knows nothing, and a world that it has not seen. */
static int pass_begin(struct sim *s, enum pass pass)
{
	const struct trace *t = s->t;
	struct model_options mo = {
	    s->opt->budget_bytes, s->opt->use_pids, s->opt->without};

	s->pass = pass;
	s->rng = s->opt->seed;
	s->now_s = s->link_free_s = 0;
	s->nlistings = s->listings_done = 0;
	s->cache = simcache_new(t->nfiles * (s->opt->calls ? PARTS : 1),
	    s->opt->cache_bytes, sim_on_evict, s);
	s->met = calloc(t->nfiles + 1, sizeof(*s->met));
	s->players = calloc(s->nplayers, sizeof(*s->players));
	s->seen = calloc(t->nfiles + 1, sizeof(*s->seen));
	s->listed = calloc(t->ndirs + 1, sizeof(*s->listed));
	s->placed = calloc(t->ndirs + 1, sizeof(*s->placed));
	s->model = model_new(s->ops, &mo);
	for (uint32_t i = 0; i < t->nfiles; i++)
		t->files[i].size_bytes = t->files[i].first_size_bytes;
	if (!s->cache || !s->met || !s->players || !s->seen || !s->listed ||
	    !s->placed || !s->model)
		return -ENOMEM;
	return 0;
}

/* Prefetched files that are still in the cache unused are waste: they are
 * counted before the pass ends. */
static void pass_end(struct sim *s)
{
	if (s->cache && s->model)
		simcache_flush(s->cache);
	simcache_free(s->cache);
	model_free(s->ops, s->model);
	s->cache = NULL;
	s->model = NULL;
	free(s->players);
	free(s->met);
	free(s->seen);
	free(s->listed);
	free(s->placed);
	free(s->listings);
	s->players = NULL;
	s->met = NULL;
	s->seen = s->placed = NULL;
	s->listed = NULL;
	s->listings = NULL;
	s->cap_listings = 0;
}

/* Measures the predictor's memory and time, and how right its probabilities
 * were. */
static void sim_measure(struct sim *s)
{
	struct sim_result *res = s->res;
	double n = s->observed ? (double)s->observed : 1;

	res->seen = s->observed;
	res->ns_per_event = (double)s->spent_ns / n;
	if (s->ops->memory_bytes)
		res->bytes_per_event =
		    (double)s->ops->memory_bytes(s->model) / n;
	if (s->ops->reliability)
		res->has_reliability =
		    s->ops->reliability(s->model, &res->reliability);
}

static int play_all(struct sim *s, uint32_t *runs)
{
	int ret = pass_begin(s, PASS_ALL);

	for (uint32_t i = 0; i < s->t->nruns; i++)
		runs[i] = i;
	if (!ret) {
		sim_play(s, runs, s->t->nruns);
		simcache_flush(s->cache);
		sim_measure(s);
	}
	pass_end(s);
	return ret;
}

/* A first run with nothing learned. */
static int play_first(struct sim *s, uint32_t run)
{
	int ret = pass_begin(s, PASS_FIRST);

	if (!ret)
		sim_play(s, &run, 1);
	pass_end(s);
	return ret;
}

/* Keeps the predictor, and nothing in the cache or on the wire. */
static void sim_rest(struct sim *s)
{
	simcache_flush(s->cache);
	if (s->link_free_s > s->now_s)
		s->now_s = s->link_free_s;
	s->now_s += s->opt->rtt_s + RUN_GAP_S;
}

/* The same run, by a predictor that has learned all other workloads. */
static int play_after_others(struct sim *s, uint32_t run, uint32_t *runs)
{
	const struct trace *t = s->t;
	const char *label = t->labels[t->runs[run].label];
	int ret = pass_begin(s, PASS_LEARN);
	size_t n = 0;

	for (uint32_t i = 0; i < t->nruns; i++)
		if (!same_workload(t->labels[t->runs[i].label], label))
			runs[n++] = i;
	if (!ret) {
		sim_play(s, runs, n);
		sim_rest(s);
		s->pass = PASS_OTHERS;
		sim_play(s, &run, 1);
	}
	pass_end(s);
	return ret;
}

static int play_firsts(struct sim *s, uint32_t *runs)
{
	const struct trace *t = s->t;
	size_t done = 0;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < t->nruns; i++) {
		if (!t->runs[i].cold)
			continue;
		ret = play_first(s, i);
		if (ret || !s->opt->others)
			continue;
		ret = play_after_others(s, i, runs);
		if (s->opt->on_progress)
			s->opt->on_progress(
			    s->opt->progress_ctx, ++done, t->nlabels);
	}
	return ret;
}

static int sim_passes(struct sim *s, uint32_t *runs)
{
	int ret = sim_index(s);

	if (!ret)
		ret = play_all(s, runs);
	if (!ret)
		ret = play_firsts(s, runs);
	return ret;
}

int sim_run(const struct trace *t, const struct model_ops *ops,
    const struct sim_options *opt, struct sim_result *res)
{
	struct sim s = {.t = t, .ops = ops, .opt = opt, .res = res};
	uint32_t *runs = calloc(t->nruns + 1, sizeof(*runs));
	int ret;

	memset(res, 0, sizeof(*res));
	res->predictor = ops->name;
	res->streams = opt->streams;
	res->clients = opt->clients;
	res->price = opt->price;
	res->has_others = opt->others;
	res->nlabels = t->nlabels;
	res->labels = calloc(t->nlabels + 1, sizeof(*res->labels));
	ret = runs && res->labels ? sim_passes(&s, runs) : -ENOMEM;
	keymap_free(s.files);
	keymap_free(s.dirs);
	free(s.client_of);
	free(s.player_of);
	free(runs);
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

size_t sim_hindered(const struct sim_result *res)
{
	size_t n = 0;

	for (size_t i = 0; i < res->nlabels; i++)
		n += sim_stall(&res->labels[i].others) >
		     sim_stall(&res->labels[i].first) + 0.01;
	return n;
}
