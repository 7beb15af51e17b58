/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns what was learned into bytes (persist_format.h). A snapshot goes through
 * it in phases, a small step at a time, so that the daemon can go on in
 * between; then another thread may pack it.
 *
 *	predictor ── phases: choose, dirs, objects, trails, ... ──▶ TreeFile
 *	TreeFile ── predictor_snapshot_pack() ──▶ header and message
 */
#include "predictor/persist/persist.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/persist/persist_format.h"
#include "predictor/persist/persist_private.h"
#include "predictor/persist/portable.h"
#include "predictor/persist/trees_private.h"

/* How many objects a step looks at. */
enum { STEP = 32 };

uint32_t snapshot_object(const struct predictor_snapshot *x, uint32_t id)
{
	if (id >= x->nobjects || !x->objects[id] ||
	    objects_at(x->p->objects, id)->born_at > x->began)
		return 0;
	return x->objects[id];
}

/* The directory's number in the file; 0 if it is left out, or was made later.
 */
static uint32_t exported_dir(const struct predictor_snapshot *x, uint32_t dir)
{
	return dir < x->ndirs ? x->dirs[dir] : 0;
}

/* All directories in one step; else one that is moved meanwhile might seem to
 * lie below itself. */
static int export_dirs(struct predictor_snapshot *x)
{
	Forefetch__TreeFile *f = x->f;
	uint32_t end = x->ndirs, n = 0;

	if (!VEC_NEW(end, f->dir_key) || !VEC_NEW(end, f->dir_parent) ||
	    !VEC_NEW(end, f->dir_name) || !VEC_NEW(end, f->dir_known))
		return -ENOMEM;
	for (uint32_t i = 0; i < end; i++)
		if (!snapshot_chooses(x) || x->dirs[i])
			x->dirs[i] = ++n;
	for (uint32_t i = 0; i < end; i++) {
		const struct dir *d = names_at(x->p->names, i);
		uint32_t at = x->dirs[i] - 1;

		if (!x->dirs[i])
			continue;
		f->dir_key[at] = d->key;
		f->dir_parent[at] = exported_dir(x, d->parent);
		f->dir_name[at] = d->name;
		f->dir_known[at] = d->met_by & x->only;
	}
	f->n_dir_key = f->n_dir_parent = f->n_dir_name = f->n_dir_known = n;
	return 0;
}

/* Most of an object in one number, which a varint packs into few bytes. */
static uint32_t object_flags(const struct object *o)
{
	return (o->exec ? FLAG_EXEC : 0u) | (uint32_t)o->count << FLAG_COUNT |
	       (o->absent ? FLAG_ABSENT : 0u) |
	       (o->directory ? FLAG_DIRECTORY : 0u) |
	       (o->needs & (uint32_t)NEEDS_KEPT) << FLAG_NEEDS |
	       (uint32_t)o->first << FLAG_FIRST;
}

static bool objects_room(Forefetch__TreeFile *f, uint32_t room)
{
	return VEC_NEW(room, f->object_key) && VEC_NEW(room, f->object_dir) &&
	       VEC_NEW(room, f->object_name) && VEC_NEW(room, f->object_size) &&
	       VEC_NEW(room, f->object_type) &&
	       VEC_NEW(room, f->object_flags) && VEC_NEW(room, f->object_known);
}

/* Objects that were used go out; or those of them that were chosen. */
static void export_object(struct predictor_snapshot *x, uint32_t id)
{
	const struct object *o = objects_at(x->p->objects, id);
	Forefetch__TreeFile *f = x->f;
	size_t n = f->n_object_key;

	if (o->free || o->count == 0 || o->born_at > x->began ||
	    (snapshot_chooses(x) && !x->objects[id])) {
		x->objects[id] = 0;
		return;
	}
	f->object_key[n] = o->key;
	f->object_dir[n] = exported_dir(x, o->dir);
	f->object_name[n] = o->name;
	f->object_size[n] = o->size;
	f->object_type[n] = o->type;
	f->object_flags[n] = object_flags(o);
	f->object_known[n] = o->met_by & x->only;
	x->objects[id] = (uint32_t)++f->n_object_key;
}

static int export_objects(struct predictor_snapshot *x)
{
	Forefetch__TreeFile *f = x->f;
	size_t n;

	if (!f->object_key && !objects_room(f, x->nobjects))
		return -ENOMEM;
	for (int i = 0; i < STEP && x->at < x->nobjects; i++)
		export_object(x, x->at++);
	n = f->n_object_key;
	f->n_object_dir = f->n_object_name = f->n_object_size = n;
	f->n_object_type = f->n_object_flags = f->n_object_known = n;
	return x->at < x->nobjects;
}

