/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bytes to what was learned (persist_format.h). The message is checked as
 * a whole; then its directories, objects, trails, extents, orders and sessions
 * are added to what is known here.
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
#include "predictor/persist/trees.h"

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

static bool sessions_sane(const Forefetch__TreeFile *f, size_t objects)
{
	size_t sessions = f->n_session_uid > 0;

	if (f->n_session_needs != f->n_session ||
	    f->n_session_blocks != f->n_session ||
	    f->n_session_space != f->n_session_uid)
		return false;
	for (size_t i = 0; i < f->n_session; i++) {
		if (f->session[i] > objects)
			return false;
		sessions += f->session[i] == 0;
	}
	return sessions == f->n_session_uid;
}

static bool orders_sane(const Forefetch__TreeFile *f, size_t objects)
{
	if (f->n_order_pieces != f->n_order_object)
		return false;
	for (size_t i = 0; i < f->n_order_object; i++)
		if (f->order_object[i] == 0 || f->order_object[i] > objects ||
		    f->order_pieces[i].len > ORDER_PACKED)
			return false;
	return true;
}

bool persist_sane(const Forefetch__TreeFile *f)
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
	if (!extents_sane(f, n) || !orders_sane(f, n) || !sessions_sane(f, n))
		return false;
	for (size_t i = 0; i < f->n_calib_cell; i++)
		if (f->calib_cell[i] >= CALIB_CELLS ||
		    !(f->calib_hits[i] >= 0) ||
		    !(f->calib_n[i] >= f->calib_hits[i]) ||
		    !(f->calib_n[i] <= CALIB_OUTCOMES))
			return false;
	return true;
}

/* A message, and what its directories and objects are here: DIR_NONE and
 * OBJECT_NONE if they are left out. */
struct import {
	struct predictor *p;
	const Forefetch__TreeFile *f;
	uint32_t *objects, *dirs;
	uint16_t as; /* the bit of the uid that gets it; 0: as the file says */
};

/* The uids of the message's bits, with the bits that they have here. */
static uint16_t import_bits(const struct import *x, uint32_t theirs)
{
	uint16_t bits = x->as;

	for (size_t i = 0; i < x->f->n_uid && !x->as; i++)
		if (theirs & 1u << i)
			bits |= wall_bit(&x->p->wall, x->f->uid[i]);
	return bits;
}

/* A portable file is not trusted: where it uses a key that means another
 * directory here, that directory is left out. */
static bool dir_is_free(const struct import *x, size_t i)
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

static void import_dirs(const struct import *x)
{
	const Forefetch__TreeFile *f = x->f;
	struct names *ns = x->p->names;

	for (size_t i = 0; i < f->n_dir_key; i++)
		x->dirs[i] =
		    dir_is_free(x, i) ? names_dir(ns, f->dir_key[i]) : DIR_NONE;
	for (size_t i = 0; i < f->n_dir_key; i++) {
		uint32_t up = f->dir_parent[i], d = x->dirs[i];

		if (d == DIR_NONE)
			continue;
		names_place(
		    ns, d, up ? x->dirs[up - 1] : DIR_NONE, f->dir_name[i]);
		names_at(ns, d)->met_by |= import_bits(x, f->dir_known[i]);
	}
}

/* The same for objects; without a place they mean nothing on another machine.
 */
static bool object_is_free(const struct import *x, size_t i, uint32_t dir)
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

static uint32_t import_object(const struct import *x, size_t i)
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
	o->size = f->object_size[i];
	o->type = (uint16_t)f->object_type[i];
	o->met_by |= import_bits(x, f->object_known[i]);
	import_flags(o, f->object_flags[i]);
	if (dir != DIR_NONE && o->dir == DIR_NONE)
		id = place_object(p, id, dir, f->object_name[i]);
	return id;
}

