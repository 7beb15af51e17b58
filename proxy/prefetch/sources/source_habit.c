/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows a lookup, or what else an open begins with. Even if nothing is
 * known of an object but its name, a user who has read the files of that kind
 * that it looked up before will read this one, and one who has entered
 * directories will enter this one. So rights and the first bytes, or the
 * listing, are under way while the client still asks for attributes.
 */
#include "prefetch/prefetch_private.h"

enum {
	/* Of this many lookups of a kind both counts are halved, so that they
	 * tell of the last ones. */
	LOOKED_MAX = 512,
	/* As many lookups of any kind as this count for a kind's own. */
	LEANS = 2,
	/* A prediction of the same object that is younger is not repeated. */
	FORESEEN_US = 10000000,
};

/* Before anything was seen, one lookup in three is taken to be followed; one
 * GETATTR in ten, since many only look; two in three of what asks for rights.
 */
static const struct {
	double followed, looked;
} prior[PF_BEGUN] = {[PF_BY_LOOKUP] = {1, 3},
    [PF_BY_GETATTR] = {.2, 2},
    [PF_BY_ACCESS] = {2, 3}};

/* A file that is so likely to be read is taken to be opened. */
#define P_OPENED 0.5f

/* How likely a directory that is entered is listed, or names in it are. */
#define P_ENTERED 0.5f

/* What the call may begin; false where it begins nothing. */
static bool begun_by(const struct predictor_obs *o, enum pf_begun *by)
{
	switch (o->kind) {
	case PREDICTOR_LOOKUP:
		*by = PF_BY_LOOKUP;
		return true;
	case PREDICTOR_GETATTR:
		*by = PF_BY_GETATTR;
		return !o->directory;
	case PREDICTOR_ACCESS:
		*by = PF_BY_ACCESS;
		return !o->directory;
	default:
		return false;
	}
}

/* A number for the end of the name (".c"); all directories are one kind. Only a
 * lookup says a name. */
static uint8_t kind_of(const struct prefetch *pf, const struct predictor_obs *o)
{
	struct predictor_file known = {.type = (uint16_t)o->type_hash};

	if (o->directory)
		return 0;
	if (o->kind != PREDICTOR_LOOKUP && pf->predictor)
		predictor_get_file(pf->predictor, o->object, &known);
	return (uint8_t)(1 + known.type % (PF_HABITS - 1));
}

static struct pf_looked *looked_at(
    struct prefetch *pf, const struct pf_cred *cred, uint64_t object)
{
	return &pf->looked[(object ^ cred->id) % PF_LOOKED];
}

static void count_look(struct pf_habit *h)
{
	if (++h->looked < LOOKED_MAX)
		return;
	h->looked /= 2;
	h->followed /= 2;
}

static void looked_up(
    struct prefetch *pf, struct pf_seen *seen, enum pf_begun by, uint8_t kind)
{
	struct pf_looked *l = looked_at(pf, seen->cred, seen->obs.object);
	struct pf_habit *h = &seen->cred->habits[by][kind];

	/* Each LOOKUP is another one; the rest may be asked again and again. */
	if (by == PF_BY_LOOKUP || l->object != seen->obs.object ||
	    l->cred != seen->cred->id)
		*l = (struct pf_looked){.object = seen->obs.object,
		    .cred = seen->cred->id,
		    .kind = kind};
	if (l->begun & 1u << by)
		return;
	l->begun |= (uint8_t)(1u << by);
	if (by == PF_BY_LOOKUP && kind != 0)
		count_look(&seen->cred->looks);
	count_look(h);
}

static void followed(struct prefetch *pf, struct pf_seen *seen)
{
	struct pf_looked *l = looked_at(pf, seen->cred, seen->obs.object);

	if (l->object != seen->obs.object || l->cred != seen->cred->id)
		return;
	l->object = 0;
	for (int by = 0; by < PF_BEGUN; by++) {
		struct pf_habit *h = &seen->cred->habits[by][l->kind];

		/* The lookup may have been dropped by a halving. */
		if (l->begun & 1u << by && h->followed < h->looked)
			h->followed++;
	}
	if (l->begun & 1u << PF_BY_LOOKUP && l->kind != 0 &&
	    seen->cred->looks.followed < seen->cred->looks.looked)
		seen->cred->looks.followed++;
}