bool snapshot_part_has(
    const struct predictor *p, const struct trail_part *part, uint32_t i)
{
	const struct object *o;

	if (part->objects[i] == TRAIL_NOTHING)
		return false;
	o = objects_at(p->objects, part->objects[i]);
	return !o->free && part->ended_at >= o->born_at;
}

/* The next part of a trail; false behind the last one. */
static bool next_part(struct predictor_snapshot *x, struct trail_part *part)
{
	if (!x->walking)
		trails_begin(x->p->trails, &x->walk);
	x->walking = trails_part(x->p->trails, &x->walk, part);
	return x->walking;
}

/* Trails follow each other in one column, with a 0 between them; `trail_owner`
 * has a number for each. An entry whose object is left out is, too. */
static void export_trail(
    struct predictor_snapshot *x, const struct trail_part *part)
{
	Forefetch__TreeFile *f = x->f;

	if (!part->more) {
		if (f->n_trail_owner > 0)
			f->trail[f->n_trail++] = 0;
		f->trail_owner[f->n_trail_owner++] = part->owner;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t object = snapshot_object(x, part->objects[i]);

		if (!object || !snapshot_part_has(x->p, part, i))
			continue;
		f->trail_needs[f->n_trail] = part->needs[i];
		f->trail[f->n_trail++] = object;
	}
	f->n_trail_needs = f->n_trail;
}

static int export_trails(struct predictor_snapshot *x)
{
	Forefetch__TreeFile *f = x->f;
	struct trail_part part;

	if (!f->trail) {
		x->room = trails_entries(x->p->trails) * 2;
		if (!VEC_NEW(x->room, f->trail) ||
		    !VEC_NEW(x->room, f->trail_needs) ||
		    !VEC_NEW(x->room, f->trail_owner))
			return -ENOMEM;
	}
	/* The log may have grown since there was room for all of it. */
	if (!next_part(x, &part) || f->n_trail + TRAIL_PART + 1 > x->room)
		return 0;
	if (!trees_part_is_of(x->only, &part))
		return 1;
	if (x->user)
		user_export_part(x, &part);
	else
		export_trail(x, &part);
	return 1;
}

void snapshot_choose(struct predictor_snapshot *x, uint32_t id)
{
	uint32_t dir;

	if (id >= x->nobjects)
		return;
	x->objects[id] = 1;
	dir = objects_at(x->p->objects, id)->dir;
	while (dir < x->ndirs && !x->dirs[dir]) {
		x->dirs[dir] = 1;
		dir = names_at(x->p->names, dir)->parent;
	}
}

/* Chooses the objects of the trails; for the portable form only those that have
 * a name. */
static int export_choose(struct predictor_snapshot *x)
{
	struct trail_part part;

	if (!snapshot_chooses(x) || !next_part(x, &part))
		return 0;
	for (uint32_t i = 0; i < part.n && trees_part_is_of(x->only, &part);
	     i++) {
		const struct object *o;

		if (!snapshot_part_has(x->p, &part, i))
			continue;
		o = objects_at(x->p->objects, part.objects[i]);
		if (x->user || (o->dir != DIR_NONE && o->name))
			snapshot_choose(x, part.objects[i]);
	}
	return 1;
}

static bool extents_room(Forefetch__TreeFile *f, size_t room)
{
	return VEC_NEW(room, f->extent_object) &&
	       VEC_NEW(room, f->extent_offset) &&
	       VEC_NEW(room, f->extent_stride) &&
	       VEC_NEW(room, f->extent_length) &&
	       VEC_NEW(room, f->extent_count);
}

/* Appends the object's pieces, if there is room: the file may have grown pieces
 * since it was counted. */
static void export_extents_of(struct predictor_snapshot *x, uint32_t id)
{
	struct predictor_extent e[EXTENTS_MAX];
	Forefetch__TreeFile *f = x->f;
	size_t n = f->n_extent_object;
	size_t got = snapshot_object(x, id) && n + EXTENTS_MAX <= x->room
			 ? extents_get(x->p->extents, id, e, EXTENTS_MAX)
			 : 0;

	for (size_t i = 0; i < got; i++, n++) {
		f->extent_object[n] = x->objects[id];
		f->extent_offset[n] = e[i].offset_bytes;
		f->extent_stride[n] = e[i].stride_bytes;
		f->extent_length[n] = e[i].length_bytes;
		f->extent_count[n] = e[i].count;
	}
	f->n_extent_object = f->n_extent_offset = f->n_extent_stride = n;
	f->n_extent_length = f->n_extent_count = n;
}

static int export_extents(struct predictor_snapshot *x)
{
	if (!x->f->extent_object) {
		x->room = extents_count(x->p->extents) * EXTENTS_MAX;
		if (!extents_room(x->f, x->room))
			return -ENOMEM;
	}
	for (int i = 0; i < STEP && x->at < x->nobjects; i++)
		export_extents_of(x, x->at++);
	return x->at < x->nobjects;
}

