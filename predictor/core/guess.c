/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses from names: the next names of a directory, by name or in the order
 * of READDIR, while trails do not foresee what is used in it. This is all that
 * can be said of what was never used before.
 *
 *	dir/   a b c d e f g      used: a, b, c, which is a run of 3
 *	             1 2 3 4      guessed: the further away, the less likely
 *
 * A walk that goes as foreseen is led on from directory to directory: down
 * into those whose listings are known, while the others' listings are asked
 * for, and from the end of a directory to the next one above.
 */
#include "predictor/core/core.h"

enum {
	/* How many names are guessed: by forefetch-sim on the tuning half. Half
	 * of NEAR or BEHIND makes the stall of cold runs up to a twentieth
	 * higher, double brings nothing. With RUN_MAX 30 it is a tenth higher,
	 * with 120 a little lower, at more waste for one stream. Half or double
	 * of META_MAX and SKIP_MAX hardly matters (with --calls). */
	NEAR = 10,      /* names ahead, without a run */
	RUN_MAX = 60,   /* with a run, of files whose data is read */
	META_MAX = 240, /* with a run, where no data is read */
	BEHIND = 16,    /* names before the present one */
	UP_MAX = 8,     /* directories that may end at the same name */
	WALK_MIN = 3,   /* uses in order, before a walk leaves its directory */
	RUN_SURE = 3, /* uses in order, before kinds not in play are left out */
	SKIP_MAX = 64, /* names of such kinds that are passed over */
	/* New names beside those that were foreseen. */
	NEW_AHEAD = 4,
	NEW_TRIES = 3, /* wrong guesses at an object, before it is left alone */
	/* Cells of the calibration begin here: 8 * 16 parents, and 16. */
	FIRST_PARENT = 128,
	NEW_PARENT = 272,
};

/* How near a name is: by the logarithm of its distance, up to NEAR_MAX; two
 * more values for names in another directory and names behind the present one.
 */
enum { NEAR_MAX = 5, NEAR_OTHER = 6, NEAR_BEHIND = 7 };

/* A name, and whether the walk has left the directory where it began. */
struct guess_walk {
	uint32_t dir, rank;
	bool other;
};

/* The object's kind as one bit of 64: a directory, or a file by the extension
 * of its name. A kind is in play if it was used in the directory in this burst.
 */
static uint64_t kind_of(const struct object *o)
{
	return o->directory ? 1 : UINT64_C(2) << (o->type % 63);
}

/*
 * How many steps `rank` comes behind the rank used last, 1 for the next one; 0
 * if it does not come behind it, or further than NAMES_STEP_MAX. Names whose
 * kind is not in play are no steps: a stream that reads the headers among many
 * other files goes in order, too.
 */
static uint32_t step_to(const struct predictor *p, const struct dir *d,
    uint32_t rank, uint64_t kind, bool by_order)
{
	uint32_t at = d->last, step = 1;

	if (at >= d->n || (by_order && !d->order))
		return 0;
	for (uint32_t i = 0; i < SKIP_MAX; i++) {
		uint32_t object;

		at = names_next(d, at, by_order);
		if (at == rank)
			return step;
		if (at == RANK_NONE || step > NAMES_STEP_MAX)
			return 0;
		object = d->list[at];
		step += object == OBJECT_NONE || !(d->kinds & kind) ||
			(d->kinds & kind_of(objects_at(p->objects, object)));
	}
	return 0;
}

/* The binary logarithm, 7 at most. */
static unsigned log_bucket(uint32_t n)
{
	unsigned b = 0;

	while (n > 1 && b < 7) {
		n /= 2;
		b++;
	}
	return b;
}

/* Which share of the directory was used in this burst, in four steps. */
static unsigned share_bucket(const struct dir *d)
{
	uint32_t percent = d->used * 100 / (d->n ? d->n : 1);

	return percent < 10 ? 0 : percent < 30 ? 1 : percent < 60 ? 2 : 3;
}

/* The probability of a guess at this place before its cell has seen any, by the
 * length of the run. With half as much long walks are foretold too late, with
 * half as much again first runs waste a fifth more (forefetch-sim, tuning half,
 * with names). */
static const float run_prior[] = {0.05f, 0.3f, 0.4f, 0.45f, 0.5f};

/* The needs that the stream will have of it: those it had of the others. */
static uint8_t guess_needs(
    const struct predictor *p, const struct stream *s, const struct object *o)
{
	uint8_t needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR;
	uint32_t below;

	if (!o->directory)
		return reads_need(p, s, o);
	if (s->walk_lists)
		return needs | PREDICTOR_NEEDS_LISTING;
	/* Names in a directory can only be guessed when its listing is known.
	 */
	below = names_find(p->names, o->key);
	if (o->count == 0 &&
	    (below == DIR_NONE || !names_at(p->names, below)->list))
		needs |= PREDICTOR_NEEDS_LISTING;
	return needs;
}

