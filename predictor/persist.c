/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was learned, as bytes: see persist_format.h. */
#include "persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core.h"
#include "persist_format.h"
#include "portable.h"
#include "predictor.pb-c.h"
#include "trees_private.h"

#define VEC_NEW(n, vec) ((vec) = calloc((n) + 1, sizeof(*(vec))))

/* What goes out, and under which number: index + 1, 0 if it does not. */
struct export
{
	const struct predictor *p;
	Forefetch__TreeFile *f;
	uint32_t *objects, *dirs;
	uint16_t only; /* trails of these */
	bool portable;
};

static bool export_dirs(struct export *x)
{
	Forefetch__TreeFile *f = x->f;
	uint32_t end = names_count(x->p->names), n = 0;

	if (!VEC_NEW(end, f->dir_key) || !VEC_NEW(end, f->dir_parent) ||
	    !VEC_NEW(end, f->dir_name) || !VEC_NEW(end, f->dir_known))
		return false;
	for (uint32_t i = 0; i < end; i++)
		if (!x->portable || x->dirs[i])
			x->dirs[i] = ++n;
	for (uint32_t i = 0; i < end; i++) {
		const struct dir *d = names_at(x->p->names, i);
		uint32_t at = x->dirs[i] - 1;

		if (!x->dirs[i])
			continue;
		f->dir_key[at] = d->key;
		f->dir_parent[at] =
		    d->parent == DIR_NONE ? 0 : x->dirs[d->parent];
		f->dir_name[at] = d->name;
		f->dir_known[at] = d->known & x->only;
	}
	f->n_dir_key = f->n_dir_parent = f->n_dir_name = f->n_dir_known = n;
	return true;
}

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

/* Those that were used; of the portable ones those that were chosen. */
static bool export_objects(struct export *x)
{
	Forefetch__TreeFile *f = x->f;
	uint32_t end = objects_end(x->p->objects), n = 0;

	if (!objects_room(f, end))
		return false;
	for (uint32_t id = 0; id < end; id++) {
		const struct object *o = objects_at(x->p->objects, id);

		if (o->free || o->count == 0 ||
		    (x->portable && !x->objects[id])) {
			x->objects[id] = 0;
			continue;
		}
		f->object_key[n] = o->key;
		f->object_dir[n] = o->dir == DIR_NONE ? 0 : x->dirs[o->dir];
		f->object_name[n] = o->name;
		f->object_size[n] = o->size;
		f->object_type[n] = o->type;
		f->object_flags[n] = object_flags(o);
		f->object_known[n] = o->known & x->only;
		x->objects[id] = ++n;
	}
	f->n_object_key = f->n_object_dir = f->n_object_name = n;
	f->n_object_size = f->n_object_type = f->n_object_flags = n;
	f->n_object_known = n;
	return true;
}

/* A number may mean another object by now. */
static bool part_has(
    const struct predictor *p, const struct trail_part *part, uint32_t i)
{
	const struct object *o = objects_at(p->objects, part->objects[i]);

	return !o->free && part->ended_at >= o->born_at;
}

static int export_trail(void *ctx, const struct trail_part *part)
{
	struct export *x = ctx;
	Forefetch__TreeFile *f = x->f;

	if (!trees_has(x->only, part))
		return 0;
	if (!part->more) {
		if (f->n_trail_owner > 0)
			f->trail[f->n_trail++] = 0;
		f->trail_owner[f->n_trail_owner++] = part->owner;
	}
	for (uint32_t i = 0; i < part->n; i++) {
		if (!x->objects[part->objects[i]] || !part_has(x->p, part, i))
			continue;
		f->trail_needs[f->n_trail] = part->needs[i];
		f->trail[f->n_trail++] = x->objects[part->objects[i]];
	}
	return 0;
}

static bool export_trails(struct export *x)
{
	Forefetch__TreeFile *f = x->f;
	size_t room = trails_entries(x->p->trails) * 2;

	if (!VEC_NEW(room, f->trail) || !VEC_NEW(room, f->trail_needs) ||
	    !VEC_NEW(room, f->trail_owner))
		return false;
	trails_walk(x->p->trails, export_trail, x);
	f->n_trail_needs = f->n_trail;
	return true;
}

