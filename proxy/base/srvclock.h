/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the clock of a file system's server has come, by the ctimes that it
 * showed. No reply tells the server's time, and our own clock tells nothing of
 * it. But a ctime is stamped by that clock: where one was shown that is a good
 * deal later than this file's, a change of this file that is still to come gets
 * a later ctime, too, and shows.
 *
 * That fails where ctimes lie in the server's future: its clock was set back,
 * or the file system comes from a machine whose clock was ahead. So a ctime
 * that is later than our own clock proves nothing, and a change that happened
 * after a ctime had been shown, but was stamped with an earlier one, ends the
 * belief for good. docs/CONTRACT.md has the argument (F10, F16).
 */
#ifndef FOREFETCH_SRVCLOCK_H
#define FOREFETCH_SRVCLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SRVCLOCK_MOMENTS = 6,
	/* The clocks of several machines that serve one file system may differ
	 * by so much, and one may be set back so far, without harm. */
	SRVCLOCK_SLACK_US = 1000000,
	/* The time between a moment and the next but one, so that all of them
	 * together reach back for longer than calls are under way. */
	SRVCLOCK_GAP_US = 1000000,
};

/* The ctime `stamp_ns` was shown by a reply that was there at `us`, by our
 * clock. */
struct srvclock_moment {
	uint64_t stamp_ns;
	uint64_t us;
};

/* The clock of one file system's server; all zeros: nothing was shown yet. */
struct srvclock {
	/* From the first to the last, both members rise. */
	struct srvclock_moment shown[SRVCLOCK_MOMENTS];
	/* The moment, of all that were shown, that puts the server's clock
	 * furthest ahead of ours. */
	struct srvclock_moment ahead;
	/* How many of `shown` there are. */
	uint32_t n;
	bool behind; /* a change was stamped earlier than our clock had it */
};

/* Notes that a reply which came at `now_us` showed an object with this ctime.
 */
void srvclock_show(struct srvclock *sc, uint64_t stamp_ns, uint64_t now_us);
/* Whether an object can change no more without getting another ctime, if it has
 * this one in the answer to a call that was sent at `sent_us`: the server's
 * clock was more than `grain_us` past it before the call was sent. */
bool srvclock_past(const struct srvclock *sc, uint64_t stamp_ns,
    uint64_t grain_us, uint64_t sent_us);
/* Whether a change shows that the clock went back: an object had the ctime
 * `was_ns` when a call was answered that was sent at `since_us`, and then a
 * change gave it `is_ns`, which is before what had been shown by then. */
bool srvclock_went_back(const struct srvclock *sc, uint64_t was_ns,
    uint64_t is_ns, uint64_t since_us);

/* Compares both clocks by a change that happened after `since_us` and got the
 * ctime `is_ns`. `wall_us` is our wall clock less clock_now_us(): if ours was
 * past that ctime by then, the two clocks differ, and ours says nothing of the
 * server's from now on. */
void srvclock_compare(
    struct srvclock *sc, uint64_t is_ns, uint64_t since_us, uint64_t wall_us);
/* Returns how far the server's clock had come at `us`, in nanoseconds, as far
 * as is known: at least as far as what was shown and the time that went by
 * since; or as far as our own clock, unless srvclock_compare() has found that
 * they differ. That is an estimate for which nothing but speed may depend: our
 * clock may be ahead of the server's, and no change has shown it yet. */
uint64_t srvclock_estimate_ns(
    const struct srvclock *sc, uint64_t us, uint64_t wall_us);

#endif
