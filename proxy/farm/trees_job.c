/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of learned trees, in threads: see trees_job.h. */
#include "farm/trees_job.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "predictor/persist/merge.h"
#include "predictor/persist/persist.h"

/* In front of a value: rate and round trip of the link, and how long the
 * snapshot is, and the table of handles that is behind it. The rest is the
 * table of names. */
enum {
	AT_RATE = 0,
	AT_BASE = FARM_NUMBER_BYTES,
	AT_TREES = 2 * FARM_NUMBER_BYTES,
	AT_HANDLES = 3 * FARM_NUMBER_BYTES,
	HEAD = 4 * FARM_NUMBER_BYTES,
};

void trees_job_free(struct trees_job *j)
{
	predictor_merge_free(j->merge);
	predictor_snapshot_free(j->snapshot);
	bytetable_clear(&j->handles);
	bytetable_clear(&j->names);
	free(j->trees);
	free(j->value);
	free(j->plain);
	free(j);
}

/* Without the link: its rate wavers, which is no reason to publish the value
 * again. */
static uint64_t hash_of(const struct trees_job *j)
{
	return XXH3_64bits(j->plain + AT_TREES, j->plain_len - AT_TREES);
}

/* Parts what was opened into a merge and two tables. False where it is damaged;
 * a table that is loses its rows only. */
static bool open_parts(struct trees_job *j)
{
	const unsigned char *at = j->plain + HEAD;
	uint64_t left = j->plain_len - HEAD;
	uint64_t trees = farm_get_number(j->plain + AT_TREES);
	uint64_t handles = farm_get_number(j->plain + AT_HANDLES);

	j->link.rate_Bps = farm_get_number(j->plain + AT_RATE);
	j->link.base_us = farm_get_number(j->plain + AT_BASE);
	if (trees > left || handles > left - trees)
		return false;
	j->merge = predictor_merge_new(j->uid, at, (size_t)trees);
	at += trees;
	j->has_handles =
	    bytetable_open(&j->handles_came, at, (size_t)handles) == 0;
	at += handles;
	left -= trees + handles;
	j->has_names = bytetable_open(&j->names_came, at, (size_t)left) == 0;
	return j->merge != NULL;
}

/* Whatever fails leaves `merge` NULL, which the loop counts as a bad value. */
void trees_job_open(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;

	if (j->len <= SEAL_EXTRA + HEAD)
		return;
	j->plain_len = j->len - SEAL_EXTRA;
	j->plain = malloc(j->plain_len);
	if (!j->plain ||
	    !seal_open(j->seal, j->key.name, j->value, j->len, j->plain) ||
	    !open_parts(j))
		return;
	j->hash = hash_of(j);
}

void trees_job_pack(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;

	j->trees = predictor_snapshot_pack(j->snapshot, &j->trees_len);
}

/* Copies a part; the place behind it. */
static unsigned char *put_part(unsigned char *to, const void *data, size_t len)
{
	if (len > 0)
		memcpy(to, data, len);
	return to + len;
}

/* A value that is too long for the engine is not sealed. */
void trees_job_seal(struct iopool_job *job)
{
	struct trees_job *j = (struct trees_job *)job;
	unsigned char *to;

	j->plain_len = HEAD + j->trees_len + j->handles.len + j->names.len;
	j->len = j->plain_len + SEAL_EXTRA;
	if (j->len > ENGINE_VALUE_MAX)
		return;
	j->plain = malloc(j->plain_len);
	j->value = malloc(j->len);
	if (!j->plain || !j->value)
		return;
	farm_put_number(j->plain + AT_RATE, j->link.rate_Bps);
	farm_put_number(j->plain + AT_BASE, j->link.base_us);
	farm_put_number(j->plain + AT_TREES, j->trees_len);
	farm_put_number(j->plain + AT_HANDLES, j->handles.len);
	to = put_part(j->plain + HEAD, j->trees, j->trees_len);
	to = put_part(to, j->handles.data, j->handles.len);
	(void)put_part(to, j->names.data, j->names.len);
	j->hash = hash_of(j);
	seal_close(j->seal, j->key.name, j->plain, j->plain_len, j->value);
	j->sealed = true;
}
