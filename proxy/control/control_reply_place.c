/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about one place on a mount: warm walks its tree, explain tells what
 * is known of it, drop has that forgotten. A place is an address that a client
 * mounted from, an export and a path; each comes from the peer and may be
 * anything. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/exportpath.h"
#include "control/control_reply_private.h"
#include "explain/explain.h"
#include "explain/forget.h"
#include "warm/warm.h"

/* The texts of a place, in the arena; false where one is missing, too long, or
 * contains a NUL. */
static bool read_place(
    struct reply *r, const Forefetch__Place *place, struct control_place *out)
{
	if (!place)
		return false;
	out->listen = reply_text(r, &place->listen);
	out->export = reply_text(r, &place->export);
	out->path = reply_text(r, &place->path);
	return out->listen && out->export && out->path;
}

bool reply_server_at(struct reply *r, const Forefetch__Place *place,
    struct control_place *at, struct control_server *out)
{
	if (!read_place(r, place, at))
		reply_place_error(r, EINVAL);
	else if (!r->ops->server_at(r->ctx, at, out))
		reply_place_error(r, ENOENT);
	else
		return true;
	return false;
}

/* The errno is one that several modules use in the same sense. */
void reply_place_error(struct reply *r, int error)
{
	static const struct reply_why whys[] = {
	    {ENOENT, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE,
		"that is not mounted from this forefetchd"},
	    {EINVAL, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		"the path is not valid, or too long"},
	    {EPERM, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		"the configuration does not allow this to be mounted"},
	    {EBUSY, FOREFETCH__ERROR_CODE__BUSY,
		"too many trees are being fetched; try again"},
	    {ENOSPC, FOREFETCH__ERROR_CODE__BUSY,
		"too many trees are pinned; unpin one, or pin a directory "
		"that holds several"},
	    {ENODEV, FOREFETCH__ERROR_CODE__FAILED,
		"forefetchd caches no data of this server; its log says why"},
	    {EOPNOTSUPP, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		"nothing is fetched ahead there (prefetch = off)"},
	    {0},
	};

	reply_errno(r, whys, error);
}

/* The message for how far a walk is; pin uses it, too. */
Forefetch__Warmed *reply_warmed(struct reply *r, const struct warm_progress *p)
{
	Forefetch__Warmed *out =
	    arena_message(&r->arena, &forefetch__warmed__descriptor);

	if (!out)
		return NULL;
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
	out->paused = p->paused;
	out->metered = p->metered;
	out->loops = p->loops;
	out->endless = p->endless;
	return out;
}

/* Begins the walk of the connection, and ends the one before. False after an
 * error. */
static bool warm_at(struct reply *r, const Forefetch__WarmRequest *request)
{
	struct control_session *s = r->session;
	struct user who = reply_user(r);
	struct control_server srv;
	struct control_place at;

	if (s->walk)
		warm_end(s->walk);
	s->walk = NULL;
	if (!reply_server_at(r, request->place, &at, &srv))
		return false;
	s->walk_of = srv.name;
	s->walk = warm_begin(
	    srv.warm, &who, at.export, at.path, !request->metadata_only);
	if (!s->walk)
		reply_place_error(r, errno);
	return s->walk != NULL;
}

void reply_warm(struct reply *r, const Forefetch__Request *request, void *out)
{
	struct warm_progress p = {0};

	(void)out;
	if (request->warm->place && !warm_at(r, request->warm))
		return;
	if (!r->session->walk) {
		reply_not_begun(r);
		return;
	}
	warm_get_progress(r->session->walk, &p);
	r->res.warm = reply_warmed(r, &p);
}

/* ---- explain ---------------------------------------------------------- */

/* Only if the object was predicted lately; the field is missing otherwise. */
static void fill_prediction(struct reply *r, const struct prefetch_told *told,
    Forefetch__Explained *out)
{
	Forefetch__Prediction *msg;

	if (!told->predicted)
		return;
	msg = arena_message(&r->arena, &forefetch__prediction__descriptor);
	if (!msg)
		return;
	msg->state = (char *)told->state;
	msg->source = (char *)told->source;
	msg->age_us = told->age_us;
	msg->p_permille = (uint32_t)(told->p * 1000 + 0.5);
	msg->lead = told->lead;
	msg->needs = told->needs;
	msg->bytes = told->bytes;
	out->prefetch = msg;
}

