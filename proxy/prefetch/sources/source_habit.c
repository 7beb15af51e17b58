/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This source foretells what follows a lookup, or what else an open begins
 * with. Even if nothing is known of an object but its name, a user who has read
 * the files of that kind that it looked up before will read this one, and one
 * who has entered directories will enter this one. So rights and the first
 * bytes are under way while the client still asks for attributes; and the
 * listing of a directory, where the user lists those that it comes to, or looks
 * up so many names in them that a listing is worth its bytes.
 */
#include "cache/caches.h"
#include "prefetch/ground/observe.h"
#include "prefetch/sources/source_private.h"

enum {
	HABITS = 64,  /* kinds of names, of a credential */
	LOOKED = 256, /* objects that were not read or entered yet */
	/* Of this many lookups of a kind both counts are halved, so that they
	 * tell of the last ones. */
	LOOKED_MAX = 512,
	/* As many lookups of any kind as this count for a kind's own. */
	LEANS = 2,
	/* A prediction of the same object that is younger is not repeated. */
	FORESEEN_US = 10000000,
	ENTERED = 256, /* directories that users have come to lately */
	/* When a user has come to this many directories, all of their counts
	 * are halved, so that they tell of the last ones. */
	ENTERED_MAX = 512,
	/* A visit of a directory ends after this: the next use of it counts as
	 * another visit. */
	VISIT_US = 10000000,
};

/* How often names of one kind were looked up, and how often the object was read
 * or entered after that; or GETATTR or ACCESS in place of the lookup. */
struct habit {
	uint16_t looked, followed;
};

/* The calls with which an open may begin. */
enum begun { BY_LOOKUP, BY_GETATTR, BY_ACCESS, BEGUN };
/* The calls with which the use of a file begins. GETATTR is none of them: a
 * program that polls a file sends nothing else. */
enum { OPENS = 1 << BY_LOOKUP | 1 << BY_ACCESS };

/* How many directories somebody came to, how many of these he listed, and how
 * many names he looked up there. */
struct dir_habit {
	uint32_t entered, listed, names;
};

/* In the credential's pocket. */
struct habits {
	/* An ACCESS that no LOOKUP precedes counts as a LOOKUP, too: a client
	 * that has read a listing opens files so. */
	struct habit at[BEGUN][HABITS];
	struct habit looks; /* lookups of files of all kinds */
	struct dir_habit dirs;
};

/* An object that was looked up, and nothing followed yet. */
struct looked {
	uint64_t object; /* 0: none */
	uint32_t cred;
	uint8_t kind;
	uint8_t begun; /* a bit for each enum begun */
};

/* A directory that was listed, or in which a name was looked up. */
struct entered {
	uint64_t dir; /* 0: none */
	uint64_t us;  /* when somebody came there */
	uint32_t cred;
	bool listed;
};

struct habit_source {
	struct source s;
	struct looked looked[LOOKED];
	struct entered entered[ENTERED];
};

static struct source *open_habit(struct sources *all)
{
	(void)all;
	return source_new(sizeof(struct habit_source));
}

/* NULL without memory. */
static struct habits *habits_of(struct credential *cred)
{
	return credential_pocket(cred, CREDENTIAL_HABIT, sizeof(struct habits));
}

/* Before anything was seen, one lookup in three is taken to be followed; one
 * GETATTR in ten, since many only look; two in three of what asks for rights.
 */
static const struct {
	double followed, looked;
} prior[BEGUN] = {
    [BY_LOOKUP] = {1, 3}, [BY_GETATTR] = {.2, 2}, [BY_ACCESS] = {2, 3}};

/* A file that is so likely to be read is taken to be opened. */
#define P_OPENED 0.5f

/* How likely a directory that is entered is listed, or names in it are. */
#define P_ENTERED 0.5f

/* Says as which beginning the call counts; false: it begins nothing. */
static bool begun_by(const struct predictor_obs *o, enum begun *by)
{
	switch (o->kind) {
	case PREDICTOR_LOOKUP:
		*by = BY_LOOKUP;
		return true;
	case PREDICTOR_GETATTR:
		*by = BY_GETATTR;
		return !o->directory;
	case PREDICTOR_ACCESS:
		*by = BY_ACCESS;
		return !o->directory;
	default:
		return false;
	}
}

