/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which session an event belongs to, and the books in which the last ones are
 * kept. An actor is a user of a client in a file system: programs of one user
 * make one session, in however many streams.
 *
 * Actors and books are few, and lie in tables of fixed size that are searched
 * from one end to the other; the actor of the last event comes first.
 */
#include "predictor/sessions/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/objects.h"

enum { ACTORS = 64 };

/* An actor that was silent for so long may give its slot to another. */
#define SILENT_NS UINT64_C(60000000000)

/* A user of a client in a file system, and the session that goes on. */
struct sessions_actor {
	uint64_t client, uid, space; /* client 0: free */
	uint64_t began_ns, last_ns;  /* of the session, and its last reply */
	uint64_t refresh_ns;         /* obs.recent_ns of the last event */
	uint32_t session;            /* its number */
	bool told;                   /* its plan is to be told */
	bool begun;                  /* a part of the plan was told */
	struct session_run *run;     /* NULL: it is over */
};

struct sessions {
	struct session_book books[SESSION_BOOKS];
	struct sessions_actor actors[ACTORS];
	uint32_t nbooks, nruns;
	uint32_t limit;
	uint32_t numbers; /* sessions up to now */
	uint32_t now;     /* sessions_now() */
	uint32_t last;    /* the actor of the last event */
	uint32_t event;   /* the last one */
	uint64_t pause_ns, time_ns;
	struct predictor_session_stats stats;
};

struct sessions *sessions_new(uint32_t limit)
{
	struct sessions *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return NULL;
	ss->limit = limit < SESSION_OBJECTS ? limit : SESSION_OBJECTS;
	return ss;
}

static void book_clear(struct session_book *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		free(b->kept[i].uses);
	*b = (struct session_book){0};
}

/* Ends the session, and forgets what it recorded. */
static void actor_end(struct sessions *ss, struct sessions_actor *a)
{
	if (!a->run)
		return;
	session_run_free(a->run);
	a->run = NULL;
	a->told = false;
	ss->nruns--;
}

void sessions_free(struct sessions *ss)
{
	if (!ss)
		return;
	for (int i = 0; i < ACTORS; i++)
		actor_end(ss, &ss->actors[i]);
	for (uint32_t i = 0; i < ss->nbooks; i++)
		book_clear(&ss->books[i]);
	free(ss);
}

size_t sessions_memory_bytes(const struct sessions *ss)
{
	size_t bytes = sizeof(*ss);

	for (int i = 0; i < ACTORS; i++)
		if (ss->actors[i].run)
			bytes += session_run_bytes(ss->actors[i].run);
	for (uint32_t i = 0; i < ss->nbooks; i++)
		for (uint32_t k = 0; k < ss->books[i].n; k++)
			bytes +=
			    ss->books[i].kept[k].n * sizeof(struct session_use);
	return bytes;
}

void sessions_set(struct sessions *ss, uint64_t pause_ns, uint64_t time_ns)
{
	ss->pause_ns = pause_ns;
	ss->time_ns = time_ns;
	for (int i = 0; i < ACTORS && !time_ns; i++) {
		actor_end(ss, &ss->actors[i]);
		ss->actors[i].client = 0;
	}
}

/* ---- books ------------------------------------------------------------ */

/* The user's book in that file system; NULL where he has none. */
static struct session_book *book_find(
    struct sessions *ss, uint64_t uid, uint64_t space)
{
	for (uint32_t i = 0; i < ss->nbooks; i++)
		if (ss->books[i].uid == uid && ss->books[i].space == space)
			return &ss->books[i];
	return NULL;
}

/* The same, and it is made, if need be in place of the book that was not used
 * for longest. */
static struct session_book *book_get(
    struct sessions *ss, uint64_t uid, uint64_t space)
{
	struct session_book *b = book_find(ss, uid, space);

	if (b)
		return b;
	if (ss->nbooks < SESSION_BOOKS) {
		b = &ss->books[ss->nbooks++];
	} else {
		b = &ss->books[0];
		for (uint32_t i = 1; i < ss->nbooks; i++)
			if (ss->books[i].used_at < b->used_at)
				b = &ss->books[i];
		book_clear(b);
	}
	*b = (struct session_book){
	    .uid = uid, .space = space, .used_at = ss->event};
	return b;
}

/* Inserts a copy of the session at `i`; the last one goes if there are too
 * many. */
static bool book_put(
    struct session_book *b, uint32_t i, const struct session_record *r)
{
	struct session_use *uses = malloc(r->n * sizeof(*uses));

