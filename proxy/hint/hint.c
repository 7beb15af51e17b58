/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of hints: what is taken in, how far ahead of the reader it is asked
 * for, and when a hint is dropped. */
#include "hint/hint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "config/config.h"
#include "config/exportpath.h"
#include "config/places.h"
#include "hashing/hash_key.h"
#include "hint/hint_private.h"
#include "link/budget.h"
#include "prefetch/prefetch.h"

enum {
	WANTS_MAX_OUT = 48, /* of a stream at a time */
	ITEM_BYTES = 1024,  /* that a hint counts for beside its bytes */
	/* How much of a stream may be ahead of its reader: what the link
	 * brings in so many seconds, but no less than this, and no more than
	 * such a part of the data cache. */
	AHEAD_S = 2,
	AHEAD_MIN = 1 << 20,
	AHEAD_DISK_PARTS = 8,
	/* How many bytes its wants may be about: so many times what the link
	 * holds, but no less than this. */
	OUT_TIMES = 4,
	OUT_MIN = 64 << 10,
	UNUSED_US = 60000000, /* then nobody is taken to read it any more */
	POLL_US = 20000,      /* while there is no room for wants */
	AGE_US = 1000000,     /* while hints wait for the reader */
	TURN_STEPS = 256,     /* of a stream in one turn of the loop */
};

void hints_wake(struct hints *h)
{
	event_active(h->ev, EV_TIMEOUT, 1);
}

struct hint_items *hint_bucket(struct hint_stream *s, uint64_t object)
{
	return &s->keys[hash_number(object) % HINT_KEYS];
}

/* ---- the life of an item ---------------------------------------------- */

static void count_ahead(struct hint_item *it, uint64_t bytes, uint64_t now_us)
{
	it->asked_us = now_us;
	if (it->ahead_bytes == 0)
		bytes += ITEM_BYTES;
	it->ahead_bytes += bytes;
	it->stream->ahead_bytes += bytes;
}

void hint_not_ahead(struct hint_item *it)
{
	it->stream->ahead_bytes -= it->ahead_bytes;
	it->ahead_bytes = 0;
}

void hint_want_gone(struct hint_item *it)
{
	struct hint_stream *s = it->stream;

	s->nwants--;
	s->out_bytes -= it->out_bytes;
	it->out_bytes = 0;
}

static void on_end(struct want_owner *o, bool given_up)
{
	struct hint_item *it = container_of(o, struct hint_item, owner);

	hint_step_done(it, given_up, clock_now_us());
	hint_want_gone(it);
	hints_wake(it->stream->hints);
}

void hint_out(struct hint_item *it, uint32_t bytes, bool cached)
{
	struct hint_stream *s = it->stream;

	it->out_bytes = bytes;
	s->nwants++;
	s->out_bytes += bytes;
	if (it->state == HINT_DATA && !cached)
		count_ahead(it, bytes, clock_now_us());
}

void hint_asked(struct hint_item *it, uint64_t now_us)
{
	it->state = HINT_ASKED;
	it->asked_us = now_us;
	it->stream->nasked++;
}

static void item_free(struct hint_item *it)
{
	struct hint_stream *s = it->stream;

	if (it->owner.want) {
		want_disown(&it->owner);
		hint_want_gone(it);
	}
	hint_not_ahead(it);
	if (it->object)
		TAILQ_REMOVE(hint_bucket(s, it->object), it, key_link);
	if (s->todo == it)
		s->todo = TAILQ_NEXT(it, link);
	s->nasked -= it->state == HINT_ASKED;
	s->text_bytes -= it->text_bytes;
	s->nitems--;
	TAILQ_REMOVE(&s->items, it, link);
	free(it);
}

static void count_failed(struct hint_stream *s)
{
	s->p.failed++;
	metrics_add(s->hints->p.metrics, METRICS_HINTS_FAILED, 1);
}

void hint_fail(struct hint_item *it)
{
	count_failed(it->stream);
	item_free(it);
}

void hint_remove(struct hint_item *it)
{
	struct hint_stream *s = it->stream;

	if (!it->met) {
		s->p.passed++;
		metrics_add(s->hints->p.metrics, METRICS_HINTS_PASSED, 1);
	}
	item_free(it);
}

/* ---- what goes out ---------------------------------------------------- */

static uint64_t ahead_limit(const struct hint_stream *s)
{
	const struct hint_params *p = &s->hints->p;
	uint64_t n = linkest_rate_Bps(p->link) * AHEAD_S;
	uint64_t disk = p->disk_bytes / AHEAD_DISK_PARTS;

	if (n < AHEAD_MIN)
		n = AHEAD_MIN;
	return n < disk ? n : disk;
}

