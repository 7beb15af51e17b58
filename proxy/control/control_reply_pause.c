/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `forefetch pause` and `resume`: calls ahead of clients stop, and go on. */
#include "base/clock.h"
#include "control/control_reply_private.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"

/* The longest pause; more would overflow nothing, and is a mistake. */
#define YEAR_MS UINT64_C(31536000000)

Forefetch__HoldStatus *control_hold_status(
    struct arena *a, const struct hold_status *st)
{
	Forefetch__HoldStatus *out =
	    arena_message(a, &forefetch__hold_status__descriptor);

	if (!out)
		return NULL;
	out->paused = st->paused;
	/* 0 says that no end was set; a pause that has one always has more than
	 * 0 left. */
	if (st->paused && st->pause_left_us != HOLD_NO_END)
		out->pause_left_us = st->pause_left_us;
	out->metered = st->metered;
	out->metered_bytes = st->used_bytes;
	out->metered_limit_bytes = st->budget_bytes;
	out->hour_left_us = st->hour_left_us;
	return out;
}

/* When the pause ends, by the daemon's clock; 0: now, HOLD_NO_END: never. */
static uint64_t until_us(const Forefetch__PauseRequest *req, uint64_t now_us)
{
	if (req->resume)
		return 0;
	return req->for_ms ? now_us + req->for_ms * 1000 : HOLD_NO_END;
}

static void pause_one(struct reply *r, const struct control_server *srv,
    const Forefetch__PauseRequest *req, uint64_t now_us,
    Forefetch__PausedServer *out)
{
	struct hold *hold = prefetch_hold(srv->prefetch);
	struct hold_status st;

	hold_pause(hold, until_us(req, now_us));
	hold_get_status(hold, now_us, &st);
	out->name = reply_bytes(srv->name);
	out->hold = control_hold_status(&r->arena, &st);
}

/* A pause of all servers is also one of servers that a reload adds later: a
 * user who pauses all means the link. */
void reply_pause(struct reply *r, const Forefetch__Request *request, void *to)
{
	const Forefetch__PauseRequest *req = request->pause;
	struct reply_servers s = {.reply = r, .filter = &req->server};
	uint64_t now_us = clock_now_us();
	Forefetch__Paused *out = to;

	out->servers =
	    reply_messages(&s, &forefetch__paused_server__descriptor);
	if (!out->servers)
		return;
	if (req->for_ms > YEAR_MS) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "a pause may last a year at most");
		return;
	}
	if (req->server.len == 0)
		r->ops->pause(r->ctx, until_us(req, now_us));
	while (reply_next(&s))
		pause_one(
		    r, &s.at, req, now_us, out->servers[out->n_servers++]);
}
