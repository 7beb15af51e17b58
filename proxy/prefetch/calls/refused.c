/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that the server refused; see the header. */
#include "prefetch/calls/refused.h"

#include <stdlib.h>

#include "cache/caches.h"

enum { REFUSED = 4096 };

/* The answer of a server that refused a call is taken to be the same for so
 * long. */
#define REFUSED_US 60000000

struct refused {
	struct {
		uint64_t call, us;
	} at[REFUSED];    /* by call */
	uint64_t last_us; /* 0: no call was refused yet */
};

struct refused *refused_new(void)
{
	return calloc(1, sizeof(struct refused));
}

/* Rights and types go with an object's version. */
static uint64_t number_of(const struct caches *c, const struct refused_call *x)
{
	uint32_t version = attrcache_generation(c->attr, x->node);
	uint64_t h =
	    node_key(x->node) ^
	    ((uint64_t)version << 32 | x->cred) * UINT64_C(0x9e3779b97f4a7c15) ^
	    x->proc * UINT64_C(0xff51afd7ed558ccd);

	return h ? h : 1;
}

void refused_add(struct refused *r, const struct caches *c,
    const struct refused_call *call, uint64_t now_us)
{
	uint64_t number = number_of(c, call);

	r->at[number % REFUSED].call = number;
	r->at[number % REFUSED].us = now_us;
	r->last_us = now_us;
}

bool refused_lately(const struct refused *r, const struct caches *c,
    const struct refused_call *call, uint64_t now_us)
{
	uint64_t number;

	if (r->last_us == 0 || now_us >= r->last_us + REFUSED_US)
		return false;
	number = number_of(c, call);
	return r->at[number % REFUSED].call == number &&
	       now_us < r->at[number % REFUSED].us + REFUSED_US;
}
