/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latest ctimes that were shown, and when. Of several in quick succession
 * only the last is kept, so that on a file system that changes all the time
 * there is still one from before a call was sent.
 */
#include "base/srvclock.h"

#include <string.h>

#include "base/clock.h"

void srvclock_show(struct srvclock *sc, uint64_t stamp_ns, uint64_t now_us)
{
	struct srvclock_moment m = {.stamp_ns = stamp_ns, .us = now_us};

	if (sc->n > 0 && stamp_ns <= sc->shown[sc->n - 1].stamp_ns)
		return;
	/* A ctime that is later than our own clock may be in the server's
	 * future. Our clock may be wrong, too, but then less is believed, and
	 * nothing more. */
	if (stamp_ns / 1000 > clock_real_us())
		return;
	if (sc->ahead.us == 0 ||
	    now_us + sc->ahead.stamp_ns / 1000 < stamp_ns / 1000 + sc->ahead.us)
		sc->ahead = m;
	if (sc->n >= 2 && now_us < sc->shown[sc->n - 2].us + SRVCLOCK_GAP_US) {
		sc->shown[sc->n - 1] = m;
		return;
	}
	if (sc->n == SRVCLOCK_MOMENTS)
		memmove(
		    sc->shown, sc->shown + 1, --sc->n * sizeof(sc->shown[0]));
	sc->shown[sc->n++] = m;
}

/* Returns the latest ctime that was shown by then; 0: none. */
static uint64_t shown_ns(const struct srvclock *sc, uint64_t us)
{
	for (uint32_t i = sc->n; i > 0; i--)
		if (sc->shown[i - 1].us <= us)
			return sc->shown[i - 1].stamp_ns;
	return 0;
}

bool srvclock_past(const struct srvclock *sc, uint64_t stamp_ns,
    uint64_t grain_us, uint64_t sent_us)
{
	return stamp_ns + (grain_us + SRVCLOCK_SLACK_US) * 1000 <=
	       shown_ns(sc, sent_us);
}

bool srvclock_went_back(const struct srvclock *sc, uint64_t was_ns,
    uint64_t is_ns, uint64_t since_us)
{
	uint64_t shown = shown_ns(sc, since_us);

	/* The object's own former ctime counts, too, unless it is one that
	 * proves nothing. */
	if (was_ns > shown && sc->n > 0 &&
	    was_ns <= sc->shown[sc->n - 1].stamp_ns)
		shown = was_ns;
	return is_ns + SRVCLOCK_SLACK_US * UINT64_C(1000) < shown;
}

void srvclock_compare(
    struct srvclock *sc, uint64_t is_ns, uint64_t since_us, uint64_t wall_us)
{
	if (is_ns / 1000 + SRVCLOCK_SLACK_US < since_us + wall_us)
		sc->behind = true;
}

uint64_t srvclock_estimate_ns(
    const struct srvclock *sc, uint64_t us, uint64_t wall_us)
{
	uint64_t ns = 0;

	if (sc->ahead.stamp_ns != 0 && us > sc->ahead.us)
		ns = sc->ahead.stamp_ns + (us - sc->ahead.us) * 1000;
	if (!sc->behind && (us + wall_us) * 1000 > ns)
		ns = (us + wall_us) * 1000;
	return ns;
}
