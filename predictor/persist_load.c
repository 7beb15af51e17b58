/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes into what was learned: see persist_format.h. */
#include "persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core.h"
#include "persist_format.h"
#include "predictor.pb-c.h"

static uint64_t get_le(const unsigned char *in, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)in[i] << 8 * i;
	return v;
}

static bool extents_sane(const Forefetch__TreeFile *f, size_t objects)
{
	size_t n = f->n_extent_object;

	if (f->n_extent_offset != n || f->n_extent_stride != n ||
	    f->n_extent_length != n || f->n_extent_count != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (f->extent_object[i] == 0 || f->extent_object[i] > objects ||
		    f->extent_offset[i] > INT64_MAX / 2)
			return false;
	return true;
}

/* Whether columns are equally long and nothing points outside. */
static bool file_sane(const Forefetch__TreeFile *f)
{
	size_t dirs = f->n_dir_key, n = f->n_object_key;

	if (f->n_dir_parent != dirs || f->n_dir_name != dirs ||
	    f->n_object_dir != n || f->n_object_name != n ||
	    f->n_object_size != n || f->n_object_type != n ||
	    f->n_object_flags != n || f->n_calib_hits != f->n_calib_cell ||
	    f->n_calib_n != f->n_calib_cell || f->n_dir_known != dirs ||
	    f->n_object_known != n || f->n_trail_needs != f->n_trail ||
	    f->n_uid > WALL_UIDS)
		return false;
	for (size_t i = 0; i < dirs; i++)
		if (f->dir_parent[i] > dirs || !f->dir_key[i])
			return false;
	for (size_t i = 0; i < n; i++)
		if (f->object_dir[i] > dirs || !f->object_key[i])
			return false;
	for (size_t i = 0; i < f->n_trail; i++)
		if (f->trail[i] > n)
			return false;
	if (!extents_sane(f, n))
		return false;
	for (size_t i = 0; i < f->n_calib_cell; i++)
		if (f->calib_cell[i] >= CALIB_CELLS ||
		    !(f->calib_hits[i] >= 0) ||
		    !(f->calib_n[i] >= f->calib_hits[i]) ||
		    !(f->calib_n[i] <= CALIB_OUTCOMES))
			return false;
	return true;
}

/* `known`, with the bits that the uids have here. */
static uint16_t import_known(
    struct predictor *p, const Forefetch__TreeFile *f, uint32_t known)
{
	uint16_t bits = 0;

	for (size_t i = 0; i < f->n_uid; i++)
		if (known & 1u << i)
			bits |= wall_bit(&p->wall, f->uid[i]);
	return bits;
}

static void import_dirs(struct predictor *p, const Forefetch__TreeFile *f)
{
	for (size_t i = 0; i < f->n_dir_key; i++) {
		uint32_t up = f->dir_parent[i];
		uint32_t d = names_dir(p->names, f->dir_key[i]);

		if (d == DIR_NONE)
			continue;
		names_place(p->names, d,
		    up ? names_dir(p->names, f->dir_key[up - 1]) : DIR_NONE,
		    f->dir_name[i]);
		names_at(p->names, d)->known |=
		    import_known(p, f, f->dir_known[i]);
	}
}

static uint32_t import_place(
    struct predictor *p, uint32_t id, const Forefetch__TreeFile *f, size_t i)
{
	uint32_t dir = names_dir(p->names, f->dir_key[f->object_dir[i] - 1]);

	return dir == DIR_NONE ? id
			       : place_object(p, id, dir, f->object_name[i]);
}

static void import_flags(struct object *o, uint32_t flags)
{
	if (flags & FLAG_EXEC)
		o->exec = true;
	o->absent = (flags & FLAG_ABSENT) != 0;
	o->directory = (flags & FLAG_DIRECTORY) != 0;
	if (o->count > 0)
		return;
	o->count = (uint8_t)(flags >> FLAG_COUNT);
	o->needs = flags >> FLAG_NEEDS & NEEDS_KEPT;
	o->first = (uint8_t)(flags >> FLAG_FIRST);
}

/* `ids[i]` is object i here, OBJECT_NONE if there was no room. */
static void import_objects(
    struct predictor *p, const Forefetch__TreeFile *f, uint32_t *ids)
{
	for (size_t i = 0; i < f->n_object_key; i++) {
		uint32_t id =
		    objects_make(p->objects, f->object_key[i], p->events);
		uint32_t up = f->object_dir[i];
		struct object *o;

		ids[i] = id;
		if (id == OBJECT_NONE)
			continue;
		o = objects_at(p->objects, id);
		o->recent = true;
		o->size = f->object_size[i];
		o->type = (uint16_t)f->object_type[i];
		o->known |= import_known(p, f, f->object_known[i]);
		import_flags(o, f->object_flags[i]);
		if (up && o->dir == DIR_NONE)
			id = import_place(p, id, f, i);
		ids[i] = id;
	}
}

static void import_trails(
    struct predictor *p, const Forefetch__TreeFile *f, const uint32_t *ids)
{
	uint32_t tail = TRAIL_NONE;

	for (size_t i = 0; i < f->n_trail; i++) {
		uint32_t id = f->trail[i] ? ids[f->trail[i] - 1] : OBJECT_NONE;
		struct object *o;

		if (!f->trail[i])
			tail = TRAIL_NONE;
		/* A crowded arena may have given the number away again. */
		if (id == OBJECT_NONE || objects_at(p->objects, id)->key !=
					     f->object_key[f->trail[i] - 1])
			continue;
		p->events++;
		o = objects_at(p->objects, id);
		tail = trails_append(p->trails, tail, id,
		    f->trail_needs[i] & NEEDS_KEPT, o->last, p->events);
		o->last = tail;
		o->seen_at = p->events;
		if (o->count == 0)
			o->count = 1;
		twin_learn(p, id);
	}
}

static void import_extents(
    struct predictor *p, const Forefetch__TreeFile *f, const uint32_t *ids)
{
	for (size_t i = 0, n; i < f->n_extent_object; i += n) {
		struct predictor_extent e[EXTENTS_MAX];
		uint32_t id = ids[f->extent_object[i] - 1];

		for (n = 0; i + n < f->n_extent_object && n < EXTENTS_MAX &&
			    f->extent_object[i + n] == f->extent_object[i];
		     n++)
			e[n] = (struct predictor_extent){
			    .offset_bytes = f->extent_offset[i + n],
			    .stride_bytes = f->extent_stride[i + n],
			    .length_bytes = f->extent_length[i + n],
			    .count = f->extent_count[i + n]};
		if (id != OBJECT_NONE && !objects_at(p->objects, id)->free)
			extents_set(p->extents, id, e, n);
	}
}

int persist_apply(struct predictor *p, const void *data, size_t len)
{
	Forefetch__TreeFile *f = forefetch__tree_file__unpack(NULL, len, data);
	uint32_t *ids;
	int ret = -EBADMSG;

	if (!f)
		return ret;
	if (f->version > PERSIST_VERSION) {
		ret = -EPROTONOSUPPORT;
	} else if (file_sane(f)) {
		ids = calloc(f->n_object_key + 1, sizeof(*ids));
		ret = ids ? 0 : -ENOMEM;
		if (ids) {
			p->now = NULL;
			p->events++;
			import_dirs(p, f);
			import_objects(p, f, ids);
			import_trails(p, f, ids);
			import_extents(p, f, ids);
			for (size_t i = 0; i < f->n_calib_cell; i++)
				calib_set(p->calib,
				    (calib_cell)f->calib_cell[i],
				    f->calib_hits[i], f->calib_n[i]);
		}
		free(ids);
	}
	forefetch__tree_file__free_unpacked(f, NULL);
	return ret;
}

int predictor_import(struct predictor *p, const void *data, size_t len)
{
	const unsigned char *d = data;
	uint64_t version;

	if (len < HEADER_BYTES || memcmp(d, PERSIST_MAGIC, 8) != 0)
		return -EBADMSG;
	version = get_le(d + 8, 8);
	if (XXH3_64bits_withSeed(d + HEADER_BYTES, len - HEADER_BYTES,
		version) != get_le(d + 16, 8))
		return -EBADMSG;
	if (version > PERSIST_VERSION)
		return -EPROTONOSUPPORT;
	return persist_apply(p, d + HEADER_BYTES, len - HEADER_BYTES);
}
