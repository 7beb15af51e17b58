/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of a peer's trails that are missing here. A run is known by a hash of
 * its objects' keys in order, and so is each beginning of it:
 *
 *	theirs     a b c d      H(abcd) in `wholes`
 *	here       a b c d e    at d the hash is H(abcd): it is known
 *	here       a b          H(ab) in `ends`; theirs goes on from there
 */
#include <errno.h>

#include "predictor/persist/merge_private.h"

/* A run is worth its length if one in so many of its objects is in no run here.
 */
enum { NEW_SHARE = 64, RUN_MIN = 2, LOOK_BACK = 64 };

/* ---- theirs ------------------------------------------------------------ */

/* The user's runs of the message. Those of others, and those that are too
 * short, are left out. */
bool merge_find_runs(struct predictor_merge *m)
{
	const Forefetch__TreeFile *f = m->f;
	size_t trail = 0, first = 0;

	if (!VEC_NEW(f->n_trail / RUN_MIN + 1, m->runs))
		return false;
	for (size_t i = 0; i <= f->n_trail; i++) {
		bool end = i == f->n_trail || f->trail[i] == 0;
		bool ours = trail < f->n_trail_owner &&
			    (f->trail_owner[trail] & m->theirs);

		if (!end && !(f->trail_needs[i] & TRAIL_BEGINS))
			continue;
		if (ours && i >= first + RUN_MIN)
			m->runs[m->nruns++] =
			    (struct merge_run){.first = (uint32_t)first,
				.n = (uint32_t)(i - first)};
		first = end ? i + 1 : i;
		trail += end;
	}
	return true;
}

/* Goes through the uses of run `at`, from `sub` on, a step at a time. */
static bool next_use(struct predictor_merge *m, int *steps, uint32_t *object)
{
	const struct merge_run *r = &m->runs[m->at];

	if (*steps == 0 || m->sub >= r->n)
		return false;
	--*steps;
	*object = m->f->trail[r->first + m->sub++] - 1;
	return true;
}

static bool run_is_over(const struct predictor_merge *m)
{
	return m->sub >= m->runs[m->at].n;
}

/* A full store may have given up some of the run's objects here; the hash of
 * those that are left is kept beside that of all. */
static void hash_use(struct predictor_merge *m, const struct predictor *p,
    struct merge_run *r, uint32_t object)
{
	uint64_t key = m->keys[object];

	if (!key)
		return;
	r->hash = merge_hash(r->hash, key);
	if (!m->full || objects_find(p->objects, key) == OBJECT_NONE)
		return;
	m->here++;
	m->here_hash = merge_hash(m->here_hash, key);
}

/* Where objects have to give way, a run here may lack some of its objects: the
 * others tell what run it is, if they are most of it. */
static void hash_end(struct predictor_merge *m, struct merge_run *r)
{
	if (m->full && m->here >= r->n - r->n / RUN_SHARE)
		r->hash = m->here_hash;
	m->here = 0;
	m->here_hash = 0;
}

int merge_hash_runs(struct predictor_merge *m, struct predictor *p)
{
	int steps = MERGE_STEP;
	uint32_t object, whole;
	struct merge_run *r;

	if (m->at >= m->nruns)
		return 0;
	r = &m->runs[m->at];
	while (next_use(m, &steps, &object))
		hash_use(m, p, r, object);
	if (!run_is_over(m))
		return 1;
	hash_end(m, r);
	whole = keymap_get(m->wholes, r->hash);
	if (whole == KEYMAP_NONE) {
		whole = (uint32_t)m->at;
		if (keymap_put(m->wholes, r->hash, whole))
			return -ENOMEM;
	}
	m->runs[whole].theirs++;
	m->at++;
	m->sub = 0;
	return 1;
}

/* ---- ours -------------------------------------------------------------- */

/* The needs of the run's last use were perhaps not complete when it was taken.
 */
static void learn_needs(const struct predictor_merge *m, struct predictor *p,
    const struct merge_run *r, uint32_t place)
{
	uint32_t last = r->first + r->n - 1;
	uint32_t object = m->f->trail[last] - 1;
	uint32_t id = trails_object(p->trails, place);

	if (objects_at(p->objects, id)->key == m->keys[object])
		trails_add_needs(
		    p->trails, place, m->f->trail_needs[last] & NEEDS_KEPT);
}

/* Counts an entry of a run here: as a use of its object, and, where the run so
 * far is equal to a whole one of theirs, as that run. */
static void walk_use(
    struct predictor_merge *m, struct predictor *p, uint32_t id, uint32_t place)
{
	uint64_t key = objects_at(p->objects, id)->key;
	uint32_t object = keymap_get(m->by_key, key), whole;

