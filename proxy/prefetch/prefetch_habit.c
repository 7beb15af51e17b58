/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows a lookup. Nothing may be known of an object but its name, yet
 * whoever read the files of that kind that it looked up before will read this
 * one, and whoever entered directories will enter this one. So rights and the
 * first bytes, or the listing, are under way while the client still asks for
 * what comes first.
 */
#include "prefetch/prefetch_private.h"

enum {
	LOOKED_MAX = 512, /* lookups; then they count for half */
	FORESEEN_US = 10000000,
};

/* Nothing seen yet: at one in three. */
#define READ_PRIOR   1
#define LOOKED_PRIOR 3

static struct pf_habit *habit_of(struct pf_cred *cred, uint8_t kind)
{
	return &cred->habits[kind];
}

/* By the end of the name; directories are one kind. */
static uint8_t kind_of(const struct predictor_obs *o)
{
	return o->directory ? 0 : (uint8_t)(1 + o->type_hash % (PF_HABITS - 1));
}

static struct pf_looked *looked_at(
    struct prefetch *pf, const struct pf_cred *cred, uint64_t object)
{
	return &pf->looked[(object ^ cred->id) % PF_LOOKED];
}

static void looked_up(struct prefetch *pf, struct pf_seen *seen)
{
	struct pf_looked *l = looked_at(pf, seen->cred, seen->obs.object);
	struct pf_habit *h;

	*l = (struct pf_looked){.object = seen->obs.object,
	    .cred = seen->cred->id,
	    .kind = kind_of(&seen->obs)};
	h = habit_of(seen->cred, l->kind);
	if (++h->looked < LOOKED_MAX)
		return;
	h->looked /= 2;
	h->followed /= 2;
}

static void followed(struct prefetch *pf, struct pf_seen *seen)
{
	struct pf_looked *l = looked_at(pf, seen->cred, seen->obs.object);
	struct pf_habit *h;

	if (l->object != seen->obs.object || l->cred != seen->cred->id)
		return;
	l->object = 0;
	h = habit_of(seen->cred, l->kind);
	/* Its lookup may have been halved away. */
	if (h->followed < h->looked)
		h->followed++;
}

/* Trails said so already, and know it better. A note may tell of a call that
 * is not over yet, from a time that is still to come. */
static bool is_foreseen(struct prefetch *pf, uint64_t object, uint64_t now_us)
{
	const struct note *n = note_find(pf, object);

	return n && n->state != NOTE_UNLIKELY && n->us + FORESEEN_US >= now_us;
}

void habit_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct prediction pred = {
	    .object = o->object, .parent = o->parent, .lead = 1};
	const struct pf_habit *h = habit_of(seen->cred, kind_of(o));

	if (o->kind == (o->directory ? PREDICTOR_ACCESS : PREDICTOR_READ))
		followed(pf, seen);
	if (o->kind != PREDICTOR_LOOKUP)
		return;
	pred.needs = o->directory
			 ? PREDICTOR_NEEDS_LISTING
			 : PREDICTOR_NEEDS_ACCESS | PREDICTOR_NEEDS_DATA;
	pred.p = (float)(h->followed + READ_PRIOR) /
		 (float)(h->looked + LOOKED_PRIOR);
	looked_up(pf, seen);
	if (!is_foreseen(pf, o->object, now_us) &&
	    want_worth(pf, (double)pred.p, CONFIRM_BYTES))
		(void)want_add(pf, seen->cred, &pred, now_us);
}
