/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a predictor what happens: events, the future (oracles), places of
 * directories and listings. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "predictor/sim/sim_private.h"
#include "predictor/store/vec.h"

static uint64_t host_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Whether the directory has names that came later than that run. */
static bool dir_has_newer(
    const struct sim *s, uint32_t dir, uint32_t after, uint32_t run)
{
	const struct trace_dir *d = &s->t->dirs[dir];

	for (uint32_t i = 0; i < d->nfiles; i++) {
		const struct trace_file *f = &s->t->files[d->files[i]];

		if (f->exists && f->from > after && f->from <= run)
			return true;
	}
	return false;
}

void sim_want_listing(struct sim *s, uint32_t dir, uint32_t run)
{
	uint32_t last = s->listed[dir];

	if (last > run)
		return;
	s->listed[dir] = run + 1;
	if (last > 0 && !dir_has_newer(s, dir, last - 1, run))
		return;
	if (!VEC_ROOM(s->listings, s->cap_listings, s->nlistings))
		return;
	s->listings[s->nlistings++] =
	    (struct sim_listing){s->now_s + s->opt->rtt_s, dir, run};
}

bool sim_is_listed(const struct sim *s, uint32_t file)
{
	const struct trace_file *f = &s->t->files[file];

	return f->from < s->listed[f->dir];
}

/* Makes the observation that the proxy would make of the call. */
static void sim_observation(struct sim *s, const struct trace_event *ev,
    double latency_s, struct predictor_obs *o)
{
	const struct trace_file *f = &s->t->files[ev->file];

	memset(o, 0, sizeof(*o));
	o->kind = (enum predictor_kind)ev->kind;
	o->directory = f->directory;
	o->exec = ev->exec;
	o->now_ns = (uint64_t)(s->now_s * 1e9);
	o->latency_ns = (uint64_t)(latency_s * 1e9);
	o->actor = s->client + 1;
	o->connection = o->actor;
	/* Two streams may run commands of the same pid. */
	o->pid = s->opt->use_pids ? ((uint64_t)ev->run + 1) << 32 | ev->pid : 0;
	o->object = f->key;
	o->parent = f->parent;
	o->name_hash = f->name_hash;
	o->type_hash = f->type_hash;
	o->size_bytes = ev->size_bytes;
}

/* Shows oracles what the run reads next, up to 64 files. */
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
		s->future_listed[n] = sim_is_listed(s, e->file);
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
		s->ops->place_dir(s->model, 0, d->key, d->parent, d->name_hash);
	}
}

size_t sim_ask(struct sim *s, const struct trace_event *ev, double latency_s,
    struct prediction *preds)
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
	n = s->ops->predict(
	    s->model, preds, s->opt->calls ? AHEAD_CALLS : AHEAD_MAX);
	s->spent_ns += host_now_ns() - begin_ns;
	s->observed++;
	return n;
}

/* An entry of a listing; listings are sorted by path. */
struct entry {
	const char *path;
	struct predictor_dirent ent;
};

static int entry_cmp(const void *a, const void *b)
{
	return strcmp(
	    ((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* Where all names are known, it is not known from a listing what is a program,
 * as it is not in the proxy, and what comes in a later run is not there yet. */
static size_t entries_files(const struct sim *s, const struct trace_dir *d,
    uint32_t run, struct entry *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < d->nfiles; i++) {
		const struct trace_file *f = &s->t->files[d->files[i]];

		if (!f->exists || f->from > run)
			continue;
		out[n].path = f->path;
		out[n++].ent = (struct predictor_dirent){.object = f->key,
		    .name_hash = f->name_hash,
		    .type_hash = f->type_hash,
		    .size_bytes = f->size_bytes,
		    .exec = f->exec && (!s->t->named || s->seen[d->files[i]]),
		    .directory = f->directory};
	}
	return n;
}

/* Adds the subdirectories that have no line of their own in the trace. */
static size_t entries_subs(
    struct sim *s, uint32_t dir, struct entry **out, size_t n)
{
	for (uint32_t i = s->t->dirs[dir].subs; i != UINT32_MAX;
	     i = s->t->dirs[i].next) {
		const struct trace_dir *sub = &s->t->dirs[i];
		struct entry *more;

		if (s->ops->place_dir)
			s->ops->place_dir(
			    s->model, 0, sub->key, sub->parent, sub->name_hash);
		if (keymap_get(s->files, sub->key) != KEYMAP_NONE)
			continue;
		more = realloc(*out, (n + 1) * sizeof(**out));
		if (!more)
			return n;
		*out = more;
		more[n].path = sub->path;
		more[n++].ent = (struct predictor_dirent){.object = sub->key,
		    .name_hash = sub->name_hash,
		    .directory = true};
	}
	return n;
}

/* Shows the predictor all names that the directory has in that run. */
static void sim_deliver_listing(struct sim *s, uint32_t dir, uint32_t run)
{
	const struct trace_dir *d = &s->t->dirs[dir];
	struct entry *entries = calloc(d->nfiles + 1, sizeof(*entries));
	struct predictor_dirent *ents;
	size_t n;

	if (!entries)
		return;
	n = entries_files(s, d, run, entries);
	n = entries_subs(s, dir, &entries, n);
	qsort(entries, n, sizeof(*entries), entry_cmp);
	ents = calloc(n + 1, sizeof(*ents));
	for (size_t i = 0; ents && i < n; i++) {
		ents[i] = entries[i].ent;
		ents[i].rank = (uint32_t)i;
	}
	if (ents)
		s->ops->list(s->model, 0, d->key, ents, n);
	free(ents);
	free(entries);
}

static void sim_deliver_next(struct sim *s)
{
	const struct sim_listing *l = &s->listings[s->listings_done++];

	sim_deliver_listing(s, l->dir, l->run);
}

void sim_deliver_listings(struct sim *s)
{
	if (!s->ops->list)
		return;
	while (s->listings_done < s->nlistings &&
	       s->listings[s->listings_done].arrival_s <= s->now_s)
		sim_deliver_next(s);
}
