/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions among the trees that a user is shown and may clear: each book of
 * sessions counts as one tree. */
#include <stdlib.h>

#include <xxhash.h>

#include "predictor/core/core.h"
#include "predictor/persist/trees_private.h"

/* Whether a uid of these bits had the sessions. */
static bool book_is_of(
    const struct predictor *p, const struct session_book *b, uint16_t only)
{
	return (wall_find(&p->wall, b->uid) & only) != 0;
}

/* The id has to be another one than that of any tree, so it is hashed by a
 * seed. */
static uint64_t book_id(const struct session_book *b)
{
	uint64_t pair[2] = {b->uid, b->space};
	uint64_t id = XXH3_64bits_withSeed(pair, sizeof(pair), SESSIONS_KEPT);

	return id ? id : 1;
}

/* The root of the book: the first object of its newest session that still
 * exists. */
static uint64_t book_root(
    const struct predictor *p, const struct session_book *b)
{
	const struct session_record *r = &b->kept[0];

	for (uint32_t i = 0; i < r->n; i++) {
		const struct object *o =
		    objects_at(p->objects, r->uses[i].object);

		if (!o->free && o->born_at <= r->at)
			return o->key;
	}
	return 0;
}

bool session_tree(const struct predictor *p, uint32_t i, uint16_t only,
    struct predictor_tree *tree)
{
	const struct session_book *b = sessions_book(p->sessions, i);

	tree->id = 0;
	if (!b)
		return false;
	if (b->n == 0 || !book_is_of(p, b, only))
		return true;
	*tree = (struct predictor_tree){.id = book_id(b),
	    .root = book_root(p, b),
	    .uid = b->uid,
	    .objects = b->kept[0].n,
	    .uses = b->n,
	    .age = p->events > b->used_at ? p->events - b->used_at : 0,
	    .session = true};
	return true;
}

uint32_t session_find(const struct predictor *p, uint16_t only, uint64_t id)
{
	const struct session_book *b;

	for (uint32_t i = 0; (b = sessions_book(p->sessions, i)) != NULL; i++)
		if (b->n > 0 && book_id(b) == id && book_is_of(p, b, only))
			return i;
	return SESSION_NONE;
}