	if (object != KEYMAP_NONE && m->uses[object] < UINT8_MAX)
		m->uses[object]++;
	m->hash = merge_hash(m->hash, key);
	m->tail = place;
	whole = keymap_get(m->wholes, m->hash);
	if (whole == KEYMAP_NONE)
		return;
	m->runs[whole].ours++;
	learn_needs(m, p, &m->runs[whole], place);
}

/* A run here is over: a longer one of theirs may go on from its last place. */
static int walk_end(struct predictor_merge *m)
{
	int rc =
	    m->tail == TRAIL_NONE ? 0 : keymap_put(m->ends, m->hash, m->tail);

	m->hash = 0;
	m->tail = TRAIL_NONE;
	return rc;
}

/* A number that was given to another object since the part began may stand in
 * it for either: the object's own places tell, as far as one looks back. */
static bool part_has(
    const struct predictor *p, const struct trail_part *part, uint32_t i)
{
	uint32_t id = part->objects[i], place, looks = LOOK_BACK;
	const struct object *o;

	if (!snapshot_part_has(p, part, i))
		return false;
	o = objects_at(p->objects, id);
	if (o->born_at <= part->begun_at)
		return true;
	for (place = o->last; place != TRAIL_NONE && looks > 0; looks--) {
		if (place == part->place + i)
			return true;
		place = trails_holds(p->trails, place, id)
			    ? trails_earlier(p->trails, place)
			    : TRAIL_NONE;
	}
	return looks == 0;
}

int merge_walk(struct predictor_merge *m, struct predictor *p)
{
	struct trail_part part;

	if (!m->walking)
		trails_begin(p->trails, &m->walk);
	m->walking = trails_part(p->trails, &m->walk, &part);
	if (!m->walking)
		return walk_end(m);
	if (!part.more && walk_end(m))
		return -ENOMEM;
	for (uint32_t i = 0; i < part.n && (part.owner & m->bit); i++) {
		if ((part.needs[i] & TRAIL_BEGINS) && walk_end(m))
			return -ENOMEM;
		if (part_has(p, &part, i))
			walk_use(m, p, part.objects[i], part.place + i);
	}
	return 1;
}

/* ---- which ones are missing -------------------------------------------- */

/* Whether the run is here as often as there, or as often as counts. */
static bool run_is_known(const struct predictor_merge *m, struct merge_run *r)
{
	const struct merge_run *whole =
	    &m->runs[keymap_get(m->wholes, r->hash)];
	uint32_t most = whole->theirs < RUN_USES ? whole->theirs : RUN_USES;

	return whole->ours >= most;
}

/* How many of its objects have few uses here, and how many none. */
static void count_news(
    struct predictor_merge *m, const struct predictor *p, int *steps)
{
	uint32_t object;

	while (next_use(m, steps, &object)) {
		uint64_t key = m->keys[object];

		/* A full log has lost uses of what is known. */
		if (!key || (m->log_full &&
				objects_find(p->objects, key) != OBJECT_NONE))
			continue;
		m->few += m->uses[object] < RUN_USES;
		m->none += m->uses[object] == 0;
	}
}

/* Whether it says enough that is new, and there is room in the log. */
static bool run_is_news(struct predictor_merge *m, const struct merge_run *r)
{
	size_t uses = r->n + TRAIL_PART - r->n % TRAIL_PART;

	if (!(m->few > 0 && m->few >= r->n / RUN_SHARE) &&
	    !(m->none > 0 && (uint64_t)m->none * NEW_SHARE >= r->n))
		return false;
	if (uses > m->uses_left)
		return false;
	m->uses_left -= uses;
	return true;
}

/* Takes the run's objects; false if no more are to be had. */
static bool take_objects(
    struct predictor_merge *m, const struct predictor *p, int *steps)
{
	uint32_t object;

	while (next_use(m, steps, &object)) {
		if (!merge_counts(m, p, object))
			return false;
		if (m->uses[object] < UINT8_MAX)
			m->uses[object]++;
	}
	return true;
}

/* Goes on to the next older run, whether this one was taken or not. */
static void choose_next(struct predictor_merge *m, bool taken)
{
	struct merge_run *r = &m->runs[m->at];

	if (taken) {
		m->runs[keymap_get(m->wholes, r->hash)].ours++;
		r->take = true;
	}
	m->at--;
	m->sub = m->few = m->none = 0;
	m->taking = false;
}

/* The newest run stands last, and comes first. Where there is no more room, it
 * ends. */
