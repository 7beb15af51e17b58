/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned trees: a user's own; root's are everybody's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/user.h"
#include "control/control_reply_private.h"
#include "datacache/datacache.h"
#include "warm/pins.h"

enum { SIZES_STEPS = 2048 }; /* in a turn: about half a millisecond */

/* The sizes of what is pinned, of one server after the other. */
struct sizing {
	struct control_work work;
	struct datacache_pin_walk *walks;
	size_t n, at;
};

/* One request, and what it is answered. */
struct pinning {
	struct reply *r;
	const Forefetch__PinRequest *request;
	Forefetch__Pins *out;
	size_t room;
	const struct sizing *sizing; /* NULL: without sizes */
	size_t server;               /* the next one, in its order */
	bool walks; /* the one asked for does, or is not seen */
};

static Forefetch__Pins *pins_reply(struct reply *r)
{
	Forefetch__Pins *out = reply_alloc(r, 1, sizeof(*out));

	if (!out)
		return NULL;
	forefetch__pins__init(out);
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_PINS;
	r->res.pins = out;
	return out;
}

static bool may_see(const struct reply *r, const struct pins_info *info)
{
	return r->peer->uid == 0 || r->peer->uid == info->uid;
}

static void add_pin(struct pinning *p, const char *server, struct pins *ps,
    unsigned id, const struct datacache_pin_walk *sizes)
{
	struct pins_info info;
	Forefetch__Pin *msg;

	if (!pins_get(ps, id, sizes, &info) || !may_see(p->r, &info) ||
	    p->out->n_pins == p->room)
		return;
	msg = reply_alloc(p->r, 1, sizeof(*msg));
	if (!msg)
		return;
	forefetch__pin__init(msg);
	msg->id = id + 1;
	msg->server = reply_bytes(server);
	msg->export = reply_bytes(info.export);
	msg->path = reply_bytes(info.path);
	msg->uid = info.uid;
	msg->files = info.files;
	msg->bytes = info.bytes;
	msg->cached_bytes = info.cached_bytes;
	msg->complete = info.complete;
	msg->walks = info.walking;
	msg->walked_s = info.walked_s;
	msg->walk = reply_warmed(p->r, &info.walk);
	p->out->pins[p->out->n_pins++] = msg;
}

static bool make_room(struct pinning *p, size_t room)
{
	p->room = room;
	p->out->pins = reply_alloc(p->r, room, sizeof(Forefetch__Pin *));
	return p->out->pins != NULL;
}

/* ---- list ------------------------------------------------------------- */

static void sizing_free(struct control_work *w)
{
	struct sizing *s = (struct sizing *)w;

	free(s->walks);
	free(s);
}

/* NULL: later, or without memory. */
static struct sizing *sizing_get(struct reply *r, size_t servers)
{
	struct sizing *s = (struct sizing *)reply_work(r);

	if (s || r->later)
		return s;
	s = calloc(1, sizeof(*s));
	r->failed = !s;
	if (!s)
		return NULL;
	s->work.free = sizing_free;
	r->session->work = &s->work;
	s->n = servers;
	s->walks = calloc(servers, sizeof(*s->walks));
	r->failed = !s->walks;
	return s->walks ? s : NULL;
}

static void count_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct pinning *p = arg;

	(void)m;
	p->room += reply_wants(&p->request->server, name) ? PINS_MAX : 0;
}

static void measure_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct pinning *p = arg;
	struct sizing *s = (struct sizing *)p->r->session->work;

	(void)m;
	if (!reply_wants(&p->request->server, name) || p->server++ != s->at)
		return;
	if (pins_sizes_step(p->r->ops->pins(p->r->ctx, name), &s->walks[s->at],
		SIZES_STEPS))
		s->at++;
}

static void list_on_server(void *arg, const char *name, const struct metrics *m)
{
	struct pinning *p = arg;
	const struct datacache_pin_walk *sizes = NULL;
	uint64_t bytes, limit_bytes;
	struct pins *ps;

	(void)m;
	if (!reply_wants(&p->request->server, name))
		return;
	if (p->sizing)
		sizes = &p->sizing->walks[p->server++];
	ps = p->r->ops->pins(p->r->ctx, name);
	if (p->request->id > 0) {
		add_pin(p, name, ps, p->request->id - 1, sizes);
		return;
	}
	for (unsigned id = 0; id < PINS_MAX; id++)
		add_pin(p, name, ps, id, sizes);
	pins_room(ps, &bytes, &limit_bytes);
	p->out->pinned_bytes += bytes;
	p->out->limit_bytes += limit_bytes;
}