static void import_use(const struct import *x, uint32_t *tail, uint16_t owner,
    uint32_t id, uint32_t needs)
{
	struct predictor *p = x->p;
	struct object *o = objects_at(p->objects, id);

	p->events++;
	*tail = trails_append(p->trails, *tail,
	    &(struct trail_use){.object = id,
		.last = o->last,
		.now = p->events,
		.owner = owner,
		.needs = needs & NEEDS_KEPT,
		.begins = (needs & TRAIL_BEGINS) != 0});
	o->last = *tail;
	o->seen_at = p->events;
	if (o->count == 0)
		o->count = 1;
	twin_learn(p, id);
}

static uint16_t import_owner(const struct import *x, size_t trail)
{
	return import_bits(
	    x, trail < x->f->n_trail_owner ? x->f->trail_owner[trail] : 0);
}

static void import_trails(const struct import *x)
{
	const Forefetch__TreeFile *f = x->f;
	uint32_t tail = TRAIL_NONE;
	uint16_t owner = import_owner(x, 0);
	size_t trail = 0;

	for (size_t i = 0; i < f->n_trail; i++) {
		uint32_t at = f->trail[i];
		uint32_t id = at ? x->objects[at - 1] : OBJECT_NONE;

		if (!at) {
			tail = TRAIL_NONE;
			owner = import_owner(x, ++trail);
		}
		/* A full arena may have evicted it again. */
		if (id == OBJECT_NONE ||
		    objects_at(x->p->objects, id)->key != f->object_key[at - 1])
			continue;
		import_use(x, &tail, owner, id, f->trail_needs[i]);
	}
}

static void import_extents(const struct import *x)
{
	const Forefetch__TreeFile *f = x->f;

	for (size_t i = 0, n; i < f->n_extent_object; i += n) {
		struct predictor_extent e[EXTENTS_MAX];
		uint32_t id = x->objects[f->extent_object[i] - 1];

		for (n = 0; i + n < f->n_extent_object && n < EXTENTS_MAX &&
			    f->extent_object[i + n] == f->extent_object[i];
		     n++)
			e[n] = (struct predictor_extent){
			    .offset_bytes = f->extent_offset[i + n],
			    .stride_bytes = f->extent_stride[i + n],
			    .length_bytes = f->extent_length[i + n],
			    .count = f->extent_count[i + n]};
		if (id != OBJECT_NONE && !objects_at(x->p->objects, id)->free)
			extents_set(x->p->extents, id, e, n);
	}
}

/* Writes the objects of the session that begins at `i` to `uses`. */
static uint32_t import_session(
    const struct import *x, size_t i, struct session_use *uses)
{
	const Forefetch__TreeFile *f = x->f;
	uint32_t n = 0;

	for (; i < f->n_session && f->session[i]; i++) {
		uint32_t at = f->session[i] - 1, id = x->objects[at];

		/* A full arena may have evicted it again. */
		if (id != OBJECT_NONE &&
		    objects_at(x->p->objects, id)->key == f->object_key[at])
			uses[n++] = (struct session_use){.object = id,
			    .blocks = f->session_blocks[i],
			    .needs = f->session_needs[i] & NEEDS_KEPT};
	}
	return n;
}

/* Sessions of uids that have a bit here. */
static int import_sessions(const struct import *x)
{
	const Forefetch__TreeFile *f = x->f;
	struct session_use *uses = calloc(f->n_session + 1, sizeof(*uses));
	size_t at = 0;

	if (!uses)
		return -ENOMEM;
	for (size_t k = 0; k < f->n_session_uid; k++) {
		uint32_t n = import_session(x, at, uses);

		if (wall_bit(&x->p->wall, f->session_uid[k]) && n > 0)
			(void)sessions_add(x->p->sessions, f->session_uid[k],
			    f->session_space[k], uses, n, x->p->events);
		while (at < f->n_session && f->session[at])
			at++;
		at++;
	}
	free(uses);
	return 0;
}

/* Orders that make no sense are left out. */
static void import_orders(const struct import *x)
{
	const Forefetch__TreeFile *f = x->f;

	for (size_t i = 0; i < f->n_order_object; i++) {
		uint32_t id = x->objects[f->order_object[i] - 1];

		if (id != OBJECT_NONE && !objects_at(x->p->objects, id)->free)
			(void)extents_order_set(x->p->extents, id,
			    f->order_pieces[i].data, f->order_pieces[i].len);
	}
}

