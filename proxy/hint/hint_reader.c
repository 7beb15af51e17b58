/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the reader is. Any process of the stream's user counts as the reader:
 * its READs are compared with the hints, and what they come to is met. READs
 * may overtake each other, and a client's own readahead reads what no program
 * has asked for yet; so one that is far ahead counts when a second one follows.
 */
#include "base/metrics.h"
#include "hint/hint_private.h"

/* Items: a READ that is no further ahead counts at once. */
enum { NEAR = 16 };

/* Whether a READ touches the bytes of the hint. */
static bool overlaps(
    const struct hint_item *it, const struct predictor_obs *obs)
{
	return it->object == obs->object &&
	       obs->offset_bytes + obs->count_bytes > it->offset &&
	       (it->length == 0 || obs->offset_bytes < it->offset + it->length);
}

/* The first hint that names what is read. */
static struct hint_item *find_read(
    struct hint_stream *s, const struct predictor_obs *obs)
{
	struct hint_item *it, *first = NULL;

	TAILQ_FOREACH (it, hint_bucket(s, obs->object), key_link)
		if (overlaps(it, obs) && (!first || it->ord < first->ord))
			first = it;
	return first;
}

/* Whether the object is a directory on the way to a hint. The table has one a
 * slot, so it may have forgotten some. */
static bool is_dir(const struct hint_stream *s, uint64_t key)
{
	return key != 0 && s->dirs[key % HINT_DIRS] == key;
}

/* Whether an access is about a file that a hint of the stream names, or about a
 * directory on the way there. */
static bool is_about_hints(
    struct hint_stream *s, const struct predictor_obs *obs)
{
	struct hint_item *it;

	if (TAILQ_EMPTY(&s->items))
		return false;
	if (is_dir(s, obs->object) || is_dir(s, obs->parent))
		return true;
	TAILQ_FOREACH (it, hint_bucket(s, obs->object), key_link)
		if (it->object == obs->object)
			return true;
	return false;
}

/* Whether the reader has come to it. */
static bool is_there(struct hint_stream *s, const struct hint_item *it)
{
	uint64_t front = TAILQ_FIRST(&s->items)->ord;
	bool follows = it->ord > s->far_ord && it->ord - s->far_ord <= NEAR;

	if (it->ord - front <= NEAR || (s->far_ord > front && follows))
		return true;
	s->far_ord = it->ord;
	return false;
}

/* Skips the bytes up to `end`, which the reader has read, so that nobody asks
 * for them. */
static void skip(struct hint_item *it, uint64_t offset, uint64_t end)
{
	if (offset > it->read_to || end <= it->read_to)
		return;
	it->read_to = end;
	if (it->state != HINT_DATA || end <= it->next)
		return;
	if (it->owner.want) {
		if (end < it->next + it->out_bytes)
			return;
		want_disown(&it->owner);
		hint_want_gone(it);
	}
	it->next = end;
}

/* It was read from `offset` to `end`. */
static void meet(
    struct hint_stream *s, struct hint_item *it, uint64_t offset, uint64_t end)
{
	struct hint_item *before;

	skip(it, offset, end);
	if (!it->met) {
		it->met = true;
		s->p.used++;
		metrics_add(s->hints->p.metrics, METRICS_HINTS_USED, 1);
	}
	hint_not_ahead(it);
	if (is_there(s, it)) {
		s->p.reached = it->seq;
		while ((before = TAILQ_FIRST(&s->items)) != it)
			hint_remove(before);
	}
	hints_wake(s->hints);
}

/* The last READ of the hint's first byte since the hint came; or NULL. */
static const struct hint_read *was_read(
    const struct hint_stream *s, const struct hint_item *it)
{
	uint64_t n = s->reads;

	for (; n > it->reads && s->reads - n < HINT_READS; n--) {
		const struct hint_read *r = &s->last[n % HINT_READS];

		if (r->object == it->object && r->offset <= it->offset &&
		    it->offset - r->offset < r->count)
			return r;
	}
	return NULL;
}

void hint_set_object(struct hint_item *it, uint64_t object, uint64_t parent)
{
	const struct hint_read *last;

	it->object = object;
	it->parent = parent;
	it->state = HINT_DATA;
	TAILQ_INSERT_TAIL(hint_bucket(it->stream, object), it, key_link);
	it->stream->dirs[parent % HINT_DIRS] = parent;
	it->next = it->read_to = it->offset;
	last = was_read(it->stream, it);
	if (last)
		meet(it->stream, it, it->offset, last->offset + last->count);
}

/* Remembers the READ, and compares it with the hints. */
static void saw_read(struct hint_stream *s, const struct predictor_obs *obs)
{
	struct hint_item *it = find_read(s, obs);
	uint64_t end = obs->offset_bytes + obs->count_bytes;

	s->last[++s->reads % HINT_READS] =
	    (struct hint_read){.object = obs->object,
		.offset = obs->offset_bytes,
		.count = obs->count_bytes};
	/* A long read may have several. */
	for (; it && overlaps(it, obs); it = TAILQ_NEXT(it, link))
		meet(s, it, obs->offset_bytes, end);
}

bool hints_seen(struct hints *h, const struct predictor_obs *obs)
{
	struct hint_stream *s;
	bool known = false;

	LIST_FOREACH (s, &h->streams, link) {
		if (s->uid != obs->uid)
			continue;
		known = known || is_about_hints(s, obs);
		if (obs->kind == PREDICTOR_READ)
			saw_read(s, obs);
	}
	return known;
}