static bool export_order(Forefetch__TreeFile *f, uint32_t object,
    const unsigned char *bytes, size_t len)
{
	ProtobufCBinaryData *out = &f->order_pieces[f->n_order_pieces];

	out->data = malloc(len);
	if (!out->data)
		return false;
	memcpy(out->data, bytes, len);
	out->len = len;
	f->n_order_pieces++;
	f->order_object[f->n_order_object++] = object;
	return true;
}

static int export_orders(struct predictor_snapshot *x)
{
	const struct predictor *p = x->p;

	if (!x->f->order_object) {
		x->room = extents_count(p->extents);
		if (!VEC_NEW(x->room, x->f->order_object) ||
		    !VEC_NEW(x->room, x->f->order_pieces))
			return -ENOMEM;
	}
	for (int i = 0; i < STEP && x->at < x->nobjects; i++) {
		uint32_t id = x->at++;
		unsigned char bytes[ORDER_PACKED];
		size_t len =
		    snapshot_object(x, id) && x->f->n_order_object < x->room
			? extents_order_pack(p->extents, id, bytes)
			: 0;

		if (len > 0 && !export_order(x->f, x->objects[id], bytes, len))
			return -ENOMEM;
	}
	return x->at < x->nobjects;
}

/* Uids whose trails do not go out keep their place, so that the bits of the
 * others stay right. */
static int export_wall(struct predictor_snapshot *x)
{
	const struct wall *w = &x->p->wall;

	if (!VEC_NEW(WALL_UIDS, x->f->uid))
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++)
		x->f->uid[i] = x->only & 1u << i ? w->uids[i] : TREES_ALL;
	x->f->n_uid = w->n;
	return 0;
}

static int export_calib(struct predictor_snapshot *x)
{
	const struct predictor *p = x->p;
	Forefetch__TreeFile *f = x->f;
	size_t n = 0;

	if (snapshot_chooses(x))
		return 0;
	if (!VEC_NEW(CALIB_CELLS, f->calib_cell) ||
	    !VEC_NEW(CALIB_CELLS, f->calib_hits) ||
	    !VEC_NEW(CALIB_CELLS, f->calib_n))
		return -ENOMEM;
	for (uint32_t i = 0; i < CALIB_CELLS; i++) {
		f->calib_cell[n] = i;
		calib_get(
		    p->calib, (calib_cell)i, &f->calib_hits[n], &f->calib_n[n]);
		n += f->calib_n[n] > 0;
	}
	f->n_calib_cell = f->n_calib_hits = f->n_calib_n = n;
	return 0;
}

struct export_sessions {
	struct predictor_snapshot *x;
	size_t uses, n;
	uint32_t skip; /* records of former steps */
	bool count;    /* only count them, to know how much room they need */
};

/* A session that goes on grows between two steps, and may not fit any more. */
static bool session_has_room(
    const struct predictor_snapshot *x, const struct session_record *r)
{
	const Forefetch__TreeFile *f = x->f;

	return f->n_session + r->n + 1 <= x->room &&
	       (f->n_session_uid + 1) * 2 <= x->room;
}

/* Exports the record behind those of former steps, one a step. */
static int export_session(
    void *ctx, uint64_t uid, uint64_t space, const struct session_record *r)
{
	struct export_sessions *s = ctx;
	Forefetch__TreeFile *f = s->x->f;

	if (s->count) {
		s->uses += r->n + 2;
		s->n++;
		return 0;
	}
	if (s->skip > 0) {
		s->skip--;
		return 0;
	}
	if (!(wall_find(&s->x->p->wall, uid) & s->x->only) ||
	    !session_has_room(s->x, r))
		return 1;
	if (f->n_session_uid > 0)
		f->session[f->n_session++] = 0;
	f->session_uid[f->n_session_uid++] = uid;
	f->session_space[f->n_session_space++] = space;
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t id = r->uses[i].object,
			 object = snapshot_object(s->x, id);

		if (!object ||
		    objects_at(s->x->p->objects, id)->born_at > r->at)
			continue;
		f->session_needs[f->n_session] = r->uses[i].needs;
		f->session_blocks[f->n_session] = r->uses[i].blocks;
		f->session[f->n_session++] = object;
	}
	return 1;
}