/* A number that is not known becomes one of the values that protocol.h has for
 * that. */
static void fill_explained(
    struct reply *r, const struct explain *x, Forefetch__Explained *out)
{
	_Static_assert(
	    (int)EXPLAIN_HIDDEN == FOREFETCH__FOUND__HIDDEN &&
		(int)EXPLAIN_UNMOUNTED == FOREFETCH__FOUND__UNMOUNTED,
	    "explain.h and control.proto have one order");
	out->found = (Forefetch__Found)x->found;
	out->consistency = (char *)x->consistency;
	out->left = x->left;
	out->name_fresh = x->name_fresh;
	out->type = (Forefetch__Explained__Type)x->type;
	out->size = x->type ? x->size : SIZE_UNKNOWN;
	out->attr_age_us = x->type ? x->attr_age_us : AGE_UNKNOWN;
	out->attr_fresh = x->attr_fresh;
	out->attr_limit_us = x->attr_limit_us;
	out->attr_still_us = x->attr_still_us;
	out->contested = x->contested;
	out->rights_known = x->rights_known;
	out->rights_given = x->rights_given;
	out->rights_age_us = x->rights_known ? x->rights_age_us : AGE_UNKNOWN;
	out->rights_fresh = x->rights_fresh;
	out->listed = x->listed;
	out->list_complete = x->list_complete;
	out->list_fresh = x->list_fresh;
	out->list_entries = x->list_entries;
	out->data_bytes =
	    x->data_told || x->type != NF3REG ? x->data_bytes : SIZE_UNKNOWN;
	fill_prediction(r, &x->told, out);
}

/* The path is checked here because explain() only looks names up: one with ".."
 * in it names nothing there, and would look like a name that is not cached. */
void reply_explain(
    struct reply *r, const Forefetch__Request *request, void *out)
{
	struct user who = reply_user(r);
	struct control_server srv;
	struct control_place at;
	struct explain x = {0};

	if (!reply_server_at(r, request->explain->place, &at, &srv))
		return;
	if (!exportpath_below_ok(at.path)) {
		reply_place_error(r, EINVAL);
		return;
	}
	explain(srv.caches, srv.prefetch, &who, at.export, at.path,
	    clock_now_us(), &x);
	fill_explained(r, &x, out);
}

/* ---- drop ---------------------------------------------------------------- */

/* It takes more than one turn. */
struct forgetting {
	struct control_work work;
	struct forget forget;
	enum forget_found found;
};

static void forgetting_free(struct control_work *w)
{
	free(w);
}

void reply_forget(struct reply *r, const Forefetch__Request *request, void *to)
{
	static const Forefetch__Found founds[] = {
	    [FORGET_OBJECT] = FOREFETCH__FOUND__OBJECT,
	    [FORGET_NOTHING] = FOREFETCH__FOUND__UNKNOWN,
	    [FORGET_UNMOUNTED] = FOREFETCH__FOUND__UNMOUNTED};
	uint64_t now_us = clock_now_us();
	Forefetch__Forgotten *out = to;
	struct control_server srv;
	struct control_place at;
	struct forgetting *w;
	bool begun;

	if (!reply_server_at(r, request->forget->place, &at, &srv))
		return;
	if (!exportpath_below_ok(at.path)) {
		reply_place_error(r, EINVAL);
		return;
	}
	w = reply_work(r, sizeof(*w), forgetting_free, &begun);
	if (!w)
		return;
	if (begun)
		w->found = forget_begin(
		    &w->forget, srv.caches, at.export, at.path, now_us);
	r->later = forget_step(&w->forget, now_us);
	if (r->later)
		return;
	out->found = founds[w->found];
	out->objects = w->forget.objects;
	log_info("control server=%s: %llu objects were dropped from the caches",
	    srv.name, (unsigned long long)out->objects);
}
