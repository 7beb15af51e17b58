/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One bound for what all clients hold, shared by those that want more. conn.c
 * says by room_set() how much each connection holds, and reads on only while
 * room_ask() lets it. Whoever is refused stands in a list; each of them asks
 * again when somebody gives back, in turn, from a callback of the loop and
 * never from within room_set(). */
#include "svc/room.h"

#include <assert.h>
#include <stdlib.h>

#include <event2/event.h>

TAILQ_HEAD(room_parts, room_part);

struct room {
	uint64_t limit_bytes;
	uint64_t bytes;
	struct room_parts waiting;
	unsigned nwaiting;
	struct event *ev_wake;
};

static void stop_waiting(struct room *r, struct room_part *part)
{
	if (!part->waiting)
		return;
	TAILQ_REMOVE(&r->waiting, part, link);
	r->nwaiting--;
	part->waiting = false;
}

/* Has each of those that wait now ask again. One for which there is still no
 * room goes to the end of the list, so that all of them get their turn. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct room *r = arg;
	struct room_part *part;
	unsigned n = r->nwaiting;

	(void)fd;
	(void)what;
	while (n-- > 0 && (part = TAILQ_FIRST(&r->waiting)) != NULL) {
		stop_waiting(r, part);
		part->on_room(part);
	}
}

struct room *room_new(struct event_base *base, uint64_t limit_bytes)
{
	struct room *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->limit_bytes = limit_bytes;
	TAILQ_INIT(&r->waiting);
	r->ev_wake = evtimer_new(base, on_wake, r);
	if (!r->ev_wake) {
		free(r);
		return NULL;
	}
	return r;
}

void room_free(struct room *r)
{
	if (!r)
		return;
	assert(r->bytes == 0 && r->nwaiting == 0);
	event_free(r->ev_wake);
	free(r);
}

void room_set(struct room *r, struct room_part *part, uint64_t bytes)
{
	if (bytes < part->bytes && r->nwaiting > 0)
		event_active(r->ev_wake, EV_TIMEOUT, 1);
	r->bytes = r->bytes - part->bytes + bytes;
	part->bytes = bytes;
}

/* The dynamic threshold of room.h. A part that holds nothing is never refused:
 * nobody but itself would wake it. */
bool room_ask(struct room *r, struct room_part *part)
{
	uint64_t left = 0;

	if (r->limit_bytes > r->bytes)
		left = r->limit_bytes - r->bytes;
	if (part->bytes == 0 || part->bytes < left) {
		stop_waiting(r, part);
		return true;
	}
	if (!part->waiting) {
		TAILQ_INSERT_TAIL(&r->waiting, part, link);
		r->nwaiting++;
	}
	part->waiting = true;
	return false;
}

void room_leave(struct room *r, struct room_part *part)
{
	stop_waiting(r, part);
	room_set(r, part, 0);
}

uint64_t room_bytes(const struct room *r)
{
	return r->bytes;
}

void room_set_limit(struct room *r, uint64_t limit_bytes)
{
	r->limit_bytes = limit_bytes;
}

uint64_t room_limit(const struct room *r)
{
	return r->limit_bytes;
}

bool room_is_short(const struct room *r)
{
	return r->bytes >= r->limit_bytes / 4 * 3;
}
