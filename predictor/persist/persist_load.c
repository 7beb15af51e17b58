/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From bytes to a message that makes sense (persist_format.h), which
 * persist_import.c adds to what is known, and merge.c merges with it. The bytes
 * may be a stranger's; the code behind these checks trusts every index and
 * length of the message.
 */
#include "predictor/persist/persist.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/persist/persist_format.h"
#include "predictor/persist/persist_private.h"
#include "predictor/persist/trees.h"

/* Later sums of offset, stride and length must not overflow. */
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

/* Sessions follow each other in one column, with a 0 between them, and each has
 * a uid. */
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

/* order_set() checks the pieces themselves. */
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

/* ---- unpacking --------------------------------------------------------- */

/* Bytes of a message may stand for many more in memory. */
static void *room_alloc(void *ctx, size_t size)
{
	enum {
		MALLOC_BYTES = 32
	}; /* that a small allocation takes beside it */
	struct persist_message *m = ctx;

	if (size + MALLOC_BYTES > m->room_bytes || m->room_pieces == 0)
		return NULL;
	m->room_pieces--;
	m->room_bytes -= size + MALLOC_BYTES;
	return malloc(size);
}

static void room_free(void *ctx, void *data)
{
	(void)ctx;
	free(data);
}

int persist_unpack(
    struct persist_message *m, size_t room, const void *data, size_t len)
{
	m->room_bytes = room;
	m->room_pieces = room == SIZE_MAX ? SIZE_MAX : PERSIST_PIECES_MAX;
	m->allocator = (ProtobufCAllocator){
	    .alloc = room_alloc, .free = room_free, .allocator_data = m};
	m->file = forefetch__tree_file__unpack(&m->allocator, len, data);
	return m->file ? 0 : -EBADMSG;
}

void persist_message_free(struct persist_message *m)
{
	if (m->file)
		forefetch__tree_file__free_unpacked(m->file, &m->allocator);
	m->file = NULL;
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
