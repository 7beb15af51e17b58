/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pinned trees: the list, and when each is walked. A tree is walked at once
 * when a user pins it. Of the walks that follow later one goes on at a time, as
 * walks share the link with everything else, and only after somebody has used
 * the server, so that the link is silent when nobody does. */
#include "warm/pins.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cache/caches.h"
#include "config/places.h"
#include "warm/pins_private.h"

_Static_assert((int)PINS_MAX <= (int)DATACACHE_PINS, "each pin needs a bit");

/* When a tree is walked again. */
enum {
	AGAIN_US = 600000000,
	CHANGED_US = 60000000,
	/* The files of a tree that is walked are saved so often. */
	SAVE_US = 10000000,
};

void pin_clear(struct pin *pin)
{
	free(pin->export);
	free(pin->path);
	memset(pin, 0, sizeof(*pin));
}

/* The pin's number, by its place. */
static unsigned number_of(const struct pins *ps, const struct pin *pin)
{
	return (unsigned)(pin - ps->pins);
}

/* ---- walks ------------------------------------------------------------ */

/* Begins the walk of a pin: 0, or -errno of warm_begin_pin(). From here on the
 * data cache notes which files of the pin the walk meets. */
static int walk_begin(
    struct pins *ps, struct pin *pin, bool asked, uint64_t now_us)
{
	unsigned id = number_of(ps, pin);
	struct user who = {.uid = pin->uid,
	    .gid = pin->gid,
	    .groups = pin->groups,
	    .ngroups = pin->ngroups};

	pin->walk =
	    warm_begin_pin(ps->p.warm, &who, pin->export, pin->path, id, asked);
	if (!pin->walk)
		return -errno;
	pin->begun_us = now_us;
	pin->changed = false;
	datacache_pin_begin(ps->p.caches->data, id);
	return 0;
}

/* The walk is over: takes over what came of it. Files that it did not meet lose
 * the pin, but only if all of the tree was looked at. */
static void walk_end(struct pins *ps, struct pin *pin)
{
	struct warm_progress *p = &pin->last;

	warm_get_progress(pin->walk, p);
	warm_end(pin->walk);
	pin->walk = NULL;
	pin->whole = p->state == WARM_DONE && p->failed == 0 && !p->full;
	/* Where not all was looked at, what was not met may be there yet. */
	if (p->state == WARM_DONE && p->failed == 0)
		datacache_pin_end(ps->p.caches->data, number_of(ps, pin));
	if (pin->whole)
		pin->walked_s = clock_real_us() / 1000000;
	ps->dirty = true;
	log_info("pins server=%s pin=%u files=%" PRIu64
		 " fetched_bytes=%" PRIu64 " refused=%" PRIu64
		 " failed=%" PRIu64 " loops=%" PRIu64 "%s: %s",
	    ps->p.server, number_of(ps, pin), p->files, p->fetched_bytes,
	    p->refused, p->failed, p->loops, p->full ? " full" : "",
	    p->endless ? "the tree has no end" : "walked");
}

/* Notices that a walk has ended by itself. */
static void walk_look(struct pins *ps, struct pin *pin)
{
	struct warm_progress p;

	if (!pin->walk)
		return;
	warm_get_progress(pin->walk, &p);
	if (p.state != WARM_WALKS)
		walk_end(ps, pin);
}

/* Whether a tree is to be walked again. */
static bool is_due(const struct pin *pin, uint64_t now_us)
{
	uint64_t ago_us = now_us - pin->begun_us;

	return pin->export && (pin->begun_us == 0 || ago_us >= AGAIN_US ||
				  (pin->changed && ago_us >= CHANGED_US));
}

/* The pin that has waited longest; NULL: none is due, or one is walked. */
static struct pin *next_due(struct pins *ps, uint64_t now_us)
{
	struct pin *next = NULL;

	for (unsigned i = 0; i < PINS_MAX; i++) {
		struct pin *pin = &ps->pins[i];

		if (pin->walk)
			return NULL;
		if (is_due(pin, now_us) &&
		    (!next || pin->begun_us < next->begun_us))
			next = pin;
	}
	return next;
}

void pins_tick(struct pins *ps, bool demand, uint64_t now_us)
{
	uint32_t changed;
	bool walks = false, later;
	struct pin *pin;

	if (!ps->p.caches->data)
		return;
	changed = datacache_pins_changed(ps->p.caches->data);
	for (unsigned i = 0; i < PINS_MAX; i++) {
		pin = &ps->pins[i];
		/* A walk finds out by itself. */
		if (pin->export && !pin->walk && (changed >> i & 1))
			pin->changed = true;
		walk_look(ps, pin);
		walks = walks || pin->walk;
	}
	pin = demand ? next_due(ps, now_us) : NULL;
	if (pin && walk_begin(ps, pin, false, now_us) < 0)
		pin->begun_us = now_us;
	later = now_us - ps->saved_us >= SAVE_US;
	if ((ps->dirty && (!ps->error || later)) || (walks && later))
		pins_file_save(ps, now_us);
}

/* ---- the list --------------------------------------------------------- */

/* Whether the pin is of that tree. */
static bool is_at(const struct pin *pin, const char *export, const char *path)
{
	return pin->export && strcmp(pin->export, export) == 0 &&
	       strcmp(pin->path, path) == 0;
}

/* The user's pin of this tree, or a free one; NULL where there are enough. */
static struct pin *find_or_free(
    struct pins *ps, uint32_t uid, const char *export, const char *path)
{
	static const struct places let = {PINS_MAX, PINS_KEPT, PINS_UID_MAX};
	struct pin *empty = NULL;
	unsigned taken = 0, own = 0;

