/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of which kinds files are read, and which are only looked at: git looks at all
 * files of a tree, but reads each .gitignore. The best evidence is the stream's
 * own use of files of that kind; for a kind that it has not used yet, the use
 * by others; and for one that nobody has used, the recent use of all files.
 */
#include "predictor/core/core.h"

enum {
	USED_MAX = 32, /* then both counts are halved */
	USED_MIN = 4,  /* fewer say nothing */
	READ_PART = 4, /* one in so many is read: it may be worth it */
};

/* Kinds that have the same number count as one. */
static unsigned kind_at(const struct object *o)
{
	return object_kind(o) % KINDS;
}

/* Halving both counts keeps their share, and lets what comes weigh more. */
static void count(struct kind_reads *k, bool read)
{
	k->used++;
	k->read = (uint8_t)(k->read + read);
	if (k->used < USED_MAX)
		return;
	k->used /= 2;
	k->read /= 2;
}

void reads_count(struct predictor *p, struct stream *s, const struct object *o)
{
	bool read = o->needs & PREDICTOR_NEEDS_DATA;
	struct kind_reads *k = &p->kinds[kind_at(o)];
	uint64_t bit = UINT64_C(1) << kind_at(o);

	/* The names ahead were told without data. */
	if (read && !(s->kinds_read & bit))
		s->names_ahead = 0;
	s->kinds_used |= bit;
	s->kinds_read = read ? s->kinds_read | bit : s->kinds_read & ~bit;
	count(k, read);
	count(&p->all_kinds, read);
}

/* Whether the stream reads files of that kind, by the nearest evidence there
 * is; without any, files are taken to be read. */
static bool is_read(
    const struct predictor *p, const struct stream *s, const struct object *o)
{
	const struct kind_reads *k = &p->kinds[kind_at(o)];
	uint64_t bit = UINT64_C(1) << kind_at(o);

	if (s->kinds_used & bit)
		return s->kinds_read & bit;
	if (k->used < USED_MIN)
		k = &p->all_kinds;
	return k->used < USED_MIN || k->read * READ_PART >= k->used;
}

uint8_t reads_need(
    const struct predictor *p, const struct stream *s, const struct object *o)
{
	uint8_t looked = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR;

	if (!(s->walk_needs & PREDICTOR_NEEDS_DATA) || is_read(p, s, o) ||
	    !has_part(p, PREDICTOR_PART_READS))
		return s->walk_needs;
	return looked;
}
