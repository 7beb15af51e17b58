/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A merge from its bytes to its end: unpacking in any thread, then phases in
 * the predictor's own, a few objects or uses a step: see merge.h and
 * merge_private.h. */
#include "predictor/persist/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "predictor/persist/merge_private.h"

enum {
	DATA_MAX = 16 << 20, /* bytes; what the engine keeps */
	FULL_SHARE = 16,
};

/* ---- unpacking --------------------------------------------------------- */

/* The bits that stand for the uid in the message. */
static uint16_t bits_of(const Forefetch__TreeFile *f, uint64_t uid)
{
	uint16_t bits = 0;

	for (size_t i = 0; i < f->n_uid; i++)
		if (f->uid[i] == uid)
			bits |= (uint16_t)(1u << i);
	return bits;
}

/* Most objects have the same key here; so it is done in the thread. */
static bool merge_keys(struct predictor_merge *m)
{
	for (size_t i = 0; i < m->f->n_object_key; i++)
		if (keymap_put(m->by_key, m->f->object_key[i], (uint32_t)i))
			return false;
	return true;
}

/* All columns that the phases need are allocated here; later only maps and the
 * predictor's stores can lack memory. */
static bool merge_room(struct predictor_merge *m)
{
	const Forefetch__TreeFile *f = m->f;

	m->by_key = keymap_new();
	m->wholes = keymap_new();
	m->ends = keymap_new();
	return m->by_key && m->wholes && m->ends &&
	       VEC_NEW(f->n_object_key, m->keys) &&
	       VEC_NEW(f->n_object_key, m->uses) &&
	       VEC_NEW(f->n_object_key, m->counted) &&
	       VEC_NEW(f->n_dir_key, m->dirs) &&
	       VEC_NEW(f->n_dir_key, m->dirs_made) &&
	       VEC_NEW(SESSION_OBJECTS, m->session) && merge_keys(m) &&
	       merge_find_runs(m);
}

/* Cheap checks come first: bytes that are too long, or whose checksum is wrong,
 * are not unpacked at all. */
static int merge_unpack(struct predictor_merge *m, const void *data, size_t len)
{
	const void *message;
	int rc;

	if (len > DATA_MAX)
		return -EFBIG;
	rc = persist_open(data, len, &message, &len);
	if (rc == 0)
		rc = persist_unpack(
		    &m->message, PERSIST_UNPACKED_MAX, message, len);
	if (rc)
		return rc;
	m->f = m->message.file;
	if (m->f->portable || !persist_sane(m->f))
		return -EBADMSG;
	if (m->f->version > PERSIST_VERSION)
		return -EPROTONOSUPPORT;
	m->theirs = bits_of(m->f, m->uid);
	return merge_room(m) ? 0 : -ENOMEM;
}

struct predictor_merge *predictor_merge_new(
    uint64_t uid, const void *data, size_t len)
{
	struct predictor_merge *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return NULL;
	m->uid = uid;
	m->tail = TRAIL_NONE;
	rc = merge_unpack(m, data, len);
	if (rc == 0)
		return m;
	predictor_merge_free(m);
	errno = -rc;
	return NULL;
}

void predictor_merge_free(struct predictor_merge *m)
{
	if (!m)
		return;
	persist_message_free(&m->message);
	keymap_free(m->by_key);
	keymap_free(m->wholes);
	keymap_free(m->ends);
	free(m->keys);
	free(m->uses);
	free(m->counted);
	free(m->dirs);
	free(m->dirs_made);
	free(m->runs);
	free(m->session);
	free(m);
}

/* ---- steps ------------------------------------------------------------- */

/* Runs are compared and chosen before the first one is written, which would be
 * taken for a run of this machine's. */
static const merge_phase phases[] = {merge_resolve, merge_hash_runs, merge_walk,
    merge_choose, merge_write, merge_objects, merge_sessions, merge_extents,
    merge_orders};

enum { PHASES = sizeof(phases) / sizeof(phases[0]) };

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Sets how much may be added: the free room, but at least a sixteenth of all,
 * since a store that is full gives up its oldest. Directories are never given
 * up. */
static void merge_begin(struct predictor_merge *m, struct predictor *p)
{
	size_t objects = objects_limit(p->objects);
	size_t uses = trails_limit(p->trails);
	bool none = !m->theirs;

	for (size_t i = 0; i < m->f->n_session_uid; i++)
		none = none && m->f->session_uid[i] != m->uid;
	m->begun = true;
	m->era = p->era;
	m->bit = none ? 0 : wall_bit(&p->wall, m->uid);
	if (!m->bit) {
		m->error = none ? 0 : -ENOSPC;
		m->phase = PHASES;
		return;
	}
	m->full = objects_full(p->objects);
	m->log_full = trails_full(p->trails);
	m->objects =
	    larger(objects / FULL_SHARE, objects - objects_count(p->objects));
	m->uses_left = larger(uses / FULL_SHARE,
	    m->log_full ? 0 : uses - trails_entries(p->trails));
	m->dirs_left = (names_limit(p->names) - names_count(p->names)) / 2;
}

bool predictor_merge_step(
    struct predictor_merge *m, struct predictor *p, size_t steps)
{
	if (!m->begun)
		merge_begin(m, p);
	else if (m->phase < PHASES && m->era != p->era)
		m->error = -ESTALE;
	/* The stream and objects of the last event may be given up. */
	p->now = NULL;
	for (; steps > 0 && m->phase < PHASES && !m->error; steps--) {
		int rc = phases[m->phase](m, p);

		m->error = rc < 0 ? rc : 0;
		if (rc != 0)
			continue;
		m->phase++;
		m->at = m->sub = 0;
	}
	return m->phase == PHASES || m->error;
}

int predictor_merge_error(const struct predictor_merge *m)
{
	return m->error;
}

void predictor_merge_get_stats(
    const struct predictor_merge *m, struct predictor_merge_stats *st)
{
	*st = m->stats;
}

int predictor_merge_user(
    struct predictor *p, uint64_t uid, const void *data, size_t len)
{
	struct predictor_merge *m = predictor_merge_new(uid, data, len);
	int rc;

	if (!m)
		return -errno;
	while (!predictor_merge_step(m, p, SIZE_MAX))
		;
	rc = m->error;
	predictor_merge_free(m);
	return rc;
}
