/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracks the objects that were mentioned until their outcome is known. */
#include "hashing/hash_key.h"
#include "predictor/mention/mention_place.h"
#include "predictor/mention/mention_private.h"

enum {
	/* Later than this after its source was read it counts as not read. */
	JUDGED_NS_S = 4,
	LOOKS = 64, /* in one step */
	PASSED_HOPS = 3,
	/* Of one file so many more are told than were read, and for each that
	 * was read so many more. */
	WINDOW = 12,
	WINDOW_MORE = 3,
	/* The same of all files of one kind that those of another mention: what
	 * never came true is not told a hundred times before that shows. */
	PAIR_WINDOW = 12,
	PAIR_MORE = 3,
	KEPT_NS_S = 20, /* what was not decided by then tells nothing */
	/* After so long an object is told again, so that it is confirmed again.
	 */
	AGAIN_NS = 1000000000,
	TELLS_MAX = 8,
	LEAD_MAX = 250,
	/* Nothing was read yet: so much may be told all the same. */
	SLACK_BYTES = 512 << 10,
	/* The account tells of the last so many bytes read. */
	ACCOUNT_BYTES = 16 << 20,
	LOOK_AGAIN = 8,    /* one mention in so many that are unlikely */
	TOLD_MOST = 65536, /* of one file, as the account has it */
};

#define P_MOST 0.97

/* By how much likelier it is to be when it is told again at once. */
#define P_GROWN 1.25f

/* An object that is less likely is not confirmed again. */
#define P_AGAIN 0.3f

static uint64_t seconds(unsigned s)
{
	return s * UINT64_C(1000000000);
}

/* The list of targets whose objects have that hash. */
static uint16_t *target_head(struct mention *m, uint64_t object)
{
	return &m->target_heads[hash_number(object) % TARGETS];
}

struct target *target_find(struct mention *m, uint64_t object)
{
	for (uint16_t i = *target_head(m, object); i;
	     i = m->targets[i - 1].next)
		if (m->targets[i - 1].object == object)
			return &m->targets[i - 1];
	return NULL;
}

/* ---- pairs of kinds --------------------------------------------------- */

/* How mentions of the source's kind do in files of the target's. */
static struct kind_pair *pair_of(struct mention *m, const struct target *t)
{
	return &m->pairs[t->class.source_kind][t->class.target_kind];
}

static bool pair_is_full(struct mention *m, const struct target *t)
{
	const struct kind_pair *k = pair_of(m, t);

	return k->open >= PAIR_WINDOW + PAIR_MORE * k->came_true;
}

static void pair_opens(struct mention *m, struct target *t)
{
	struct kind_pair *k = pair_of(m, t);

	t->paired = k->open < UINT16_MAX;
	k->open += t->paired;
}

static void pair_closes(struct mention *m, struct target *t, bool used)
{
	struct kind_pair *k = pair_of(m, t);

	if (used && k->came_true < UINT16_MAX)
		k->came_true++;
	if (t->paired)
		k->open--;
	t->paired = false;
}

/* ---- what became of it ------------------------------------------------ */

/* Counts for the source's kind, which is scanned as long as that pays. */
static void kind_count(struct mention *m, const struct target *t, bool used)
{
	struct kind_worth *k = &m->kinds[t->class.source_kind];

	if (used && k->came_true < UINT16_MAX)
		k->came_true++;
}

/* How many files one source may have told: more with each that came true. */
static unsigned window(const struct mention_source *s)
{
	return WINDOW + WINDOW_MORE * (unsigned)s->came_true;
}

/* The outcome is known, and teaches the odds once the source was read: only
 * then was the mention put to the test. */
static void settle(struct mention *m, struct target *t, bool used)
{
	t->state = used ? TARGET_USED : TARGET_OVER;
	pair_closes(m, t, used);
	if (used)
		m->back_bytes += t->bytes;
	if (t->told_ns) {
		m->stats.used += used;
		m->stats.unused += !used;
	}
	if (t->first || !t->armed_ns)
		return;
	odds_add(&m->odds, &t->class, used);
	kind_count(m, t, used);
}

