/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports current activity, for `forefetch top` and the page: calls that wait,
 * what is fetched ahead, and the outcome of predictions. Each turn of the loop
 * reports one server, so that many of them make no long turn. Where names are
 * asked for, the cache of names is searched for them, a part in each turn,
 * while the answer of the first turn is kept: names are looked up for what was
 * going on then.
 *
 * A user sees rows of their own calls only; root and the daemon's user see
 * all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/control_reply_private.h"
#include "control/history.h"
#include "explain/mountuse.h"
#include "explain/objnames.h"
#include "prefetch/prefetch.h"

/* NAMES_MAX is more than a server has rows, so that none goes without a
 * name. */
enum {
	NAMES_STEPS = 1024, /* of one part: about half a millisecond */
	NAMES_MAX = 256,    /* more than all rows of a server */
};

/* Everything that the functions below need to make one answer. */
struct activity {
	struct reply *r;
	struct arena *arena; /* of what is answered */
	/* The user whose rows are told; 0: everybody's. */
	uint32_t uid;
	uint64_t now_us;
	/* Samples of the last hour that are asked for, the latest. */
	size_t past;
};

/* A copy in the arena, since a name may change before the answer is packed. */
static ProtobufCBinaryData copied(
    const struct activity *a, const char *text, size_t len)
{
	return arena_bytes(a->arena, "%.*s", (int)len, text ? text : "");
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
	out->entry = copied(a, x->entry, x->entry_len);
	out->bytes = x->bytes;
	out->p_permille = (uint32_t)(x->p * 1000 + 0.5);
}

/* Calls ahead that wait or are under way, and how many more there are than
 * rows. */
static void fill_ahead(const struct activity *a, const struct prefetch *pf,
    Forefetch__ServerActivity *out)
{
	struct prefetch_ahead rows[PREFETCH_SHOW_MAX];
	size_t n = prefetch_list_ahead(
	    pf, a->uid, a->now_us, rows, &out->ahead_omitted);

	out->ahead =
	    arena_messages(a->arena, &forefetch__ahead_call__descriptor, n);
	for (size_t i = 0; out->ahead && i < n; i++)
		fill_ahead_call(a, &rows[i], out->ahead[out->n_ahead++]);
}

/* ---- outcomes --------------------------------------------------------- */

