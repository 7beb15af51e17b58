/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds the contents of a message to what is known, a step at a time: its
 * directories, objects, trails, extents, orders and sessions. Learning may go
 * on between two steps, so a number may mean another object by the next one.
 */
#include <errno.h>
#include <stdlib.h>

#include "predictor/persist/persist_format.h"
#include "predictor/persist/persist_private.h"
#include "predictor/persist/portable.h"
#include "predictor/persist/trees.h"

enum { STEP = 32 }; /* directories, objects or the like */

/* Maps the message's directories and objects to those here: DIR_NONE and
 * OBJECT_NONE if they are left out. */
struct predictor_import {
	struct persist_message m;
	struct predictor *p; /* since the first step */
	const Forefetch__TreeFile *f;
	uint32_t *objects, *dirs;
	bool trees;
	uint16_t as; /* the bit of the uid that gets it; 0: as the file says */
	uint32_t emptied; /* as it was when this began */
	int error;
	unsigned phase;
	size_t at; /* where the phase is */
	/* Of the trail that is written: its number, whose it is, the place that
	 * was written last, and what that holds. */
	size_t trail;
	uint16_t owner;
	uint32_t tail, tail_object;
	/* The session that is read: its number, and where it begins. */
	size_t session, session_from;
	uint64_t uid;
	uint32_t new_objects, new_dirs; /* that are not known here */
};

/* Where this step of the phase ends, which looks at `n` things in all. */
static size_t step_end(const struct predictor_import *x, size_t n)
{
	return n - x->at > STEP ? x->at + STEP : n;
}

/* ---- a user's share ---------------------------------------------------- */

/* One user must not drive out what the others have, neither by one file nor by
 * many: what a uid brings counts until it is cleared, or until as much was
 * observed as the log holds. */
static int import_charge(struct predictor_import *x)
{
	struct predictor *p = x->p;
	uint16_t bit = wall_find(&p->wall, x->uid);
	uint32_t observed = p->events - p->imported;
	struct brought all = {.since = observed};

	if (bit && observed - wall_brought(&p->wall, bit)->since <=
		       trails_limit(p->trails))
		all = *wall_brought(&p->wall, bit);
	if (x->f->n_trail > trails_limit(p->trails) / 4 - all.uses ||
	    x->new_objects > objects_limit(p->objects) / 4 - all.objects ||
	    x->new_dirs > names_limit(p->names) / 4 - all.dirs)
		return -EFBIG;
	x->as = wall_bit(&p->wall, x->uid);
	if (!x->as)
		return -ENOSPC;
	all.uses += (uint32_t)x->f->n_trail;
	all.objects += x->new_objects;
	all.dirs += x->new_dirs;
	*wall_brought(&p->wall, x->as) = all;
	return 0;
}

/* Counts the objects, directories and uses of the message that are new here; an
 * error if they are too many. */
static int import_weigh(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	size_t n = f->n_dir_key + f->n_object_key;

	if (!x->trees || x->uid == TREES_ALL)
		return 0;
	for (size_t end = step_end(x, n); x->at < end; x->at++) {
		if (x->at < f->n_dir_key)
			x->new_dirs += names_find(x->p->names,
					   f->dir_key[x->at]) == DIR_NONE;
		else
			x->new_objects +=
			    objects_find(x->p->objects,
				f->object_key[x->at - f->n_dir_key]) ==
			    OBJECT_NONE;
	}
	return x->at < n ? 1 : import_charge(x);
}

/* ---- what it says ------------------------------------------------------- */

/* The uids of the message's bits, with the bits that they have here. */
static uint16_t import_bits(const struct predictor_import *x, uint32_t theirs)
{
	uint16_t bits = x->as;

	for (size_t i = 0; i < x->f->n_uid && !x->as; i++)
		if (theirs & 1u << i)
			bits |= wall_bit(&x->p->wall, x->f->uid[i]);
	return bits;
}

/* A portable file is not trusted: where it uses a key that means another
 * directory here, that directory is left out. */
