/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learns from the outcome of fetches. A candidate that its stream used is a hit
 * in any case (cands.c). Here it counts whether the fetch was of use, which it
 * was not if the cache had dropped the object before.
 *
 * Half or double of these constants makes no difference in forefetch-sim beyond
 * that of seeds, and nor does leaving out the discount (tuning half; 1, 3 and 6
 * streams).
 */
#include "predictor/core/core.h"

/* Weight of one fetch in `late_share`: an average over fifty or so. */
#define LATE_WEIGHT 0.02f
/* If a larger share is late, predictions reach further ahead: by LATE_GAIN for
 * each hundredth over it, up to REACH_MAX. */
#define LATE_FREE   0.15f
#define LATE_GAIN   2.0f
#define REACH_MAX   2.0f

float feedback_reach(const struct predictor *p)
{
	float over = p->late_share - LATE_FREE;
	float reach = 1 + (over > 0 ? over * LATE_GAIN : 0);

	if (!has_part(p, PREDICTOR_PART_REACH))
		return 1;
	return reach < REACH_MAX ? reach : REACH_MAX;
}

float feedback_discount(const struct predictor *p, const struct object *o)
{
	static const float left[UNUSED_MAX + 1] = {
	    1, 1, 0.8f, 0.6f, 0.45f, 0.3f, 0.2f, 0.12f};

	return has_part(p, PREDICTOR_PART_DISCOUNT) ? left[o->unused] : 1;
}

void predictor_feedback(
    struct predictor *p, uint64_t object, enum predictor_outcome what)
{
	uint32_t id = objects_find(p->objects, object);
	struct object *o =
	    id == OBJECT_NONE ? NULL : objects_at(p->objects, id);

	switch (what) {
	case PREDICTOR_DROPPED:
		if (o)
			predict_later(p, id);
		return;
	case PREDICTOR_UNUSED:
		p->unused++;
		if (o && o->unused < UNUSED_MAX)
			o->unused = (o->unused + 1) & UNUSED_MAX;
		return;
	case PREDICTOR_LATE:
		p->late++;
		break;
	case PREDICTOR_USED:
		break;
	}
	p->used++;
	p->late_share +=
	    LATE_WEIGHT * ((what == PREDICTOR_LATE) - p->late_share);
	if (o)
		o->unused = 0;
}
