/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects are, where names are looked up, and which names are used first
 * in directories. */
#include "predictor/mention/mention_place.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/mention/mention_private.h"

enum {
	HOMES = 16384,
	USED = 8192,
	SEARCHED = 32, /* directories in which names were looked up */
	ENTERED = 256,
	USED_S = 30, /* what was used is not wanted for so long */
	ENTERED_NS = 1000000000,
};

/* With each lookup in a directory, the former lookups there count for less. */
#define SEARCHED_FADE 0.995f

/* How often a name was the first that was used in its directory. */
struct first {
	uint32_t name; /* 0: none */
	struct odds_count count;
	uint32_t age;
};

struct searched {
	uint64_t dir;
	float score;
	uint32_t last; /* the number of the lookup */
};

struct mention_places {
	struct home homes[HOMES];
	uint64_t used[USED]; /* object ^ credential, at its place */
	uint32_t used_s[USED];
	struct searched searched[SEARCHED];
	uint32_t lookups;
	struct first firsts[FIRSTS];
	uint32_t firsts_age;
	struct {
		uint64_t dir;
		uint64_t ns;
	} entered[ENTERED];
};

bool mention_places_init(struct mention *m)
{
	m->places = calloc(1, sizeof(*m->places));
	return m->places != NULL;
}

/* ---- homes ------------------------------------------------------------ */

/* One home a place: an object that has the same place pushes the other out. */
static struct home *home_at(const struct mention *m, uint64_t object)
{
	return &m->places->homes[(object ^ object >> 29) % HOMES];
}

void home_put(struct mention *m, const struct home *h)
{
	*home_at(m, h->object) = *h;
}

const struct home *home_find(const struct mention *m, uint64_t object)
{
	const struct home *h = home_at(m, object);

	return h->object == object && object ? h : NULL;
}

/* ---- directories that are searched ------------------------------------ */

/* The score as it is by now, since it fades with each lookup anywhere. */
static float faded(const struct mention *m, const struct searched *s)
{
	uint32_t n = m->places->lookups - s->last;

	return n > 4096 ? 0 : s->score * powf(SEARCHED_FADE, (float)n);
}

void searched_add(struct mention *m, uint64_t dir)
{
	struct searched *least = &m->places->searched[0];

	m->places->lookups++;
	for (int i = 0; i < SEARCHED; i++) {
		struct searched *s = &m->places->searched[i];

		if (s->dir == dir) {
			s->score = faded(m, s) + 1;
			s->last = m->places->lookups;
			return;
		}
		/* Looked at only where one has to go. */
		if (s->score < least->score)
			least = s;
	}
	for (int i = 0; i < SEARCHED; i++) {
		m->places->searched[i].score =
		    faded(m, &m->places->searched[i]);
		m->places->searched[i].last = m->places->lookups;
		if (m->places->searched[i].score < least->score)
			least = &m->places->searched[i];
	}
	*least = (struct searched){
	    .dir = dir, .score = 1, .last = m->places->lookups};
}

size_t searched_best(const struct mention *m, uint64_t dirs[SEARCHED_LOOK])
{
	float best[SEARCHED_LOOK];
	size_t n = 0;

	for (int i = 0; i < SEARCHED; i++) {
		const struct searched *s = &m->places->searched[i];
		float score = s->dir ? faded(m, s) : 0;
		size_t at = n < SEARCHED_LOOK ? n++ : n;

		while (at > 0 && best[at - 1] < score) {
			if (at < SEARCHED_LOOK) {
				best[at] = best[at - 1];
				dirs[at] = dirs[at - 1];
			}
			at--;
		}
		if (at < SEARCHED_LOOK) {
			best[at] = score;
			dirs[at] = s->dir;
		}
	}
	while (n > 0 && !dirs[n - 1])
		n--;
	return n;
}

/* ---- what was used ---------------------------------------------------- */

static uint64_t used_key(uint64_t object, uint32_t cred)
{
	return object ^ cred * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t now_s(const struct mention *m)
{
	return (uint32_t)(m->now_ns / 1000000000);
}

bool used_lately(const struct mention *m, uint64_t object, uint32_t cred)
{
	uint64_t key = used_key(object, cred);

	return m->places->used[key % USED] == key &&
	       now_s(m) - m->places->used_s[key % USED] < USED_S;
}

bool used_first(struct mention *m, uint64_t object, uint32_t cred)
{
	uint64_t key = used_key(object, cred);
	bool was = used_lately(m, object, cred);

	m->places->used[key % USED] = key;
	m->places->used_s[key % USED] = now_s(m);
	return !was;
}

/* ---- what is used first ----------------------------------------------- */

uint32_t first_name(const struct mention *m, int i, double *p)
{
	*p = odds_count_p(&m->places->firsts[i].count, 0.2, 2);
	return m->places->firsts[i].name;
}

/* The name's count, begun in the place of one that seldom came true. */
static struct first *first_of(struct mention *m, uint32_t name)
{
	struct first *least = &m->places->firsts[0];

	for (int i = 0; i < FIRSTS; i++) {
		struct first *f = &m->places->firsts[i];

		if (f->name == name)
			return f;
		if (f->count.true_ < least->count.true_ ||
		    (f->count.true_ == least->count.true_ &&
			f->age < least->age))
			least = f;
	}
	*least = (struct first){.name = name, .age = ++m->places->firsts_age};
	return least;
}

void first_expect(struct mention *m, uint32_t name)
{
	odds_count_add(&first_of(m, name)->count, true);
}

/* The directory is entered: each name in it that is told of might be used. */
static void firsts_enter(struct mention *m, uint64_t dir)
{
	struct nameindex_hit hits[NAMEINDEX_HITS];

	for (int i = 0; i < FIRSTS; i++) {
		struct first *f = &m->places->firsts[i];

		if (f->name &&
		    nameindex_find(m->names, dir, f->name, hits) > 0 &&
		    hits[0].part == NAME_FULL)
			odds_count_add(&f->count, false);
	}
}

void firsts_seen(struct mention *m, const struct home *h)
{
	unsigned at = h->dir % ENTERED;
	bool enters = m->places->entered[at].dir != h->dir;
	struct first *f;

	if (!h->name || !nameindex_has(m->names, h->dir))
		return;
	if (enters) {
		m->places->entered[at].dir = h->dir;
		m->places->entered[at].ns = m->now_ns;
		firsts_enter(m, h->dir);
	} else if (m->now_ns - m->places->entered[at].ns > ENTERED_NS) {
		return;
	}
	f = first_of(m, h->name);
	if (f->count.all == 0)
		odds_count_add(&f->count, true);
	else if (f->count.true_ < f->count.all)
		f->count.true_++;
}
