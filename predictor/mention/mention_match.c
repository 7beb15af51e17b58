/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words against names: tasks, a few at a time. A task looks for one word, or
 * for all words of a source, in one directory. Where a path leads on, or the
 * directory is not listed yet, it makes another task; so a step ends soon,
 * whatever a file mentions. */
#include "hashing/hash_key.h"
#include "predictor/mention/mention_place.h"
#include "predictor/mention/mention_private.h"

enum {
	STEP_LOOKS = 3000, /* words that are looked for in one step */
	DEPTH_MAX = 3,     /* directories that are entered without a word */
};

/* A step, and the task that it is at. */
struct match {
	struct mention *m;
	struct mention_source *s;
	struct task t;
};

/* ---- tasks ------------------------------------------------------------ */

void task_add(struct mention *m, const struct task *t)
{
	if (m->task_in - m->task_out == TASKS)
		return;
	m->tasks[m->task_in++ % TASKS] = *t;
}

static uint16_t *waiting_head(struct mention *m, uint64_t dir)
{
	return &m->waiting_heads[hash_number(dir) % WAITING];
}

static void waiting_unlink(struct mention *m, struct waiting *w)
{
	uint16_t *link = waiting_head(m, w->task.dir);

	while (*link != w - m->waiting + 1)
		link = &m->waiting[*link - 1].next;
	*link = w->next;
	w->task.dir = 0;
}

static bool task_equal(const struct task *a, const struct task *b)
{
	return a->dir == b->dir && a->source == b->source &&
	       a->generation == b->generation && a->word == b->word &&
	       a->ups == b->ups && a->at == b->at;
}

/* So many tasks may wait in one chain, that is, for directories of equal hash,
 * whatever file they are of. */
enum { WAIT_CHAIN = 256 };

void task_wait(struct mention *m, const struct task *t)
{
	struct waiting *w;
	uint16_t *head = waiting_head(m, t->dir);
	unsigned n = 0;

	for (uint16_t i = *head; i; i = m->waiting[i - 1].next)
		if (++n == WAIT_CHAIN || task_equal(&m->waiting[i - 1].task, t))
			return;
	w = &m->waiting[m->waiting_in % WAITING];
	if (w->task.dir)
		waiting_unlink(m, w);
	*w = (struct waiting){.task = *t, .next = *head};
	*head = (uint16_t)(m->waiting_in % WAITING + 1);
	m->waiting_in++;
}

void tasks_wake(struct mention *m, uint64_t dir)
{
	uint16_t i = *waiting_head(m, dir);

	while (i && m->task_in - m->task_out < TASKS) {
		struct waiting *w = &m->waiting[i - 1];

		i = w->next;
		if (w->task.dir != dir)
			continue;
		task_add(m, &w->task);
		waiting_unlink(m, w);
	}
}

/* ---- directories ------------------------------------------------------ */

/* Whether the task can go on: the directory is listed, and may be searched. */
static bool is_open(struct match *x)
{
	struct mention *m = x->m;

	if (nameindex_has(m->names, x->t.dir) &&
	    m->p.may_search(m->p.ctx, x->s->cred, x->t.dir))
		return true;
	task_wait(m, &x->t);
	return false;
}

/* The directory is likely to be entered, by one of the names that are used
 * first in others. */
static void enter(
    struct match *x, const struct nameindex_name *n, double p, uint8_t depth)
{
	struct task t = {.dir = n->object,
	    .source = x->t.source,
	    .generation = x->t.generation,
	    .word = TASK_ENTER,
	    .p = (float)p,
	    .depth = depth};

	if (depth < DEPTH_MAX && p >= P_LEAST)
		task_add(x->m, &t);
}

/* Matches the names that are used first in other directories. */
static void firsts_match(struct match *x)
{
	struct mention_class none = {.source_kind = x->s->kind};
	struct nameindex_hit hits[NAMEINDEX_HITS];
	struct mention *m = x->m;

	for (int i = 0; i < FIRSTS; i++) {
		double p;
		uint32_t name = first_name(m, i, &p);

		p *= (double)x->t.p;
		if (!name || p < P_LEAST ||
		    nameindex_find(m->names, x->t.dir, name, hits) == 0 ||
		    hits[0].part != NAME_FULL)
			continue;
		target_add(m, x->s, x->t.dir, hits[0].name, &none, p, true);
		if (hits[0].name->directory)
			enter(x, hits[0].name, p, x->t.depth + 1);
	}
}

/* All words, in the directory that is called as the source, but for the
 * source's extension. */
static void named_match(struct match *x)
{
	struct nameindex_hit hits[NAMEINDEX_HITS];
	struct mention *m = x->m;
	const struct home *h = home_find(m, x->s->object);
	struct task t = x->t;
	uint32_t stem = 0;
	size_t n;

	n = h ? nameindex_find(m->names, x->t.dir, h->name, hits) : 0;
	for (size_t i = 0; i < n; i++)
		if (hits[i].name->object == x->s->object)
			stem = hits[i].name->stem;
	t.word = TASK_ALL;
	n = nameindex_find(m->names, x->t.dir, stem, hits);
	for (size_t i = 0; i < n; i++) {
		if (!hits[i].name->directory || hits[i].part != NAME_FULL)
			continue;
		t.dir = hits[i].name->object;
		task_add(m, &t);
	}
}

