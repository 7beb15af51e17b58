/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "control/control_reply_private.h"
#include "explain/explain.h"
#include "warm/warm.h"

const char *reply_text(struct reply *r, const ProtobufCBinaryData *b)
{
	char *text;

	if (b->len >= CONTROL_PATH_MAX ||
	    (b->len > 0 && memchr(b->data, '\0', b->len)))
		return NULL;
	text = reply_alloc(r, b->len + 1, 1);
	if (text && b->len > 0)
		memcpy(text, b->data, b->len);
	return text;
}

bool reply_place(
    struct reply *r, const Forefetch__Place *place, struct control_place *out)
{
	if (place) {
		out->listen = reply_text(r, &place->listen);
		out->export = reply_text(r, &place->export);
		out->path = reply_text(r, &place->path);
	}
	if (r->failed)
		return false;
	if (place && out->listen && out->export && out->path)
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
	    "that is no path, or one that is too long");
	return false;
}

void reply_place_error(struct reply *r, int error)
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

Forefetch__Warmed *reply_warmed(struct reply *r, const struct warm_progress *p)
{
	Forefetch__Warmed *out = reply_alloc(r, 1, sizeof(*out));

	if (!out)
		return NULL;
	forefetch__warmed__init(out);
	out->done = p->state != WARM_WALKS;
	out->status = p->state == WARM_FAILED ? p->status : 0;
	out->waits = p->waits;
	out->full = p->full;
	out->directories = p->directories;
	out->files = p->files;
	out->others = p->others;
	out->file_bytes = p->file_bytes;
	out->fetched_bytes = p->fetched_bytes;
	out->calls = p->calls;
	out->refused = p->refused;
	out->failed = p->failed;
	out->left = p->left;
	out->elapsed_us = p->elapsed_us;
	return out;
}

static void reply_progress(struct reply *r)
{
	struct warm_progress p = {0};

	r->ops->warm_progress(r->ctx, r->session->walk, &p);
	r->res.warm = reply_warmed(r, &p);
	if (r->res.warm)
		r->res.result_case = FOREFETCH__RESPONSE__RESULT_WARM;
}

void reply_warm(struct reply *r, const Forefetch__WarmRequest *request)
{
	struct control_place at = {0};

	if (request->place) {
		if (!reply_place(r, request->place, &at))
			return;
		if (r->session->walk)
			r->ops->warm_end(r->ctx, r->session->walk);
		r->session->walk = r->ops->warm_begin(
		    r->ctx, r->peer, &at, !request->metadata_only);
		if (!r->session->walk) {
			reply_place_error(r, errno);
			return;
		}
	}
	if (r->session->walk)
		reply_progress(r);
	else
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "nothing was begun over this connection");
}

static void fill_told(struct reply *r, const struct prefetch_told *told,
    Forefetch__Explained *out)
{
	Forefetch__Told *msg;

	if (!told->predicted)
		return;
	msg = reply_alloc(r, 1, sizeof(*msg));
	if (!msg)
		return;
	forefetch__told__init(msg);
	msg->state = (char *)told->state;
	msg->source = (char *)told->source;
	msg->age_us = told->age_us;
	msg->p = told->p;
	msg->lead = told->lead;
	msg->needs = told->needs;
	msg->bytes = told->bytes;
	out->told = msg;
}

static Forefetch__Found found_of(enum explain_found found)
{
	switch (found) {
	case EXPLAIN_OBJECT:
		return FOREFETCH__FOUND__OBJECT;
	case EXPLAIN_ABSENT:
		return FOREFETCH__FOUND__ABSENT;
	case EXPLAIN_HIDDEN:
		return FOREFETCH__FOUND__HIDDEN;
	case EXPLAIN_UNMOUNTED:
		return FOREFETCH__FOUND__UNMOUNTED;
	default:
		return FOREFETCH__FOUND__UNKNOWN;
	}
}

static void fill_explained(
    struct reply *r, const struct explain *x, Forefetch__Explained *out)
{
	out->found = found_of(x->found);
	out->consistency = (char *)x->consistency;
	out->left = x->left;
	out->name_fresh = x->name_fresh;
	out->type = x->type;
	out->size = x->size;
	out->attr_age_us = x->attr_age_us;
	out->attr_fresh = x->attr_fresh;
	out->rights_known = x->rights_known;
	out->rights_given = x->rights_given;
	out->rights_age_us = x->rights_age_us;
	out->rights_fresh = x->rights_fresh;
	out->listed = x->listed;
	out->list_complete = x->list_complete;
	out->list_fresh = x->list_fresh;
	out->list_entries = x->list_entries;
	out->data_bytes = x->data_bytes;
	fill_told(r, &x->told, out);
}

void reply_explain(struct reply *r, const Forefetch__ExplainRequest *request)
{
	Forefetch__Explained *out = reply_alloc(r, 1, sizeof(*out));
	struct control_place at = {0};
	struct explain x = {0};
	int rc;

	if (!out || !reply_place(r, request->place, &at))
		return;
	rc = r->ops->explain(r->ctx, r->peer, &at, &x);
	if (rc < 0) {
		reply_place_error(r, -rc);
		return;
	}
	forefetch__explained__init(out);
	fill_explained(r, &x, out);
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_EXPLAIN;
	r->res.explain = out;
}