/* More of what the same file mentions is told. */
static void window_opens(struct mention *m, const struct target *t)
{
	struct mention_source *s =
	    t->first ? NULL : mention_source_find(m, t->source);

	if (!s)
		return;
	s->came_true++;
	if (!s->held || s->files_told + WINDOW_MORE * 2u > window(s))
		return;
	s->held = false;
	mention_source_match(m, s, 0);
}

void target_used(struct mention *m, uint64_t object)
{
	struct target *t = target_find(m, object);

	if (!t)
		return;
	if (t->state == TARGET_OPEN)
		settle(m, t, true);
	else if (t->state == TARGET_OVER && t->armed_ns)
		odds_correct(&m->odds, &t->class);
	else
		return;
	t->state = TARGET_USED;
	window_opens(m, t);
}

/* Nobody has read it. If nobody has read what mentions it, either, or only just
 * now, that says nothing of its odds. */
static void judge(struct mention *m, struct target *t)
{
	if (t->state != TARGET_OPEN)
		return;
	if (!t->armed_ns || m->now_ns < t->armed_ns + seconds(JUDGED_NS_S))
		t->armed_ns = 0;
	settle(m, t, false);
}

/* Whether there is nothing more to be waited for. */
static bool is_due(const struct mention *m, const struct target *t)
{
	if (t->state != TARGET_OPEN)
		return false;
	if (t->armed_ns && m->now_ns >= t->armed_ns + seconds(JUDGED_NS_S))
		return true;
	return m->now_ns >= t->made_ns + seconds(KEPT_NS_S);
}

void targets_age(struct mention *m)
{
	for (int i = 0; i < LOOKS; i++) {
		struct target *t = &m->targets[m->target_look++ % TARGETS];

		if (m->target_look > m->target_in)
			m->target_look = 0;
		if (is_due(m, t))
			judge(m, t);
	}
}

/* ---- telling ---------------------------------------------------------- */

void read_count(struct mention *m, uint64_t bytes)
{
	m->read_bytes += bytes;
	if (m->read_bytes < ACCOUNT_BYTES)
		return;
	m->read_bytes /= 2;
	m->told_bytes /= 2;
	m->back_bytes /= 2;
}

/* Whether so many bytes more may be told: what was told and not read is no more
 * than what was read. */
static bool may_tell(const struct mention *m, uint32_t bytes)
{
	return m->told_bytes + bytes <=
	       m->back_bytes + m->read_bytes + SLACK_BYTES;
}

/* It came ahead and was scanned, too. The objects that it mentions are nearer
 * now, or have to be confirmed with it. */
static void pass_on(struct mention *m, const struct target *t)
{
	struct mention_source *s = mention_source_find(m, t->object);

	if (!s || s->p >= 1 || t->hop > PASSED_HOPS ||
	    (t->p < s->p * P_GROWN && m->now_ns < s->matched_ns + AGAIN_NS))
		return;
	s->p = t->p;
	s->hop = t->hop;
	s->lead = t->lead;
	s->told = 0;
	mention_source_match(m, s, 0);
}

/* Whether what was told is told again: it is nearer or likelier, or has to be
 * confirmed again before its use. */
static bool is_again(const struct mention *m, const struct target *t)
{
	if (t->p >= t->told_p * P_GROWN || t->lead * 2 <= t->told_lead)
		return t->tells < TELLS_MAX;
	return t->p >= P_AGAIN && m->now_ns >= t->told_ns + AGAIN_NS &&
	       t->tells < TELLS_MAX;
}

/* Makes a prediction of the target, unless it was told lately, its bytes are
 * too many for now, or its source has told enough files that nobody read. */
