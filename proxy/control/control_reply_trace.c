/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces: what the peer does from now on, for forefetch-sim. A client begins
 * one, takes its bytes again and again and writes them to a file itself;
 * another one, which may be another program of the user, stops it. */
#include <errno.h>

#include "control/control_reply_private.h"
#include "explain/tracer.h"

/* Bytes of a trace in one answer. */
enum { PART = 512 << 10 };

/* Begins the trace of the connection, and ends the one before. Root traces all
 * users. */
static void begin(struct reply *r, const struct control_server *srv)
{
	static const struct reply_why whys[] = {
	    {EBUSY, FOREFETCH__ERROR_CODE__BUSY,
		"too many traces are being written"},
	    {0},
	};
	struct control_session *s = r->session;

	tracer_end(s->trace);
	s->trace_of = srv->name;
	s->trace = tracer_begin(srv->tracer, r->peer->uid, r->peer->uid == 0);
	if (!s->trace)
		reply_errno(r, whys, errno);
}

/* The reply tells programs in a word why a trace has ended, and nothing while
 * it goes on. */
static const char *why(enum tracer_state state)
{
	switch (state) {
	case TRACER_STOPPED:
		return "stopped";
	case TRACER_SLOW:
		return "too slow";
	case TRACER_FULL:
		return "full";
	case TRACER_FAILED:
		return "failed";
	default:
		return "";
	}
}

/* Takes what was recorded since the last time; after the end, the rest of it
 * and the reason. */
static void take(struct reply *r, Forefetch__Traced *out)
{
	enum tracer_state state;

	if (!r->session->trace) {
		reply_not_begun(r);
		return;
	}
	out->data.data = arena_alloc(&r->arena, PART, 1);
	if (!out->data.data)
		return;
	out->data.len =
	    tracer_take(r->session->trace, out->data.data, PART, &state);
	out->why = (char *)why(state);
}

void reply_trace(struct reply *r, const Forefetch__Request *request, void *to)
{
	Forefetch__Traced *out = to;
	struct control_server srv;

	/* It is known whose it is, though others may have come since. */
	if (request->trace->action != FOREFETCH__TRACE_ACTION__TAKE &&
	    !reply_server(r, &request->trace->server, &srv))
		return;
	switch (request->trace->action) {
	case FOREFETCH__TRACE_ACTION__BEGIN:
		begin(r, &srv);
		return;
	case FOREFETCH__TRACE_ACTION__TAKE:
		take(r, out);
		return;
	case FOREFETCH__TRACE_ACTION__STOP:
		out->going =
		    tracer_stop(srv.tracer, r->peer->uid, r->peer->uid == 0);
		return;
	default:
		reply_unknown_command(r);
	}
}
