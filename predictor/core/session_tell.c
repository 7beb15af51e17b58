/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions at the facade: what is due of a session, as predictions. */
#include "predictor/core/core.h"

enum {
	DUE = 128, /* steps that are looked at together */
	/* A session's steps queue behind what was predicted from the last
	 * access: as if they were needed so many accesses later. */
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

/* Makes a prediction of the step; false where nothing is to be fetched for it
 * now. */
static bool due_tell(
    struct predictor *p, const struct session_due *due, struct prediction *out)
{
	uint32_t id = due->step.object;
	const struct object *o = objects_at(p->objects, id);
	uint8_t needs;

	/* The number may mean another object by now. */
	if (o->free || o->born_at > due->step.at)
		return false;
	needs = predict_needs(o, due->step.needs);
	*out = predict_object(p, id, needs);
	if (needs & PREDICTOR_NEEDS_DATA &&
	    !(out->needs & PREDICTOR_NEEDS_EXTENTS))
		out->read_bytes = (uint64_t)due->step.blocks * FIRST_UNIT;
	out->p = due->step.p;
	out->lead = due->ahead + BEHIND;
	out->source = PREDICTOR_FROM_SESSION;
	out->early = due->early;
	return needs & (due->early ? PREDICTOR_NEEDS_DATA : UINT8_MAX);
}

size_t predictor_replay(struct predictor *p, uint32_t session, uint64_t now_ns,
    struct prediction *out, size_t max)
{
	struct session_due due[DUE];
	size_t n, told = 0;

	/* All that is due may be gone or not worth it yet: then what comes
	 * behind it is looked at. */
	do {
		n = sessions_due(
		    p->sessions, session, now_ns, due, max < DUE ? max : DUE);
		for (size_t i = 0; i < n; i++)
			told += due_tell(p, &due[i], &out[told]);
	} while (n > 0 && told == 0);
	return told;
}
