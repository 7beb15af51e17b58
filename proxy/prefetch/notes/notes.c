/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes of predictions; see the header. */
#include "prefetch/notes/notes.h"

#include <stdlib.h>

#include "base/ageing.h"
#include "base/metrics.h"
#include "hashing/hash_key.h"
#include "link/waste.h"
#include "prefetch/ground/ground.h"

enum {
	NOTES = 4096, /* objects of which it is told what became */
	/* An object that nobody has used within this time counts as fetched in
	 * vain; one that was no more than a guess shows it sooner. */
	JUDGED_US = 10000000,
	GUESS_JUDGED_US = 4000000,
	AGED_AT_ONCE = 16,
};

/* A less likely object that came in vain is not confirmed again. */
#define P_RENEWED 0.7f

struct notes {
	struct ground *g;
	struct note at[NOTES]; /* a ring */
	uint16_t heads[NOTES]; /* index + 1 */
	uint32_t in;
	struct ageing ageing; /* when notes that are NOTE_READY are judged */
};

struct notes *notes_new(struct ground *g)
{
	struct notes *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->g = g;
	ageing_init(&n->ageing);
	return n;
}

static uint16_t *head_of(struct notes *n, uint64_t object)
{
	return &n->heads[hash_number(object) % NOTES];
}

static struct note *find(struct notes *n, uint64_t object)
{
	for (uint16_t i = *head_of(n, object); i != 0; i = n->at[i - 1].next)
		if (n->at[i - 1].object == object)
			return &n->at[i - 1];
	return NULL;
}

const struct note *notes_find(const struct notes *n, uint64_t object)
{
	return find((struct notes *)n, object);
}

/* The predictor learns from what became of its own predictions only. */
static void feedback(
    struct notes *n, const struct note *x, enum predictor_outcome what)
{
	if (x->source < PREDICTOR_SOURCES)
		predictor_feedback(n->g->predictor, x->object, what);
}

static void count_bytes(
    struct notes *n, struct note *x, enum metrics_counter counter)
{
	metrics_add(n->g->metrics, counter, x->bytes - x->counted);
	x->counted = x->bytes;
}

/* For waste.h, as far as that bounds it. */
static void in_vain(struct notes *n, struct note *x)
{
	if (x->source == PREDICTOR_FROM_SESSION || x->source == NOTE_FROM_HINT)
		return;
	waste_unused(n->g->waste, x->bytes - x->counted, n->g->now_us);
	x->in_vain += x->bytes - x->counted;
}

/* It is used after all. */
static void unjudge(struct notes *n, struct note *x)
{
	waste_used(n->g->waste, x->in_vain, n->g->now_us);
	x->in_vain = 0;
}

static void judge(struct notes *n, struct note *x)
{
	if (x->state != NOTE_READY)
		return;
	x->state = NOTE_UNUSED;
	in_vain(n, x);
	metrics_add(n->g->metrics, METRICS_PREFETCH_UNUSED, 1);
	count_bytes(n, x, METRICS_PREFETCH_UNUSED_BYTES);
	/* The user of a session may come to it after any pause. */
	if (x->source != PREDICTOR_FROM_SESSION)
		feedback(n, x, PREDICTOR_UNUSED);
}

static uint64_t judged_after_us(const struct note *x)
{
	return notes_source_guesses(x->source) ? GUESS_JUDGED_US : JUDGED_US;
}

static void unlink_note(struct notes *n, struct note *x)
{
	uint16_t *link = head_of(n, x->object);

	while (*link != x - n->at + 1)
		link = &n->at[*link - 1].next;
	*link = x->next;
}

static struct note *note_new(struct notes *n, uint64_t object)
{
	struct note *x = &n->at[n->in % NOTES];
	uint16_t *head;

	if (x->object) {
		judge(n, x);
		unlink_note(n, x);
	}
	head = head_of(n, object);
	*x = (struct note){.object = object, .next = *head};
	*head = (uint16_t)(n->in % NOTES + 1);
	n->in++;
	return x;
}

bool notes_came_in_vain(const struct note *x, const struct prediction *pred)
{
	bool guess = pred->source == PREDICTOR_FROM_NAMES ||
		     pred->source >= PREDICTOR_SOURCES;

	return x && guess && pred->p < P_RENEWED &&
	       (x->state == NOTE_READY || x->state == NOTE_UNUSED) &&
	       !(pred->needs & ~x->needs);
}

void notes_predicted(struct notes *n, const struct prediction *pred,
    uint32_t uid, uint64_t now_us)
{
	struct note *x = find(n, pred->object);

	if (!x)
		x = note_new(n, pred->object);
	/* Of what is under way, or there and not used yet, the note stays. */
	if (x->state == NOTE_ASKED || x->state == NOTE_READY ||
	    notes_came_in_vain(x, pred))
		return;
	x->state = NOTE_WANTED;
	x->uid = uid;
	x->us = now_us;
	x->bytes = x->counted = x->in_vain = 0;
	x->p = pred->p;
	x->lead = pred->lead;
	x->source = pred->source;
	x->needs = pred->needs;
}

/* Whether what is noted may become `state`. */
static bool may_become(const struct note *x, enum note_state state)
{
	switch (state) {
	case NOTE_READY:
		return x->state == NOTE_ASKED;
	case NOTE_FAILED: /* its call was under way, or could not be sent */
		return x->state == NOTE_ASKED || x->state == NOTE_WANTED;
	default:
		return state <= NOTE_UNUSED || x->state == NOTE_WANTED;
	}
}