static uint64_t out_limit(const struct hint_stream *s)
{
	uint64_t n;

	if (linkest_rate_Bps(s->hints->p.link) == 0)
		return OUT_MIN;
	n = budget_limit_bytes(prefetch_budget(s->hints->p.prefetch)) *
	    OUT_TIMES;
	return n > OUT_MIN ? n : OUT_MIN;
}

/* How many hints the stream takes now. */
static uint32_t items_room(const struct hint_stream *s)
{
	bool texts = s->text_bytes + EXPORTPATH_BELOW_MAX <= HINT_TEXT_MAX;

	return texts ? HINT_ITEMS_MAX - s->nitems : 0;
}

static bool is_full(const struct hint_stream *s)
{
	return s->ahead_bytes > 0 && s->ahead_bytes >= ahead_limit(s);
}

static bool room(const struct hint_stream *s)
{
	return s->nwants < WANTS_MAX_OUT && s->out_bytes < out_limit(s) &&
	       !is_full(s);
}

/* The first item that is not asked for. */
static void find_todo(struct hint_stream *s)
{
	while (s->todo && s->todo->state == HINT_ASKED)
		s->todo = TAILQ_NEXT(s->todo, link);
}

/* Drops the first items that nobody has read for so long: perhaps the client
 * had the files in its own cache. One that is too long to be ahead as a whole
 * goes on. Where the stream has no room for more hints, it drops the first
 * items that hold nothing ahead at once: their bytes were cached before, as
 * those of a list that comes behind its reader. */
static void drop_unused(struct hint_stream *s, uint64_t now_us)
{
	bool cramped = items_room(s) == 0;
	struct hint_item *it;

	while (
	    (it = TAILQ_FIRST(&s->items)) != NULL && it->asked_us != 0 &&
	    (now_us - it->asked_us >= UNUSED_US ||
		(cramped && it->state == HINT_ASKED && it->ahead_bytes == 0))) {
		if (it->state != HINT_ASKED) {
			hint_not_ahead(it);
			it->asked_us = now_us;
			return;
		}
		if (!it->met) {
			s->p.unused++;
			metrics_add(
			    s->hints->p.metrics, METRICS_HINTS_UNUSED, 1);
		}
		item_free(it);
	}
}

/* The reader comes to it next, and nothing of it is ahead: it may go out
 * however much of the stream is. */
static bool is_due(const struct hint_stream *s, const struct hint_item *it)
{
	return it == TAILQ_FIRST(&s->items) && it->ahead_bytes == 0;
}

/* When it is to be looked at again; 0: not before something happens. */
static uint64_t turn(struct hint_stream *s, uint64_t now_us)
{
	struct hint_item *it, *next;
	unsigned before = s->nwants;
	bool later = false;
	int steps = 0;

	drop_unused(s, now_us);
	find_todo(s);
	for (it = s->todo; it && (room(s) || is_due(s, it)) && !later;
	     it = next) {
		next = TAILQ_NEXT(it, link);
		if (it->state == HINT_ASKED || it->owner.want)
			continue;
		if (++steps > TURN_STEPS)
			break;
		later = hint_step(it, now_us) == HINT_STEP_LATER;
	}
	find_todo(s);
	if (s->nwants > before)
		prefetch_wake(s->hints->p.prefetch, now_us);
	if (steps > TURN_STEPS)
		return 1;
	if (later)
		return POLL_US;
	return s->nasked > 0 || is_full(s) ? AGE_US : 0;
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct hints *h = arg;
	struct hint_stream *s;
	uint64_t now_us = clock_now_us(), wait_us = 0, us;
	struct timeval tv;

	(void)fd;
	(void)what;
	LIST_FOREACH (s, &h->streams, link) {
		us = turn(s, now_us);
		if (us > 0 && (wait_us == 0 || us < wait_us))
			wait_us = us;
	}
	tv = clock_timeval(wait_us);
	if (wait_us > 0)
		event_add(h->ev, &tv);
}

/* ---- what comes in ---------------------------------------------------- */

static size_t text_len(const struct hint_stream *s, const struct hint *hint)
{
	if (!hint->path)
		return hint->fh.len;
	return strlen(s->path) + strlen(hint->path) + 2;
}

static bool hint_good(const struct hint *hint)
{
	if (hint->offset + hint->length < hint->offset)
		return false;
	if (hint->path)
		return exportpath_below_ok(hint->path);
	return hint->fh.len > 0 && hint->fh.len <= NFS3_FHSIZE_MAX;
}

static void put_text(struct hint_item *it, const struct hint *hint)
{
	const char *base = it->stream->path;

	if (!hint->path) {
		it->fh_len = (uint8_t)hint->fh.len;
		memcpy(it->text, hint->fh.data, hint->fh.len);
		return;
	}
	strcpy(it->text, base);
	if (*base && *hint->path)
		strcat(it->text, "/");
	strcat(it->text, hint->path);
}

