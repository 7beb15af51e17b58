/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "warm/warm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "cache/user.h"
#include "config/config.h"
#include "config/exportpath.h"
#include "nfsproto/nfs3_object.h"
#include "warm/warm_private.h"

enum {
	TURN_STEPS = 64, /* of a walk, in one turn of the loop */
	PROBE_US = 500000,
	QUIET_US = 1000000,
	POLL_US = 20000, /* while others go first, or the server is away */
	ITEMS_MIN = 64,  /* room that is made first */
};

nfs3_fh item_fh(const struct item *it)
{
	return (nfs3_fh){.len = it->fh_len, .data = it->fh};
}

void warm_wake(struct warm *wm)
{
	event_active(wm->ev, EV_TIMEOUT, 1);
}

/* ---- what is to be looked at ------------------------------------------ */

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

static void set_fh(struct item *it, const nfs3_fh *fh)
{
	it->fh_len = (uint8_t)fh->len;
	memcpy(it->fh, fh->data, fh->len);
}

void warm_push_object(
    struct warm_walk *w, const nfs3_fh *fh, ftype3 type, bool root)
{
	struct item it = {.root = root};

	set_fh(&it, fh);
	switch (type) {
	case NF3DIR:
		it.kind = ITEM_DIR;
		break;
	case NF3REG:
		it.kind = ITEM_FILE;
		break;
	case NF3LNK:
		it.kind = ITEM_LINK;
		break;
	default:
		w->p.others++;
		return;
	}
	warm_push(w, &it);
}

void warm_push_name(
    struct warm_walk *w, const nfs3_fh *dir, const nfs3_name *name)
{
	struct item it = {.kind = ITEM_NAME};

	set_fh(&it, dir);
	it.name = strndup(name->data, name->len);
	if (it.name)
		warm_push(w, &it);
	else
		w->p.failed++;
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
		wm->probe_bytes = budget_limit_bytes(wm->p.budget);
	}
	if (wm->probe_bytes < bytes)
		return false;
	wm->probe_bytes -= bytes;
	return true;
}

/* ---- turns ------------------------------------------------------------ */

static void finish(struct warm_walk *w, uint64_t now_us)
{
	if (w->p.state == WARM_WALKS)
		w->p.state = WARM_DONE;
	w->ended_us = now_us;
	while (w->nitems > 0)
		free(w->items[--w->nitems].name);
}

/* False where it has to wait. */
static bool step_top(struct warm_walk *w, uint64_t now_us, uint64_t *wait_us)
{
	struct item it = w->items[--w->nitems];

	switch (warm_step(w, &it, now_us, wait_us)) {
	case WARM_STEP_DONE:
		return true;
	case WARM_STEP_AGAIN:
		warm_push(w, &it);
		return true;
	default:
		warm_push(w, &it);
		return false;
	}
}

static void turn(struct warm_walk *w, uint64_t now_us, uint64_t *wait_us)
{
	uint64_t us = 0;

	w->p.waits = false;
	for (int i = 0; i < TURN_STEPS && w->nitems > 0; i++) {
		if (w->warm->nflights < WARM_FLIGHTS_MAX &&
		    step_top(w, now_us, &us) && w->p.state == WARM_WALKS)
			continue;
		if (us > 0 && us < *wait_us)
			*wait_us = us;
		return;
	}
	if (w->nitems > 0)
		*wait_us = 1;
	else if (w->nflights == 0)
		finish(w, now_us);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct warm *wm = arg;
	struct warm_walk *w;
	uint64_t now_us = clock_now_us(), wait_us = POLL_US;
	bool ready = wm->p.ready(wm->p.ctx), walks = false;
	struct timeval tv;

	(void)fd;
	(void)what;
	if (wm->p.demand(wm->p.ctx) > wm->nflights)
		wm->demand_us = now_us;
	LIST_FOREACH (w, &wm->walks, link) {
		if (w->p.state != WARM_WALKS) {
			if (!w->ended_us)
				finish(w, now_us);
			continue;
		}
		walks = true;
		w->p.waits = !ready;
		if (ready)
			turn(w, now_us, &wait_us);
	}
	tv = clock_timeval(wait_us);
	if (walks)
		event_add(wm->ev, &tv);
}

/* ---- walks ------------------------------------------------------------ */

static struct warm_walk *walk_new(struct warm *wm, const struct user *who,
    const char *export, const char *path)
{
	struct warm_walk *w = calloc(1, sizeof(*w));
	struct item it = {.kind = ITEM_MOUNT, .root = true};

	if (!w)
		return NULL;
	w->warm = wm;
	w->export = strdup(export);
	it.name = strdup(path);
	w->cred_id = user_cred(wm->p.caches, who, &w->cred, w->cred_body);
	if (w->export && it.name && w->cred_id)
		warm_push(w, &it);
	else
		free(it.name);
	if (w->nitems > 0)
		return w;
	free(w->export);
	free(w->items);
	free(w);
	return NULL;
}

static struct warm_walk *begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data, int pin)
{
	mnt3_path mnt = {.data = export, .len = (uint32_t)strlen(export)};
	struct warm_walk *w;

	errno = EINVAL;
	if (mnt.len == 0 || mnt.len > MNT3_PATH_MAX ||
	    !exportpath_below_ok(path))
		return NULL;
	errno = EPERM;
	if (!exportpath_allowed(wm->p.config, &mnt))
		return NULL;
	errno = EBUSY;
	if (wm->nwalks >= WARM_WALKS_MAX)
		return NULL;
	w = walk_new(wm, who, export, path);
	errno = ENOMEM;
	if (!w)
		return NULL;
	w->data = data;
	w->pin = pin;
	w->begun_us = clock_now_us();
	LIST_INSERT_HEAD(&wm->walks, w, link);
	wm->nwalks++;
	warm_wake(wm);
	return w;
}

struct warm_walk *warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data)
{
	return begin(wm, who, export, path, data, -1);
}

struct warm_walk *warm_begin_pin(struct warm *wm, const struct user *who,
    const char *export, const char *path, unsigned pin)
{
	return begin(wm, who, export, path, true, (int)pin);
}

void warm_end(struct warm_walk *w)
{
	warm_flights_leave(w);
	finish(w, clock_now_us());
	LIST_REMOVE(w, link);
	w->warm->nwalks--;
	free(w->export);
	free(w->items);
	free(w);
}

void warm_get_progress(const struct warm_walk *w, struct warm_progress *out)
{
	*out = w->p;
	out->left = w->nitems + w->nflights;
	out->elapsed_us =
	    (w->ended_us ? w->ended_us : clock_now_us()) - w->begun_us;
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
	LIST_INIT(&wm->flights);
	wm->ev = evtimer_new(p->base, on_turn, wm);
	if (wm->ev)
		return wm;
	free(wm);
	errno = ENOMEM;
	return NULL;
}

void warm_free(struct warm *wm)
{
	if (!wm)
		return;
	while (!LIST_EMPTY(&wm->walks))
		warm_end(LIST_FIRST(&wm->walks));
	warm_flights_free(wm);
	event_free(wm->ev);
	free(wm);
}

void warm_set_config(struct warm *wm, const struct config_server *config)
{
	wm->p.config = config;
}
