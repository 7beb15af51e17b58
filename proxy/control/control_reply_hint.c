/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints: a stream of files that the peer will read. A connection has one
 * stream; each request adds some hints to it and is answered with how the
 * stream does. */
#include <errno.h>

#include "control/control_reply_private.h"
#include "hint/hint.h"

/* Begins the stream of the connection, and ends the one before. False after an
 * error. */
static bool begin(struct reply *r, const Forefetch__Place *place)
{
	struct control_session *s = r->session;
	struct user who = reply_user(r);
	struct control_server srv;
	struct control_place at;

	hint_end(s->hints);
	s->hints = NULL;
	if (!reply_server_at(r, place, &at, &srv))
		return false;
	s->hints_of = srv.name;
	s->hints = hint_begin(srv.hints, &who, at.export, at.path);
	if (s->hints)
		return true;
	if (errno == EBUSY)
		reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
		    "too many programs give hints; try again");
	else
		reply_place_error(r, errno);
	return false;
}

/* Adds one hint, by its path or by a handle. One that has both, or neither in a
 * usable form, is added as one that cannot be found: it has a number, and the
 * client has to see the numbers go on. Returns what hint_add() does. */
static int add(struct reply *r, const Forefetch__Hint *h)
{
	struct hint hint = {
	    .seq = h->seq, .offset = h->offset, .length = h->length};

	if (h->handle.len > 0) {
		hint.fh.len = (uint32_t)h->handle.len;
		hint.fh.data = (const char *)h->handle.data;
		if (h->path.len > 0)
			hint.fh.len = 0;
	} else {
		/* A text that cannot be a path becomes the root, which is a
		 * hint for no file. */
		hint.path = reply_text(r, &h->path);
		if (!hint.path)
			hint.path = "/";
	}
	return r->arena.failed ? -ENOMEM : hint_add(r->session->hints, &hint);
}

/* Adds hints until there is no more room; the answer says up to which number
 * they were taken, and the client sends the others again. False after an
 * error. */
static bool add_all(struct reply *r, const Forefetch__HintRequest *request)
{
	int rc = 0;

	for (size_t i = 0; i < request->n_hints && !rc; i++)
		rc = add(r, request->hints[i]);
	if (rc == -ENOMEM)
		r->arena.failed = true;
	if (rc == -EINVAL)
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "the hints are not numbered in order from 1");
	return rc == 0 || rc == -EAGAIN;
}

static void fill(struct reply *r, Forefetch__Hinted *out)
{
	struct hint_progress p;

	hint_get_progress(r->session->hints, &p);
	out->accepted = p.accepted;
	out->room = p.room;
	out->reached = p.reached;
	out->waiting = p.waiting;
	out->ahead = p.ahead;
	out->used = p.used;
	out->passed = p.passed;
	out->unused = p.unused;
	out->failed = p.failed;
	out->full = p.full;
}

void reply_hint(struct reply *r, const Forefetch__Request *request, void *out)
{
	if (request->hint->place && !begin(r, request->hint->place))
		return;
	if (!r->session->hints) {
		reply_not_begun(r);
		return;
	}
	if (request->hint->cancel)
		hint_cancel(r->session->hints, request->hint->cancel);
	if (add_all(r, request->hint))
		fill(r, out);
}