/* Chooses what the trails have that has a name, and its directories. */
static int export_choose(void *ctx, const struct trail_part *part)
{
	struct export *x = ctx;

	if (!trees_has(x->only, part))
		return 0;
	for (uint32_t i = 0; i < part->n; i++) {
		const struct object *o =
		    objects_at(x->p->objects, part->objects[i]);
		uint32_t dir = o->dir;

		if (!part_has(x->p, part, i) || dir == DIR_NONE || !o->name)
			continue;
		x->objects[part->objects[i]] = 1;
		while (dir != DIR_NONE && !x->dirs[dir]) {
			x->dirs[dir] = 1;
			dir = names_at(x->p->names, dir)->parent;
		}
	}
	return 0;
}

/* Room for all that there may be is made by `room`, pieces. */
static bool extents_room(Forefetch__TreeFile *f, size_t room)
{
	return VEC_NEW(room, f->extent_object) &&
	       VEC_NEW(room, f->extent_offset) &&
	       VEC_NEW(room, f->extent_stride) &&
	       VEC_NEW(room, f->extent_length) &&
	       VEC_NEW(room, f->extent_count);
}

static bool export_extents(struct export *x)
{
	const struct predictor *p = x->p;
	Forefetch__TreeFile *f = x->f;
	uint32_t end = objects_end(p->objects);
	size_t n = 0;

	if (!extents_room(f, extents_count(p->extents) * EXTENTS_MAX))
		return false;
	for (uint32_t id = 0; id < end; id++) {
		struct predictor_extent e[EXTENTS_MAX];
		size_t got = x->objects[id]
				 ? extents_get(p->extents, id, e, EXTENTS_MAX)
				 : 0;

		for (size_t i = 0; i < got; i++, n++) {
			f->extent_object[n] = x->objects[id];
			f->extent_offset[n] = e[i].offset_bytes;
			f->extent_stride[n] = e[i].stride_bytes;
			f->extent_length[n] = e[i].length_bytes;
			f->extent_count[n] = e[i].count;
		}
	}
	f->n_extent_object = f->n_extent_offset = f->n_extent_stride = n;
	f->n_extent_length = f->n_extent_count = n;
	return true;
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

static bool export_orders(struct export *x)
{
	const struct predictor *p = x->p;
	size_t room = extents_count(p->extents);
	uint32_t end = objects_end(p->objects);

	if (!VEC_NEW(room, x->f->order_object) ||
	    !VEC_NEW(room, x->f->order_pieces))
		return false;
	for (uint32_t id = 0; id < end; id++) {
		unsigned char bytes[ORDER_PACKED];
		size_t len = x->objects[id]
				 ? extents_order_pack(p->extents, id, bytes)
				 : 0;

		if (len > 0 && !export_order(x->f, x->objects[id], bytes, len))
			return false;
	}
	return true;
}

static bool export_wall(const struct export *x)
{
	const struct wall *w = &x->p->wall;

	if (!VEC_NEW(WALL_UIDS, x->f->uid))
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (x->only & 1u << i)
			x->f->uid[i] = w->uids[i];
	x->f->n_uid = w->n;
	return true;
}

static bool export_calib(const struct predictor *p, Forefetch__TreeFile *f)
{
	size_t n = 0;

	if (!VEC_NEW(CALIB_CELLS, f->calib_cell) ||
	    !VEC_NEW(CALIB_CELLS, f->calib_hits) ||
	    !VEC_NEW(CALIB_CELLS, f->calib_n))
		return false;
	for (uint32_t i = 0; i < CALIB_CELLS; i++) {
		f->calib_cell[n] = i;
		calib_get(
		    p->calib, (calib_cell)i, &f->calib_hits[n], &f->calib_n[n]);
		n += f->calib_n[n] > 0;
	}
	f->n_calib_cell = f->n_calib_hits = f->n_calib_n = n;
	return true;
}

struct export_sessions {
	struct export *x;
	size_t uses, n;
	bool count; /* only how many there are */
};

static int export_session(
    void *ctx, uint64_t uid, uint64_t space, const struct session_record *r)
{
	struct export_sessions *s = ctx;
	Forefetch__TreeFile *f = s->x->f;

	if (!(wall_find(&s->x->p->wall, uid) & s->x->only))
		return 0;
	if (s->count) {
		s->uses += r->n + 1;
		s->n++;
		return 0;
	}
	if (f->n_session_uid > 0)
		f->session[f->n_session++] = 0;
	f->session_uid[f->n_session_uid++] = uid;
	f->session_space[f->n_session_space++] = space;
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t id = r->uses[i].object;

		if (!s->x->objects[id] ||
		    objects_at(s->x->p->objects, id)->born_at > r->at)
			continue;
		f->session_needs[f->n_session] = r->uses[i].needs;
		f->session_blocks[f->n_session] = r->uses[i].blocks;
		f->session[f->n_session++] = s->x->objects[id];
	}
	return 0;
}

