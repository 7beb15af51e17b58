/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs what was learned from one user, with keys, for the other machines of a
 * farm: see predictor_snapshot_user().
 *
 * Each run is a trail of its own here, so that whoever merges it can tell
 * whether it has that run. A run that the log has lost a part of would look
 * like another one, so it is left out. Of runs that are alike only the newest
 * go out, as many as the predictor looks back.
 */
#include "predictor/persist/persist_private.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "predictor/persist/persist_format.h"

enum {
	RUN_MIN = 2,           /* objects; fewer say nothing of what follows */
	OBJECTS_OUT = 1 << 17, /* so that it stays below ten megabytes */
};

struct predictor_snapshot *predictor_snapshot_user(
    struct predictor *p, uint64_t uid)
{
	uint16_t only = wall_find(&p->wall, uid);

	if (only)
		return snapshot_begin(p, only, false, true);
	errno = ENOENT;
	return NULL;
}

/* ---- choosing, and runs ------------------------------------------------ */

/* sessions_walk() hands this from one record to the next. */
struct choose {
	struct predictor_snapshot *x;
	uint32_t skip; /* records of former steps */
};

/* Chooses the objects of one record, the one behind those of former steps. */
static int choose_session(
    void *ctx, uint64_t uid, uint64_t space, const struct session_record *r)
{
	struct choose *c = ctx;
	const struct predictor *p = c->x->p;

	(void)space;
	if (c->skip > 0) {
		c->skip--;
		return 0;
	}
	if (!(wall_find(&p->wall, uid) & c->x->only))
		return 1;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct object *o =
		    objects_at(p->objects, r->uses[i].object);

		if (!o->free && o->born_at <= r->at)
			snapshot_choose(c->x, r->uses[i].object);
	}
	return 1;
}

int user_choose_sessions(struct predictor_snapshot *x)
{
	struct choose c = {.x = x, .skip = x->at};

	if (!x->user)
		return 0;
	x->at++;
	return sessions_walk(x->p->sessions, choose_session, &c);
}

/* The run that was begun last ends here, as far as it has come. */
static void run_end(struct predictor_snapshot *x)
{
	struct snapshot_run *r = &x->runs[x->nruns - 1];

	r->n = (uint32_t)x->f->n_trail - r->first;
}

/* Notes where the run begins. Behind a full log's oldest entries, a trail that
 * does not begin with a run's first entry has lost it. */
static void run_begin(
    struct predictor_snapshot *x, const struct trail_part *part, uint32_t i)
{
	if (x->nruns > 0)
		run_end(x);
	x->runs[x->nruns++] = (struct snapshot_run){.at = part->begun_at + i,
	    .first = (uint32_t)x->f->n_trail,
	    .owner = part->owner,
	    .lost = x->lost && trails_full(x->p->trails)};
}

void user_export_part(
    struct predictor_snapshot *x, const struct trail_part *part)
{
	Forefetch__TreeFile *f = x->f;

	/* There are no more runs than uses. */
	if (!x->runs && !VEC_NEW(x->room, x->runs)) {
		x->error = -ENOMEM;
		return;
	}
	if (!part->more)
		x->begins = x->lost = true;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t object = snapshot_object(x, part->objects[i]);

		if (part->needs[i] & TRAIL_BEGINS) {
			x->begins = true;
			x->lost = false;
		}
		if (!object || !snapshot_part_has(x->p, part, i))
			continue;
		if (x->begins)
			run_begin(x, part, i);
		x->begins = false;
		f->trail_needs[f->n_trail] = part->needs[i];
		f->trail[f->n_trail++] = object;
	}
	if (x->nruns > 0)
		run_end(x);
	f->n_trail_needs = f->n_trail;
}

/* ---- leaving out, in a thread ------------------------------------------ */

