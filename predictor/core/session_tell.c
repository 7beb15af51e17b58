/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is due of a session, as predictions. */
#include "predictor/core/core.h"

enum {
	DUE = 128,
	/* What is predicted from what was used just now goes first. */
	BEHIND = 8,
};

void predictor_set_sessions(
    struct predictor *p, uint64_t pause_ns, uint64_t time_ns)
{
	p->session_pause_ns = pause_ns;
	p->session_time_ns = time_ns;
	sessions_set(p->sessions, pause_ns, time_ns);
}

void predictor_mounted(struct predictor *p, uint64_t client, uint64_t space)
{
	sessions_mounted(p->sessions, client, space);
}

uint32_t predictor_session(const struct predictor *p)
{
	return sessions_now(p->sessions);
}

bool predictor_session_goes_on(const struct predictor *p, uint32_t session)
{
	return sessions_goes_on(p->sessions, session);
}

void predictor_get_session_stats(
    const struct predictor *p, struct predictor_session_stats *st)
{
	*st = *sessions_stats(p->sessions);
}

/* False where there is nothing to be asked for, or no more. */
static bool due_tell(
    struct predictor *p, const struct session_due *due, struct prediction *out)
{
	uint32_t id = due->step.object;
	const struct object *o = objects_at(p->objects, id);
	uint8_t needs = due->step.needs;
	struct predictor_extent one;
	uint64_t read_bytes = 0;

	/* The number may mean another object by now. */
	if (o->free || o->born_at > due->step.at)
		return false;
	/* Present in one way only. */
	if (o->absent)
		needs &= PREDICTOR_NEEDS_ABSENCE;
	else
		needs &= (uint8_t)~PREDICTOR_NEEDS_ABSENCE;
	if ((needs & PREDICTOR_NEEDS_DATA) &&
	    extents_get(p->extents, id, &one, 1) > 0)
		needs |= PREDICTOR_NEEDS_EXTENTS;
	else if (needs & PREDICTOR_NEEDS_DATA)
		read_bytes = (uint64_t)due->step.blocks * FIRST_UNIT;
	*out = (struct prediction){.object = o->key,
	    .parent = o->dir == DIR_NONE ? 0 : names_at(p->names, o->dir)->key,
	    .size_bytes = o->size,
	    .p = due->step.p,
	    .lead = due->ahead + BEHIND,
	    .first_bytes = o->first * (uint32_t)FIRST_UNIT,
	    .read_bytes = read_bytes,
	    .needs = needs,
	    .source = PREDICTOR_FROM_SESSION,
	    .early = due->early};
	return needs & (due->early ? PREDICTOR_NEEDS_DATA : UINT8_MAX);
}

size_t predictor_replay(struct predictor *p, uint32_t session, uint64_t now_ns,
    struct prediction *out, size_t max)
{
	struct session_due due[DUE];
	size_t n, told = 0;

	/* Of what is due, all may be gone, or nothing worth it yet. */
	do {
		n = sessions_due(
		    p->sessions, session, now_ns, due, max < DUE ? max : DUE);
		for (size_t i = 0; i < n; i++)
			told += due_tell(p, &due[i], &out[told]);
	} while (n > 0 && told == 0);
	return told;
}