static void fill_outcome(const struct activity *a,
    const struct prefetch_outcome *x, Forefetch__Outcome *out)
{
	Forefetch__Prediction *p =
	    arena_message(a->arena, &forefetch__prediction__descriptor);

	out->object = x->object;
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

/* The last predictions whose outcome is known. */
static void fill_outcomes(const struct activity *a, const struct prefetch *pf,
    Forefetch__ServerActivity *out)
{
	struct prefetch_outcome rows[PREFETCH_SHOW_MAX];
	size_t n = prefetch_list_outcomes(pf, a->uid, a->now_us, rows);

	out->outcomes =
	    arena_messages(a->arena, &forefetch__outcome__descriptor, n);
	for (size_t i = 0; out->outcomes && i < n; i++)
		fill_outcome(a, &rows[i], out->outcomes[out->n_outcomes++]);
}

/* ---- mounts ----------------------------------------------------------- */

/* How the mounts are used. This is not of one user, as nobody's files are
 * named. */
static void fill_mounts(
    const struct activity *a, struct caches *c, Forefetch__ServerActivity *out)
{
	struct mountuse rows[MOUNTUSE_MAX];
	size_t n = mountuse_list(c, rows);

	out->mounts =
	    arena_messages(a->arena, &forefetch__mount_use__descriptor, n);
	for (size_t i = 0; out->mounts && i < n; i++) {
		Forefetch__MountUse *m = out->mounts[out->n_mounts++];

		m->export_path = copied(a, rows[i].path, rows[i].path_len);
		m->others = rows[i].others;
		m->fsid = rows[i].fsid;
		m->calls = rows[i].calls;
		m->asked = rows[i].asked;
		m->changes = rows[i].changes;
		m->bytes = rows[i].bytes;
	}
}

/* ---- the past ---------------------------------------------------------- */

/* The latest samples, the oldest of them first. */
static void fill_past(const struct activity *a, const struct history *h,
    Forefetch__ServerActivity *out)
{
	size_t all = h ? history_count(h) : 0,
	       n = a->past < all ? a->past : all;

	out->saved_today_us = history_saved_today_us(h);
	out->past =
	    arena_messages(a->arena, &forefetch__past_sample__descriptor, n);
	for (size_t i = 0; out->past && i < n; i++) {
		const struct history_sample *s = history_at(h, all - n + i);
		Forefetch__PastSample *to = out->past[out->n_past++];

		to->span_us = s->span_us;
		to->calls = s->calls;
		to->saved_us = s->saved_us;
	}
}

/* ---- a server --------------------------------------------------------- */

/* Fills in all about one server. `i` is its number among all, not among those
 * that were asked for. */
static void fill_server(const struct activity *a, size_t i,
    const struct control_server *srv, Forefetch__ServerActivity *out)
{
	out->name = arena_bytes(a->arena, "%s", srv->name);
	a->r->ops->fill_activity(a->r->ctx, i, a->uid, a->arena, out);
	if (a->arena->failed)
		return;
	fill_ahead(a, srv->prefetch, out);
	fill_outcomes(a, srv->prefetch, out);
	fill_mounts(a, srv->caches, out);
	fill_past(a, srv->history, out);
}

/* Everything at once, for one server or none; NULL after an error. */
static Forefetch__Activity *answer(
    const struct activity *a, const ProtobufCBinaryData *filter)
{
	Forefetch__Activity *out =
	    arena_message(a->arena, &forefetch__activity__descriptor);
	struct reply_servers s = {.reply = a->r, .filter = filter};
	size_t n;

	if (!out || !reply_count(a->r, filter, &n))
		return NULL;
	out->servers = arena_messages(
	    a->arena, &forefetch__server_activity__descriptor, n);
	while (!a->arena->failed && reply_next(&s))
		fill_server(
		    a, s.next - 1, &s.at, out->servers[out->n_servers++]);
	return out;
}

/* ---- several servers --------------------------------------------------- */

/* The answer so far, one server in a turn. It has an arena of its own, since
 * that of a reply ends with its turn. */
struct each_work {
	struct control_work work;
	struct arena arena;
	Forefetch__Activity *out;
	/* The next server's number among all. */
	size_t next;
	/* Messages in `out`, of which n_servers are filled in. */
	size_t room;
};

static void each_free(struct control_work *w)
{
	struct each_work *k = (struct each_work *)w;

	arena_clear(&k->arena);
	free(k);
}

/* False without memory. */
static bool each_begin(struct each_work *k, size_t n)
{
	k->room = n;
	k->out = arena_message(&k->arena, &forefetch__activity__descriptor);
	if (k->out)
		k->out->servers = arena_messages(
		    &k->arena, &forefetch__server_activity__descriptor, n);
	return !k->arena.failed;
}

/* The next server; true where there is none left. */
static bool each_step(
    struct each_work *k, struct activity *a, const ProtobufCBinaryData *filter)
{
	struct reply_servers s = {
	    .reply = a->r, .filter = filter, .next = k->next};

	if (!reply_next(&s))
		return true;
	k->next = s.next;
	a->arena = &k->arena;
	fill_server(a, s.next - 1, &s.at, k->out->servers[k->out->n_servers++]);
	return k->arena.failed || k->out->n_servers == k->room;
}

/* The answer, in the last of several turns; NULL before, and after an error. */
static Forefetch__Activity *answer_each(
    struct activity *a, const ProtobufCBinaryData *filter)
{
	struct each_work *k;
	size_t n = 0;
	bool begun;

	if (!a->r->session->work) {
		if (!reply_count(a->r, filter, &n))
			return NULL;
		if (n <= 1)
			return answer(a, filter);
	}
	k = reply_work(a->r, sizeof(*k), each_free, &begun);
	if (!k)
		return NULL;
	if (begun && !each_begin(k, n)) {
		a->r->arena.failed = true;
		return NULL;
	}
	a->r->later = !each_step(k, a, filter);
	a->r->arena.failed |= k->arena.failed;
	return a->r->later ? NULL : k->out;
}

/* ---- names ------------------------------------------------------------ */

/* The answer of the first turn, and the names of its objects. */
struct names_work {
	struct control_work work;
	struct arena arena;
	Forefetch__Activity *out;
	struct objnames *names;
	/* The directories in which the objects have these names; NULL until
	 * those of the objects are known. */
	struct objnames *dirs;
};

static void names_free(struct control_work *w)
{
	struct names_work *k = (struct names_work *)w;

	objnames_free(k->names);
	objnames_free(k->dirs);
	arena_clear(&k->arena);
	free(k);
}

/* Called for each row that is about an object; `name` and `dir` are the
 * row's. */
typedef void (*visit)(struct names_work *k, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir);

static void each_row(struct names_work *k, visit see)
{
	Forefetch__ServerActivity *srv = k->out->servers[0];

	for (size_t i = 0; i < srv->n_calls; i++)
		see(k, srv->calls[i]->object, &srv->calls[i]->name,
		    &srv->calls[i]->dir);
	for (size_t i = 0; i < srv->n_ahead; i++)
		see(k, srv->ahead[i]->object, &srv->ahead[i]->name,
		    &srv->ahead[i]->dir);
	for (size_t i = 0; i < srv->n_outcomes; i++)
		see(k, srv->outcomes[i]->object, &srv->outcomes[i]->name,
		    &srv->outcomes[i]->dir);
}

static void add_object(struct names_work *k, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir)
{
	(void)name;
	(void)dir;
	if (object)
		objnames_add(k->names, object);
}

static void add_dir(struct names_work *k, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir)
{
	uint64_t of = object ? objnames_dir(k->names, object) : 0;

	(void)name;
	(void)dir;
	if (of)
		objnames_add(k->dirs, of);
}

static void put_name(struct names_work *k, uint64_t object,
    ProtobufCBinaryData *name, ProtobufCBinaryData *dir)
{
	const char *found = object ? objnames_find(k->names, object) : NULL;
	uint64_t of = found ? objnames_dir(k->names, object) : 0;

	if (found)
		*name = arena_bytes(&k->arena, "%s", found);
	found = of ? objnames_find(k->dirs, of) : NULL;
	if (found)
		*dir = arena_bytes(&k->arena, "%s", found);
}

/* Makes the answer, and collects the objects in it. False without memory. */
static bool names_begin(
    struct names_work *k, struct activity *a, const ProtobufCBinaryData *filter)
{
	a->arena = &k->arena;
	k->out = answer(a, filter);
	k->names = objnames_new(NAMES_MAX);
	if (!k->out || !k->names || k->arena.failed)
		return false;
	each_row(k, add_object);
	return true;
}

/* Goes on with the names, then with those of their directories. True at the
 * end, or without memory. */
static bool names_step(struct names_work *k, struct caches *c,
    const struct user *who, uint64_t now_us, size_t steps)
{
	uint64_t first;

	if (k->dirs)
		return objnames_step(k->dirs, c, who, now_us, steps);
	if (!objnames_step(k->names, c, who, now_us, steps))
		return false;
	k->dirs = objnames_new(NAMES_MAX);
	k->arena.failed |= !k->dirs;
	if (!k->dirs)
		return true;
	each_row(k, add_dir);
	return !objnames_at(k->dirs, 0, &first);
}

/* The answer, in the last of several turns; NULL before, and after an error. */
static Forefetch__Activity *answer_named(
    struct activity *a, const ProtobufCBinaryData *filter)
{
	struct user who = reply_user(a->r);
	struct control_server srv;
	struct names_work *k;
	bool begun;

	if (!reply_server(a->r, filter, &srv))
		return NULL;
	k = reply_work(a->r, sizeof(*k), names_free, &begun);
	if (!k)
		return NULL;
	if (begun && !names_begin(k, a, filter)) {
		a->r->arena.failed = true;
		return NULL;
	}
	/* Root and the daemon's user may see every name. */
	who.uid = a->uid;
	a->r->later = !names_step(
	    k, srv.caches, &who, a->now_us, begun ? 0 : NAMES_STEPS);
	if (a->r->later)
		return NULL;
	if (!k->arena.failed)
		each_row(k, put_name);
	a->r->arena.failed |= k->arena.failed;
	return k->out;
}

/* An answer replaces the empty result that control_reply.c made. */
void reply_activity(
    struct reply *r, const Forefetch__Request *request, void *out)
{
	const Forefetch__ActivityRequest *req = request->activity;
	struct activity a = {.r = r,
	    .arena = &r->arena,
	    .uid = reply_sees_all(r) ? 0 : (uint32_t)r->peer->uid,
	    .past = req->past,
	    .now_us = clock_now_us()};

	out = req->names ? answer_named(&a, &req->server)
			 : answer_each(&a, &req->server);
	if (out) /* else there is an error, or none yet */
		r->res.activity = out;
}