static void tell(struct mention *m, struct mention_source *s, struct target *t,
    uint64_t dir, const struct nameindex_name *n)
{
	uint32_t bytes = n->size_bytes < TOLD_MOST ? n->size_bytes : TOLD_MOST;
	struct mention_want *w;

	if (t->told_ns && !is_again(m, t))
		return;
	if (m->out_n == m->out_max || !may_tell(m, n->directory ? 0 : bytes))
		return;
	if (!n->directory && !t->told_ns) {
		bool full = s->files_told >= window(s) || pair_is_full(m, t);

		s->held = s->held || full;
		if (full)
			return;
		s->files_told++;
		pair_opens(m, t);
	}
	w = &m->out[m->out_n++];
	*w = (struct mention_want){.cred = s->cred,
	    .pred = {.object = n->object,
		.parent = dir,
		.size_bytes = n->directory ? 0 : n->size_bytes,
		.p = t->p,
		.lead = t->lead,
		.needs = n->directory
			     ? PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_LISTING
			     : PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR |
				   PREDICTOR_NEEDS_ACCESS |
				   PREDICTOR_NEEDS_DATA}};
	if (!t->told_ns) {
		m->stats.wanted++;
		t->bytes = n->directory ? 0 : bytes;
		m->told_bytes += t->bytes;
	}
	t->told_ns = m->now_ns;
	t->told_p = t->p;
	t->told_lead = t->lead;
	t->tells++;
	pass_on(m, t);
}

void mention_refused(struct mention *m, uint64_t object)
{
	struct target *t = target_find(m, object);

	if (!t || !t->told_ns)
		return;
	/* If it was wanted before, it is still on its way. */
	if (t->wanted)
		return;
	t->told_ns = 0;
	pair_closes(m, t, false);
	m->told_bytes -= m->told_bytes < t->bytes ? m->told_bytes : t->bytes;
	t->bytes = 0;
	m->stats.wanted--;
}

void mention_accepted(struct mention *m, uint64_t object)
{
	struct target *t = target_find(m, object);

	if (t)
		t->wanted = true;
}

/* Takes the place of the oldest target, whose outcome counts now. */
static struct target *target_new(struct mention *m, uint64_t object)
{
	struct target *t = &m->targets[m->target_in % TARGETS];
	uint16_t *link;

	if (t->object) {
		judge(m, t);
		link = target_head(m, t->object);
		while (*link != t - m->targets + 1)
			link = &m->targets[*link - 1].next;
		*link = t->next;
	}
	link = target_head(m, object);
	*t = (struct target){.object = object,
	    .made_ns = m->now_ns,
	    .next = *link,
	    .state = TARGET_OPEN};
	*link = (uint16_t)(m->target_in % TARGETS + 1);
	m->target_in++;
	return t;
}

/* So many accesses come before it, as far as can be expected: those of what is
 * mentioned before it. An unlikely object has time. */
static uint16_t lead_of(const struct mention_source *s, double p)
{
	double lead = 1 + (s->lead + (double)s->told) / (p + P_LEAST);

	return (uint16_t)(lead < LEAD_MAX ? lead : LEAD_MAX);
}

void target_add(struct mention *m, struct mention_source *s, uint64_t dir,
    const struct nameindex_name *n, const struct mention_class *c, double p,
    bool first)
{
	struct target *t = target_find(m, n->object);
	uint16_t lead;

	if (n->object == s->object || used_lately(m, n->object, s->cred))
		return;
	/* An unlikely mention is looked at only now and then, since its odds
	 * may change. */
	if (p < P_LEAST && (first || m->unlikely++ % LOOK_AGAIN != 0))
		return;
	if (!t || t->state != TARGET_OPEN)
		t = target_new(m, n->object);
	if (p > P_MOST)
		p = P_MOST;
	if (p > (double)t->p) {
		bool paired = t->paired;

		pair_closes(m, t, false);
		t->p = (float)p;
		t->hop = s->hop + 1;
		t->first = first;
		t->class = *c;
		if (paired)
			pair_opens(m, t);
		t->source = s->object;
	}
	if (s->p >= 1 && !t->armed_ns)
		t->armed_ns = m->now_ns;
	lead = lead_of(s, p);
	if (!t->lead || lead < t->lead)
		t->lead = lead;
	s->told += (float)p;
	home_put(m, &(struct home){.object = n->object,
			.dir = dir,
			.name = n->full,
			.kind = n->kind});
	if (p >= P_LEAST)
		tell(m, s, t, dir, n);
}