	for (unsigned i = 0; i < PINS_MAX; i++) {
		struct pin *pin = &ps->pins[i];

		if (!pin->export) {
			empty = empty ? empty : pin;
			continue;
		}
		if (pin->uid == uid && is_at(pin, export, path))
			return pin;
		taken++;
		own += pin->uid == uid;
	}
	return places_let(&let, uid, taken, own) ? empty : NULL;
}

/* The pin has the user's rights of now; groups beyond the bound are left out,
 * which can only take rights away. */
static void set_user(struct pin *pin, const struct user *who)
{
	pin->uid = (uint32_t)who->uid;
	pin->gid = (uint32_t)who->gid;
	pin->ngroups = 0;
	for (size_t i = 0; i < who->ngroups && i < PIN_GROUPS_MAX; i++)
		pin->groups[pin->ngroups++] = who->groups[i];
}

int pins_add(struct pins *ps, const struct user *who, const char *export,
    const char *path, unsigned *id)
{
	struct pin *pin;
	bool was_pinned;
	int rc = 0;

	if (!ps->p.caches->data)
		return -ENODEV;
	pin = find_or_free(ps, (uint32_t)who->uid, export, path);
	if (!pin)
		return -ENOSPC;
	was_pinned = pin->export != NULL;
	if (!was_pinned) {
		pin->export = strdup(export);
		pin->path = strdup(path);
	}
	set_user(pin, who);
	walk_look(ps, pin);
	if (!pin->export || !pin->path)
		rc = -ENOMEM;
	else if (!pin->walk)
		rc = walk_begin(ps, pin, true, clock_now_us());
	if (rc < 0 && !was_pinned)
		pin_clear(pin);
	if (rc < 0)
		return rc;
	*id = number_of(ps, pin);
	pins_file_save(ps, clock_now_us());
	return 0;
}

/* Removes a pin. Its data stays in the cache until its space is needed. */
static void drop(struct pins *ps, struct pin *pin)
{
	if (pin->walk)
		warm_end(pin->walk);
	pin->walk = NULL;
	if (ps->p.caches->data)
		datacache_unpin(ps->p.caches->data, number_of(ps, pin));
	pin_clear(pin);
}

unsigned pins_remove(
    struct pins *ps, uint32_t uid, const char *export, const char *path)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PINS_MAX; i++) {
		struct pin *pin = &ps->pins[i];

		if (!is_at(pin, export, path) || (uid != 0 && pin->uid != uid))
			continue;
		drop(ps, pin);
		n++;
	}
	if (n > 0)
		pins_file_save(ps, clock_now_us());
	return n;
}

bool pins_sizes_step(
    struct pins *ps, struct datacache_pin_walk *sizes, size_t n)
{
	return !ps->p.caches->data ||
	       datacache_pin_stats_step(ps->p.caches->data, sizes, n);
}

bool pins_get(struct pins *ps, unsigned id,
    const struct datacache_pin_walk *sizes, struct pins_info *out)
{
	struct pin *pin = id < PINS_MAX ? &ps->pins[id] : NULL;
	struct datacache_pin_stats st = {0};

	if (!pin || !pin->export)
		return false;
	walk_look(ps, pin);
	if (sizes)
		st = sizes->pins[id];
	*out = (struct pins_info){.uid = pin->uid,
	    .export = pin->export,
	    .path = pin->path,
	    .files = st.files,
	    .bytes = st.bytes,
	    .cached_bytes = st.cached_bytes,
	    .walking = pin->walk != NULL,
	    .walked_s = pin->walked_s,
	    .walk = pin->last};
	out->complete = pin->whole && st.cached_bytes >= st.bytes;
	if (pin->walk)
		warm_get_progress(pin->walk, &out->walk);
	return true;
}

void pins_room(struct pins *ps, uint64_t *bytes, uint64_t *limit_bytes)
{
	const struct datacache *dc = ps->p.caches->data;

	*limit_bytes = dc ? datacache_pin_limit_bytes(dc) : 0;
	*bytes = dc ? datacache_pinned_bytes(dc) : 0;
}

/* ---- making one ------------------------------------------------------- */

void pins_set_file(
    struct pins *ps, const char *path, const struct statefile_text *text)
{
	int rc;

	if (ps->path[0] || !path[0])
		return;
	snprintf(ps->path, sizeof(ps->path), "%s", path);
	rc = pins_file_load(ps, text);
	if (rc < 0 && rc != -ENOENT)
		log_warn("pins server=%s file=%s: %s; nothing is pinned",
		    ps->p.server, ps->path,
		    rc == -EBADMSG ? "it is damaged, and is set aside"
				   : strerror(-rc));
}

struct pins *pins_new(const struct pins_params *p)
{
	struct pins *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->p = *p;
	pins_set_file(ps, p->path, p->text);
	return ps;
}

/* Ends all walks; what they have pinned until now is to be saved. */
static void end_walks(struct pins *ps)
{
	for (unsigned i = 0; i < PINS_MAX; i++) {
		if (!ps->pins[i].walk)
			continue;
		warm_end(ps->pins[i].walk);
		ps->pins[i].walk = NULL;
		ps->dirty = true;
	}
}

bool pins_settle(struct pins *ps, uint64_t now_us)
{
	end_walks(ps);
	if (!ps->saving && (!ps->dirty || !ps->path[0]))
		return true;
	if (!ps->saving)
		pins_file_save(ps, now_us);
	return false;
}

void pins_finish(struct pins *ps)
{
	end_walks(ps);
	pins_file_finish(ps);
}

void pins_free(struct pins *ps)
{
	if (!ps)
		return;
	end_walks(ps);
	for (unsigned i = 0; i < PINS_MAX; i++)
		pin_clear(&ps->pins[i]);
	free(ps);
}