/* A number for the end of the name (".c"); all directories are one kind. Only a
 * lookup says a name. */
static uint8_t kind_of(const struct sources *all, const struct predictor_obs *o)
{
	struct predictor_file known = {.type = (uint16_t)o->type_hash};

	if (o->directory)
		return 0;
	if (o->kind != PREDICTOR_LOOKUP)
		predictor_get_file(all->g->predictor, o->object, &known);
	return (uint8_t)(1 + known.type % (HABITS - 1));
}

static struct looked *looked_at(struct source *s, const struct passed *p)
{
	struct habit_source *hs = (struct habit_source *)s;

	return &hs->looked[(p->obs.object ^ credential_id(p->cred)) % LOOKED];
}

static void count_look(struct habit *h)
{
	if (++h->looked < LOOKED_MAX)
		return;
	h->looked /= 2;
	h->followed /= 2;
}

/* Counts what follows a look. A halving may have dropped that look, and the
 * share must not rise above 1. */
static void count_followed(struct habit *h)
{
	if (h->followed < h->looked)
		h->followed++;
}

static void looked_up(struct source *s, const struct passed *p,
    struct habits *own, enum begun by, uint8_t kind)
{
	struct looked *l = looked_at(s, p);

	/* Each LOOKUP is another one; the rest may be asked again and again. */
	if (by == BY_LOOKUP || l->object != p->obs.object ||
	    l->cred != credential_id(p->cred))
		*l = (struct looked){.object = p->obs.object,
		    .cred = credential_id(p->cred),
		    .kind = kind};
	if (l->begun & 1u << by)
		return;
	if (by != BY_GETATTR && !(l->begun & OPENS))
		count_look(&own->at[BY_LOOKUP][kind]);
	l->begun |= (uint8_t)(1u << by);
	if (by != BY_LOOKUP)
		count_look(&own->at[by][kind]);
	else if (kind != 0)
		count_look(&own->looks);
}

static void followed(
    struct source *s, const struct passed *p, struct habits *own)
{
	struct looked *l = looked_at(s, p);

	if (l->object != p->obs.object || l->cred != credential_id(p->cred))
		return;
	l->object = 0;
	for (int by = 0; by < BEGUN; by++)
		if (l->begun & (by == BY_LOOKUP ? OPENS : 1u << by))
			count_followed(&own->at[by][l->kind]);
	if (l->begun & 1u << BY_LOOKUP && l->kind != 0)
		count_followed(&own->looks);
}

/* The note of whoever foretold it lately; NULL: nobody did. The time of a note
 * may lie after `now_us`: it may be told by a reply that came since. */
static const struct note *foreseen(
    struct sources *all, uint64_t object, uint64_t now_us)
{
	const struct note *n = notes_find(all->notes, object);

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

/* ---- directories ------------------------------------------------------- */

/* Before anything was seen, eight names are taken to be looked up in each. */
static const struct {
	float names, entered;
} dir_prior = {16, 2};

static void count_entered(struct dir_habit *h)
{
	if (++h->entered < ENTERED_MAX)
		return;
	h->entered /= 2;
	h->listed /= 2;
	h->names /= 2;
}

static void count_dir(
    struct source *s, const struct passed *p, struct dir_habit *h)
{
	struct habit_source *hs = (struct habit_source *)s;
	bool lists = p->obs.kind == PREDICTOR_READDIR;
	uint64_t dir = lists ? p->obs.object : p->obs.parent;
	uint32_t cred = credential_id(p->cred);
	struct entered *e = &hs->entered[(dir ^ cred) % ENTERED];