static bool dir_is_free(const struct predictor_import *x, size_t i)
{
	const struct names *ns = x->p->names;
	uint32_t here = names_find(ns, x->f->dir_key[i]);
	uint32_t up = x->f->dir_parent[i];
	const struct dir *d;

	if (here == DIR_NONE || !x->f->portable)
		return true;
	d = names_at(ns, here);
	if (d->parent == DIR_NONE || !up)
		return d->parent == DIR_NONE && !up;
	return d->name == x->f->dir_name[i] &&
	       names_at(ns, d->parent)->key == x->f->dir_key[up - 1];
}

static int import_dirs(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	struct names *ns = x->p->names;

	for (size_t end = step_end(x, f->n_dir_key); x->at < end; x->at++) {
		uint64_t key = f->dir_key[x->at];

		x->dirs[x->at] =
		    dir_is_free(x, x->at) ? names_dir(ns, key) : DIR_NONE;
	}
	return x->at < f->n_dir_key;
}

/* Then all of them are known, those above, too. */
static int import_places(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	struct names *ns = x->p->names;

	for (size_t end = step_end(x, f->n_dir_key); x->at < end; x->at++) {
		uint32_t up = f->dir_parent[x->at], d = x->dirs[x->at];

		if (d == DIR_NONE)
			continue;
		names_place(
		    ns, d, up ? x->dirs[up - 1] : DIR_NONE, f->dir_name[x->at]);
		names_at(ns, d)->met_by |= import_bits(x, f->dir_known[x->at]);
	}
	return x->at < f->n_dir_key;
}

/* The same for objects; without a place they mean nothing on another machine.
 */
static bool object_is_free(
    const struct predictor_import *x, size_t i, uint32_t dir)
{
	uint32_t id = objects_find(x->p->objects, x->f->object_key[i]);
	const struct object *o;

	if (!x->f->portable)
		return true;
	if (dir == DIR_NONE || !x->f->object_name[i])
		return false;
	if (id == OBJECT_NONE)
		return true;
	o = objects_at(x->p->objects, id);
	return o->dir == dir && o->name == x->f->object_name[i];
}

/* Where it was used here, that is the newer knowledge. */
static void import_learned(
    const struct predictor_import *x, struct object *o, size_t i)
{
	uint32_t flags = x->f->object_flags[i];

	if (flags & FLAG_EXEC)
		o->exec = true;
	if (o->count > 0)
		return;
	o->size = x->f->object_size[i];
	o->type = (uint16_t)x->f->object_type[i];
	o->absent = (flags & FLAG_ABSENT) != 0;
	o->directory = (flags & FLAG_DIRECTORY) != 0;
	o->count = (uint8_t)(flags >> FLAG_COUNT);
	o->needs = flags >> FLAG_NEEDS & NEEDS_KEPT;
	o->first = (uint8_t)(flags >> FLAG_FIRST);
}

/* Makes the object, or finds it by its key; a place is taken over only where it
 * has none. */
static uint32_t import_object(struct predictor_import *x, size_t i)
{
	const Forefetch__TreeFile *f = x->f;
	struct predictor *p = x->p;
	uint32_t up = f->object_dir[i];
	uint32_t dir = up ? x->dirs[up - 1] : DIR_NONE, id;
	struct object *o;

	if (!object_is_free(x, i, dir))
		return OBJECT_NONE;
	id = objects_make(p->objects, f->object_key[i], p->events);
	if (id == OBJECT_NONE)
		return id;
	o = objects_at(p->objects, id);
	o->recent = true;
	o->met_by |= import_bits(x, f->object_known[i]);
	import_learned(x, o, i);
	if (dir != DIR_NONE && o->dir == DIR_NONE)
		id = place_object(p, id, dir, f->object_name[i]);
	return id;
}

static int import_objects(struct predictor_import *x)
{
	size_t n = x->f->n_object_key;

	for (size_t end = step_end(x, n); x->at < end; x->at++)
		x->objects[x->at] = import_object(x, x->at);
	return x->at < n;
}

/* The object of that number in the message, which counts from 1; OBJECT_NONE
 * where it was left out, or a full arena has given it up again. */
static uint32_t object_of(const struct predictor_import *x, uint32_t at)
{
	uint32_t id = at ? x->objects[at - 1] : OBJECT_NONE;
	const struct object *o;

	if (id == OBJECT_NONE)
		return id;
	o = objects_at(x->p->objects, id);
	return !o->free && o->key == x->f->object_key[at - 1] ? id
							      : OBJECT_NONE;
}