static int export_sessions(struct predictor_snapshot *x)
{
	const struct sessions *ss = x->p->sessions;
	struct export_sessions s = {.x = x, .skip = x->at};
	Forefetch__TreeFile *f = x->f;
	int more;

	if (x->portable)
		return 0;
	if (!f->session) {
		s.count = true;
		sessions_walk(ss, export_session, &s);
		s.count = false;
		x->room = s.uses;
		if (!VEC_NEW(x->room, f->session) ||
		    !VEC_NEW(x->room, f->session_needs) ||
		    !VEC_NEW(x->room, f->session_blocks) ||
		    !VEC_NEW(x->room, f->session_uid) ||
		    !VEC_NEW(x->room, f->session_space))
			return -ENOMEM;
	}
	more = sessions_walk(ss, export_session, &s);
	f->n_session_needs = f->n_session_blocks = f->n_session;
	x->at++;
	return more;
}

/* A phase does one step: 1 if there is more to do, 0 at its end, or -ENOMEM. */
static int (*const phases[])(struct predictor_snapshot *x) = {export_choose,
    user_choose_sessions, export_dirs, export_objects, export_trails,
    export_extents, export_orders, export_wall, export_sessions, export_calib};

enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

void *predictor_snapshot_pack(struct predictor_snapshot *x, size_t *len)
{
	unsigned char *data;
	size_t n;

	if (x->error || x->phase < PHASES)
		return NULL;
	if (x->user && !user_prune(x))
		return NULL;
	if (x->portable)
		portable_set_keys(x->f);
	n = forefetch__tree_file__get_packed_size(x->f);
	data = malloc(HEADER_BYTES + n);
	if (!data)
		return NULL;
	forefetch__tree_file__pack(x->f, data + HEADER_BYTES);
	memcpy(data,
	    &(struct persist_header){.magic = PERSIST_MAGIC,
		.version = htole64(PERSIST_VERSION),
		.checksum = htole64(XXH3_64bits_withSeed(
		    data + HEADER_BYTES, n, PERSIST_VERSION))},
	    HEADER_BYTES);
	*len = HEADER_BYTES + n;
	return data;
}

static struct predictor_snapshot *snapshot_new(
    const struct predictor *p, uint16_t only, bool portable)
{
	struct predictor_snapshot *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->p = p;
	x->f = calloc(1, sizeof(*x->f));
	if (x->f)
		forefetch__tree_file__init(x->f);
	x->only = only;
	x->portable = portable;
	x->era = p->era;
	x->began = p->events;
	x->nobjects = objects_end(p->objects);
	x->ndirs = names_count(p->names);
	if (x->f && VEC_NEW(x->nobjects, x->objects) &&
	    VEC_NEW(x->ndirs, x->dirs)) {
		x->f->version = PERSIST_VERSION;
		x->f->portable = portable;
		return x;
	}
	predictor_snapshot_free(x);
	errno = ENOMEM;
	return NULL;
}

/* Objects that are made from now on belong to a later event. */
struct predictor_snapshot *snapshot_begin(
    struct predictor *p, uint16_t only, bool portable, bool user)
{
	struct predictor_snapshot *x = snapshot_new(p, only, portable);

	if (!x)
		return NULL;
	p->events++;
	x->user = user;
	return x;
}

struct predictor_snapshot *predictor_snapshot_new(struct predictor *p)
{
	return snapshot_begin(p, UINT16_MAX, false, false);
}

struct predictor_snapshot *predictor_snapshot_trees(
    struct predictor *p, uint64_t uid)
{
	uint16_t only;

	if (trees_uid_bits(p, uid, &only))
		return snapshot_begin(p, only, true, false);
	errno = ENOENT;
	return NULL;
}

void predictor_snapshot_free(struct predictor_snapshot *x)
{
	if (!x)
		return;
	/* Its columns come from malloc(), as if it had been unpacked. */
	if (x->f)
		forefetch__tree_file__free_unpacked(x->f, NULL);
	keymap_free(x->dir_set);
	free(x->runs);
	free(x->objects);
	free(x->dirs);
	free(x);
}

bool predictor_snapshot_step(struct predictor_snapshot *x, size_t steps)
{
	if (x->phase < PHASES && x->era != x->p->era)
		x->error = -ESTALE;
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

int predictor_snapshot_error(const struct predictor_snapshot *x)
{
	return x->error;
}

/* All steps at once. */
static void *export_pack(struct predictor_snapshot *x, size_t *len)
{
	void *data;

	if (!x)
		return NULL;
	while (!predictor_snapshot_step(x, SIZE_MAX))
		;
	data = predictor_snapshot_pack(x, len);
	predictor_snapshot_free(x);
	errno = ENOMEM;
	return data;
}

void *predictor_export(const struct predictor *p, size_t *len)
{
	return export_pack(snapshot_new(p, UINT16_MAX, false), len);
}

void *predictor_export_trees(
    const struct predictor *p, uint64_t uid, size_t *len)
{
	uint16_t only;

	if (trees_uid_bits(p, uid, &only))
		return export_pack(snapshot_new(p, only, true), len);
	errno = ENOENT;
	return NULL;
}