	if (!lists && p->obs.kind != PREDICTOR_LOOKUP &&
	    p->obs.kind != PREDICTOR_ABSENT)
		return;
	if (e->dir != dir || e->cred != cred || p->now_us > e->us + VISIT_US) {
		*e =
		    (struct entered){.dir = dir, .us = p->now_us, .cred = cred};
		count_entered(h);
	}
	h->names += !lists;
	h->listed += lists && !e->listed;
	e->listed |= lists;
}

float source_habit_names(struct credential *cred)
{
	const struct habits *own = habits_of(cred);
	const struct dir_habit none = {0}, *h = own ? &own->dirs : &none;

	return ((float)h->names + dir_prior.names) /
	       ((float)h->entered + dir_prior.entered);
}

/* One visit in three suffices: git, for one, comes to each directory once to
 * look up names, and again to list it. */
float source_habit_spares(struct credential *cred)
{
	const struct habits *own = habits_of(cred);

	if (own && (float)(3 * own->dirs.listed) >
		       (float)own->dirs.entered + dir_prior.entered)
		return 0;
	return source_habit_names(cred);
}

/* ---- files, and what opens them ---------------------------------------- */

/* How likely a file of the kind is read when it is used, where `any` is how
 * likely one of any kind is. Git looks up thousands of files, of many kinds,
 * and opens a few: so the use of a kind that is new says no more than all do.
 */
static float p_read(const struct habits *own, uint8_t kind, float any)
{
	const struct habit *h = &own->at[BY_LOOKUP][kind];

	return ((float)h->followed + LEANS * any) / ((float)h->looked + LEANS);
}

static float p_of(const struct habits *own, enum begun by, uint8_t kind)
{
	bool file = by == BY_LOOKUP && kind != 0;
	const struct habit *h = file ? &own->looks : &own->at[by][kind];
	float p = (float)((h->followed + prior[by].followed) /
			  (h->looked + prior[by].looked));

	return file ? p_read(own, kind, p) : p;
}

float source_habit_reads(
    const struct sources *all, struct credential *cred, uint64_t object)
{
	struct predictor_obs o = {.kind = PREDICTOR_GETATTR, .object = object};
	const struct habits *own = habits_of(cred);
	const struct habit *looks;

	if (!own)
		return 1;
	looks = &own->looks;
	return p_read(own, kind_of(all, &o),
	    ((float)looks->followed + 1) / ((float)looks->looked + 1));
}

static void expect(
    struct sources *all, const struct passed *p, const struct prediction *pred)
{
	const struct note *n = foreseen(all, pred->object, p->now_us);

	if ((n && says_it_all(n, pred)) ||
	    !worth_call(all->g, true, (double)pred->p, CONFIRM_BYTES))
		return;
	if (pred->p >= P_OPENED && (pred->needs & PREDICTOR_NEEDS_DATA))
		want_opened(all->queue, p->cred, pred->object);
	/* Whoever said so hears what becomes of it. */
	if (!n)
		notes_predicted(
		    all->notes, pred, credential_uid(p->cred), p->now_us);
	(void)want_add(all->queue, p->cred, pred, 1, p->now_us);
}

static struct prediction open_of(const struct passed *p)
{
	const struct predictor_obs *o = &p->obs;

	return (struct prediction){.object = o->object,
	    .parent = o->parent,
	    .lead = 1,
	    .calls_spared = o->directory ? source_habit_spares(p->cred) : 0,
	    .source = NOTE_FROM_KIND,
	    .needs =
		PREDICTOR_NEEDS_ACCESS | (o->directory ? PREDICTOR_NEEDS_LISTING
						       : PREDICTOR_NEEDS_DATA)};
}

static void passed(struct source *s, struct passed *p)
{
	const struct predictor_obs *o = &p->obs;
	struct prediction pred = open_of(p);
	struct habits *own = habits_of(p->cred);
	enum begun by;
	uint8_t kind;

	if (p->hinted || !own)
		return;
	count_dir(s, p, &own->dirs);
	if (o->kind == (o->directory ? PREDICTOR_ACCESS : PREDICTOR_READ))
		followed(s, p, own);
	if (!begun_by(o, &by))
		return;
	kind = kind_of(s->all, o);
	pred.p = p_of(own, by, kind);
	looked_up(s, p, own, by, kind);
	if (by == BY_LOOKUP)
		expect(s->all, p, &pred);
}

static void begins(struct source *s, const struct passed *p)
{
	const struct predictor_obs *o = &p->obs;
	struct prediction pred = open_of(p);
	const struct habits *own = habits_of(p->cred);
	enum begun by;

	if (!p->missed || !p->node || !own)
		return;
	if (begun_by(o, &by))
		pred.p = p_of(own, by, kind_of(s->all, o));
	else if (o->kind == PREDICTOR_ACCESS && o->directory &&
		 !observe_listed(
		     s->all->g->caches, p->node, credential_id(p->cred)))
		pred.p = P_ENTERED;
	else
		return;
	expect(s->all, p, &pred);
}

const struct source_ops source_habit = {
    .open = open_habit, .passed = passed, .begins = begins};
