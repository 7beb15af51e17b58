/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks: how they begin and end, their stacks of items, and their turns. A walk
 * is a job in the last lane of the want queue, which gives it a turn when
 * nothing more urgent waits; in a turn it looks at the item on top of its
 * stack. */
#include "warm/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "base/clock.h"
#include "config/config.h"
#include "config/exportpath.h"
#include "config/places.h"
#include "nfsproto/nfs3_object.h"
#include "link/budget.h"
#include "prefetch/ground/ground.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "warm/warm_private.h"

enum {
	PROBE_US = 500000,  /* between two looks whether the link takes more */
	QUIET_US = 1000000, /* without calls of clients, before such a look */
	POLL_US = 20000,    /* while the link has no room */
	HELD_US = 1000000,  /* while calls ahead are held back */
	ITEMS_MIN = 64,     /* room that is made first */
};

nfs3_fh item_fh(const struct item *it)
{
	return (nfs3_fh){.len = it->fh_len, .data = it->fh};
}

/* ---- what is to be looked at ------------------------------------------ */

/* Room for one more item; false without memory, or where the stack is as long
 * as it may be. */
static bool make_room(struct warm_walk *w)
{
	size_t size = w->size ? w->size * 2 : ITEMS_MIN;
	struct item *items;

	if (w->nitems < w->size)
		return true;
	if (w->size >= WARM_ITEMS_MAX)
		return false;
	items = reallocarray(w->items, size, sizeof(*items));
	if (!items)
		return false;
	w->items = items;
	w->size = size;
	return true;
}

void warm_push(struct warm_walk *w, const struct item *it)
{
	if (make_room(w)) {
		w->items[w->nitems++] = *it;
		return;
	}
	w->p.failed++;
	free(it->name);
}

void warm_push_new(struct warm_walk *w, enum item_kind kind, const nfs3_fh *fh,
    const nfs3_name *name, bool root)
{
	struct item it = {
	    .kind = (uint8_t)kind, .root = root, .fh_len = (uint8_t)fh->len};

	memcpy(it.fh, fh->data, fh->len);
	if (name)
		it.name = strndup(name->data, name->len);
	if (name && !it.name)
		w->p.failed++;
	else
		warm_push(w, &it);
}

/* Adds a directory that the walk has not met. A walk of a user leaves an eighth
 * of all places to root's and the daemon's. */
static void push_directory(struct warm_walk *w, const nfs3_fh *fh, bool root)
{
	struct item it = {.kind = ITEM_DIR,
	    .root = root,
	    .met = true,
	    .fh_len = (uint8_t)fh->len};
	int rc = -ENOSPC;

	w->p.endless |= w->dirs.count >= WARM_DIRS_MAX;
	if (!w->p.endless &&
	    w->warm->ndirs < (places_owner(w->uid) ? WARM_DIRS_ALL_MAX
						   : WARM_DIRS_ALL_MAX / 8 * 7))
		rc = dirset_add(&w->dirs, fh);
	w->p.loops += rc == 0;
	w->p.failed += rc < 0;
	if (rc <= 0)
		return;
	w->warm->ndirs++;
	memcpy(it.fh, fh->data, fh->len);
	warm_push(w, &it);
}

void warm_push_object(
    struct warm_walk *w, const nfs3_fh *fh, ftype3 type, bool root)
{
	if (type == NF3DIR)
		push_directory(w, fh, root);
	else if (type == NF3REG)
		warm_push_new(w, ITEM_FILE, fh, NULL, root);
	else if (type == NF3LNK)
		warm_push_new(w, ITEM_LINK, fh, NULL, root);
	else
		w->p.others++;
}

bool warm_skips(const nfs3_name *name)
{
	static const char *const names[] = {".snapshot", ".zfs"};

	if (nfs3_name_is_dots(name) || name->len == 0)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name->len == strlen(names[i]) &&
		    memcmp(name->data, names[i], name->len) == 0)
			return true;
	return false;
}

/* ---- the link --------------------------------------------------------- */

bool warm_probe(struct warm *wm, uint64_t bytes, uint64_t now_us)
{
	if (now_us - wm->demand_us < QUIET_US || !linkest_rate_Bps(wm->p.link))
		return false;
	if (now_us - wm->probed_us >= PROBE_US) {
		wm->probed_us = now_us;
		wm->probe_bytes =
		    budget_limit_bytes(prefetch_budget(wm->p.prefetch));
	}
	if (wm->probe_bytes < bytes)
		return false;
	wm->probe_bytes -= bytes;
	return true;
}

/* ---- turns ------------------------------------------------------------ */

static struct warm_walk *walk_of(struct want_owner *o)
{
	return container_of(o, struct warm_walk, job);
}

/* The walk is over: gives back everything but what progress tells. */
static void finish(struct warm_walk *w)
{
	if (w->p.state == WARM_WALKS)
		w->p.state = WARM_DONE;
	w->ended_us = clock_now_us();
	while (w->nitems > 0)
		free(w->items[--w->nitems].name);
	w->warm->ndirs -= w->dirs.count;
	dirset_clear(&w->dirs);
}

/* The queue has no place for the walk any more. */
static void on_end(struct want_owner *o, bool given_up)
{
	(void)given_up;
	finish(walk_of(o));
}

/* The item on top of the stack has its turn. */
static enum step on_turn(
    struct want_owner *o, uint64_t now_us, uint64_t *wait_us)
{
	struct warm_walk *w = walk_of(o);
	struct warm *wm = w->warm;
	enum step step = STEP_BLOCKED;
	struct item it;

