/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells when somebody logs in to this machine, as systemd-logind knows it: a
 * user who joined or left a group is told to do so, and the kernel's NFS client
 * asks the server for rights anew then, too.
 */
#ifndef FOREFETCH_LOGINS_H
#define FOREFETCH_LOGINS_H

#include <stdint.h>

struct event_base;
struct logins;

/* The user has begun a session, at a terminal, a screen, or from afar. */
typedef void (*logins_cb)(void *arg, uint32_t uid);

/* Begins to watch; sessions that are there already are not told. NULL and errno
 * where there is no logind; the daemon does without, then. */
struct logins *logins_new(struct event_base *base, logins_cb cb, void *arg);
/* Tells who is logged in now, since what was kept on disk may be older than a
 * session. NULL is allowed. */
void logins_tell(const struct logins *l, logins_cb cb, void *arg);
/* Ends the watch; NULL is allowed. */
void logins_free(struct logins *l);

#endif