int merge_choose(struct predictor_merge *m, struct predictor *p)
{
	int steps = MERGE_STEP;

	if (m->nruns == 0 || m->at == SIZE_MAX)
		return 0;
	if (!m->choosing) {
		m->choosing = true;
		m->at = m->nruns - 1;
	}
	if (m->taking) {
		if (!take_objects(m, p, &steps))
			return 0;
		if (run_is_over(m))
			choose_next(m, true);
		return 1;
	}
	if (run_is_known(m, &m->runs[m->at])) {
		choose_next(m, false);
		return 1;
	}
	count_news(m, p, &steps);
	if (!run_is_over(m))
		return 1;
	if (!run_is_news(m, &m->runs[m->at])) {
		choose_next(m, false);
		return 1;
	}
	m->taking = true;
	m->sub = 0;
	return 1;
}

/* ---- writing them ------------------------------------------------------ */

/* Whether nothing stands behind that place. */
static bool is_end(const struct predictor *p, uint32_t place, uint32_t object)
{
	return trails_holds(p->trails, place, object) &&
	       trails_next(p->trails, place) == TRAIL_NONE;
}

/* The same, and no stream will write there. */
static bool is_open(const struct predictor *p, uint32_t place, uint32_t object)
{
	if (!is_end(p, place, object))
		return false;
	for (uint32_t i = 0; i < p->streams.n; i++)
		if (p->streams.at[i]->used && p->streams.at[i]->tail == place)
			return false;
	return true;
}

/* Where a run here ends as this one begins, and is shorter: it is written on
 * from there. */
static void join_use(
    struct predictor_merge *m, const struct predictor *p, uint32_t object)
{
	uint64_t key = m->keys[object];
	uint32_t id, place;

	if (!key)
		return;
	m->hash = merge_hash(m->hash, key);
	place = keymap_get(m->ends, m->hash);
	if (place == KEYMAP_NONE || run_is_over(m))
		return;
	id = objects_find(p->objects, key);
	if (id == OBJECT_NONE || !is_open(p, place, id))
		return;
	m->tail = place;
	m->tail_object = id;
	m->from = (uint32_t)m->sub;
}

/* Appends the use to the trail as if it had been observed now; the times of two
 * machines do not compare. */
static void write_use(struct predictor_merge *m, struct predictor *p,
    uint32_t object, uint32_t needs)
{
	uint32_t id = merge_make(m, p, object);
	bool goes_on = m->tail != TRAIL_NONE;
	struct object *o;

	if (id == OBJECT_NONE)
		return;
	/* A full log may have taken it back. */
	if (goes_on && !is_end(p, m->tail, m->tail_object))
		m->tail = TRAIL_NONE;
	p->events++;
	o = objects_at(p->objects, id);
	m->tail = trails_append(p->trails, m->tail,
	    &(struct trail_use){.object = id,
		.last = o->last,
		.now = p->events,
		.owner = m->bit,
		.needs = needs & NEEDS_KEPT,
		.begins = !goes_on});
	m->tail_object = id;
	o->last = m->tail;
	o->seen_at = p->events;
	if (o->count == 0)
		o->count = 1;
	twin_learn(p, id);
	m->stats.uses++;
}

/* Every run is a trail of its own, unless join_use() finds where it goes on. */
static void write_begin(struct predictor_merge *m)
{
	m->hash = 0;
	m->tail = TRAIL_NONE;
	m->from = 0;
	m->sub = 0;
	m->joining = true;
}

/* Goes through the run that is to be written twice: for where to begin, and to
 * write it. */
static int write_run(struct predictor_merge *m, struct predictor *p)
{
	const struct merge_run *r = &m->runs[m->at];
	int steps = MERGE_STEP;
	uint32_t object;

	while (next_use(m, &steps, &object)) {
		if (m->joining)
			join_use(m, p, object);
		else
			write_use(m, p, object,
			    m->f->trail_needs[r->first + m->sub - 1]);
	}
	if (!run_is_over(m))
		return 1;
	if (m->joining) {
		m->joining = false;
		m->sub = m->from;
		return 1;
	}
	if (m->tail != TRAIL_NONE && keymap_put(m->ends, r->hash, m->tail))
		return -ENOMEM;
	m->at++;
	write_begin(m);
	return 1;
}

int merge_write(struct predictor_merge *m, struct predictor *p)
{
	if (!m->writing)
		write_begin(m);
	m->writing = true;
	for (int i = 0; i < MERGE_STEP; i++) {
		if (m->at >= m->nruns)
			return 0;
		if (m->runs[m->at].take)
			return write_run(m, p);
		m->at++;
	}
	return 1;
}
