/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The issue policy of the simulator: see simpolicy.h. */
#include "predictor/sim/simpolicy.h"

#include <stdlib.h>

/* A call and its reply, without data: an empty file must cost something. */
#define OVERHEAD_BYTES 512
#define BACKLOG_RTTS   8

static int lead_cmp(const void *a, const void *b)
{
	const struct prediction *x = a, *y = b;

	if (x->lead != y->lead)
		return x->lead < y->lead ? -1 : 1;
	return (x->p < y->p) - (x->p > y->p);
}

void simpolicy_order(struct prediction *preds, size_t n)
{
	qsort(preds, n, sizeof(*preds), lead_cmp);
}

bool simpolicy_worth(const struct simpolicy_link *link,
    const struct prediction *pred, uint32_t bytes)
{
	double cost_s = (bytes + OVERHEAD_BYTES) / link->bytes_per_s;
	double gain_s = pred->p * (link->rtt_s + cost_s);
	double waste_s = (1 - pred->p) * cost_s;

	/* Behind such a queue it would hardly come before it is wanted. */
	if (link->backlog_s > BACKLOG_RTTS * link->rtt_s)
		return false;
	return gain_s >
	       link->price * waste_s * (1 + 2 * link->backlog_s / link->rtt_s);
}
