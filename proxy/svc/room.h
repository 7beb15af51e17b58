/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides memory among the connections of all clients: calls, the replies that
 * these may bring, and replies that were not taken.
 *
 * A connection may take more while it holds less than what is left of the
 * limit (the dynamic threshold of Choudhury and Hahne, IEEE/ACM Transactions
 * on Networking 6(2), 1998). So one alone may have half, n that want all they
 * can get have a part of n + 1 each, and the next one finds room: those that
 * hold most wait first. One that holds nothing is never stopped, so each that
 * takes its replies goes on, call by call. The limit is exceeded by one call a
 * connection at most.
 */
#ifndef FOREFETCH_ROOM_H
#define FOREFETCH_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct event_base;
struct room;

/* The part of the memory that one connection holds. It lies in its owner, and
 * is all zeros at first. */
struct room_part {
	/* In the list of those that wait for room. */
	TAILQ_ENTRY(room_part) link;
	bool waiting;
	uint64_t bytes;
	/* Called when it may ask again. */
	void (*on_room)(struct room_part *part);
};

/* Makes room for `limit_bytes` bytes on the loop `base`. NULL and errno without
 * memory. */
struct room *room_new(struct event_base *base, uint64_t limit_bytes);
/* Frees it; all parts must have left. NULL is allowed. */
void room_free(struct room *r);

/* Sets the bytes that a part holds now. */
void room_set(struct room *r, struct room_part *part, uint64_t bytes);
/* Whether it may take more; else it waits, and on_room() is called once, from
 * the event loop, when others have given back something. */
bool room_ask(struct room *r, struct room_part *part);
/* Says that the part holds nothing and waits for nothing any more. */
void room_leave(struct room *r, struct room_part *part);

/* Sets another limit. Parts that wait ask again when something is given back.
 */
void room_set_limit(struct room *r, uint64_t limit_bytes);
/* The bytes that all parts hold together, and the limit. */
uint64_t room_bytes(const struct room *r);
uint64_t room_limit(const struct room *r);
/* Whether three quarters of the limit are taken: one part alone takes about
 * half at most, so several want all that they can get. */
bool room_is_short(const struct room *r);

#endif
