/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A peer's sessions: those that are missing here. */
#include "predictor/persist/merge_private.h"

/* Use number `i` of the column, as it is here. */
static struct session_use use_at(
    const struct predictor_merge *m, size_t i, uint32_t object)
{
	return (struct session_use){.object = object,
	    .blocks = m->f->session_blocks[i],
	    .needs = m->f->session_needs[i] & NEEDS_KEPT};
}

/* Where the session that begins at `at` of the column ends. */
static size_t end_of(const struct predictor_merge *m, size_t at)
{
	while (at < m->f->n_session && m->f->session[at])
		at++;
	return at;
}

/* The uses from `at` to `end`; what is not known here is OBJECT_NONE. Returns a
 * hash of them, and of the file system. */
static uint64_t look(
    struct predictor_merge *m, const struct predictor *p, size_t at, size_t end)
{
	uint64_t hash = merge_hash(0, m->f->session_space[m->at]);

	m->nsession = 0;
	for (; at < end && m->nsession < sessions_limit(p->sessions); at++) {
		uint64_t key = m->keys[m->f->session[at] - 1];

		if (!key)
			continue;
		hash = merge_hash(hash, key);
		m->session[m->nsession++] =
		    use_at(m, at, objects_find(p->objects, key));
	}
	return hash;
}

/* Makes the objects that are missing; false where nothing more may be made. */
static bool make(
    struct predictor_merge *m, struct predictor *p, size_t at, size_t end)
{
	m->nsession = 0;
	for (; at < end && m->nsession < sessions_limit(p->sessions); at++) {
		uint32_t object = m->f->session[at] - 1, id;

		if (!merge_counts(m, p, object))
			return false;
		id = merge_make(m, p, object);
		if (id != OBJECT_NONE)
			m->session[m->nsession++] = use_at(m, at, id);
	}
	return m->nsession > 0;
}

/* How many of the message's sessions so far have the same hash: of several
 * equal ones as many are taken as are missing here. */
static uint32_t same_before(struct predictor_merge *m, uint64_t hash)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->nsessions; i++)
		n += m->sessions[i] == hash;
	m->sessions[m->nsessions++] = hash;
	return n;
}

/* Takes the session if it is news here, which is asked before its objects are
 * made: a session that is not taken makes none. */
static void take(struct predictor_merge *m, struct predictor *p, size_t end)
{
	struct session_record r = {.uses = m->session, .at = p->events + 1};
	uint64_t space = m->f->session_space[m->at];
	uint32_t before = same_before(m, look(m, p, m->sub, end));

	r.n = m->nsession;
	if (!sessions_lacks(p->sessions, p->objects, m->uid, space, &r, before))
		return;
	p->events++;
	if (!make(m, p, m->sub, end))
		return;
	r.n = m->nsession;
	m->stats.sessions +=
	    sessions_merge(p->sessions, p->objects, m->uid, space, &r);
}

/* Session number `at`, which begins at `sub` of the column, in one step: there
 * are few, of 4,096 objects at most. */
int merge_sessions(struct predictor_merge *m, struct predictor *p)
{
	size_t end;

	if (m->at >= m->f->n_session_uid)
		return 0;
	end = end_of(m, m->sub);
	if (m->f->session_uid[m->at] == m->uid && m->nsessions < MERGE_SESSIONS)
		take(m, p, end);
	m->at++;
	m->sub = end + 1;
	if (m->at < m->f->n_session_uid)
		return 1;
	/* The user may have begun to work before all this came. */
	if (m->stats.sessions > 0)
		sessions_replan(p->sessions, m->uid);
	return 0;
}