void notes_set(
    struct notes *n, uint64_t object, enum note_state state, uint64_t now_us)
{
	struct note *x = find(n, object);

	if (!x || !may_become(x, state))
		return;
	x->state = (uint8_t)state;
	x->us = now_us;
	if (state == NOTE_READY)
		ageing_expect(&n->ageing, now_us + judged_after_us(x));
}

void notes_came(struct notes *n, uint64_t object, uint64_t bytes)
{
	struct note *x = find(n, object);

	if (x)
		x->bytes += (uint32_t)bytes;
}

void notes_name_used(struct notes *n, uint64_t dir)
{
	struct note *x = find(n, dir);

	if (!x)
		return;
	if (x->state == NOTE_UNUSED)
		unjudge(n, x);
	else if (x->state == NOTE_READY)
		count_bytes(n, x, METRICS_PREFETCH_USED_BYTES);
}

void notes_used(struct notes *n, const struct note_use *use, uint64_t now_us)
{
	struct note *x = find(n, use->object);
	bool late;

	if (!x)
		return;
	if (x->state == NOTE_UNUSED && !use->missed)
		unjudge(n, x);
	if (x->state != NOTE_ASKED && x->state != NOTE_READY)
		return;
	late = use->late || x->state == NOTE_ASKED;
	/* The server was asked all the same: only part of it was there. */
	if (use->missed && !late)
		return;
	x->state = late ? NOTE_LATE : NOTE_USED;
	/* From now on the note tells of both users. */
	if (x->uid != use->uid)
		x->uid = NOTE_UID_NONE;
	x->us = now_us;
	metrics_add(n->g->metrics,
	    late ? METRICS_PREFETCH_LATE : METRICS_PREFETCH_USED, 1);
	count_bytes(n, x, METRICS_PREFETCH_USED_BYTES);
	feedback(n, x, late ? PREDICTOR_LATE : PREDICTOR_USED);
}

void notes_age(struct notes *n, uint64_t now_us)
{
	for (int i = 0;
	     i < AGED_AT_ONCE && ageing_is_due(&n->ageing, NOTES, now_us);
	     i++) {
		struct note *x = &n->at[ageing_next(&n->ageing)];
		uint64_t due_us = x->us + judged_after_us(x);

		if (due_us <= now_us)
			judge(n, x);
		else if (x->state == NOTE_READY)
			ageing_expect(&n->ageing, due_us);
	}
}

bool notes_is_ahead(const struct note *x)
{
	return x->state == NOTE_WANTED || x->state == NOTE_ASKED ||
	       x->state == NOTE_READY;
}

const char *notes_source_name(uint8_t source)
{
	static const char *const names[NOTE_SOURCES] = {
	    [PREDICTOR_FROM_TRAIL] = "tree",
	    [PREDICTOR_FROM_GRAPH] = "graph",
	    [PREDICTOR_FROM_NAMES] = "names",
	    [PREDICTOR_FROM_SESSION] = "session",
	    [NOTE_FROM_PATTERN] = "pattern",
	    [NOTE_FROM_HINT] = "hint",
	    [NOTE_FROM_MENTION] = "mention",
	    [NOTE_FROM_WALK] = "walk",
	    [NOTE_FROM_KIND] = "kind"};

	return names[source];
}

const char *notes_state_name(uint8_t state)
{
	static const char *const names[] = {[NOTE_NONE] = "none",
	    [NOTE_WANTED] = "wanted",
	    [NOTE_ASKED] = "asked",
	    [NOTE_READY] = "ready",
	    [NOTE_USED] = "used",
	    [NOTE_LATE] = "late",
	    [NOTE_UNUSED] = "unused",
	    [NOTE_FRESH] = "fresh",
	    [NOTE_UNLIKELY] = "unlikely",
	    [NOTE_OLD] = "old",
	    [NOTE_WITHDRAWN] = "withdrawn",
	    [NOTE_UNKNOWN] = "unknown",
	    [NOTE_FAILED] = "failed"};

	return names[state];
}

bool notes_source_guesses(uint8_t source)
{
	return NOTE_GUESSES >> source & 1;
}

/* ---- in rows ---------------------------------------------------------- */

/* Whether a call was sent for it. */
static bool was_sent(const struct note *x)
{
	return x->state == NOTE_USED || x->state == NOTE_LATE ||
	       x->state == NOTE_UNUSED || x->state == NOTE_FAILED;
}

/* Those that were fetched come first, the newest before others: the rest would
 * leave them no room. */
static bool precedes(const struct note *x, const struct note *y)
{
	if (was_sent(x) != was_sent(y))
		return was_sent(x);
	return x->us > y->us;
}

/* Returns how many there are now. */
static size_t insert(
    const struct note **list, size_t n, size_t max, const struct note *x)
{
	size_t i = n;

	if (n == max && !precedes(x, list[--i]))
		return n;
	for (; i > 0 && precedes(x, list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = x;
	return n < max ? n + 1 : n;
}

size_t notes_list(
    const struct notes *n, uint32_t uid, const struct note **out, size_t max)
{
	size_t found = 0;

	for (size_t i = 0; i < NOTES; i++) {
		const struct note *x = &n->at[i];

		/* That it was there already is no news. */
		if (x->object && !notes_is_ahead(x) && x->state != NOTE_FRESH &&
		    (uid == 0 || x->uid == uid))
			found = insert(out, found, max, x);
	}
	return found;
}
