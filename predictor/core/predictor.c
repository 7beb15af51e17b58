/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a predictor, and what it is told of names and places. The verbs are in
 * observe.c, predict.c and feedback.c.
 *
 * The budget is divided among stores when the predictor is made. Full stores of
 * objects, trails and extents give up what is oldest. Directories are never
 * given up, so new ones are left out when there is no more room; the graph has
 * room again when objects go.
 */
#include "predictor/predictor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/core.h"

enum {
	BUDGET_DEFAULT = 64 << 20,
	BUDGET_MIN = 1 << 20,
};

/* An object's number is about to be given to another: forgets it everywhere. */
static void on_evict(void *ctx, uint32_t id, struct object *o)
{
	struct predictor *p = ctx;

	if (o->dir != DIR_NONE && o->rank != RANK_NONE) {
		struct dir *d = names_at(p->names, o->dir);

		/* The listing has the number: it goes, too. */
		if (o->rank < d->n && d->list[o->rank] == id)
			names_set_list(p->names, o->dir, NULL, NULL, 0);
	}
	twin_drop(p, id, o);
	extents_drop(p->extents, id);
	place_drop(p, id, o);
	if (o->edges != GRAPH_NONE)
		graph_drop(p->graph, o->edges);
	/* A stream's last object may be this one. */
	o->edges = GRAPH_NONE;
	for (uint32_t i = 0; i < p->streams.n; i++) {
		struct stream *s = p->streams.at[i];
		struct cand *c = s->pending ? stream_cand(s, id) : NULL;

		if (c)
			stream_cand_set(s, c, OBJECT_NONE);
	}
}

/*
 * Who gets which share of the budget, divided by what one element takes. An
 * object has 48 bytes and an entry of three maps; an entry of a trail has 8,
 * and up to 16 in the index; a node of the graph has 124. Maps and arenas grow
 * by doubling, so they may be half empty.
 *
 *	trails 9/20     objects 1/4    graph 1/5    streams 1/8, when needed
 *	names 1/16 for directories and 1/16 for listings    extents 1/64
 */
static bool arenas_make(struct predictor *p)
{
	size_t budget = p->opt.budget_bytes;

	p->objects = objects_new((uint32_t)(budget / 4 / 150), on_evict, p);
	p->trails = trails_new((uint32_t)(budget / 20 * 9 / 26));
	p->graph = graph_new((uint32_t)(budget / 5 / 128));
	p->names = names_new((uint32_t)(budget / 16 / 128), budget / 16 / 8);
	p->extents = extents_new((uint32_t)(budget / 64 / 384));
	p->sessions = sessions_new((uint32_t)(budget / 8192));
	p->places = keymap_new();
	p->suffixes = keymap_new();
	p->calib = calib_new();
	p->odds = nameodds_new();
	return streams_init(&p->streams, budget / 8) && p->objects &&
	       p->trails && p->graph && p->names && p->extents && p->sessions &&
	       p->places && p->suffixes && p->calib && p->odds;
}

const char *predictor_part_name(enum predictor_part part)
{
	static const char *const names[PREDICTOR_PARTS] = {
	    [PREDICTOR_PART_TRAILS] = "trails",
	    [PREDICTOR_PART_GRAPH] = "graph",
	    [PREDICTOR_PART_NAMES] = "names",
	    [PREDICTOR_PART_BELOW] = "below",
	    [PREDICTOR_PART_ANALOGIES] = "analogies",
	    [PREDICTOR_PART_TWINS] = "twins",
	    [PREDICTOR_PART_ODDS] = "odds",
	    [PREDICTOR_PART_READS] = "reads",
	    [PREDICTOR_PART_ORDER] = "order",
	    [PREDICTOR_PART_CALIBRATION] = "calibration",
	    [PREDICTOR_PART_DISCOUNT] = "discount",
	    [PREDICTOR_PART_REACH] = "reach",
	    [PREDICTOR_PART_WITHDRAWAL] = "withdrawal",
	    [PREDICTOR_PART_SCANS] = "scans"};

	return names[part];
}

struct predictor *predictor_new(const struct predictor_options *opt)
{
	struct predictor *p;
	size_t budget = opt->budget_bytes ? opt->budget_bytes : BUDGET_DEFAULT;

	if (budget < BUDGET_MIN) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->opt = *opt;
	p->opt.budget_bytes = budget;
	if (arenas_make(p))
		return p;
	predictor_free(p);
	errno = ENOMEM;
	return NULL;
}

/* The stores only: the predictor itself lies wherever its owner has it. */
static void arenas_free(struct predictor *p)
{
	objects_free(p->objects);
	trails_free(p->trails);
	graph_free(p->graph);
	names_free(p->names);
	extents_free(p->extents);
	sessions_free(p->sessions);
	keymap_free(p->places);
	keymap_free(p->suffixes);
	calib_free(p->calib);
	nameodds_free(p->odds);
	streams_free(&p->streams);
}

struct predictor *predictor_empty(struct predictor *p)
{
	struct predictor *fresh = predictor_new(&p->opt);
	struct predictor *old = malloc(sizeof(*old));

	if (!fresh || !old) {
		predictor_free(fresh);
		free(old);
		errno = ENOMEM;
		return NULL;
	}
	predictor_set_sessions(fresh, p->session_pause_ns, p->session_time_ns);
	fresh->era = p->era + 1;
	fresh->emptied = p->emptied + 1;
	*old = *p;
	*p = *fresh;
	objects_set_ctx(p->objects, p);
	free(fresh);
	return old;
}

int predictor_clear(struct predictor *p)
{
	struct predictor *old = predictor_empty(p);

	if (!old)
		return -errno;
	predictor_free(old);
	return 0;
}