	if (!uses)
		return false;
	memcpy(uses, r->uses, r->n * sizeof(*uses));
	if (b->n == SESSIONS_KEPT)
		free(b->kept[--b->n].uses);
	memmove(&b->kept[i + 1], &b->kept[i], (b->n - i) * sizeof(*b->kept));
	b->kept[i] =
	    (struct session_record){.uses = uses, .n = r->n, .at = r->at};
	b->n++;
	return true;
}

const struct session_book *sessions_book(const struct sessions *ss, uint32_t i)
{
	return i < ss->nbooks ? &ss->books[i] : NULL;
}

/* Sessions that go on, whose users may have no book yet. */
static int walk_runs(const struct sessions *ss, sessions_each each, void *ctx)
{
	int ret = 0;

	for (int i = 0; i < ACTORS && !ret; i++) {
		const struct sessions_actor *a = &ss->actors[i];
		struct session_record r;

		if (!a->run)
			continue;
		r = session_run_record(a->run, ss->event);
		if (r.n >= SESSION_MIN)
			ret = each(ctx, a->uid, a->space, &r);
	}
	return ret;
}

int sessions_walk(const struct sessions *ss, sessions_each each, void *ctx)
{
	int ret = walk_runs(ss, each, ctx);

	for (uint32_t i = 0; i < ss->nbooks; i++) {
		const struct session_book *b = &ss->books[i];

		for (uint32_t k = 0; k < b->n && !ret; k++)
			ret = each(ctx, b->uid, b->space, &b->kept[k]);
	}
	return ret;
}

bool sessions_add(struct sessions *ss, uint64_t uid, uint64_t space,
    const struct session_use *uses, uint32_t n, uint32_t at)
{
	struct session_record r = {.n = n, .at = at};
	struct session_book *b;

	if (n == 0)
		return false;
	if (r.n > ss->limit)
		r.n = ss->limit;
	r.uses = (struct session_use *)(uintptr_t)uses;
	b = book_get(ss, uid, space);
	return b->n < SESSIONS_KEPT && book_put(b, b->n, &r);
}

/* ---- those of other machines ------------------------------------------- */

enum begins {
	BEGINS_NOT,
	BEGINS_IT, /* it is the whole beginning of the other, or equal */
	BEGINS_OTHER,
};

/* Index of the next use, from `i` on, whose object is still there. */
static uint32_t next_live(
    const struct objects *os, const struct session_record *r, uint32_t i)
{
	for (; i < r->n; i++) {
		const struct object *o = objects_at(os, r->uses[i].object);

		if (!o->free && o->born_at <= r->at)
			break;
	}
	return i;
}

/* Whether the session of another machine is the beginning of the one here, or
 * this one the beginning of it. */
static enum begins begins(const struct objects *os,
    const struct session_record *theirs, const struct session_record *ours)
{
	uint32_t i = 0, k = next_live(os, ours, 0);

	while (i < theirs->n && k < ours->n) {
		if (theirs->uses[i++].object != ours->uses[k].object)
			return BEGINS_NOT;
		k = next_live(os, ours, k + 1);
	}
	return i == theirs->n ? BEGINS_IT : BEGINS_OTHER;
}

/* How many sessions that go on begin like it. */
static uint32_t runs_like(const struct sessions *ss, const struct objects *os,
    const struct session_book *of, const struct session_record *theirs)
{
	uint32_t n = 0;

	for (int i = 0; i < ACTORS; i++) {
		const struct sessions_actor *a = &ss->actors[i];
		struct session_record r;

		if (!a->run || a->uid != of->uid || a->space != of->space)
			continue;
		r = session_run_record(a->run, ss->event);
		n += begins(os, theirs, &r) == BEGINS_IT;
	}
	return n;
}

/* The place of a session that it continues; where there is none, behind the
 * last one. `like` grows by those that begin like it. */
static uint32_t book_place(const struct session_book *b,
    const struct objects *os, const struct session_record *theirs,
    uint32_t *like)
{
	uint32_t place = b->n;

	for (uint32_t k = 0; k < b->n; k++) {
		enum begins how = begins(os, theirs, &b->kept[k]);

		*like += how == BEGINS_IT;
		if (how == BEGINS_OTHER)
			place = k;
	}
	return place;
}

bool sessions_lacks(const struct sessions *ss, const struct objects *os,
    uint64_t uid, uint64_t space, const struct session_record *r,
    uint32_t before)
{
	const struct session_book none = {.uid = uid, .space = space};
	const struct session_book *b =
	    book_find((struct sessions *)(uintptr_t)ss, uid, space);
	uint32_t like = runs_like(ss, os, &none, r);

	if (r->n == 0 || like > before)
		return false;
	/* No book of another goes for it. */
	if (!b)
		return ss->nbooks < SESSION_BOOKS / 2;
	return book_place(b, os, r, &like) < SESSIONS_KEPT && like <= before;
}

