/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges into a predictor what a peer has learned from one user: the
 * counterpart of predictor_snapshot_user(). The peer is in front of the same
 * server, so an object has the same key there.
 *
 * Machines merge from each other again and again, and each hands on what it
 * has merged. So nothing is added up; these rules hold instead:
 *
 *	- Only what is unknown here is taken, and it changes nothing that is
 *	  known: not the name, place or sizes of an object. Where another
 *	  object has its name here, that one is meant. An object that
 *	  predictor_forget() removed lately does not come back.
 *	- A run of a trail is taken so many times as the peer has it more often
 *	  than it is here, four times at most, and only if some of its objects
 *	  have been used less than four times here. A run that is the beginning
 *	  of one here is known. One that goes on where a run of the log ends is
 *	  the same run, which grows.
 *	- Of an object's uses the larger number counts, not the sum.
 *	- A session is taken if it is not the beginning of one here. It takes
 *	  the place of one that it continues; otherwise it is the oldest one
 *	  of its book, if that has room. A session that goes on here and began
 *	  when none was known gets a plan.
 *	- Which parts of a file are read is taken where nothing is known of it.
 *
 * So merging a snapshot twice is merging it once, and two machines that take
 * over from each other come to rest.
 *
 * The bytes may be anything: of a message that is damaged, newer or much too
 * large nothing is taken, and of any message only what it says of `uid`. A
 * merge gets what room is free, or a sixteenth of all that there is, and the
 * newest runs go first. In a full log what was lost in it is not taken again: a
 * run has to bring objects that are not known.
 */
#ifndef FOREFETCH_MERGE_H
#define FOREFETCH_MERGE_H

#include "predictor/predictor.h"

struct predictor_merge;

/* Unpacks and checks the bytes, which are not needed afterwards: twenty
 * milliseconds for a hundred thousand objects, in any thread. NULL and errno:
 * EBADMSG, EPROTONOSUPPORT, EFBIG, ENOMEM. */
struct predictor_merge *predictor_merge_new(
    uint64_t uid, const void *data, size_t len);
/*
 * Goes on with the merge: a step looks at 32 objects, uses or the like, and 64
 * steps take a third of a millisecond, unless a table of the predictor doubles
 * meanwhile. Five thousand objects take 4 ms in all. True at the end or after
 * an error: -ENOMEM; -ENOSPC if there have been too many uids; -ESTALE where
 * what was learned was cleared since the first step. Everything that was taken
 * by then stays. Learning may go on between two calls; of one uid there is one
 * merge at a time.
 */
bool predictor_merge_step(
    struct predictor_merge *m, struct predictor *p, size_t steps);
/* 0, or the -errno with which the merge ended, as predictor_merge_step() lists
 * them. */
int predictor_merge_error(const struct predictor_merge *m);
void predictor_merge_free(struct predictor_merge *m); /* NULL is allowed */

struct predictor_merge_stats {
	size_t objects, uses, sessions; /* that were taken over */
};
void predictor_merge_get_stats(
    const struct predictor_merge *m, struct predictor_merge_stats *st);

/* All of it at once. 0 or -errno. */
int predictor_merge_user(
    struct predictor *p, uint64_t uid, const void *data, size_t len);

#endif