/* What somebody said of it lately; NULL: nobody did. The time of a note may lie
 * after `now_us`: it may be told by a reply that came since. */
static const struct note *foreseen(
    struct prefetch *pf, uint64_t object, uint64_t now_us)
{
	const struct note *n = note_find(pf, object);

	return n && n->source != NOTE_FROM_KIND && n->us + FORESEEN_US >= now_us
		   ? n
		   : NULL;
}

/* Whether that was as surely, and for all that it needs. What a name or a
 * neighbour made somewhat likely is no more than that: now it is being opened.
 */
static bool says_it_all(const struct note *n, const struct prediction *pred)
{
	return n->state != NOTE_UNLIKELY && (pred->needs & ~n->needs) == 0 &&
	       n->p >= pred->p;
}

static float p_of(const struct pf_cred *cred, enum pf_begun by, uint8_t kind)
{
	const struct pf_habit *h = &cred->habits[by][kind];

	return (float)((h->followed + prior[by].followed) /
		       (h->looked + prior[by].looked));
}

float habit_reads(
    const struct prefetch *pf, const struct pf_cred *cred, uint64_t object)
{
	struct predictor_obs o = {.kind = PREDICTOR_GETATTR, .object = object};
	const struct pf_habit *all = &cred->looks;
	const struct pf_habit *h = &cred->habits[PF_BY_LOOKUP][kind_of(pf, &o)];
	float any = ((float)all->followed + 1) / ((float)all->looked + 1);

	return ((float)h->followed + LEANS * any) / ((float)h->looked + LEANS);
}

static void expect(struct prefetch *pf, struct pf_seen *seen,
    const struct prediction *pred, uint64_t now_us)
{
	const struct note *n = foreseen(pf, pred->object, now_us);

	if ((n && says_it_all(n, pred)) ||
	    !want_worth(pf, true, (double)pred->p, CONFIRM_BYTES))
		return;
	if (pred->p >= P_OPENED && (pred->needs & PREDICTOR_NEEDS_DATA))
		want_opened(pf, seen->cred, pred->object);
	/* Whoever said so hears what becomes of it. */
	if (!n)
		note_predicted(pf, pred, seen->cred->uid, now_us);
	(void)want_add(pf, seen->cred, pred, now_us);
}

static struct prediction open_of(const struct predictor_obs *o)
{
	return (struct prediction){.object = o->object,
	    .parent = o->parent,
	    .lead = 1,
	    .source = NOTE_FROM_KIND,
	    .needs =
		PREDICTOR_NEEDS_ACCESS | (o->directory ? PREDICTOR_NEEDS_LISTING
						       : PREDICTOR_NEEDS_DATA)};
}

void habit_seen(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct prediction pred = open_of(o);
	enum pf_begun by;
	uint8_t kind;

	if (o->kind == (o->directory ? PREDICTOR_ACCESS : PREDICTOR_READ))
		followed(pf, seen);
	if (!begun_by(o, &by))
		return;
	kind = kind_of(pf, o);
	pred.p = p_of(seen->cred, by, kind);
	looked_up(pf, seen, by, kind);
	if (by == PF_BY_LOOKUP)
		expect(pf, seen, &pred, now_us);
}

void habit_begins(struct prefetch *pf, struct pf_seen *seen, uint64_t now_us)
{
	const struct predictor_obs *o = &seen->obs;
	struct prediction pred = open_of(o);
	struct caches *c = pf->p.caches;
	struct node *node = attrcache_by_key(c->attr, o->object);
	enum pf_begun by;

	if (!node)
		return;
	if (begun_by(o, &by))
		pred.p = p_of(seen->cred, by, kind_of(pf, o));
	else if (o->kind == PREDICTOR_ACCESS && o->directory &&
		 !observe_listed(c, node, seen->cred->id))
		pred.p = P_ENTERED;
	else
		return;
	expect(pf, seen, &pred, now_us);
}
