/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table remembers by the tags of keys how many bytes the engine was given, or
 * gave, so that hardly a value is published twice.
 */
#include <stdlib.h>

#include "farm/farm_private.h"

enum { KEPT_SLOTS = 32768 }; /* a power of two */

/* How many bytes the engine has of one key. A new key takes the place of any
 * other with its slot: then a value may be published twice, which only
 * costs. */
struct farm_kept {
	uint64_t tag;
	uint32_t len; /* of a value's pieces, in all */
};

static struct farm_kept *slot_of(const struct farm *f, uint64_t tag)
{
	return &f->kept[tag & (KEPT_SLOTS - 1)];
}

bool kept_begin(struct farm *f)
{
	f->kept = calloc(KEPT_SLOTS, sizeof(*f->kept));
	return f->kept != NULL;
}

void kept_end(struct farm *f)
{
	free(f->kept);
}

/* The engine has so many bytes under the key now. */
void kept_note(struct farm *f, const struct farm_key *key, uint32_t len)
{
	*slot_of(f, key->tag) = (struct farm_kept){.tag = key->tag, .len = len};
}

void kept_lost(struct farm *f, const struct farm_key *key)
{
	struct farm_kept *slot = slot_of(f, key->tag);

	if (slot->tag == key->tag)
		slot->len = 0;
}

bool kept_has(const struct farm *f, const struct farm_key *key, uint32_t len)
{
	const struct farm_kept *slot = slot_of(f, key->tag);

	return slot->tag == key->tag && slot->len >= len;
}
