/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned trees: a user's own; root's are everybody's. Changes are done at once.
 * A list has the sizes of what is pinned, which are summed up over all extents
 * in the data cache, a part in each turn. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "control/control_reply_private.h"
#include "datacache/datacache.h"
#include "warm/pins.h"

enum { SIZES_STEPS = 2048 }; /* in a turn: about half a millisecond */

/* The sizes of what is pinned, of one server after the other. */
struct sizing {
	struct control_work work;
	/* One a server, with sizes by pin; `n` of them, and the servers before
	 * `at` are done. */
	struct datacache_pin_walk *walks;
	size_t n, at;
};

/* Whether the peer may know of a pin, whose path would tell what somebody works
 * on. */
static bool may_see(const struct reply *r, const struct pins_info *info)
{
	return r->peer->uid == 0 || r->peer->uid == info->uid;
}

/* Adds one pin to the answer, if there is one of that id and the peer may see
 * it. `out` has room for it. Without `sizes`, sizes are 0. */
static void add_pin(struct reply *r, const struct control_server *srv,
    unsigned id, const struct datacache_pin_walk *sizes, Forefetch__Pins *out)
{
	struct pins_info info;
	Forefetch__Pin *msg;

	if (!pins_get(srv->pins, id, sizes, &info) || !may_see(r, &info))
		return;
	msg = arena_message(&r->arena, &forefetch__pin__descriptor);
	if (!msg)
		return;
	msg->id = id + 1;
	msg->server = reply_bytes(srv->name);
	msg->export = reply_bytes(info.export);
	msg->export_path = arena_bytes(&r->arena, "%s%s%s", info.export,
	    *info.path && info.export[strlen(info.export) - 1] != '/' ? "/"
								      : "",
	    info.path);
	msg->uid = info.uid;
	msg->files = info.files;
	msg->bytes = info.bytes;
	msg->cached_bytes = info.cached_bytes;
	msg->complete = info.complete;
	msg->walks = info.walking;
	msg->walked_unix_seconds = info.walked_s;
	msg->walk = reply_warmed(r, &info.walk);
	out->pins[out->n_pins++] = msg;
}

static bool make_room(struct reply *r, size_t n, Forefetch__Pins *out)
{
	out->pins = arena_alloc(&r->arena, n, sizeof(*out->pins));
	return out->pins != NULL;
}

/* ---- list ------------------------------------------------------------- */

static void sizing_free(struct control_work *w)
{
	struct sizing *s = (struct sizing *)w;

	free(s->walks);
	free(s);
}

/* Whether the answer has sizes. A client that waits for a walk asks several
 * times a second and needs only its progress, so it is told none until the
 * end. */
static bool wants_sizes(struct reply *r, const Forefetch__PinRequest *request)
{
	struct reply_servers s = {.reply = r, .filter = &request->server};
	struct pins_info info;

	while (request->id > 0 && reply_next(&s))
		if (pins_get(s.at.pins, request->id - 1, NULL, &info) &&
		    (info.walking || !may_see(r, &info)))
			return false;
	return true;
}

/* Goes on with the sizes of the `n` servers' pins; NULL: they are not complete
 * yet, or memory is short. */
static const struct sizing *measure(
    struct reply *r, const Forefetch__PinRequest *request, size_t n)
{
	struct reply_servers s = {.reply = r, .filter = &request->server};
	bool begun;
	struct sizing *z = reply_work(r, sizeof(*z), sizing_free, &begun);

	if (z && begun) {
		z->n = n;
		z->walks = calloc(n, sizeof(*z->walks));
		r->arena.failed = !z->walks;
	}
	if (!z || !z->walks)
		return NULL;
	/* These are the servers of the first turn (struct control_work). */
	assert(z->n == n);
	for (size_t i = 0; reply_next(&s); i++)
		if (i == z->at &&
		    pins_sizes_step(s.at.pins, &z->walks[i], SIZES_STEPS))
			z->at++;
	r->later = z->at < z->n;
	return r->later ? NULL : z;
}

static void list(
    struct reply *r, const Forefetch__PinRequest *request, Forefetch__Pins *out)
{
	struct reply_servers s = {.reply = r, .filter = &request->server};
	const struct sizing *z = NULL;
	size_t n;

	if (!reply_count(r, &request->server, &n))
		return;
	if (wants_sizes(r, request)) {
		z = measure(r, request, n);
		if (!z)
			return;
	}
	if (!make_room(r, n * PINS_MAX, out))
		return;
	for (size_t i = 0; reply_next(&s); i++) {
		const struct datacache_pin_walk *sizes =
		    z ? &z->walks[i] : NULL;
		uint64_t bytes, limit_bytes;

		if (request->id > 0) {
			add_pin(r, &s.at, request->id - 1, sizes, out);
			continue;
		}
		for (unsigned id = 0; id < PINS_MAX; id++)
			add_pin(r, &s.at, id, sizes, out);
		pins_room(s.at.pins, &bytes, &limit_bytes);
		out->pinned_bytes += bytes;
		out->limit_bytes += limit_bytes;
	}
}

/* ---- changes ---------------------------------------------------------- */

/* Pins a place with the rights of the peer. The answer has only that pin. */
static void add(struct reply *r, const struct control_server *srv,
    const struct control_place *at, Forefetch__Pins *out)
{
	struct user who = reply_user(r);
	unsigned id;
	int rc = pins_add(srv->pins, &who, at->export, at->path, &id);

	if (rc < 0)
		reply_place_error(r, -rc);
	else if (make_room(r, 1, out))
		add_pin(r, srv, id, NULL, out);
}

/* Removes the peer's pin of a place; root's request removes those of all users.
 * The answer is a message of its own, with a number of its own. */
static void remove_pin(struct reply *r, const struct control_server *srv,
    const struct control_place *at)
{
	unsigned n = pins_remove(
	    srv->pins, (uint32_t)r->peer->uid, at->export, at->path);
	Forefetch__Unpinned *out =
	    arena_message(&r->arena, &forefetch__unpinned__descriptor);

	if (n == 0) {
		reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE,
		    "that is not pinned, or not by you; \"forefetch "
		    "pins\" shows the pins");
	} else if (out) {
		out->removed = n;
		r->res.result_case = FOREFETCH__RESPONSE__RESULT_UNPIN;
		r->res.unpin = out;
	}
}

void reply_pin(struct reply *r, const Forefetch__Request *request, void *out)
{
	struct control_server srv;
	struct control_place at;

	if (request->pin->action == FOREFETCH__PIN_ACTION__PIN_LIST) {
		list(r, request->pin, out);
		return;
	}
	if (!reply_server_at(r, request->pin->place, &at, &srv))
		return;
	if (request->pin->action == FOREFETCH__PIN_ACTION__PIN_ADD)
		add(r, &srv, &at, out);
	else if (request->pin->action == FOREFETCH__PIN_ACTION__PIN_REMOVE)
		remove_pin(r, &srv, &at);
	else
		reply_unknown_command(r);
}