/* How near the name is to the present one, as a feature of its cell. */
static unsigned guess_near(const struct dir *d, const struct guess_walk *w,
    uint32_t distance, bool by_order)
{
	unsigned near = log_bucket(distance);

	if (w->other)
		return NEAR_OTHER;
	if (w->rank < d->last && !by_order)
		return NEAR_BEHIND;
	return near < NEAR_MAX ? near : NEAR_MAX;
}

void guess_about(const struct predictor *p, const struct dir *d,
    uint32_t object, uint32_t run, struct nameodds_about *about)
{
	const struct object *o = objects_at(p->objects, object);
	const struct dir_kind *k = names_kind(d, object_kind(o));

	*about = (struct nameodds_about){.name = o->name,
	    .dir_name = d->name,
	    .entry = d->entry,
	    .size_bytes = o->size,
	    .kind = object_kind(o),
	    .kind_last = d->kind_last,
	    .siblings = k ? k->n : 0,
	    .used = k ? k->used : 0,
	    .run = run};
}

/* Makes the name at the walk's place a candidate: the cell of its place, and
 * the odds of what it is, give the probability. If it is a directory, names in
 * it are guessed with it. */
static void guess_one(struct predictor *p, struct stream *s,
    const struct guess_walk *w, uint32_t run, uint32_t distance, uint64_t kinds)
{
	const struct dir *d = names_at(p->names, w->dir);
	uint32_t object = d->list[w->rank];
	const struct object *o;
	struct nameodds_about about;
	struct nameodds_seen seen;
	unsigned parent;
	calib_cell cell;
	uint8_t needs;
	float prob;

	if (object == OBJECT_NONE)
		return;
	o = objects_at(p->objects, object);
	needs = cands_lacks(p, s, object, guess_needs(p, s, o));
	if (!needs)
		return;
	parent = FIRST_PARENT + (run < 7 ? run : 7) * 16 + share_bucket(d) * 4 +
		 ((kinds & kind_of(o)) != 0) * 2u + (o->count > 0);
	cell = (calib_cell)(parent * CALIB_FINE +
			    guess_near(d, w, distance, s->by_order) * 8 +
			    log_bucket(d->n) / 2 * 2 + (s->guess_share > 0.4f));
	guess_about(p, d, object, run, &about);
	prob = nameodds_p(p->odds, &about,
	    calib_p(p->calib, cell, run_prior[run < 4 ? run : 4]), &seen);
	cands_odds(p, s, object, distance, needs, cell, prob, &seen, false);
	below_object(p, s, object, prob, distance + 1);
}

/* Goes down if the name is a directory whose listing is known. */
static bool walk_down(
    struct predictor *p, struct stream *s, struct guess_walk *w)
{
	uint32_t object = names_at(p->names, w->dir)->list[w->rank], below;
	const struct dir *d;

	if (object == OBJECT_NONE || !objects_at(p->objects, object)->directory)
		return false;
	below = names_find(p->names, objects_at(p->objects, object)->key);
	if (below == DIR_NONE)
		return false;
	d = names_at(p->names, below);
	if (!d->list) {
		want_listing(p, s, below);
		return false;
	}
	*w = (struct guess_walk){below, names_begin(d, s->by_order), true};
	return true;
}

/* Goes on to the next name; at the end of a directory, if the walk may leave
 * it, to the next name above. */
static bool walk_on(struct predictor *p, const struct stream *s,
    struct guess_walk *w, bool leave)
{
	for (int i = 0; i < UP_MAX; i++) {
		const struct dir *d = names_at(p->names, w->dir), *up;
		uint16_t rank = names_next(d, w->rank, s->by_order);
		uint32_t object;

		if (rank != RANK_NONE) {
			w->rank = rank;
			return true;
		}
		if (!leave || d->parent == DIR_NONE)
			return false;
		object = place_find(p, d->parent, d->name);
		up = names_at(p->names, d->parent);
		if (object == OBJECT_NONE || !up->list ||
		    objects_at(p->objects, object)->rank >= up->n)
			return false;
		*w = (struct guess_walk){
		    d->parent, objects_at(p->objects, object)->rank, true};
	}
	return false;
}

/* How many names ahead are guessed. */
static uint32_t guess_depth(const struct stream *s, uint32_t run)
{
	bool data = s->walk_needs & PREDICTOR_NEEDS_DATA;
	uint32_t depth = NEAR + run * (data ? 6 : 12);
	uint32_t max = data ? RUN_MAX : META_MAX;

	return depth < max ? depth : max;
}

/* How long the stream has gone in order, over directories, too. */
static uint32_t guess_run(
    const struct predictor *p, struct stream *s, const struct dir *d)
{
	uint32_t run = names_run(d);

	if (d->order_run != d->run)
		s->by_order =
		    d->order_run > d->run && has_part(p, PREDICTOR_PART_ORDER);
	if (s->by_names)
		s->momentum++;
	else if (!s->foreseen)
		s->momentum /= 2;
	return run > s->momentum ? run : s->momentum;
}

/* Guesses names beside a foreseen one that nobody used before: where the whole
 * directory is in use, they may be new files. */