/* Where something was observed here, that counts more. */
static void import_calib(const struct import *x)
{
	for (size_t i = 0; i < x->f->n_calib_cell; i++) {
		calib_cell cell = (calib_cell)x->f->calib_cell[i];
		float hits, n;

		calib_get(x->p->calib, cell, &hits, &n);
		if (n <= 0)
			calib_set(x->p->calib, cell, x->f->calib_hits[i],
			    x->f->calib_n[i]);
	}
}

static int import_all(struct import *x)
{
	int ret = -ENOMEM;

	x->objects = calloc(x->f->n_object_key + 1, sizeof(*x->objects));
	x->dirs = calloc(x->f->n_dir_key + 1, sizeof(*x->dirs));
	if (x->objects && x->dirs) {
		x->p->now = NULL;
		x->p->events++;
		import_dirs(x);
		for (size_t i = 0; i < x->f->n_object_key; i++)
			x->objects[i] = import_object(x, i);
		import_trails(x);
		import_extents(x);
		import_orders(x);
		ret = 0;
		/* The calibration of another machine could not be forgotten
		 * again, and sessions have keys of file systems. */
		if (!x->f->portable) {
			import_calib(x);
			ret = import_sessions(x);
		}
	}
	free(x->objects);
	free(x->dirs);
	return ret;
}

/* One user must not drive out what the others have. */
static bool import_is_large(const struct import *x)
{
	return x->f->n_trail > trails_limit(x->p->trails) / 4 ||
	       x->f->n_object_key > objects_limit(x->p->objects) / 4 ||
	       x->f->n_dir_key > names_limit(x->p->names) / 4;
}

static int import_file(
    struct predictor *p, Forefetch__TreeFile *f, bool trees, uint64_t uid)
{
	struct import x = {.p = p, .f = f};

	if (f->version > PERSIST_VERSION)
		return -EPROTONOSUPPORT;
	if (!persist_sane(f))
		return -EBADMSG;
	if (trees && !f->portable)
		return -EINVAL;
	if (trees && uid != TREES_ALL) {
		if (import_is_large(&x))
			return -EFBIG;
		x.as = wall_bit(&p->wall, uid);
		if (!x.as)
			return -ENOSPC;
	}
	if (f->portable)
		portable_set_keys(f);
	return import_all(&x);
}

int persist_apply(
    struct predictor *p, bool trees, uint64_t uid, const void *data, size_t len)
{
	Forefetch__TreeFile *f = forefetch__tree_file__unpack(NULL, len, data);
	int ret;

	if (!f)
		return -EBADMSG;
	ret = import_file(p, f, trees, uid);
	forefetch__tree_file__free_unpacked(f, NULL);
	return ret;
}

int persist_open(
    const void *data, size_t len, const void **message, size_t *message_len)
{
	struct persist_header h;

	if (len < HEADER_BYTES)
		return -EBADMSG;
	memcpy(&h, data, HEADER_BYTES);
	*message = (const char *)data + HEADER_BYTES;
	*message_len = len - HEADER_BYTES;
	h.version = le64toh(h.version);
	if (memcmp(h.magic, PERSIST_MAGIC, sizeof(h.magic)) != 0 ||
	    XXH3_64bits_withSeed(*message, *message_len, h.version) !=
		le64toh(h.checksum))
		return -EBADMSG;
	return h.version > PERSIST_VERSION ? -EPROTONOSUPPORT : 0;
}

/* Applies the message behind a good header. */
static int import_bytes(
    struct predictor *p, bool trees, uint64_t uid, const void *data, size_t len)
{
	const void *message;
	int rc = persist_open(data, len, &message, &len);

	return rc ? rc : persist_apply(p, trees, uid, message, len);
}

int predictor_import(struct predictor *p, const void *data, size_t len)
{
	return import_bytes(p, false, TREES_ALL, data, len);
}

int predictor_import_trees(
    struct predictor *p, uint64_t uid, const void *data, size_t len)
{
	return import_bytes(p, true, uid, data, len);
}