	if (w->p.state != WARM_WALKS || (w->nitems == 0 && w->nflights == 0))
		return STEP_DONE;
	if (w->nitems == 0)
		return STEP_WAITS;
	*wait_us = HELD_US;
	if (!hold_lets(
		prefetch_hold(wm->p.prefetch), w->asked, CONFIRM_BYTES, now_us))
		return STEP_BLOCKED;
	if (prefetch_sees_demand(wm->p.prefetch))
		wm->demand_us = now_us;
	*wait_us = 0;
	if (wm->flights.n < WARM_FLIGHTS_MAX) {
		it = w->items[--w->nitems];
		step = warm_step(w, &it, now_us, wait_us);
		if (step != STEP_DONE)
			warm_push(w, &it);
	}
	/* There may be room to probe before a reply comes. */
	if (*wait_us == 0 || *wait_us > POLL_US)
		*wait_us = POLL_US;
	return step == STEP_DONE ? STEP_MORE : step;
}

/* ---- walks ------------------------------------------------------------ */

/* Frees a walk that is finished. */
static void walk_free(struct warm_walk *w)
{
	if (w->cred)
		credential_unref(w->cred);
	free(w->export);
	free(w->items);
	free(w);
}

static struct warm_walk *walk_new(struct warm *wm, const struct user *who,
    const char *export, const char *path)
{
	struct warm_walk *w = calloc(1, sizeof(*w));
	struct item it = {.kind = ITEM_MOUNT, .root = true};

	if (!w)
		return NULL;
	w->warm = wm;
	w->job.on_end = on_end;
	w->job.on_turn = on_turn;
	w->export = strdup(export);
	it.name = strdup(path);
	w->cred =
	    credentials_of_user(prefetch_credentials(wm->p.prefetch), who);
	if (w->export && it.name && w->cred)
		warm_push(w, &it);
	else
		free(it.name);
	if (w->nitems > 0 &&
	    want_add_job(prefetch_queue(wm->p.prefetch), w->cred, &w->job))
		return w;
	finish(w);
	walk_free(w);
	return NULL;
}

/* Whether the user may begin one more walk. */
static bool has_place(const struct warm *wm, uid_t uid)
{
	static const struct places let = {
	    WARM_WALKS_MAX, WARM_WALKS_KEPT, WARM_WALKS_UID};
	const struct warm_walk *w;
	unsigned own = 0;

	LIST_FOREACH (w, &wm->walks, link)
		own += w->uid == uid;
	return places_let(&let, uid, wm->nwalks, own);
}

static struct warm_walk *begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data, int pin, bool asked)
{
	struct warm_walk *w;
	nfs3_fh root;

	errno = exportpath_check(wm->p.config, export, path);
	/* Whoever asks has it mounted. A pin's walk that goes on later had. */
	if (!errno && asked && !places_owner(who->uid) &&
	    !caches_mounted(wm->p.caches, export, &root))
		errno = ENOENT;
	if (!errno && !has_place(wm, who->uid))
		errno = EBUSY;
	if (errno)
		return NULL;
	w = walk_new(wm, who, export, path);
	errno = ENOMEM;
	if (!w)
		return NULL;
	w->uid = who->uid;
	w->data = data;
	w->pin = pin;
	w->asked = asked;
	w->begun_us = clock_now_us();
	LIST_INSERT_HEAD(&wm->walks, w, link);
	wm->nwalks++;
	prefetch_wake(wm->p.prefetch, w->begun_us);
	return w;
}

struct warm_walk *warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data)
{
	return begin(wm, who, export, path, data, -1, true);
}

struct warm_walk *warm_begin_pin(struct warm *wm, const struct user *who,
    const char *export, const char *path, unsigned pin, bool asked)
{
	return begin(wm, who, export, path, true, (int)pin, asked);
}

void warm_end(struct warm_walk *w)
{
	warm_flights_leave(w);
	want_disown(&w->job);
	finish(w);
	LIST_REMOVE(w, link);
	w->warm->nwalks--;
	walk_free(w);
}

void warm_get_progress(const struct warm_walk *w, struct warm_progress *out)
{
	uint64_t now_us = clock_now_us();
	struct hold_status hold;

	hold_get_status(prefetch_hold(w->warm->p.prefetch), now_us, &hold);
	*out = w->p;
	out->paused = w->job.want && hold.paused;
	out->metered = hold.metered;
	out->waits = w->job.want && prefetch_holds_jobs(w->warm->p.prefetch);
	out->left = w->nitems + w->nflights;
	out->elapsed_us = (w->ended_us ? w->ended_us : now_us) - w->begun_us;
	/* It ends when its last reply has come. */
	if (out->state == WARM_DONE && !w->ended_us)
		out->state = WARM_WALKS;
}

/* ---- making one ------------------------------------------------------- */

struct warm *warm_new(const struct warm_params *p)
{
	struct warm *wm = calloc(1, sizeof(*wm));

	if (!wm)
		return NULL;
	wm->p = *p;
	LIST_INIT(&wm->walks);
	warm_flights_init(wm);
	return wm;
}

void warm_free(struct warm *wm)
{
	if (!wm)
		return;
	while (!LIST_EMPTY(&wm->walks))
		warm_end(LIST_FIRST(&wm->walks));
	flights_free(&wm->flights);
	free(wm);
}

void warm_set_disk(struct warm *wm, uint64_t disk_bytes)
{
	wm->p.disk_bytes = disk_bytes;
}

void warm_set_config(struct warm *wm, const struct config_server *config)
{
	wm->p.config = config;
}
