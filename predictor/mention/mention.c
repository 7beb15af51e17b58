/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mentions, the facade: files that were scanned, and what is told of their use.
 * Nothing is matched here; each event only adds tasks, which mention_step()
 * works off (mention_match.c). */
#include "predictor/mention/mention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hashing/hash_key.h"
#include "predictor/mention/mention_place.h"
#include "predictor/mention/mention_private.h"

enum {
	NAME_BYTES = 48, /* of the index, about */
	NAMES_MAX = 262144,
	WORDS_MOST = 2 * TOKENS_MAX, /* of a file */
	PART = 4096,                 /* of a file, scanned or not */
	/* A kind that was scanned so often, and of whose mentions less than one
	 * in so many scans came true, is scanned one time in so many. */
	KIND_SCANS = 64,
	KIND_TRUE = 8,
	KIND_AGAIN = 16,
	KIND_MAX = 1024,     /* scans that are counted; then half of them */
	LISTED_HOMES = 1024, /* larger listings would push out all others */
};

/* The odds fall with each hop by more than they say: what they were counted
 * from was mostly near. */
#define HOP_FADE 0.98f

/* ---- making one ------------------------------------------------------- */

/* All tables have a fixed size, so memory is bounded from the start: a ring
 * gives up its oldest entry, a hash table the one at the same place. */
static bool make_tables(struct mention *m)
{
	m->sources = calloc(SOURCES, sizeof(*m->sources));
	m->tasks = calloc(TASKS, sizeof(*m->tasks));
	m->waiting = calloc(WAITING, sizeof(*m->waiting));
	m->targets = calloc(TARGETS, sizeof(*m->targets));
	m->scanned = calloc(SCANNED, sizeof(*m->scanned));
	return m->sources && m->tasks && m->waiting && m->targets &&
	       m->scanned && mention_places_init(m);
}

/* Files by which languages enter a directory: a mention of a directory
 * foretells such a file in it, even if no client was ever seen to open one. A
 * new name is a line here. */
static const char *const entered_by[] = {
    "mod.rs", /* Rust: `mod x;` is x/mod.rs */
};

struct mention *mention_new(const struct mention_params *p)
{
	struct mention *m = calloc(1, sizeof(*m));
	size_t names = p->memory_bytes / NAME_BYTES;

	if (!m)
		return NULL;
	m->p = *p;
	m->names = nameindex_new(names < NAMES_MAX ? names : NAMES_MAX);
	if (!m->names || !make_tables(m)) {
		mention_free(m);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < sizeof(entered_by) / sizeof(*entered_by); i++)
		first_expect(
		    m, name_hash32(entered_by[i], strlen(entered_by[i])));
	return m;
}

void mention_free(struct mention *m)
{
	if (!m)
		return;
	for (int i = 0; m->sources && i < SOURCES; i++)
		free(m->sources[i].words);
	free(m->sources);
	free(m->tasks);
	free(m->waiting);
	free(m->targets);
	free(m->places);
	free(m->scanned);
	nameindex_free(m->names);
	free(m);
}

void mention_get_stats(const struct mention *m, struct mention_stats *st)
{
	*st = m->stats;
	st->names = nameindex_names(m->names);
}

/* ---- sources ---------------------------------------------------------- */

/* The list of sources whose objects have that hash. */
static uint16_t *source_head(struct mention *m, uint64_t object)
{
	return &m->source_heads[hash_number(object) % SOURCES];
}

struct mention_source *mention_source_find(struct mention *m, uint64_t object)
{
	for (uint16_t i = *source_head(m, object); i;
	     i = m->sources[i - 1].next)
		if (m->sources[i - 1].object == object)
			return &m->sources[i - 1];
	return NULL;
}

struct mention_source *mention_source_of(
    struct mention *m, const struct task *t)
{
	struct mention_source *s = &m->sources[t->source];

	return s->object && s->generation == t->generation ? s : NULL;
}

/* Takes the source out of its list. Tasks that were made for it see by the
 * generation that it is gone. */
static void source_drop(struct mention *m, struct mention_source *s)
{
	uint16_t *link;

	if (!s->object)
		return;
	link = source_head(m, s->object);
	while (*link != s - m->sources + 1)
		link = &m->sources[*link - 1].next;
	*link = s->next;
	free(s->words);
	m->words -= s->n;
	*s = (struct mention_source){.generation = s->generation + 1};
}

/* Takes the place of the oldest source. */
static struct mention_source *source_new(struct mention *m, uint64_t object)
{
	uint32_t at = m->sources_in++ % SOURCES;
	struct mention_source *s = &m->sources[at];
	uint16_t *head = source_head(m, object);

	source_drop(m, s);
	s->object = object;
	s->next = *head;
	*head = (uint16_t)(at + 1);
	return s;
}