int hint_add(struct hint_stream *s, const struct hint *hint)
{
	struct hint_item *it;
	size_t len;

	if (hint->seq <= s->p.accepted)
		return -EINVAL;
	len = text_len(s, hint);
	if (!hint_good(hint) || len > EXPORTPATH_BELOW_MAX) {
		s->p.accepted = hint->seq;
		count_failed(s);
		return 0;
	}
	if (s->nitems >= HINT_ITEMS_MAX || s->text_bytes + len > HINT_TEXT_MAX)
		return -EAGAIN;
	it = calloc(1, sizeof(*it) + len);
	if (!it)
		return -ENOMEM;
	it->stream = s;
	it->owner.on_end = on_end;
	it->ord = ++s->ords;
	it->reads = s->reads;
	it->seq = hint->seq;
	it->offset = hint->offset;
	it->length = hint->length;
	it->text_bytes = (uint16_t)len;
	put_text(it, hint);
	TAILQ_INSERT_TAIL(&s->items, it, link);
	if (!s->todo)
		s->todo = it;
	s->nitems++;
	s->text_bytes += len;
	s->p.accepted = hint->seq;
	metrics_add(s->hints->p.metrics, METRICS_HINTS_TAKEN, 1);
	hints_wake(s->hints);
	return 0;
}

void hint_cancel(struct hint_stream *s, uint64_t seq)
{
	struct hint_item *it;

	while ((it = TAILQ_FIRST(&s->items)) != NULL && it->seq <= seq)
		hint_remove(it);
	if (seq > s->p.accepted)
		s->p.accepted = seq;
	hints_wake(s->hints);
}

void hint_get_progress(const struct hint_stream *s, struct hint_progress *out)
{
	*out = s->p;
	out->room = items_room(s);
	out->waiting = s->nitems - s->nasked;
	out->ahead = s->nasked;
	out->full = is_full(s);
}

/* ---- streams ---------------------------------------------------------- */

/* 0, or why no stream may begin. */
static int check_begin(struct hints *h, uid_t uid, const char *export,
    const char *path, nfs3_fh *root)
{
	static const struct places let = {
	    HINT_STREAMS_MAX, HINT_STREAMS_KEPT, HINT_STREAMS_UID};
	int error = exportpath_check(h->p.config, export, path);
	struct hint_stream *s;
	unsigned same = 0;
	struct node *node;

	if (error)
		return error;
	if (!caches_mounted(h->p.caches, export, root))
		return ENOENT;
	node = attrcache_find(h->p.caches->attr, root);
	if (caches_policy(h->p.caches, node)->prefetch == CONFIG_PREFETCH_OFF)
		return EOPNOTSUPP;
	LIST_FOREACH (s, &h->streams, link)
		same += s->uid == uid;
	return places_let(&let, uid, h->nstreams, same) ? 0 : EBUSY;
}

struct hint_stream *hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path)
{
	struct hint_stream *s;
	nfs3_fh root;

	errno = check_begin(h, who->uid, export, path, &root);
	if (errno)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->hints = h;
	s->uid = (uint32_t)who->uid;
	TAILQ_INIT(&s->items);
	for (int i = 0; i < HINT_KEYS; i++)
		TAILQ_INIT(&s->keys[i]);
	s->path = strdup(path);
	s->cred = credentials_of_user(prefetch_credentials(h->p.prefetch), who);
	if (!s->path || !s->cred) {
		if (s->cred)
			credential_unref(s->cred);
		free(s->path);
		free(s);
		errno = ENOMEM;
		return NULL;
	}
	memcpy(s->root_fh, root.data, root.len);
	s->root = (nfs3_fh){.len = root.len, .data = s->root_fh};
	LIST_INSERT_HEAD(&h->streams, s, link);
	h->nstreams++;
	return s;
}

void hint_end(struct hint_stream *s)
{
	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->items))
		item_free(TAILQ_FIRST(&s->items));
	LIST_REMOVE(s, link);
	s->hints->nstreams--;
	credential_unref(s->cred);
	free(s->path);
	free(s);
}

struct hints *hints_new(const struct hint_params *p)
{
	struct hints *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->p = *p;
	LIST_INIT(&h->streams);
	h->ev = evtimer_new(p->base, on_turn, h);
	if (h->ev)
		return h;
	free(h);
	errno = ENOMEM;
	return NULL;
}

void hints_free(struct hints *h)
{
	if (!h)
		return;
	while (!LIST_EMPTY(&h->streams))
		hint_end(LIST_FIRST(&h->streams));
	event_free(h->ev);
	free(h);
}

void hints_set_disk(struct hints *h, uint64_t disk_bytes)
{
	h->p.disk_bytes = disk_bytes;
}

void hints_set_config(struct hints *h, const struct config_server *config)
{
	h->p.config = config;
}
