/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows a lookup. Even if nothing is known of an object but its name, a
 * user who has read the files of that kind that it looked up before will read
 * this one, and one who has entered directories will enter this one. So rights
 * and the first bytes, or the listing, are under way while the client still
 * asks for attributes.
 */
#include "prefetch/prefetch_private.h"

enum {
	/* Of this many lookups of a kind both counts are halved, so that they
	 * tell of the last ones. */
	LOOKED_MAX = 512,
	/* A prediction of the same object that is younger is not repeated. */
	FORESEEN_US = 10000000,
};

/* Before anything was seen, one lookup in three is taken to be followed. */
#define READ_PRIOR   1
#define LOOKED_PRIOR 3

static struct pf_habit *habit_of(struct pf_cred *cred, uint8_t kind)
{
	return &cred->habits[kind];
}

/* A number for the end of the name (".c"); all directories are one kind. */
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
	/* The lookup may have been dropped by a halving. */
	if (h->followed < h->looked)
		h->followed++;
}

/* Whether the predictor said so already, which knows it better. The time of a
 * note may lie after `now_us`: it may be told by a reply that came since. */
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