static bool export_sessions(struct export *x)
{
	const struct sessions *ss = x->p->sessions;
	struct export_sessions s = {.x = x, .count = true};
	Forefetch__TreeFile *f = x->f;

	sessions_walk(ss, export_session, &s);
	if (!VEC_NEW(s.uses, f->session) ||
	    !VEC_NEW(s.uses, f->session_needs) ||
	    !VEC_NEW(s.uses, f->session_blocks) ||
	    !VEC_NEW(s.n, f->session_uid) || !VEC_NEW(s.n, f->session_space))
		return false;
	s.count = false;
	sessions_walk(ss, export_session, &s);
	f->n_session_needs = f->n_session_blocks = f->n_session;
	return true;
}

static bool export_parts(struct export *x)
{
	if (x->portable)
		trails_walk(x->p->trails, export_choose, x);
	return export_dirs(x) && export_objects(x) && export_trails(x) &&
	       export_extents(x) && export_orders(x) && export_wall(x) &&
	       (x->portable ||
		   (export_sessions(x) && export_calib(x->p, x->f)));
}

static bool export_all(struct export *x)
{
	const struct predictor *p = x->p;
	bool done;

	forefetch__tree_file__init(x->f);
	x->f->version = PERSIST_VERSION;
	x->f->portable = x->portable;
	VEC_NEW(objects_end(p->objects), x->objects);
	VEC_NEW(names_count(p->names), x->dirs);
	done = x->objects && x->dirs && export_parts(x);
	if (done && x->portable)
		portable_set_keys(x->f);
	free(x->objects);
	free(x->dirs);
	return done;
}

static void export_free(Forefetch__TreeFile *f)
{
	free(f->dir_key);
	free(f->dir_parent);
	free(f->dir_name);
	free(f->dir_known);
	free(f->object_key);
	free(f->object_dir);
	free(f->object_name);
	free(f->object_size);
	free(f->object_type);
	free(f->object_flags);
	free(f->object_known);
	free(f->trail);
	free(f->trail_needs);
	free(f->trail_owner);
	free(f->uid);
	free(f->extent_object);
	free(f->extent_offset);
	free(f->extent_stride);
	free(f->extent_length);
	free(f->extent_count);
	free(f->session);
	free(f->session_needs);
	free(f->session_blocks);
	free(f->session_uid);
	free(f->session_space);
	for (size_t i = 0; i < f->n_order_pieces; i++)
		free(f->order_pieces[i].data);
	free(f->order_pieces);
	free(f->order_object);
	free(f->calib_cell);
	free(f->calib_hits);
	free(f->calib_n);
}

static void put_le(unsigned char *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (unsigned char)(v >> 8 * i);
}

static void *export_pack(struct export *x, size_t *len)
{
	Forefetch__TreeFile f;
	unsigned char *data = NULL;

	x->f = &f;
	if (export_all(x)) {
		size_t n = forefetch__tree_file__get_packed_size(&f);

		data = malloc(HEADER_BYTES + n);
		if (data) {
			memcpy(data, PERSIST_MAGIC, 8);
			put_le(data + 8, PERSIST_VERSION, 8);
			forefetch__tree_file__pack(&f, data + HEADER_BYTES);
			put_le(data + 16,
			    XXH3_64bits_withSeed(
				data + HEADER_BYTES, n, PERSIST_VERSION),
			    8);
			*len = HEADER_BYTES + n;
		}
	}
	export_free(&f);
	return data;
}

void *predictor_export(const struct predictor *p, size_t *len)
{
	struct export x = {.p = p, .only = UINT16_MAX};

	return export_pack(&x, len);
}

void *predictor_export_trees(
    const struct predictor *p, uint64_t uid, size_t *len)
{
	struct export x = {.p = p, .portable = true};

	if (!trees_of(p, uid, &x.only)) {
		errno = ENOENT;
		return NULL;
	}
	errno = ENOMEM;
	return export_pack(&x, len);
}
