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

/* The uses of the session that begins at `at` of the column; what is not known
 * here is OBJECT_NONE. Returns where it ends. */
static size_t look(
    struct predictor_merge *m, const struct predictor *p, size_t at)
{
	const Forefetch__TreeFile *f = m->f;

	m->nsession = 0;
	for (; at < f->n_session && f->session[at]; at++) {
		uint64_t key = m->keys[f->session[at] - 1];

		if (key && m->nsession < SESSION_OBJECTS)
			m->session[m->nsession++] =
			    use_at(m, at, objects_find(p->objects, key));
	}
	return at;
}

/* Makes the objects that are missing; false where nothing more may be made. */
static bool make(struct predictor_merge *m, struct predictor *p, size_t at)
{
	const Forefetch__TreeFile *f = m->f;

	m->nsession = 0;
	for (; at < f->n_session && f->session[at]; at++) {
		uint32_t object = f->session[at] - 1, id;

		if (!merge_counts(m, p, object))
			return false;
		id = merge_make(m, p, object);
		if (id != OBJECT_NONE && m->nsession < SESSION_OBJECTS)
			m->session[m->nsession++] = use_at(m, at, id);
	}
	return m->nsession > 0;
}

/* Session number `at`, which begins at `sub` of the column, in one step: there
 * are few, and of 4,096 objects at most. */
int merge_sessions(struct predictor_merge *m, struct predictor *p)
{
	const Forefetch__TreeFile *f = m->f;
	uint64_t space;
	size_t end;

	if (m->at >= f->n_session_uid)
		return 0;
	space = f->session_space[m->at];
	end = look(m, p, m->sub);
	if (f->session_uid[m->at] == m->uid &&
	    sessions_lacks(
		p->sessions, m->uid, space, m->session, m->nsession)) {
		p->events++;
		if (make(m, p, m->sub))
			m->stats.sessions += sessions_merge(p->sessions, m->uid,
			    space, m->session, m->nsession, p->events);
	}
	m->at++;
	m->sub = end + 1;
	return m->at < f->n_session_uid;
}
