/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "control_reply_private.h"
#include "warm.h"

/* As a string; NULL where it is none, or too long. */
static const char *text_of(struct reply *r, const ProtobufCBinaryData *b)
{
	char *text;

	if (b->len >= CONTROL_PATH_MAX || memchr(b->data, '\0', b->len))
		return NULL;
	text = reply_alloc(r, b->len + 1, 1);
	if (text && b->len > 0)
		memcpy(text, b->data, b->len);
	return text;
}

/* False after an error. */
static bool place_of(
    struct reply *r, const Forefetch__Place *place, struct control_place *out)
{
	if (place) {
		out->listen = text_of(r, &place->listen);
		out->export = text_of(r, &place->export);
		out->path = text_of(r, &place->path);
	}
	if (r->failed)
		return false;
	if (place && out->listen && out->export && out->path)
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
	    "that is no path, or one that is too long");
	return false;
}

static void place_error(struct reply *r, int error)
{
	switch (error) {
	case ENOENT:
		reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE,
		    "that is not mounted from this forefetchd");
		return;
	case EINVAL:
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "that is no path, or one that is too long");
		return;
	case EPERM:
		reply_error(r, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		    "the configuration does not let this be mounted");
		return;
	case EBUSY:
		reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
		    "too many trees are being fetched; try again");
		return;
	default:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd has too little memory to do it");
	}
}

static void reply_progress(struct reply *r)
{
	Forefetch__Warmed *out = reply_alloc(r, 1, sizeof(*out));
	struct warm_progress p = {0};

	if (!out)
		return;
	r->ops->warm_progress(r->ctx, *r->walk, &p);
	forefetch__warmed__init(out);
	out->done = p.state != WARM_WALKS;
	out->status = p.state == WARM_FAILED ? p.status : 0;
	out->waits = p.waits;
	out->full = p.full;
	out->directories = p.directories;
	out->files = p.files;
	out->others = p.others;
	out->file_bytes = p.file_bytes;
	out->fetched_bytes = p.fetched_bytes;
	out->calls = p.calls;
	out->refused = p.refused;
	out->failed = p.failed;
	out->left = p.left;
	out->elapsed_us = p.elapsed_us;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_WARM;
	r->res.warm = out;
}

void reply_warm(struct reply *r, const Forefetch__WarmRequest *request)
{
	struct control_place at = {0};

	if (request->place) {
		if (!place_of(r, request->place, &at))
			return;
		if (*r->walk)
			r->ops->warm_end(r->ctx, *r->walk);
		*r->walk = r->ops->warm_begin(
		    r->ctx, r->peer, &at, !request->metadata_only);
		if (!*r->walk) {
			place_error(r, errno);
			return;
		}
	}
	if (*r->walk)
		reply_progress(r);
	else
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "nothing was begun over this connection");
}