/* Appends a use to the trail, as if it had been observed now. */
static void import_use(struct predictor_import *x, uint32_t id, uint32_t needs)
{
	struct predictor *p = x->p;
	struct object *o = objects_at(p->objects, id);

	/* A full log may have taken it back between two steps. */
	if (x->tail != TRAIL_NONE &&
	    !trails_holds(p->trails, x->tail, x->tail_object))
		x->tail = TRAIL_NONE;
	p->events++;
	p->imported++;
	x->tail = trails_append(p->trails, x->tail,
	    &(struct trail_use){.object = id,
		.last = o->last,
		.now = p->events,
		.owner = x->owner,
		.needs = needs & NEEDS_KEPT,
		.begins = (needs & TRAIL_BEGINS) != 0});
	x->tail_object = id;
	o->last = x->tail;
	o->seen_at = p->events;
	if (o->count == 0)
		o->count = 1;
	twin_learn(p, id);
}

static uint16_t import_owner(const struct predictor_import *x, size_t trail)
{
	return import_bits(
	    x, trail < x->f->n_trail_owner ? x->f->trail_owner[trail] : 0);
}

static int import_trails(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;

	if (x->at == 0) {
		x->tail = TRAIL_NONE;
		x->owner = import_owner(x, 0);
	}
	for (size_t end = step_end(x, f->n_trail); x->at < end; x->at++) {
		uint32_t id = object_of(x, f->trail[x->at]);

		if (!f->trail[x->at]) {
			x->tail = TRAIL_NONE;
			x->owner = import_owner(x, ++x->trail);
		}
		if (id != OBJECT_NONE)
			import_use(x, id, f->trail_needs[x->at]);
	}
	return x->at < f->n_trail;
}

/* The extents of one object, which stand together. */
static int import_extents(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	struct predictor_extent e[EXTENTS_MAX];
	size_t first = x->at, n = 0;
	uint32_t id;

	if (first == f->n_extent_object)
		return 0;
	for (; x->at < f->n_extent_object && n < EXTENTS_MAX &&
	       f->extent_object[x->at] == f->extent_object[first];
	     x->at++)
		e[n++] = (struct predictor_extent){
		    .offset_bytes = f->extent_offset[x->at],
		    .stride_bytes = f->extent_stride[x->at],
		    .length_bytes = f->extent_length[x->at],
		    .count = f->extent_count[x->at]};
	id = object_of(x, f->extent_object[first]);
	if (id != OBJECT_NONE)
		extents_set(x->p->extents, id, e, n);
	return 1;
}

/* The session that ends here, at once; for uids that have a bit. */
static int import_session(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	uint64_t uid = f->session_uid[x->session];
	uint64_t space = f->session_space[x->session++];
	struct session_use *uses =
	    calloc(x->at - x->session_from + 1, sizeof(*uses));
	uint32_t n = 0;

	if (!uses)
		return -ENOMEM;
	for (size_t i = x->session_from; i < x->at; i++) {
		uint32_t id = object_of(x, f->session[i]);

		if (id != OBJECT_NONE)
			uses[n++] = (struct session_use){.object = id,
			    .blocks = f->session_blocks[i],
			    .needs = f->session_needs[i] & NEEDS_KEPT};
	}
	if (wall_bit(&x->p->wall, uid) && n > 0)
		(void)sessions_add(
		    x->p->sessions, uid, space, uses, n, x->p->events);
	free(uses);
	x->session_from = x->at + 1;
	return 0;
}

/* They have keys of file systems, so a portable file has none that mean
 * anything. */
static int import_sessions(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;

	if (f->portable || f->n_session_uid == 0)
		return 0;
	for (size_t end = step_end(x, f->n_session); x->at < end; x->at++)
		if (f->session[x->at] == 0 && import_session(x))
			return -ENOMEM;
	return x->at < f->n_session ? 1 : import_session(x);
}

/* Orders that make no sense are left out. */
static int import_orders(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;

	for (size_t end = step_end(x, f->n_order_object); x->at < end;
	     x->at++) {
		uint32_t id = object_of(x, f->order_object[x->at]);

		if (id != OBJECT_NONE)
			(void)extents_order_set(x->p->extents, id,
			    f->order_pieces[x->at].data,
			    f->order_pieces[x->at].len);
	}
	return x->at < f->n_order_object;
}

