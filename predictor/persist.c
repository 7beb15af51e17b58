/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header: "FFTREES\n", then version (8, little-endian) and XXH3 (8) of the
 * message, seeded by the version. The message is checked whole before any of it
 * is taken. The graph is not saved: it grows again out of the trails.
 */
#include "persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core.h"
#include "predictor.pb-c.h"

enum { HEADER_BYTES = 24 };

static const char magic[8] = {'F', 'F', 'T', 'R', 'E', 'E', 'S', '\n'};

#define VEC_NEW(n, vec) ((vec) = calloc((n) + 1, sizeof(*(vec))))

static bool export_dirs(const struct predictor *p, Forefetch__TreeFile *f)
{
	uint32_t n = names_count(p->names);

	f->n_dir_key = f->n_dir_parent = f->n_dir_name = n;
	if (!VEC_NEW(n, f->dir_key) || !VEC_NEW(n, f->dir_parent) ||
	    !VEC_NEW(n, f->dir_name))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct dir *d = names_at(p->names, i);

		f->dir_key[i] = d->key;
		f->dir_parent[i] = d->parent == DIR_NONE ? 0 : d->parent + 1;
		f->dir_name[i] = d->name;
	}
	return true;
}

/* `number[id]` is set to the index + 1 of each object that was used. */
static bool export_objects(
    const struct predictor *p, Forefetch__TreeFile *f, uint32_t *number)
{
	uint32_t end = objects_end(p->objects), n = 0;

	if (!VEC_NEW(end, f->object_key) || !VEC_NEW(end, f->object_dir) ||
	    !VEC_NEW(end, f->object_name) || !VEC_NEW(end, f->object_size) ||
	    !VEC_NEW(end, f->object_type) || !VEC_NEW(end, f->object_flags))
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
		f->object_flags[n] = o->exec | (uint32_t)o->count << 1;
		number[id] = ++n;
	}
	f->n_object_key = f->n_object_dir = f->n_object_name = n;
	f->n_object_size = f->n_object_type = f->n_object_flags = n;
	return true;
}

struct trail_out {
	const uint32_t *number;
	uint32_t *out;
	size_t n;
};

static int export_trail(
    void *ctx, const uint32_t *objects, size_t n, int continues)
{
	struct trail_out *t = ctx;

	if (!continues && t->n > 0)
		t->out[t->n++] = 0;
	for (size_t i = 0; i < n; i++)
		if (t->number[objects[i]])
			t->out[t->n++] = t->number[objects[i]];
	return 0;
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
	struct trail_out t = {0};
	uint32_t *number = calloc(objects_end(p->objects) + 1, sizeof(*number));
	bool done;

	forefetch__tree_file__init(f);
	f->version = PERSIST_VERSION;
	done = number && export_dirs(p, f) && export_objects(p, f, number) &&
	       VEC_NEW(trails_entries(p->trails) * 2, f->trail) &&
	       export_calib(p, f);
	if (done) {
		t.number = number;
		t.out = f->trail;
		trails_walk(p->trails, export_trail, &t);
		f->n_trail = t.n;
	}
	free(number);
	return done;
}

static void export_free(Forefetch__TreeFile *f)
{
	free(f->dir_key);
	free(f->dir_parent);
	free(f->dir_name);
	free(f->object_key);
	free(f->object_dir);
	free(f->object_name);
	free(f->object_size);
	free(f->object_type);
	free(f->object_flags);
	free(f->trail);
	free(f->calib_cell);
	free(f->calib_hits);
	free(f->calib_n);
}

static void put_le(unsigned char *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get_le(const unsigned char *in, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)in[i] << 8 * i;
	return v;
}

void *predictor_export(const struct predictor *p, size_t *len)
{
	Forefetch__TreeFile f;
	unsigned char *data = NULL;

	if (export_all(p, &f)) {
		size_t n = forefetch__tree_file__get_packed_size(&f);

		data = malloc(HEADER_BYTES + n);
		if (data) {
			memcpy(data, magic, sizeof(magic));
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

/* Whether columns are equally long and nothing points outside. */
static bool file_sane(const Forefetch__TreeFile *f)
{
	size_t dirs = f->n_dir_key, n = f->n_object_key;

	if (f->n_dir_parent != dirs || f->n_dir_name != dirs ||
	    f->n_object_dir != n || f->n_object_name != n ||
	    f->n_object_size != n || f->n_object_type != n ||
	    f->n_object_flags != n || f->n_calib_hits != f->n_calib_cell ||
	    f->n_calib_n != f->n_calib_cell)
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
	for (size_t i = 0; i < f->n_calib_cell; i++)
		if (f->calib_cell[i] >= CALIB_CELLS ||
		    !(f->calib_hits[i] >= 0) ||
		    !(f->calib_n[i] >= f->calib_hits[i]) ||
		    !(f->calib_n[i] <= CALIB_OUTCOMES))
			return false;
	return true;
}

static void import_dirs(struct predictor *p, const Forefetch__TreeFile *f)
{
	for (size_t i = 0; i < f->n_dir_key; i++) {
		uint32_t up = f->dir_parent[i];

		predictor_place_dir(p, f->dir_key[i],
		    up ? f->dir_key[up - 1] : 0, f->dir_name[i]);
	}
}

static uint32_t import_place(
    struct predictor *p, uint32_t id, const Forefetch__TreeFile *f, size_t i)
{
	uint32_t dir = names_dir(p->names, f->dir_key[f->object_dir[i] - 1]);

	return dir == DIR_NONE ? id
			       : place_object(p, id, dir, f->object_name[i]);
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
		o->exec = f->object_flags[i] & 1;
		if (o->count == 0)
			o->count = (uint8_t)(f->object_flags[i] >> 1);
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
		tail = trails_append(p->trails, tail, id, o->last, p->events);
		o->last = tail;
		o->seen_at = p->events;
		if (o->count == 0)
			o->count = 1;
		twin_learn(p, id);
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

	if (len < HEADER_BYTES || memcmp(d, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	version = get_le(d + 8, 8);
	if (XXH3_64bits_withSeed(d + HEADER_BYTES, len - HEADER_BYTES,
		version) != get_le(d + 16, 8))
		return -EBADMSG;
	if (version > PERSIST_VERSION)
		return -EPROTONOSUPPORT;
	return persist_apply(p, d + HEADER_BYTES, len - HEADER_BYTES);
}
