/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories by number; each is found by its key, or by parent and name.
 * guess.c walks over their listings, and place.c and twin.c go by their places.
 */
#include "predictor/store/names.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/keymap.h"
#include "predictor/store/vec.h"

enum {
	FIRST_DIRS = 64,
	/* A burst ends after so many events without a use; 256 or 4096 hardly
	 * change a stall (forefetch-sim --calls, tuning half). */
	BURST_EVENTS = 1024,
};

/* Numbers of directories are indices of `dirs`. */
struct names {
	struct keymap *map, *below; /* by key; by parent and name */
	struct dir *dirs;
	uint32_t n, cap, max_dirs;
	size_t listed, limit; /* entries of all listings */
};

struct names *names_new(uint32_t max_dirs, size_t limit)
{
	struct names *ns = calloc(1, sizeof(*ns));

	if (!ns)
		return NULL;
	ns->map = keymap_new();
	ns->max_dirs = max_dirs;
	ns->limit = limit;
	ns->below = keymap_new();
	if (!ns->map || !ns->below) {
		names_free(ns);
		return NULL;
	}
	return ns;
}

void names_free(struct names *ns)
{
	if (!ns)
		return;
	for (uint32_t i = 0; i < ns->n; i++) {
		free(ns->dirs[i].list);
		free(ns->dirs[i].order);
	}
	free(ns->dirs);
	keymap_free(ns->map);
	keymap_free(ns->below);
	free(ns);
}

uint32_t names_find(const struct names *ns, uint64_t key)
{
	return keymap_get(ns->map, key);
}

uint32_t names_dir(struct names *ns, uint64_t key)
{
	uint32_t id = keymap_get(ns->map, key);

	if (id != KEYMAP_NONE)
		return id;
	if (ns->n >= ns->max_dirs)
		return DIR_NONE;
	if (ns->n == ns->cap &&
	    !VEC_GROW(ns->dirs, ns->cap, ns->cap ? ns->cap * 2 : FIRST_DIRS,
		UINT32_MAX))
		return DIR_NONE;
	if (keymap_put(ns->map, key, ns->n))
		return DIR_NONE;
	ns->dirs[ns->n] = (struct dir){.key = key, .parent = DIR_NONE};
	return ns->n++;
}

struct dir *names_at(const struct names *ns, uint32_t dir)
{
	return &ns->dirs[dir];
}

uint64_t names_key(const struct names *ns, uint32_t dir)
{
	return dir == DIR_NONE ? 0 : ns->dirs[dir].key;
}

static uint64_t below_key(uint32_t parent, uint32_t name)
{
	return (uint64_t)parent << 32 | name;
}

void names_place(struct names *ns, uint32_t dir, uint32_t parent, uint32_t name)
{
	struct dir *d = &ns->dirs[dir];

	if (d->parent == parent && d->name == name)
		return;
	if (d->parent != DIR_NONE && names_below(ns, d->parent, d->name) == dir)
		keymap_del(ns->below, below_key(d->parent, d->name));
	d->parent = parent;
	d->name = name;
	if (parent != DIR_NONE)
		keymap_put(ns->below, below_key(parent, name), dir);
}

uint32_t names_below(const struct names *ns, uint32_t parent, uint32_t name)
{
	return keymap_get(ns->below, below_key(parent, name));
}

void names_set_list(
    struct names *ns, uint32_t dir, uint32_t *list, uint16_t *order, uint32_t n)
{
	struct dir *d = &ns->dirs[dir];

	if (ns->listed - d->n + n > ns->limit) {
		free(list);
		free(order);
		return;
	}
	ns->listed += n;
	ns->listed -= d->n;
	free(d->list);
	free(d->order);
	d->list = list;
	d->order = order;
	d->n = n;
}

void names_clear_kinds(struct names *ns, uint32_t dir)
{
	for (int i = 0; i < DIR_KINDS; i++)
		ns->dirs[dir].by_kind[i].n = 0;
}

void names_count_kind(struct names *ns, uint32_t dir, uint16_t kind)
{
	for (int i = 0; i < DIR_KINDS; i++) {
		struct dir_kind *k = &ns->dirs[dir].by_kind[i];

		if (k->n == 0 && k->kind != kind)
			*k = (struct dir_kind){.kind = kind};
		if (k->kind == kind) {
			k->n = (uint16_t)(k->n + (k->n < UINT16_MAX));
			return;
		}
	}
}

const struct dir_kind *names_kind(const struct dir *d, uint16_t kind)
{
	for (int i = 0; i < DIR_KINDS; i++)
		if (d->by_kind[i].n > 0 && d->by_kind[i].kind == kind)
			return &d->by_kind[i];
	return NULL;
}

void names_use_kind(
    struct names *ns, uint32_t dir, uint32_t name, uint16_t kind)
{
	struct dir *d = &ns->dirs[dir];

	if (d->used == 0)
		d->entry = name;
	d->kind_last = kind;
	for (int i = 0; i < DIR_KINDS; i++) {
		struct dir_kind *k = &d->by_kind[i];

		if (k->n > 0 && k->kind == kind)
			k->used = (uint16_t)(k->used + (k->used < UINT16_MAX));
	}
}

uint16_t names_next(const struct dir *d, uint32_t rank, bool by_order)
{
	uint32_t at;

	by_order = by_order && d->order;
	at = by_order ? d->order[d->n + rank] : rank;
	if (++at >= d->n)
		return RANK_NONE;
	return by_order ? d->order[at] : (uint16_t)at;
}

uint16_t names_begin(const struct dir *d, bool by_order)
{
	return by_order && d->order ? d->order[0] : 0;
}

uint32_t names_run(const struct dir *d)
{
	return d->order_run > d->run ? d->order_run : d->run;
}

void names_wake(struct names *ns, uint32_t dir, uint32_t now)
{
	struct dir *d = &ns->dirs[dir];

	if (now - d->used_at <= BURST_EVENTS)
		return;
	d->used = 0;
	d->run = 0;
	d->order_run = 0;
	d->kinds = 0;
	for (int i = 0; i < DIR_KINDS; i++)
		d->by_kind[i].used = 0;
}

/* A use out of order halves the run: one stray file does not end a walk. */
static void run_count(uint32_t *run, uint32_t step)
{
	if (step > 0)
		++*run;
	else
		*run /= 2;
}

void names_use(struct names *ns, uint32_t dir, uint32_t rank, uint64_t kind,
    uint32_t step, uint32_t order_step, uint32_t now)
{
	struct dir *d = &ns->dirs[dir];

	if (d->used > 0) {
		run_count(&d->run, step);
		if (d->order)
			run_count(&d->order_run, order_step);
	}
	d->kinds |= kind;
	d->used++;
	d->used_at = now;
	d->last = rank;
}

size_t names_limit(const struct names *ns)
{
	return ns->max_dirs;
}

uint32_t names_count(const struct names *ns)
{
	return ns->n;
}

size_t names_memory_bytes(const struct names *ns)
{
	return sizeof(*ns) + keymap_memory_bytes(ns->map) +
	       keymap_memory_bytes(ns->below) + ns->cap * sizeof(*ns->dirs) +
	       ns->listed * 2 * sizeof(uint32_t);
}