bool sessions_merge(struct sessions *ss, const struct objects *os, uint64_t uid,
    uint64_t space, const struct session_record *r)
{
	struct session_book *b = book_get(ss, uid, space);
	struct session_record *old;
	uint32_t like = 0, place = book_place(b, os, r, &like);
	struct session_use *uses;

	if (place == SESSIONS_KEPT)
		return false;
	if (place == b->n)
		return book_put(b, b->n, r);
	uses = malloc(r->n * sizeof(*uses));
	if (!uses)
		return false;
	memcpy(uses, r->uses, r->n * sizeof(*uses));
	old = &b->kept[place];
	free(old->uses);
	*old = (struct session_record){.uses = uses, .n = r->n, .at = r->at};
	return true;
}

/* The session that goes on gets the plan that it began without. */
static void actor_replan(struct sessions *ss, struct sessions_actor *a)
{
	struct session_book *b = book_find(ss, a->uid, a->space);
	struct session_record r = session_run_record(a->run, ss->event);
	struct session_run *run;
	uint32_t n = 0;
	struct session_step *plan = b ? session_plan(b, ss->limit, &n) : NULL;

	run =
	    n > 0 ? session_run_new(ss->limit, &a->refresh_ns, plan, n) : NULL;
	free(plan);
	if (!run)
		return;
	for (uint32_t i = 0; i < r.n; i++) {
		const struct session_use *u = &r.uses[i];
		struct session_span read = {
		    0, (uint64_t)u->blocks * SESSION_BLOCK};

		(void)session_run_use(run, u->object, u->needs, &read);
	}
	session_run_free(a->run);
	a->run = run;
	a->told = !session_run_strays(run);
	a->begun = false;
}

void sessions_replan(struct sessions *ss, uint64_t uid)
{
	for (int i = 0; i < ACTORS; i++) {
		struct sessions_actor *a = &ss->actors[i];

		if (a->run && a->uid == uid && !a->told &&
		    session_run_is_free(a->run))
			actor_replan(ss, a);
	}
}

uint32_t sessions_limit(const struct sessions *ss)
{
	return ss->limit;
}

void sessions_forget_book(struct sessions *ss, uint32_t i)
{
	struct session_book *b = &ss->books[i];

	for (int k = 0; k < ACTORS; k++)
		if (ss->actors[k].uid == b->uid &&
		    ss->actors[k].space == b->space)
			actor_end(ss, &ss->actors[k]);
	book_clear(b);
	ss->books[i] = ss->books[--ss->nbooks];
	ss->books[ss->nbooks] = (struct session_book){0};
}

void sessions_forget(struct sessions *ss, uint64_t uid)
{
	for (uint32_t i = ss->nbooks; i-- > 0;)
		if (ss->books[i].uid == uid)
			sessions_forget_book(ss, i);
	for (int k = 0; k < ACTORS; k++)
		if (ss->actors[k].uid == uid)
			actor_end(ss, &ss->actors[k]);
}

/* ---- sessions --------------------------------------------------------- */

/* The session is over: it is kept if it is long enough. */
static void actor_keep(struct sessions *ss, struct sessions_actor *a)
{
	struct session_record r;

	if (!a->run)
		return;
	r = session_run_record(a->run, ss->event);
	if (r.n >= SESSION_MIN) {
		struct session_book *b = book_get(ss, a->uid, a->space);

		b->used_at = ss->event;
		ss->stats.recorded += book_put(b, 0, &r);
	}
	actor_end(ss, a);
}

static bool actor_is(
    const struct sessions_actor *a, const struct predictor_obs *o)
{
	return a->client == o->client && a->uid == o->uid &&
	       a->space == o->space;
}

static struct sessions_actor *actor_find(
    struct sessions *ss, const struct predictor_obs *o)
{
	/* Most likely it is the actor of the last event. */
	if (actor_is(&ss->actors[ss->last], o))
		return &ss->actors[ss->last];
	for (uint32_t i = 0; i < ACTORS; i++) {
		if (!actor_is(&ss->actors[i], o))
			continue;
		ss->last = i;
		return &ss->actors[i];
	}
	return NULL;
}

/* A free slot, or that of the actor that was silent for longest; NULL if none
 * was silent for long enough. */
static struct sessions_actor *actor_new(
    struct sessions *ss, const struct predictor_obs *o)
{
	struct sessions_actor *a = &ss->actors[0];