/* ---- words ------------------------------------------------------------ */

/* Whether the path ends with that word. */
static bool is_last(const struct mention_source *s, uint32_t word)
{
	return word + 1 >= s->n || !(s->words[word + 1].flags & TOKEN_CONT);
}

static uint8_t strength_of(const struct token *w)
{
	return w->flags & TOKEN_HERE     ? MENTION_HERE
	       : w->flags & TOKEN_QUOTED ? MENTION_QUOTED
					 : MENTION_BARE;
}

/* How the word stands for the name, which decides the odds. */
static uint8_t form_of(
    const struct match *x, const struct token *w, const struct nameindex_hit *h)
{
	bool all = h->part == NAME_FULL;

	if (w->flags & TOKEN_PARTS)
		return MENTION_MODULE;
	if ((w->flags & TOKEN_CONT) && !x->t.whole)
		return MENTION_TAIL;
	if (w->flags & TOKEN_CONT)
		return all ? MENTION_PATH : MENTION_PATH_STEM;
	return !all                      ? MENTION_STEM
	       : w->flags & TOKEN_DOTTED ? MENTION_NAME
					 : MENTION_PLAIN;
}

/* The path goes on in that directory. */
static void go_on(struct match *x, uint64_t dir, uint32_t word)
{
	struct task t = x->t;

	t.dir = dir;
	t.word = word;
	t.whole = true;
	task_add(x->m, &t);
}

/* Looks for the word in the task's directory. Each name that it may mean is a
 * target; a directory leads on, to the path's next word or to the names by
 * which directories are entered. */
static void word_match(struct match *x, uint32_t word)
{
	const struct token *w = &x->s->words[word];
	struct nameindex_hit hits[NAMEINDEX_HITS];
	struct mention *m = x->m;
	size_t n = nameindex_find(m->names, x->t.dir, w->hash, hits);
	bool last = is_last(x->s, word);

	for (size_t i = 0; i < n; i++) {
		const struct nameindex_name *name = hits[i].name;
		struct mention_class c = {.source_kind = x->s->kind,
		    .target_kind = name->kind,
		    .relation = x->t.relation,
		    .form = form_of(x, w, &hits[i]),
		    .strength = strength_of(w)};
		double p = odds_p(&m->odds, &c) * (double)x->s->p;

		if (!last && (!name->directory || hits[i].part != NAME_FULL))
			continue;
		target_add(m, x->s, x->t.dir, name, &c, p, false);
		if (!last && p >= P_LEAST)
			go_on(x, name->object, word + 1);
		else if (name->directory)
			enter(x, name, p, 0);
	}
}

/* Whether the word may begin a path in the task's directory. */
static bool may_begin(const struct match *x, const struct token *w)
{
	if (w->flags & TOKEN_HERE)
		return !(w->flags & TOKEN_CONT) && x->t.ups == w->ups &&
		       x->t.relation != MENTION_SEARCHED &&
		       x->t.relation != MENTION_NAMED;
	if (w->flags & TOKEN_PARTS)
		return !(w->flags & TOKEN_CONT) && x->t.ups <= 1;
	return x->t.ups <= 1;
}

/* False where the task has more to do. */
static bool task_step(struct match *x, int *looks)
{
	if (x->t.word == TASK_ENTER) {
		firsts_match(x);
		*looks -= FIRSTS;
		return true;
	}
	if (x->t.word == TASK_NAMED) {
		named_match(x);
		*looks -= 1;
		return true;
	}
	if (x->t.word != TASK_ALL) {
		word_match(x, x->t.word);
		*looks -= 1;
		return true;
	}
	for (; x->t.at<x->s->n && * looks> 0; x->t.at++) {
		if (!may_begin(x, &x->s->words[x->t.at]))
			continue;
		word_match(x, x->t.at);
		--*looks;
	}
	return x->t.at == x->s->n;
}

/* ---- steps ------------------------------------------------------------ */

bool mention_has_work(const struct mention *m)
{
	return m->task_in != m->task_out;
}

size_t mention_step(
    struct mention *m, uint64_t now_ns, struct mention_want *out, size_t max)
{
	int looks = STEP_LOOKS;

	m->now_ns = now_ns;
	m->out = out;
	m->out_n = 0;
	m->out_max = max;
	targets_age(m);
	while (mention_has_work(m) && looks > 0 && m->out_n < max) {
		struct match x = {.m = m, .t = m->tasks[m->task_out++ % TASKS]};

		looks -= 4;
		x.s = mention_source_of(m, &x.t);
		if (!x.s || !is_open(&x))
			continue;
		if (!task_step(&x, &looks))
			task_add(m, &x.t);
	}
	return m->out_n;
}