/* Where more was observed here, that counts. The calibration of another machine
 * could not be forgotten again. */
static int import_calib(struct predictor_import *x)
{
	const Forefetch__TreeFile *f = x->f;
	size_t n = f->portable ? 0 : f->n_calib_cell;

	for (size_t end = step_end(x, n); x->at < end; x->at++) {
		calib_cell cell = (calib_cell)f->calib_cell[x->at];
		float hits, of;

		calib_get(x->p->calib, cell, &hits, &of);
		if (of < f->calib_n[x->at])
			calib_set(x->p->calib, cell, f->calib_hits[x->at],
			    f->calib_n[x->at]);
	}
	return x->at < n;
}

/* ---- steps ------------------------------------------------------------- */

typedef int (*import_phase)(struct predictor_import *x);

/* Directories come before objects, and objects before all that has their
 * numbers. import_weigh() comes first: what is too much is not begun. */
static const import_phase phases[] = {import_weigh, import_dirs, import_places,
    import_objects, import_trails, import_extents, import_orders, import_calib,
    import_sessions};

enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

/* Objects that are made from here on are younger than any number that a walk
 * has noted. */
static void import_begin(
    struct predictor_import *x, struct predictor *p, uint64_t uid)
{
	x->p = p;
	x->uid = uid;
	x->emptied = p->emptied;
	p->events++;
}

bool predictor_import_step(
    struct predictor_import *x, struct predictor *p, uint64_t uid, size_t steps)
{
	if (!x->p)
		import_begin(x, p, uid);
	if (x->emptied != p->emptied)
		x->error = -ESTALE;
	/* The stream and objects of the last event may be given up. */
	p->now = NULL;
	for (; steps > 0 && x->phase < PHASES && !x->error; steps--) {
		int rc = phases[x->phase](x);

		x->error = rc < 0 ? rc : 0;
		if (rc != 0)
			continue;
		x->phase++;
		x->at = 0;
	}
	return x->phase == PHASES || x->error;
}

int predictor_import_error(const struct predictor_import *x)
{
	return x->error;
}

/* ---- unpacking --------------------------------------------------------- */

void predictor_import_free(struct predictor_import *x)
{
	if (!x)
		return;
	persist_message_free(&x->m);
	free(x->objects);
	free(x->dirs);
	free(x);
}

/* Unpacks and checks the message. Keys of a portable one are made anew, since
 * its author could choose them to mean objects here. */
static int import_open(
    struct predictor_import *x, const void *message, size_t len)
{
	Forefetch__TreeFile *f;
	int rc = persist_unpack(
	    &x->m, x->trees ? PERSIST_UNPACKED_MAX : SIZE_MAX, message, len);

	if (rc)
		return rc;
	f = x->m.file;
	if (f->version > PERSIST_VERSION)
		return -EPROTONOSUPPORT;
	if (!persist_sane(f))
		return -EBADMSG;
	if (x->trees && !f->portable)
		return -EINVAL;
	if (f->portable)
		portable_set_keys(f);
	x->f = f;
	return VEC_NEW(f->n_object_key, x->objects) &&
		       VEC_NEW(f->n_dir_key, x->dirs)
		   ? 0
		   : -ENOMEM;
}

struct predictor_import *persist_import_new(
    bool trees, const void *message, size_t len)
{
	struct predictor_import *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return NULL;
	x->trees = trees;
	rc = import_open(x, message, len);
	if (rc == 0)
		return x;
	predictor_import_free(x);
	errno = -rc;
	return NULL;
}

struct predictor_import *predictor_import_new(const void *data, size_t len)
{
	const void *message;
	int rc = persist_open(data, len, &message, &len);

	if (rc == 0)
		return persist_import_new(true, message, len);
	errno = -rc;
	return NULL;
}

int persist_apply(
    struct predictor *p, bool trees, uint64_t uid, const void *data, size_t len)
{
	struct predictor_import *x = persist_import_new(trees, data, len);
	int rc;

	if (!x)
		return -errno;
	(void)predictor_import_step(x, p, uid, SIZE_MAX);
	rc = x->error;
	predictor_import_free(x);
	return rc;
}
