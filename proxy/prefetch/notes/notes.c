/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of predictions: for the predictor, for stats and for explain. */
#include "base/metrics.h"
#include "hashing/hash_key.h"
#include "prefetch/prefetch_private.h"

enum {
	/* What was not used within this time counts as fetched in vain; what
	 * was no more than a guess shows it sooner. */
	JUDGED_US = 10000000,
	GUESS_JUDGED_US = 4000000,
	AGED_AT_ONCE = 16,
};

/* What is less likely, and came in vain, is not confirmed again. */
#define P_RENEWED 0.7f

static uint16_t *head_of(struct notes *n, uint64_t object)
{
	return &n->heads[hash_number(object) % NOTES];
}

struct note *note_find(const struct prefetch *pf, uint64_t object)
{
	struct notes *n = pf->notes;

	for (uint16_t i = *head_of(n, object); i != 0; i = n->at[i - 1].next)
		if (n->at[i - 1].object == object)
			return &n->at[i - 1];
	return NULL;
}

/* The predictor learns from what became of its own predictions only. */
static void feedback(
    struct prefetch *pf, const struct note *x, enum predictor_outcome what)
{
	if (x->source < PREDICTOR_SOURCES)
		predictor_feedback(pf->predictor, x->object, what);
}

static void count_bytes(
    struct prefetch *pf, struct note *x, enum metrics_counter counter)
{
	metrics_add(pf->p.metrics, counter, x->bytes - x->counted);
	x->counted = x->bytes;
}

/* For waste.h, as far as that bounds it. */
static void in_vain(struct prefetch *pf, struct note *x)
{
	if (x->source == PREDICTOR_FROM_SESSION || x->source == NOTE_FROM_HINT)
		return;
	waste_unused(pf->waste, x->bytes - x->counted, pf->now_us);
	x->in_vain += x->bytes - x->counted;
}

/* It is used after all. */
static void unjudge(struct prefetch *pf, struct note *x)
{
	waste_used(pf->waste, x->in_vain, pf->now_us);
	x->in_vain = 0;
}

static void judge(struct prefetch *pf, struct note *x)
{
	if (x->state != NOTE_READY)
		return;
	x->state = NOTE_UNUSED;
	in_vain(pf, x);
	metrics_add(pf->p.metrics, METRICS_PREFETCH_UNUSED, 1);
	count_bytes(pf, x, METRICS_PREFETCH_UNUSED_BYTES);
	/* The user of a session may come to it after any pause. */
	if (x->source != PREDICTOR_FROM_SESSION)
		feedback(pf, x, PREDICTOR_UNUSED);
}

static uint64_t judged_after_us(const struct note *x)
{
	return source_is_guess(x->source) ? GUESS_JUDGED_US : JUDGED_US;
}

static void unlink_note(struct notes *n, struct note *x)
{
	uint16_t *link = head_of(n, x->object);

	while (*link != x - n->at + 1)
		link = &n->at[*link - 1].next;
	*link = x->next;
}

static struct note *note_new(struct prefetch *pf, uint64_t object)
{
	struct notes *n = pf->notes;
	struct note *x = &n->at[n->in % NOTES];
	uint16_t *head;

	if (x->object) {
		judge(pf, x);
		unlink_note(n, x);
	}
	head = head_of(n, object);
	*x = (struct note){.object = object, .next = *head};
	*head = (uint16_t)(n->in % NOTES + 1);
	n->in++;
	return x;
}

bool note_came_in_vain(const struct note *x, const struct prediction *pred)
{
	bool guess = pred->source == PREDICTOR_FROM_NAMES ||
		     pred->source >= PREDICTOR_SOURCES;

	return x && guess && pred->p < P_RENEWED &&
	       (x->state == NOTE_READY || x->state == NOTE_UNUSED) &&
	       !(pred->needs & ~x->needs);
}

void note_predicted(struct prefetch *pf, const struct prediction *pred,
    uint32_t uid, uint64_t now_us)
{
	struct note *x = note_find(pf, pred->object);

	if (!x)
		x = note_new(pf, pred->object);
	/* Of what is under way, or there and not used yet, the note stays. */
	if (x->state == NOTE_ASKED || x->state == NOTE_READY ||
	    note_came_in_vain(x, pred))
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

void note_set(struct prefetch *pf, uint64_t object, enum note_state state,
    uint64_t now_us)
{
	struct note *x = note_find(pf, object);

	if (!x || !may_become(x, state))
		return;
	x->state = (uint8_t)state;
	x->us = now_us;
}

void note_bytes(struct prefetch *pf, uint64_t object, uint64_t bytes)
{
	struct note *x = note_find(pf, object);

	if (x)
		x->bytes += (uint32_t)bytes;
}

void note_name_used(struct prefetch *pf, uint64_t dir)
{
	struct note *x = note_find(pf, dir);

	if (!x)
		return;
	if (x->state == NOTE_UNUSED)
		unjudge(pf, x);
	else if (x->state == NOTE_READY)
		count_bytes(pf, x, METRICS_PREFETCH_USED_BYTES);
}

void note_used(struct prefetch *pf, uint64_t object, uint32_t uid, bool late,
    bool missed, uint64_t now_us)
{
	struct note *x = note_find(pf, object);

	if (!x)
		return;
	if (x->state == NOTE_UNUSED && !missed)
		unjudge(pf, x);
	if (x->state != NOTE_ASKED && x->state != NOTE_READY)
		return;
	late = late || x->state == NOTE_ASKED;
	/* The server was asked all the same: only part of it was there. */
	if (missed && !late)
		return;
	x->state = late ? NOTE_LATE : NOTE_USED;
	/* From now on the note tells of both users. */
	if (x->uid != uid)
		x->uid = NOTE_UID_NONE;
	x->us = now_us;
	metrics_add(pf->p.metrics,
	    late ? METRICS_PREFETCH_LATE : METRICS_PREFETCH_USED, 1);
	count_bytes(pf, x, METRICS_PREFETCH_USED_BYTES);
	feedback(pf, x, late ? PREDICTOR_LATE : PREDICTOR_USED);
}

void notes_age(struct prefetch *pf, uint64_t now_us)
{
	struct notes *n = pf->notes;

	for (int i = 0; i < AGED_AT_ONCE; i++) {
		struct note *x = &n->at[n->aged++ % NOTES];

		if (now_us > x->us && now_us - x->us >= judged_after_us(x))
			judge(pf, x);
	}
}

bool note_is_ahead(const struct note *x)
{
	return x->state == NOTE_WANTED || x->state == NOTE_ASKED ||
	       x->state == NOTE_READY;
}

const char *note_source_name(uint8_t source)
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

void note_tell(const struct note *x, uint64_t now_us, struct prefetch_told *out)
{
	static const char *const states[] = {[NOTE_NONE] = "none",
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

	*out = (struct prefetch_told){.predicted = true,
	    .state = states[x->state],
	    .source = note_source_name(x->source),
	    .age_us = now_us > x->us ? now_us - x->us : 0,
	    .p = (double)x->p,
	    .lead = x->lead,
	    .needs = x->needs,
	    .bytes = x->bytes};
}

void prefetch_tell(struct prefetch *pf, uint64_t object, uint32_t uid,
    uint64_t now_us, struct prefetch_told *out)
{
	const struct note *x = note_find(pf, object);

	if (x && (uid == 0 || x->uid == uid))
		note_tell(x, now_us, out);
	else
		*out = (struct prefetch_told){.predicted = false};
}