static void walks_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct pinning *p = arg;
	struct pins_info info;

	(void)m;
	p->walks = p->walks || (reply_wants(&p->request->server, name) &&
				   pins_get(p->r->ops->pins(p->r->ctx, name),
				       p->request->id - 1, NULL, &info) &&
				   (info.walking || !may_see(p->r, &info)));
}

/* While a walk goes on, who watches it is told no sizes. */
static bool wants_sizes(struct pinning *p)
{
	if (p->request->id == 0)
		return true;
	p->r->ops->each_server(p->r->ctx, walks_on_server, p);
	return !p->walks;
}

static bool measure(struct pinning *p)
{
	struct reply *r = p->r;
	struct sizing *s = sizing_get(r, p->room / PINS_MAX);

	if (!s)
		return false;
	p->server = 0;
	r->ops->each_server(r->ctx, measure_on_server, p);
	r->later = s->at < s->n;
	p->server = 0;
	p->sizing = s;
	return !r->later;
}

static void list(struct reply *r, const Forefetch__PinRequest *request)
{
	struct pinning p = {.r = r, .request = request};

	r->ops->each_server(r->ctx, count_on_server, &p);
	if (p.room == 0) {
		reply_error(
		    r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER, "no such server");
		return;
	}
	if (wants_sizes(&p) && !measure(&p))
		return;
	p.out = pins_reply(r);
	if (p.out && make_room(&p, p.room))
		r->ops->each_server(r->ctx, list_on_server, &p);
}

/* ---- changes ---------------------------------------------------------- */

static void add_error(struct reply *r, int error)
{
	switch (error) {
	case ENOSPC:
		reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
		    "too many trees are pinned; unpin one, or pin a directory "
		    "that holds several");
		return;
	case ENODEV:
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd caches no data of this server; its log says "
		    "why");
		return;
	default:
		reply_place_error(r, error);
	}
}

static void add(struct reply *r, struct pins *ps, const char *server,
    const struct control_place *at)
{
	struct user who = {.uid = r->peer->uid,
	    .gid = r->peer->gid,
	    .groups = r->peer->groups,
	    .ngroups = r->peer->groups_len};
	struct pinning p = {.r = r};
	unsigned id;
	int rc = pins_add(ps, &who, at->export, at->path, &id);

	if (rc < 0) {
		add_error(r, -rc);
		return;
	}
	p.out = pins_reply(r);
	if (p.out && make_room(&p, 1))
		add_pin(&p, server, ps, id, NULL);
}

static void remove_pin(
    struct reply *r, struct pins *ps, const struct control_place *at)
{
	unsigned n =
	    pins_remove(ps, (uint32_t)r->peer->uid, at->export, at->path);
	Forefetch__Pins *out;

	if (n == 0) {
		reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE,
		    "that is not pinned, or not by you; \"forefetch pin "
		    "--list\" shows what is");
		return;
	}
	out = pins_reply(r);
	if (out)
		out->removed = n;
}

void reply_pin(struct reply *r, const Forefetch__PinRequest *request)
{
	struct control_place at = {0};
	const char *server;
	struct pins *ps;

	if (request->action == FOREFETCH__PIN_ACTION__PIN_LIST) {
		list(r, request);
		return;
	}
	if (!reply_place(r, request->place, &at))
		return;
	ps = r->ops->pins_at(r->ctx, &at, &server);
	if (!ps)
		reply_place_error(r, ENOENT);
	else if (request->action == FOREFETCH__PIN_ACTION__PIN_ADD)
		add(r, ps, server, &at);
	else if (request->action == FOREFETCH__PIN_ACTION__PIN_REMOVE)
		remove_pin(r, ps, &at);
	else
		reply_error(r, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND,
		    "forefetchd does not know this command");
}
