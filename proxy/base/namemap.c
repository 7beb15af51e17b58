/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names by number: see namemap.h. A number's name lies in one of the WAYS
 * places of its set; the newest of a set comes first, and the oldest falls out.
 * So it never takes more memory, and no lookup more than four comparisons. */
#include "base/namemap.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4, SETS = NAMEMAP_NAMES / WAYS };

/* As large as a line of a processor's cache. */
struct namemap_place {
	uint64_t number; /* 0: none */
	uint8_t len;
	char name[NAMEMAP_LEN_MAX];
};

struct namemap {
	struct namemap_place sets[SETS][WAYS];
};

struct namemap *namemap_new(void)
{
	return calloc(1, sizeof(struct namemap));
}

void namemap_free(struct namemap *m)
{
	free(m);
}

/* Returns the set of a number, by its upper half: whoever made the number may
 * have set its lowest bits on purpose. */
static size_t set_of(uint64_t number)
{
	return (size_t)(number >> 32) % SETS;
}

static const struct namemap_place *find(
    const struct namemap_place *set, uint64_t number)
{
	for (int i = 0; i < WAYS; i++)
		if (set[i].number == number)
			return &set[i];
	return NULL;
}

void namemap_put(
    struct namemap *m, uint64_t number, const char *name, size_t len)
{
	struct namemap_place *set = m->sets[set_of(number)];

	if (len == 0 || len > NAMEMAP_LEN_MAX || number == 0 ||
	    find(set, number))
		return;
	memmove(&set[1], &set[0], (WAYS - 1) * sizeof(set[0]));
	set[0].number = number;
	set[0].len = (uint8_t)len;
	memcpy(set[0].name, name, len);
}

const char *namemap_get(const struct namemap *m, uint64_t number, size_t *len)
{
	const struct namemap_place *at =
	    number ? find(m->sets[set_of(number)], number) : NULL;

	if (!at)
		return NULL;
	*len = at->len;
	return at->name;
}
