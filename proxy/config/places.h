/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places that the users of this machine share: connections to the control
 * socket, walks, pins and the like. However many users there are who take what
 * they may, some places are left to the owner of the daemon, who is to be able
 * to see what goes on and to end it.
 */
#ifndef FOREFETCH_PLACES_H
#define FOREFETCH_PLACES_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/* How many places there are, and who may have them; the counts are the
 * caller's. */
struct places {
	unsigned all;  /* how many there are */
	unsigned kept; /* of these, for the owner */
	unsigned each; /* how many a user may have who is not the owner */
};

/* Whether `uid` is an owner: root, or the user that the daemon runs as. */
static inline bool places_owner(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* Whether `uid` may have one place more, where `taken` are taken, `own` of
 * these by him. */
static inline bool places_let(
    const struct places *p, uid_t uid, unsigned taken, unsigned own)
{
	if (places_owner(uid))
		return taken < p->all;
	return taken + p->kept < p->all && own < p->each;
}

#endif
