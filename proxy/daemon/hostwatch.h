/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches what this machine tells of itself, and passes it to the servers: its
 * network changed, or it woke; the network is metered; a user logged in.
 */
#ifndef FOREFETCH_HOSTWATCH_H
#define FOREFETCH_HOSTWATCH_H

struct event_base;
struct hostwatch;
struct servers;

/* Begins to watch, and tells the servers who is logged in already. What this
 * machine does not tell goes unnoticed, and the log says so. `servers` outlives
 * the watch. NULL without memory. */
struct hostwatch *hostwatch_new(
    struct event_base *base, struct servers *servers);
/* Ends the watch; NULL is allowed. */
void hostwatch_free(struct hostwatch *hw);

/* Tells a server that begins to serve who is logged in: what it kept on disk
 * may be older than a session. NULL is allowed. */
void hostwatch_server_serves(const struct hostwatch *hw, const char *server);

#endif
