/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that the server refused: the same call about that version of the object
 * is not sent again for a minute, whatever else it names. One place for each
 * call by its hash; another one gives way.
 */
#ifndef FOREFETCH_REFUSED_H
#define FOREFETCH_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

struct caches;
struct node;
struct refused;

struct refused_call {
	const struct node *node;
	uint32_t proc;
	uint32_t cred; /* caches_cred() */
};

/* NULL without memory; of free(). */
struct refused *refused_new(void);
/* The server refused the call. */
void refused_add(struct refused *r, const struct caches *c,
    const struct refused_call *call, uint64_t now_us);
/* Whether it did so in the last minute, and the object has not changed since.
 */
bool refused_lately(const struct refused *r, const struct caches *c,
    const struct refused_call *call, uint64_t now_us);

#endif