	for (int i = 0; i < ACTORS && a->client; i++)
		if (!ss->actors[i].client || ss->actors[i].last_ns < a->last_ns)
			a = &ss->actors[i];
	if (a->client && o->now_ns < a->last_ns + SILENT_NS)
		return NULL;
	actor_keep(ss, a);
	*a = (struct sessions_actor){
	    .client = o->client, .uid = o->uid, .space = o->space};
	return a;
}

/* Ends the oldest session if too many go on. */
static void runs_room(struct sessions *ss)
{
	struct sessions_actor *oldest = NULL;

	if (ss->nruns < SESSION_RUNS)
		return;
	for (int i = 0; i < ACTORS; i++) {
		struct sessions_actor *a = &ss->actors[i];

		if (a->run && (!oldest || a->began_ns < oldest->began_ns))
			oldest = a;
	}
	actor_keep(ss, oldest);
}

/* A session begins: it gets its plan, and a number that is not 0. */
static void actor_begin(
    struct sessions *ss, struct sessions_actor *a, uint64_t now_ns)
{
	struct session_book *b;
	struct session_step *plan = NULL;
	uint32_t n = 0;

	actor_keep(ss, a);
	runs_room(ss);
	b = book_find(ss, a->uid, a->space);
	if (b)
		plan = session_plan(b, ss->limit, &n);
	a->began_ns = now_ns;
	a->run = session_run_new(ss->limit, &a->refresh_ns, plan, n);
	a->told = a->run && n > 0;
	a->begun = false;
	a->session = ++ss->numbers ? ss->numbers : ++ss->numbers;
	ss->nruns += a->run != NULL;
	free(plan);
}

void sessions_mounted(struct sessions *ss, uint64_t client, uint64_t space)
{
	for (int i = 0; i < ACTORS; i++) {
		struct sessions_actor *a = &ss->actors[i];

		if (a->client != client || a->space != space)
			continue;
		actor_keep(ss, a);
		a->client = 0;
	}
}

void sessions_event(struct sessions *ss, const struct predictor_obs *o,
    uint32_t object, uint8_t needs, uint32_t event)
{
	struct session_span read = {0, 0};
	struct sessions_actor *a;

	ss->now = 0;
	ss->event = event;
	if (!ss->time_ns || !o->client || !o->space)
		return;
	a = actor_find(ss, o);
	if (!a)
		a = actor_new(ss, o);
	if (!a)
		return;
	if (a->session == 0 ||
	    (ss->pause_ns && o->now_ns > a->last_ns + ss->pause_ns))
		actor_begin(ss, a, o->now_ns);
	a->last_ns = o->now_ns + o->latency_ns;
	a->refresh_ns = o->recent_ns;
	if (!a->run)
		return;
	if (o->now_ns > a->began_ns + ss->time_ns) {
		actor_keep(ss, a);
		return;
	}
	if (o->kind == PREDICTOR_READ)
		read = (struct session_span){
		    o->offset_bytes, o->offset_bytes + o->count_bytes};
	ss->stats.used += session_run_use(a->run, object, needs, &read);
	if (a->told && session_run_strays(a->run)) {
		a->told = false;
		ss->stats.stopped++;
	}
	if (a->told)
		ss->now = a->session;
}

uint32_t sessions_now(const struct sessions *ss)
{
	return ss->now;
}

/* The actor whose session has this number and is told; NULL if there is none.
 */
static struct sessions_actor *actor_of(
    const struct sessions *ss, uint32_t session)
{
	for (int i = 0; i < ACTORS; i++)
		if (ss->actors[i].session == session && ss->actors[i].told)
			return (
			    struct sessions_actor *)(uintptr_t)&ss->actors[i];
	return NULL;
}

bool sessions_goes_on(const struct sessions *ss, uint32_t session)
{
	const struct sessions_actor *a = actor_of(ss, session);

	return a && !session_run_done(a->run);
}

size_t sessions_due(struct sessions *ss, uint32_t session, uint64_t now_ns,
    struct session_due *out, size_t max)
{
	struct sessions_actor *a = actor_of(ss, session);
	size_t n;

	if (!a)
		return 0;
	if (now_ns > a->began_ns + ss->time_ns) {
		a->told = false;
		return 0;
	}
	n = session_run_due(a->run, now_ns, out, max);
	if (n > 0 && !a->begun) {
		a->begun = true;
		ss->stats.replayed++;
	}
	for (size_t i = 0; i < n; i++)
		ss->stats.wanted += !out[i].again;
	return n;
}

const struct predictor_session_stats *sessions_stats(const struct sessions *ss)
{
	return &ss->stats;
}
