/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and wants in directories just before; see the header. */
#include "prefetch/sources/dirs.h"

#include <stdlib.h>

enum {
	DIRS = 256,
	/* Calls in one directory belong together if they come so close. */
	TOGETHER_US = 1000000,
};

struct recent_dir {
	uint64_t key;
	uint64_t us;         /* of the last call or want */
	uint64_t anew_us;    /* when it was listed again for a change */
	uint64_t renewed_us; /* when what came ahead was confirmed again */
	uint64_t read_us;    /* when a client read its listing */
	uint32_t read_page;  /* by READDIRPLUS, so many bytes at once */
	unsigned misses;     /* calls that went to the server */
	unsigned attr_wants; /* wants for the attributes of a name in it */
};

struct dirs {
	struct recent_dir at[DIRS]; /* by key */
};

struct dirs *dirs_new(void)
{
	return calloc(1, sizeof(struct dirs));
}

/* Another directory gives way. */
static struct recent_dir *place_of(struct dirs *ds, uint64_t key)
{
	struct recent_dir *d = &ds->at[key % DIRS];

	if (d->key != key)
		*d = (struct recent_dir){.key = key};
	return d;
}

/* The record of the directory; misses and wants of long ago are dropped. */
static struct recent_dir *recent(struct dirs *ds, uint64_t key, uint64_t now_us)
{
	struct recent_dir *d = place_of(ds, key);

	if (now_us - d->us > TOGETHER_US)
		d->misses = d->attr_wants = 0;
	d->us = now_us;
	return d;
}

unsigned dirs_missed(struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	return ++recent(ds, dir, now_us)->misses;
}

void dirs_want(struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	recent(ds, dir, now_us)->attr_wants++;
}

unsigned dirs_wanted(struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	return recent(ds, dir, now_us)->attr_wants;
}

/* True at most once in a while. */
static bool is_time(uint64_t *last_us, uint64_t now_us)
{
	if (*last_us && now_us - *last_us < TOGETHER_US)
		return false;
	*last_us = now_us;
	return true;
}

bool dirs_list_anew(struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	return is_time(&place_of(ds, dir)->anew_us, now_us);
}

bool dirs_renew(struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	return is_time(&place_of(ds, dir)->renewed_us, now_us);
}

void dirs_read(
    struct dirs *ds, uint64_t dir, uint32_t page_bytes, uint64_t now_us)
{
	struct recent_dir *d = place_of(ds, dir);

	d->read_us = now_us;
	d->read_page = page_bytes;
}

uint32_t dirs_read_page(const struct dirs *ds, uint64_t dir, uint64_t now_us)
{
	const struct recent_dir *d = &ds->at[dir % DIRS];

	return d->key == dir && d->read_us + TOGETHER_US > now_us ? d->read_page
								  : 0;
}