/* The oldest first; runs that began in one event keep their order. */
static int run_cmp(const void *a, const void *b)
{
	const struct snapshot_run *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

struct prune {
	struct predictor_snapshot *x;
	Forefetch__TreeFile *f;
	uint8_t *uses; /* by object: in runs that go out, RUN_USES at most */
	uint32_t *objects; /* by object: 1 if it goes out, then its number */
	uint32_t *dirs;    /* the same */
	size_t out;        /* objects that go out */
};

/* The object goes out, and with it the directories that it lies in. */
static void keep_object(struct prune *u, uint32_t object)
{
	uint32_t dir = u->f->object_dir[object - 1];

	u->out += !u->objects[object - 1];
	u->objects[object - 1] = 1;
	for (; dir && !u->dirs[dir - 1]; dir = u->f->dir_parent[dir - 1])
		u->dirs[dir - 1] = 1;
}

/* Keeps the run if enough of its objects have few uses in newer runs, which
 * come first, and if there is room for its objects. */
static void prune_run(struct prune *u, struct snapshot_run *r)
{
	const uint32_t *at = &u->f->trail[r->first];
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < r->n; i++)
		fresh += u->uses[at[i] - 1] < RUN_USES;
	r->keep = r->n >= RUN_MIN && !r->lost && fresh > 0 &&
		  fresh >= r->n / RUN_SHARE && u->out + r->n <= OBJECTS_OUT;
	for (uint32_t i = 0; i < r->n && r->keep; i++) {
		if (u->uses[at[i] - 1] < RUN_USES)
			u->uses[at[i] - 1]++;
		keep_object(u, at[i]);
	}
}

/* Each run that is kept becomes a trail, the oldest first. */
static bool write_runs(struct prune *u)
{
	Forefetch__TreeFile *f = u->f;
	struct predictor_snapshot *x = u->x;
	uint32_t *trail, *needs;
	size_t n = 0, runs = 0;

	if (!VEC_NEW(f->n_trail + x->nruns, trail))
		return false;
	if (!VEC_NEW(f->n_trail + x->nruns, needs)) {
		free(trail);
		return false;
	}
	for (size_t k = 0; k < x->nruns; k++) {
		const struct snapshot_run *r = &x->runs[k];

		if (!r->keep)
			continue;
		if (runs > 0)
			trail[n++] = 0;
		f->trail_owner[runs++] = r->owner;
		memcpy(&trail[n], &f->trail[r->first], r->n * sizeof(*trail));
		memcpy(&needs[n], &f->trail_needs[r->first],
		    r->n * sizeof(*needs));
		needs[n] |= TRAIL_BEGINS;
		n += r->n;
	}
	free(f->trail);
	free(f->trail_needs);
	f->trail = trail;
	f->trail_needs = needs;
	f->n_trail = f->n_trail_needs = n;
	f->n_trail_owner = runs;
	return true;
}

/* Puts the directories that go out together, and gives them their new numbers;
 * a parent may stand before or behind its directory. */
static void move_dirs(struct prune *u)
{
	Forefetch__TreeFile *f = u->f;
	uint32_t n = 0;

	for (size_t i = 0; i < f->n_dir_key; i++)
		u->dirs[i] = u->dirs[i] ? ++n : 0;
	for (size_t i = 0; i < f->n_dir_key; i++) {
		uint32_t to = u->dirs[i] - 1, up = f->dir_parent[i];

		if (!u->dirs[i])
			continue;
		f->dir_key[to] = f->dir_key[i];
		f->dir_name[to] = f->dir_name[i];
		f->dir_known[to] = f->dir_known[i];
		f->dir_parent[to] = up ? u->dirs[up - 1] : 0;
	}
	f->n_dir_key = f->n_dir_parent = f->n_dir_name = f->n_dir_known = n;
}

/* The same for objects; `objects` has the new number of each from here on. */
static void move_objects(struct prune *u)
{
	Forefetch__TreeFile *f = u->f;
	uint32_t n = 0;

	for (size_t i = 0; i < f->n_object_key; i++) {
		uint32_t dir = f->object_dir[i];

		if (!u->objects[i])
			continue;
		f->object_key[n] = f->object_key[i];
		f->object_dir[n] = dir ? u->dirs[dir - 1] : 0;
		f->object_name[n] = f->object_name[i];
		f->object_size[n] = f->object_size[i];
		f->object_type[n] = f->object_type[i];
		f->object_flags[n] = f->object_flags[i];
		f->object_known[n] = f->object_known[i];
		u->objects[i] = ++n;
	}
	f->n_object_key = f->n_object_dir = f->n_object_name = n;
	f->n_object_size = f->n_object_type = f->n_object_flags = n;
	f->n_object_known = n;
}