/* The oldest ones go. */
static void make_room(struct mention *m, size_t words)
{
	for (uint32_t i = 0; i < SOURCES && m->words + words > SOURCE_WORDS;
	     i++)
		source_drop(m, &m->sources[(m->sources_in + i) % SOURCES]);
}

/* How many directories above the source's own have to be looked into: as many
 * as any of its paths begins with, UPS_MAX at most, and one in any case. */
static uint8_t most_ups(const struct tokens *t)
{
	uint8_t ups = 1;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i].ups > ups)
			ups = t->at[i].ups;
	return ups < UPS_MAX ? ups : UPS_MAX;
}

/* ---- where words are looked for --------------------------------------- */

/* `t` is a task for all words in the directory of the source. */
static void look_here(
    struct mention *m, const struct mention_source *s, struct task *t)
{
	(void)s;
	task_add(m, t);
}

/* The same in the directories above, as far as it is known where they hang. */
static void look_above(
    struct mention *m, const struct mention_source *s, struct task *t)
{
	for (uint8_t ups = 1; ups <= s->ups; ups++) {
		const struct home *h = home_find(m, t->dir);

		if (!h || !h->dir)
			return;
		t->dir = h->dir;
		t->ups = ups;
		task_add(m, t);
	}
}

/* The same where names were looked up lately, but for directories that the
 * other places have. */
static void look_searched(
    struct mention *m, const struct mention_source *s, struct task *t)
{
	const struct home *h = home_find(m, s->dir);
	uint64_t dirs[SEARCHED_LOOK];
	size_t n = searched_best(m, dirs);

	for (size_t i = 0; i < n; i++) {
		t->dir = dirs[i];
		if (t->dir != s->dir && (!h || !h->dir || t->dir != h->dir))
			task_add(m, t);
	}
}

/* As Rust has it: what src/net.rs names is in src/net/. */
static void look_named(
    struct mention *m, const struct mention_source *s, struct task *t)
{
	(void)s;
	t->word = TASK_NAMED;
	task_add(m, t);
}

/* A new place is a line here, a relation in odds.h, and a factor in nearness[]
 * of odds.c (without one its odds begin at 0). If its directory is not
 * known when the file is scanned, and has to be looked up by its name first,
 * add a task like TASK_NAMED (mention_private.h), which mention_match.c works
 * off. */
static const struct place {
	uint8_t relation;
	void (*look)(
	    struct mention *m, const struct mention_source *s, struct task *t);
} places[] = {
    {MENTION_SAME, look_here},
    {MENTION_ABOVE, look_above},
    {MENTION_SEARCHED, look_searched},
    {MENTION_NAMED, look_named},
};

void mention_source_match(
    struct mention *m, struct mention_source *s, uint32_t from)
{
	s->matched_ns = m->now_ns;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct task t = {.dir = s->dir,
		    .source = (uint32_t)(s - m->sources),
		    .generation = s->generation,
		    .word = TASK_ALL,
		    .at = from,
		    .relation = places[i].relation};

		places[i].look(m, s, &t);
	}
}

/* ---- data ------------------------------------------------------------- */

/* Which parts of the first bytes these are. */
static uint16_t parts_of(const struct mention_data *d)
{
	uint64_t end = d->offset_bytes + d->len;
	uint16_t parts = 0;

	for (unsigned i = 0; i < TOKENS_DATA_MAX / PART; i++)
		if (d->offset_bytes < (i + 1) * PART && end > i * PART)
			parts |= (uint16_t)(1u << i);
	return parts;
}

/* Whether scanning files of that kind is worth it. A kind that is passed over
 * gets another chance now and then. */
static bool pays(struct mention *m, uint8_t kind)
{
	struct kind_worth *k = &m->kinds[kind];

	if (k->scans < KIND_SCANS || k->came_true * KIND_TRUE >= k->scans)
		return true;
	if (k->passed++ % KIND_AGAIN == 0)
		return true;
	m->stats.passed++;
	return false;
}

bool mention_may_scan(
    struct mention *m, const struct mention_data *d, uint64_t now_ns)
{
	uint64_t key = d->object ^ d->version * UINT64_C(0x9e3779b97f4a7c15);
	const struct home *h = home_find(m, d->object);
	const struct target *t = target_find(m, d->object);
	uint16_t parts = parts_of(d);
	unsigned at = key % SCANNED;
	uint8_t kind = h ? h->kind : NAME_KINDS - 1;

	m->now_ns = now_ns;
	if (!parts || !h || (d->p < 1 && t && t->hop >= HOPS_MAX))
		return false;
	if (m->scanned[at].key != key) {
		m->scanned[at].key = key;
		m->scanned[at].parts = 0;
	}
	if ((parts & ~m->scanned[at].parts) == 0 || !pays(m, kind))
		return false;
	m->scanned[at].parts |= parts;
	if (++m->kinds[kind].scans == KIND_MAX) {
		m->kinds[kind].scans /= 2;
		m->kinds[kind].came_true /= 2;
	}
	m->stats.scanned++;
	return true;
}

