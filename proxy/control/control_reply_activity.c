/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes on now: calls that wait, what is fetched ahead, what became of
 * predictions. Where names are asked for, the objects are collected first, then
 * the cache of names is gone through, a part in each turn of the loop; what is
 * answered is then collected anew.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "control/control_reply_private.h"
#include "explain/mountuse.h"
#include "explain/objnames.h"
#include "prefetch/prefetch_show.h"

enum {
	NAMES_STEPS = 1024, /* of one part: about half a millisecond */
	NAMES_MAX = 256,    /* more than all rows of a server */
};

struct names_work {
	struct control_work work;
	struct objnames *names;
};

/* One answer. */
struct activity {
	struct reply *r;
	uint32_t uid;                 /* whose rows are told; 0: everybody's */
	const struct objnames *names; /* NULL: none are asked for */
	uint64_t now_us;
};

static ProtobufCBinaryData copied(struct reply *r, const char *text, size_t len)
{
	return arena_bytes(&r->arena, "%.*s", (int)len, text ? text : "");
}

static ProtobufCBinaryData name_of(const struct activity *a, uint64_t object)
{
	const char *name =
	    a->names && object ? objnames_find(a->names, object) : NULL;

	return name ? arena_bytes(&a->r->arena, "%s", name)
		    : (ProtobufCBinaryData){0};
}

/* ---- ahead ------------------------------------------------------------ */

static void fill_ahead_call(const struct activity *a,
    const struct prefetch_ahead *x, Forefetch__AheadCall *out)
{
	out->procedure = (char *)(x->procedure ? x->procedure : "");
	out->source = (char *)x->source;
	out->age_us = x->age_us;
	out->uid = x->uid;
	out->object = x->object;
	out->name = name_of(a, x->object);
	out->entry = copied(a->r, x->entry, x->entry_len);
	out->bytes = x->bytes;
	out->p_permille = (uint32_t)(x->p * 1000 + 0.5);
}

static void fill_ahead(const struct activity *a, const struct prefetch *pf,
    Forefetch__ServerActivity *out)
{
	struct prefetch_ahead rows[PREFETCH_SHOW_MAX];
	size_t n = prefetch_list_ahead(
	    pf, a->uid, a->now_us, rows, &out->ahead_omitted);

	out->ahead =
	    arena_messages(&a->r->arena, &forefetch__ahead_call__descriptor, n);
	for (size_t i = 0; out->ahead && i < n; i++)
		fill_ahead_call(a, &rows[i], out->ahead[out->n_ahead++]);
}

/* ---- outcomes --------------------------------------------------------- */

static void fill_outcome(const struct activity *a,
    const struct prefetch_outcome *x, Forefetch__Outcome *out)
{
	Forefetch__Prediction *p =
	    arena_message(&a->r->arena, &forefetch__prediction__descriptor);

	out->object = x->object;
	out->name = name_of(a, x->object);
	out->uid = x->uid == UINT32_MAX ? UID_NOBODY : x->uid;
	out->prediction = p;
	if (!p)
		return;
	p->state = (char *)x->told.state;
	p->source = (char *)x->told.source;
	p->age_us = x->told.age_us;
	p->p_permille = (uint32_t)(x->told.p * 1000 + 0.5);
	p->lead = x->told.lead;
	p->needs = x->told.needs;
	p->bytes = x->told.bytes;
}

static void fill_outcomes(const struct activity *a, const struct prefetch *pf,
    Forefetch__ServerActivity *out)
{
	struct prefetch_outcome rows[PREFETCH_SHOW_MAX];
	size_t n = prefetch_list_outcomes(pf, a->uid, a->now_us, rows);

	out->outcomes =
	    arena_messages(&a->r->arena, &forefetch__outcome__descriptor, n);
	for (size_t i = 0; out->outcomes && i < n; i++)
		fill_outcome(a, &rows[i], out->outcomes[out->n_outcomes++]);
}

/* ---- mounts ----------------------------------------------------------- */