/* The same for what is known of files, pieces and orders. */
static void move_extents(struct prune *u)
{
	Forefetch__TreeFile *f = u->f;
	size_t n = 0;

	for (size_t i = 0; i < f->n_extent_object; i++) {
		uint32_t object = u->objects[f->extent_object[i] - 1];

		if (!object)
			continue;
		f->extent_object[n] = object;
		f->extent_offset[n] = f->extent_offset[i];
		f->extent_stride[n] = f->extent_stride[i];
		f->extent_length[n] = f->extent_length[i];
		f->extent_count[n++] = f->extent_count[i];
	}
	f->n_extent_object = f->n_extent_offset = f->n_extent_stride = n;
	f->n_extent_length = f->n_extent_count = n;
	n = 0;
	for (size_t i = 0; i < f->n_order_object; i++) {
		uint32_t object = u->objects[f->order_object[i] - 1];
		ProtobufCBinaryData piece = f->order_pieces[i];

		if (!object) {
			free(piece.data);
			continue;
		}
		f->order_object[n] = object;
		f->order_pieces[n++] = piece;
	}
	f->n_order_object = f->n_order_pieces = n;
}

/* Puts the new numbers into a column; 0 stays what it is. */
static void renumber(const struct prune *u, uint32_t *column, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (column[i])
			column[i] = u->objects[column[i] - 1];
}

static bool prune(struct prune *u)
{
	Forefetch__TreeFile *f = u->f;
	struct predictor_snapshot *x = u->x;

	for (size_t i = 0; i < f->n_session; i++)
		if (f->session[i])
			keep_object(u, f->session[i]);
	if (x->nruns > 0)
		qsort(x->runs, x->nruns, sizeof(*x->runs), run_cmp);
	for (size_t k = x->nruns; k-- > 0;)
		prune_run(u, &x->runs[k]);
	if (!write_runs(u))
		return false;
	x->pruned = true;
	move_dirs(u);
	move_objects(u);
	move_extents(u);
	renumber(u, f->trail, f->n_trail);
	renumber(u, f->session, f->n_session);
	return true;
}

bool user_prune(struct predictor_snapshot *x)
{
	struct prune u = {.x = x, .f = x->f};
	bool ok = x->pruned;

	if (ok)
		return true;
	ok = VEC_NEW(x->f->n_object_key, u.uses) &&
	     VEC_NEW(x->f->n_object_key, u.objects) &&
	     VEC_NEW(x->f->n_dir_key, u.dirs) && prune(&u);

	free(u.uses);
	free(u.objects);
	free(u.dirs);
	if (ok)
		x->dir_set = keymap_new();
	for (size_t i = 0; ok && x->dir_set && i < x->f->n_dir_key; i++)
		(void)keymap_put(x->dir_set, x->f->dir_key[i], 0);
	return ok && x->dir_set;
}

/* ---- what it is about -------------------------------------------------- */

size_t predictor_snapshot_keys(const struct predictor_snapshot *x, size_t *at,
    bool absent, uint64_t *keys, size_t max)
{
	const Forefetch__TreeFile *f = x->f;
	size_t dirs = absent ? 0 : f->n_dir_key, n = 0;

	assert(x->dir_set);
	for (; n < max && *at < dirs; ++*at)
		keys[n++] = f->dir_key[*at];
	for (; n < max && *at - dirs < f->n_object_key; ++*at) {
		size_t i = *at - dirs;

		if (!(f->object_flags[i] & FLAG_ABSENT) == absent)
			continue;
		if (keymap_get(x->dir_set, f->object_key[i]) == KEYMAP_NONE)
			keys[n++] = f->object_key[i];
	}
	return n;
}
