/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was learned, as bytes: see persist_format.h. */
#include "persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core.h"
#include "persist_format.h"
#include "predictor.pb-c.h"

#define VEC_NEW(n, vec) ((vec) = calloc((n) + 1, sizeof(*(vec))))

static bool export_dirs(const struct predictor *p, Forefetch__TreeFile *f)
{
	uint32_t n = names_count(p->names);

	f->n_dir_key = f->n_dir_parent = f->n_dir_name = f->n_dir_known = n;
	if (!VEC_NEW(n, f->dir_key) || !VEC_NEW(n, f->dir_parent) ||
	    !VEC_NEW(n, f->dir_name) || !VEC_NEW(n, f->dir_known))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct dir *d = names_at(p->names, i);

		f->dir_key[i] = d->key;
		f->dir_parent[i] = d->parent == DIR_NONE ? 0 : d->parent + 1;
		f->dir_name[i] = d->name;
		f->dir_known[i] = d->known;
	}
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

/* `number[id]` is set to the index + 1 of each object that was used. */
static bool export_objects(
    const struct predictor *p, Forefetch__TreeFile *f, uint32_t *number)
{
	uint32_t end = objects_end(p->objects), n = 0;

	if (!VEC_NEW(end, f->object_key) || !VEC_NEW(end, f->object_dir) ||
	    !VEC_NEW(end, f->object_name) || !VEC_NEW(end, f->object_size) ||
	    !VEC_NEW(end, f->object_type) || !VEC_NEW(end, f->object_flags) ||
	    !VEC_NEW(end, f->object_known))
		return false;
	for (uint32_t id = 0; id < end; id++) {
		const struct object *o = objects_at(p->objects, id);

		if (o->free || o->count == 0)
			continue;
		f->object_key[n] = o->key;
		f->object_dir[n] = o->dir == DIR_NONE ? 0 : o->dir + 1;
		f->object_name[n] = o->name;
		f->object_size[n] = o->size;
		f->object_type[n] = o->type;
		f->object_flags[n] = object_flags(o);
		f->object_known[n] = o->known;
		number[id] = ++n;
	}
	f->n_object_key = f->n_object_dir = f->n_object_name = n;
	f->n_object_size = f->n_object_type = f->n_object_flags = n;
	f->n_object_known = n;
	return true;
}

struct trail_out {
	const uint32_t *number;
	uint32_t *out, *needs;
	size_t n;
};

static int export_trail(void *ctx, const uint32_t *objects,
    const uint8_t *needs, size_t n, int continues)
{
	struct trail_out *t = ctx;

	if (!continues && t->n > 0)
		t->out[t->n++] = 0;
	for (size_t i = 0; i < n; i++) {
		if (!t->number[objects[i]])
			continue;
		t->needs[t->n] = needs[i];
		t->out[t->n++] = t->number[objects[i]];
	}
	return 0;
}

static bool export_trails(
    const struct predictor *p, Forefetch__TreeFile *f, const uint32_t *number)
{
	size_t room = trails_entries(p->trails) * 2;
	struct trail_out t = {.number = number};

	if (!VEC_NEW(room, f->trail) || !VEC_NEW(room, f->trail_needs))
		return false;
	t.out = f->trail;
	t.needs = f->trail_needs;
	trails_walk(p->trails, export_trail, &t);
	f->n_trail = f->n_trail_needs = t.n;
	return true;
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

static bool export_extents(
    const struct predictor *p, Forefetch__TreeFile *f, const uint32_t *number)
{
	uint32_t end = objects_end(p->objects);
	size_t n = 0;

	if (!extents_room(f, extents_count(p->extents) * EXTENTS_MAX))
		return false;
	for (uint32_t id = 0; id < end; id++) {
		struct predictor_extent e[EXTENTS_MAX];
		size_t got = number[id]
				 ? extents_get(p->extents, id, e, EXTENTS_MAX)
				 : 0;

		for (size_t i = 0; i < got; i++, n++) {
			f->extent_object[n] = number[id];
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

static bool export_wall(const struct predictor *p, Forefetch__TreeFile *f)
{
	if (!VEC_NEW(WALL_UIDS, f->uid))
		return false;
	memcpy(f->uid, p->wall.uids, p->wall.n * sizeof(*f->uid));
	f->n_uid = p->wall.n;
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

static bool export_all(const struct predictor *p, Forefetch__TreeFile *f)
{
	uint32_t *number = calloc(objects_end(p->objects) + 1, sizeof(*number));
	bool done;

	forefetch__tree_file__init(f);
	f->version = PERSIST_VERSION;
	done = number && export_dirs(p, f) && export_objects(p, f, number) &&
	       export_trails(p, f, number) && export_extents(p, f, number) &&
	       export_wall(p, f) && export_calib(p, f);
	free(number);
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
	free(f->uid);
	free(f->extent_object);
	free(f->extent_offset);
	free(f->extent_stride);
	free(f->extent_length);
	free(f->extent_count);
	free(f->calib_cell);
	free(f->calib_hits);
	free(f->calib_n);
}

static void put_le(unsigned char *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (unsigned char)(v >> 8 * i);
}

void *predictor_export(const struct predictor *p, size_t *len)
{
	Forefetch__TreeFile f;
	unsigned char *data = NULL;

	if (export_all(p, &f)) {
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
