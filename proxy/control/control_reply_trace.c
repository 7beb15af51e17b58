/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "control/control_reply_private.h"
#include "explain/tracer.h"

enum { PART = 512 << 10 };

static void begin(struct reply *r, struct tracer *t)
{
	struct control_session *s = r->session;

	tracer_end(s->trace);
	s->trace = tracer_begin(t, r->peer->uid, r->peer->uid == 0);
	if (s->trace)
		return;
	if (errno == EBUSY)
		reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
		    "too many traces are being written");
	else
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd has too little memory to do it");
}

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

static void take(struct reply *r, Forefetch__Traced *out)
{
	enum tracer_state state;

	if (!r->session->trace) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "nothing was begun over this connection");
		return;
	}
	out->data.data = reply_alloc(r, PART, 1);
	if (!out->data.data)
		return;
	out->data.len =
	    tracer_take(r->session->trace, out->data.data, PART, &state);
	out->why = (char *)why(state);
}

void reply_trace(struct reply *r, const Forefetch__TraceRequest *request)
{
	const char *server = reply_one_server(r, &request->server);
	Forefetch__Traced *out;
	struct tracer *t;

	if (!server)
		return;
	out = reply_alloc(r, 1, sizeof(*out));
	if (!out)
		return;
	t = r->ops->tracer(r->ctx, server);
	forefetch__traced__init(out);
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_TRACE;
	r->res.trace = out;
	switch (request->action) {
	case FOREFETCH__TRACE_ACTION__BEGIN:
		begin(r, t);
		return;
	case FOREFETCH__TRACE_ACTION__TAKE:
		take(r, out);
		return;
	case FOREFETCH__TRACE_ACTION__STOP:
		out->going = tracer_stop(t, r->peer->uid, r->peer->uid == 0);
		return;
	default:
		reply_error(r, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND,
		    "forefetchd does not know this command");
	}
}