static void fill_mounts(
    const struct activity *a, struct caches *c, Forefetch__ServerActivity *out)
{
	struct mountuse rows[MOUNTUSE_MAX];
	size_t n = mountuse_list(c, rows);

	out->mounts =
	    arena_messages(&a->r->arena, &forefetch__mount_use__descriptor, n);
	for (size_t i = 0; out->mounts && i < n; i++) {
		Forefetch__MountUse *m = out->mounts[out->n_mounts++];

		m->path = copied(a->r, rows[i].path, rows[i].path_len);
		m->others = rows[i].others;
		m->fsid = rows[i].fsid;
		m->calls = rows[i].calls;
		m->asked = rows[i].asked;
		m->bytes = rows[i].bytes;
	}
}

/* ---- a server --------------------------------------------------------- */

/* `i`: its number, among all. */
static void fill_server(const struct activity *a, size_t i,
    const struct control_server *srv, Forefetch__ServerActivity *out)
{
	out->name = reply_bytes(srv->name);
	a->r->ops->fill_activity(a->r->ctx, i, a->uid, &a->r->arena, out);
	if (a->r->arena.failed)
		return;
	for (size_t k = 0; k < out->n_calls; k++)
		out->calls[k]->name = name_of(a, out->calls[k]->object);
	fill_ahead(a, srv->prefetch, out);
	fill_outcomes(a, srv->prefetch, out);
	fill_mounts(a, srv->caches, out);
}

static Forefetch__Activity *answer(
    const struct activity *a, const ProtobufCBinaryData *filter)
{
	Forefetch__Activity *out =
	    arena_message(&a->r->arena, &forefetch__activity__descriptor);
	struct reply_servers s = {.reply = a->r, .filter = filter};
	size_t n;

	if (!out || !reply_count(a->r, filter, &n))
		return NULL;
	out->servers = arena_messages(
	    &a->r->arena, &forefetch__server_activity__descriptor, n);
	while (!a->r->arena.failed && reply_next(&s))
		fill_server(
		    a, s.next - 1, &s.at, out->servers[out->n_servers++]);
	return out;
}

/* ---- names ------------------------------------------------------------ */

static void names_free(struct control_work *w)
{
	struct names_work *k = (struct names_work *)w;

	objnames_free(k->names);
	free(k);
}

static void names_add(
    struct objnames *names, const Forefetch__ServerActivity *srv)
{
	for (size_t i = 0; i < srv->n_calls; i++)
		if (srv->calls[i]->object)
			objnames_add(names, srv->calls[i]->object);
	for (size_t i = 0; i < srv->n_ahead; i++)
		if (srv->ahead[i]->object)
			objnames_add(names, srv->ahead[i]->object);
	for (size_t i = 0; i < srv->n_outcomes; i++)
		objnames_add(names, srv->outcomes[i]->object);
}

/* What is to be named. */
static struct objnames *names_begin(
    const struct activity *a, const ProtobufCBinaryData *filter)
{
	const Forefetch__Activity *now = answer(a, filter);
	struct objnames *names = objnames_new(NAMES_MAX);

	if (now && now->n_servers > 0 && names)
		names_add(names, now->servers[0]);
	if (!names)
		a->r->arena.failed = true;
	return names;
}

/* False where there is no answer yet, or an error. */
static bool look_up(struct activity *a, const ProtobufCBinaryData *filter)
{
	struct user who = reply_user(a->r);
	struct control_server srv;
	struct names_work *k;
	bool begun;

	if (!reply_server(a->r, filter, &srv))
		return false;
	k = reply_work(a->r, sizeof(*k), names_free, &begun);
	if (!k)
		return false;
	if (begun)
		k->names = names_begin(a, filter);
	if (!k->names)
		return false;
	/* Who sees everything sees all names. */
	who.uid = a->uid;
	a->r->later =
	    !objnames_step(k->names, srv.caches, &who, begun ? 0 : NAMES_STEPS);
	a->names = k->names;
	return !a->r->later;
}

void reply_activity(struct reply *r, const Forefetch__Request *request)
{
	const Forefetch__ActivityRequest *req = request->activity;
	struct activity a = {.r = r,
	    .uid = reply_sees_all(r) ? 0 : (uint32_t)r->peer->uid,
	    .now_us = clock_now_us()};
	Forefetch__Activity *out;

	if (req->names && !look_up(&a, &req->server))
		return;
	out = answer(&a, &req->server);
	if (!out)
		return;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_ACTIVITY;
	r->res.activity = out;
}