void predictor_set_lead(struct predictor *p, uint64_t lead_ns)
{
	p->lead_ns = lead_ns;
}

void predictor_free(struct predictor *p)
{
	if (!p)
		return;
	arenas_free(p);
	free(p);
}

/* Learns what a listing says of one entry. */
static void dirent_learn(struct predictor *p, uint32_t id, uint64_t dir,
    const struct predictor_dirent *e, uint16_t bit)
{
	struct object *o = objects_at(p->objects, id);

	o->type = (uint16_t)e->type_hash;
	if (e->exec)
		o->exec = true;
	o->rank = (uint16_t)e->rank;
	o->size =
	    e->size_bytes < UINT32_MAX ? (uint32_t)e->size_bytes : UINT32_MAX;
	o->met_by |= bit;
	o->absent = false;
	o->directory = e->directory;
	if (e->directory) {
		uint32_t d = names_dir(p->names, e->object);

		if (d == DIR_NONE)
			return;
		names_at(p->names, d)->met_by |= bit;
		names_place(p->names, d, names_dir(p->names, dir),
		    (uint32_t)e->name_hash);
	}
}

/* The order of READDIR, as names_set_list() wants it; NULL if it is by name. */
static uint16_t *order_make(const struct predictor_dirent *ents, size_t n)
{
	uint16_t *order;
	size_t i = 0;

	while (i < n && ents[i].rank == i)
		i++;
	if (i == n)
		return NULL;
	order = calloc(2 * n, sizeof(*order));
	if (!order)
		return NULL;
	for (i = 0; i < n; i++) {
		if (ents[i].rank < n) {
			order[i] = (uint16_t)ents[i].rank;
			order[n + ents[i].rank] = (uint16_t)i;
		}
	}
	return order;
}

void predictor_list(struct predictor *p, uint64_t uid, uint64_t dir,
    const struct predictor_dirent *ents, size_t n)
{
	uint16_t bit = wall_bit(&p->wall, uid);
	uint32_t d = names_dir(p->names, dir);
	uint32_t *list;

	if (d == DIR_NONE || n == 0 || n >= RANK_NONE)
		return;
	list = calloc(n, sizeof(*list));
	if (!list)
		return;
	memset(list, 0xff, n * sizeof(*list));
	names_clear_kinds(p->names, d);
	wall_open(p, d, bit);
	for (size_t i = 0; i < n; i++) {
		uint32_t id;

		if (ents[i].rank >= n)
			continue;
		scan_room(p, ents[i].object);
		id = objects_make(p->objects, ents[i].object, p->events);
		if (id == OBJECT_NONE)
			continue;
		if (objects_at(p->objects, id)->count == 0)
			scan_try(p, id);
		id = place_object(p, id, d, ents[i].name_hash);
		list[ents[i].rank] = id;
		dirent_learn(p, id, dir, &ents[i], bit);
		names_count_kind(
		    p->names, d, object_kind(objects_at(p->objects, id)));
	}
	names_set_list(p->names, d, list, order_make(ents, n), (uint32_t)n);
	below_listed(p, d);
}

void predictor_place_dir(struct predictor *p, uint64_t uid, uint64_t dir,
    uint64_t parent, uint64_t name_hash)
{
	uint32_t d = names_dir(p->names, dir), up;

	if (d == DIR_NONE)
		return;
	up = parent ? names_dir(p->names, parent) : DIR_NONE;
	names_place(p->names, d, up, (uint32_t)name_hash);
	wall_open(p, d, wall_bit(&p->wall, uid));
}

void predictor_rename(
    struct predictor *p, uint64_t object, uint64_t parent, uint64_t name_hash)
{
	uint32_t id = objects_find(p->objects, object);
	uint32_t dir = parent ? names_dir(p->names, parent) : DIR_NONE;

	if (id == OBJECT_NONE || dir == DIR_NONE || !name_hash)
		return;
	p->now = NULL;
	place_object(p, id, dir, name_hash);
}

void predictor_forget(struct predictor *p, uint64_t object)
{
	uint32_t id = objects_find(p->objects, object);

	p->gone[object % GONE] = object;
	if (id != OBJECT_NONE)
		objects_drop(p->objects, id);
}

enum predictor_led predictor_led(const struct predictor *p)
{
	return p->led;
}

void predictor_get_stats(const struct predictor *p, struct predictor_stats *st)
{
	*st = (struct predictor_stats){.events = p->events,
	    .predicted = p->predicted,
	    .used = p->used,
	    .late = p->late,
	    .unused = p->unused,
	    .streams_made = p->streams.made,
	    .scans_guarded = p->guarded,
	    .walled = p->walled,
	    .objects = objects_count(p->objects),
	    .memory_bytes =
		sizeof(*p) + p->streams.n * sizeof(struct stream) +
		objects_memory_bytes(p->objects) +
		trails_memory_bytes(p->trails) + graph_memory_bytes(p->graph) +
		keymap_memory_bytes(p->places) +
		keymap_memory_bytes(p->suffixes) +
		names_memory_bytes(p->names) +
		extents_memory_bytes(p->extents) +
		sessions_memory_bytes(p->sessions) +
		calib_memory_bytes(p->calib) + nameodds_memory_bytes(p->odds)};
	for (int i = 0; i < PREDICTOR_SOURCES; i++) {
		st->by_source[i].predicted = p->predicted_by[i];
		st->by_source[i].used = p->used_by[i];
	}
}

void predictor_get_reliability(
    const struct predictor *p, struct predictor_reliability *r)
{
	*r = p->reliability;
}