static void guess_new(struct predictor *p, struct stream *s,
    const struct dir *d, uint32_t from, uint16_t type)
{
	for (uint32_t i = 0; i <= NEW_AHEAD + 1; i++) {
		uint32_t rank = from - 1 + i, object;
		const struct object *o;
		struct cand *c;

		object = rank < d->n ? d->list[rank] : OBJECT_NONE;
		if (object == OBJECT_NONE)
			continue;
		o = objects_at(p->objects, object);
		if (o->count > 0 || o->directory || o->tries > NEW_TRIES ||
		    !cands_lacks(p, s, object, reads_need(p, s, o)))
			continue;
		c = cands_make(p, s, object, NEW_AHEAD);
		if (c->told_p > 0 || c->cursor_bits || c->graph_p > 0)
			continue;
		c->source = PREDICTOR_FROM_NAMES;
		c->needs |= reads_need(p, s, o);
		c->cell = (calib_cell)((NEW_PARENT + share_bucket(d) * 4 +
					   (o->type == type) * 2u + (i == 0)) *
					   CALIB_FINE +
				       o->tries * 16u + log_bucket(d->n) * 2 +
				       (i > 2));
		/* The prior is between those of no run and of a run of 1. */
		cands_set(p, s, c, calib_p(p->calib, c->cell, 0.15f));
	}
}

/* Counts the use in the object's directory. */
static void count_use(
    struct predictor *p, struct stream *s, const struct object *o)
{
	uint64_t kind = kind_of(o);
	const struct dir *d;

	names_wake(p->names, o->dir, p->events);
	d = names_at(p->names, o->dir);
	if (d->used == 0)
		cands_enter(p, s, o->dir);
	names_use_kind(p->names, o->dir, o->name, object_kind(o));
	names_use(p->names, o->dir, o->rank, kind,
	    step_to(p, d, o->rank, kind, false),
	    step_to(p, d, o->rank, kind, true), p->events);
}

/* Whether the name is worth a guess: in a run, only kinds in play are. */
static bool in_play(const struct predictor *p, const struct guess_walk *w,
    uint32_t run, uint64_t kinds)
{
	uint32_t object = names_at(p->names, w->dir)->list[w->rank];

	return run < RUN_SURE ||
	       (object != OBJECT_NONE &&
		   (kinds & kind_of(objects_at(p->objects, object))));
}

/* Walks ahead for as many names as the depth has. */
static void guess_ahead(struct predictor *p, struct stream *s,
    const struct object *o, uint32_t run, uint32_t depth, uint64_t kinds)
{
	struct guess_walk w = {o->dir, o->rank, false};
	uint32_t skipped = 0;
	bool leave = run >= WALK_MIN;

	s->names_ahead = 0;
	while (s->names_ahead < depth && skipped < SKIP_MAX) {
		if (!(leave && walk_down(p, s, &w)) &&
		    !walk_on(p, s, &w, leave))
			break;
		if (in_play(p, &w, run, kinds))
			guess_one(p, s, &w, run, ++s->names_ahead, kinds);
		else
			skipped++;
	}
}

/* Guesses names before the present one: a stream that names do not foresee yet
 * may go either way. */
static void guess_behind(struct predictor *p, struct stream *s,
    const struct object *o, uint32_t run, uint64_t kinds)
{
	for (uint32_t i = 1; i <= BEHIND && i <= o->rank; i++) {
		struct guess_walk back = {o->dir, o->rank - i, false};

		guess_one(p, s, &back, run, i, kinds);
	}
}

void guess_event(
    struct predictor *p, struct stream *s, uint32_t object, uint8_t needs)
{
	const struct object *o = objects_at(p->objects, object);
	const struct dir *d;
	uint32_t run, depth;

	if (!stream_is_led(s))
		below_event(p, s, object);
	if (o->dir == DIR_NONE || o->rank == RANK_NONE)
		return;
	count_use(p, s, o);
	d = names_at(p->names, o->dir);
	run = guess_run(p, s, d);
	/* The listing and the rights that a directory needed are nothing that
	 * files need. */
	if (o->directory)
		needs &= PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR;
	s->walk_needs |= needs & (uint8_t)~PREDICTOR_NEEDS_ABSENCE;
	if (s->names_ahead > 0)
		s->names_ahead--;
	depth = guess_depth(s, run);
	/* The rank may be of a longer listing than there is now. */
	if (!d->list || o->rank >= d->n)
		return;
	if (stream_is_led(s)) {
		guess_new(p, s, d, o->rank, o->type);
		return;
	}
	/* Enough names are ahead in this directory: the next time, many are
	 * added at once. */
	if (s->foreseen && s->names_ahead > depth * 4 / 5 && d->used > 1)
		return;
	if (!s->by_names)
		guess_behind(p, s, o, run, d->kinds);
	guess_ahead(p, s, o, run, depth, d->kinds);
}

void guess_around(struct predictor *p, struct stream *s, uint32_t object)
{
	const struct object *o = objects_at(p->objects, object);
	const struct dir *d = names_at(p->names, o->dir);
	uint32_t run = names_run(d);

	if (o->rank >= d->n)
		return;
	guess_behind(p, s, o, run, d->kinds);
	guess_ahead(p, s, o, run, guess_depth(s, run), d->kinds);
}
