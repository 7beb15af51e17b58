/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a file system object by object, and compares alike. */
#include "sweep/memfs_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memfs *memfs_copy(const struct memfs *fs)
{
	struct memfs *to = malloc(sizeof(*to));

	memcpy(to, fs, sizeof(*to));
	for (unsigned i = 0; i < fs->n; i++) {
		const struct memfs_object *from = &fs->objects[i];
		struct memfs_object *o = &to->objects[i];

		if (from->data) {
			o->data = malloc(MEMFS_DATA_MAX);
			memcpy(o->data, from->data, from->size);
		}
		for (unsigned k = 0; k < o->nnames; k++)
			o->names[k].object =
			    to->objects + (from->names[k].object - fs->objects);
	}
	return to;
}

static bool same_names(const struct memfs *a, const struct memfs_object *x,
    const struct memfs *b, const struct memfs_object *y)
{
	if (x->nnames != y->nnames)
		return false;
	for (unsigned i = 0; i < x->nnames; i++)
		if (strcmp(x->names[i].name, y->names[i].name) != 0 ||
		    x->names[i].object - a->objects !=
			y->names[i].object - b->objects)
			return false;
	return true;
}

bool memfs_same(const struct memfs *a, const struct memfs *b, char *why)
{
	for (unsigned i = 0; i < a->n && i < b->n; i++) {
		const struct memfs_object *x = &a->objects[i];
		const struct memfs_object *y = &b->objects[i];
		const char *what = NULL;

		if (x->type != y->type || x->nlink != y->nlink)
			what = "links";
		else if (x->mode != y->mode)
			what = "mode";
		else if (x->size != y->size ||
			 (x->size > 0 && memcmp(x->data, y->data, x->size)))
			what = "data";
		else if (!same_names(a, x, b, y))
			what = "names";
		if (what) {
			snprintf(
			    why, MEMFS_WHY_MAX, "the %s of %s", what, x->path);
			return false;
		}
	}
	snprintf(
	    why, MEMFS_WHY_MAX, "the number of objects, %u and %u", a->n, b->n);
	return a->n == b->n;
}