/* How likely it is to be read, and how far away that is. */
static void source_weigh(
    struct mention *m, struct mention_source *s, const struct mention_data *d)
{
	const struct target *t = target_find(m, d->object);

	s->p = d->p;
	s->lead = s->hop = 0;
	if (d->p >= 1 || used_lately(m, d->object, d->cred)) {
		s->p = 1;
		return;
	}
	s->hop = 1;
	if (t && t->state == TARGET_OPEN) {
		s->hop = t->hop;
		s->lead = t->lead;
		s->p = t->p;
	}
	s->p *= HOP_FADE;
}

/* The words of another piece of the file, behind those before. */
static bool source_append(
    struct mention *m, struct mention_source *s, const struct tokens *t)
{
	size_t n = s->n + t->n;
	struct token *words;

	if (n > WORDS_MOST)
		return false;
	words = realloc(s->words, n * sizeof(*words));
	if (!words)
		return false;
	memcpy(words + s->n, t->at, t->n * sizeof(*words));
	s->words = words;
	s->n = (uint32_t)n;
	m->words += t->n;
	if (most_ups(t) > s->ups)
		s->ups = most_ups(t);
	return true;
}

void mention_scanned(struct mention *m, const struct mention_data *d,
    const struct tokens *t, uint64_t now_ns)
{
	const struct home *h = home_find(m, d->object);
	struct mention_source *s = mention_source_find(m, d->object);
	uint32_t from = 0;

	m->now_ns = now_ns;
	if (!h || t->n == 0)
		return;
	if (s && (s->version != d->version || s->cred != d->cred)) {
		source_drop(m, s);
		s = NULL;
	}
	make_room(m, t->n);
	/* Room may have been made of it. */
	s = mention_source_find(m, d->object);
	if (!s) {
		s = source_new(m, d->object);
		s->version = d->version;
		s->dir = h->dir;
		s->kind = h->kind;
		s->cred = d->cred;
		source_weigh(m, s, d);
	}
	from = s->n;
	if (source_append(m, s, t))
		mention_source_match(m, s, from);
}

/* ---- names ------------------------------------------------------------ */

void mention_listed(struct mention *m, uint64_t dir,
    const struct nameindex_name *names, size_t n, uint64_t now_ns)
{
	m->now_ns = now_ns;
	nameindex_put(m->names, dir, names, n);
	for (size_t i = 0; i < n && n <= LISTED_HOMES; i++)
		home_put(m, &(struct home){.object = names[i].object,
				.dir = dir,
				.name = names[i].full,
				.kind = names[i].kind});
	tasks_wake(m, dir);
}

void mention_allowed(struct mention *m, uint64_t dir)
{
	if (nameindex_has(m->names, dir))
		tasks_wake(m, dir);
}

/* ---- use -------------------------------------------------------------- */

/* A file is read: what it mentions comes next, and is wanted again if that was
 * said long ago. */
static void source_used(struct mention *m, struct mention_source *s)
{
	s->p = 1;
	s->hop = 0;
	s->lead = 0;
	s->told = 0;
	mention_source_match(m, s, 0);
}

/* The first use of the object in a while: it decides mentions of it, and what
 * it mentions itself is near now. */
static void use(struct mention *m, uint64_t object, uint32_t cred)
{
	const struct home *h = home_find(m, object);
	struct mention_source *s;

	if (!used_first(m, object, cred))
		return;
	target_used(m, object);
	if (h)
		firsts_seen(m, h);
	s = mention_source_find(m, object);
	if (s && s->cred == cred)
		source_used(m, s);
}

/* A name was looked up: its directory is one in which names are, and a name
 * that was found has its home there. */
static void seen_name(struct mention *m, const struct predictor_obs *o)
{
	searched_add(m, o->parent);
	if (o->kind == PREDICTOR_LOOKUP)
		home_put(
		    m, &(struct home){.object = o->object,
			   .dir = o->parent,
			   .name = (uint32_t)o->name_hash,
			   .kind = o->directory ? 0 : name_kind(o->type_hash)});
}

void mention_seen(struct mention *m, const struct predictor_obs *o,
    uint32_t cred, uint64_t now_ns)
{
	m->now_ns = now_ns;
	switch (o->kind) {
	case PREDICTOR_LOOKUP:
	case PREDICTOR_ABSENT:
		if (!o->parent)
			break;
		seen_name(m, o);
		use(m, o->parent, cred);
		mention_allowed(m, o->parent);
		break;
	case PREDICTOR_ACCESS:
		if (o->directory)
			mention_allowed(m, o->object);
		break;
	case PREDICTOR_READ:
		read_count(m, o->count_bytes);
		if (o->offset_bytes == 0)
			use(m, o->object, cred);
		break;
	case PREDICTOR_READDIR:
		use(m, o->object, cred);
		break;
	default:
		break;
	}
}
