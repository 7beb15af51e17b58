/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs bytes that came ahead and were not used against those of demand.
 * prefetch/ reports what came and what clients were told, and worth.c there
 * adds the price to the cost of a call. */
#include "link/waste.h"

#include <math.h>
#include <stdlib.h>

#include "base/uint.h"

/* In each tick a 64th of all that counts is forgotten. */
#define TICK_US UINT64_C(940000)
enum { TICK_PARTS = 64, TICKS_MAX = 2048, SHARE_PRESET = 100 };

/* On a link of fewer bytes a second half of the share counts: there, waste is
 * felt. */
#define SLOW_BPS UINT64_C(500000)

/*
 * The bytes that may lie unused before anything has shown its worth: a second
 * of the link, but no more than this; and twice the bytes that the link holds,
 * since so much of a file that is being read is under way. In the beginning of
 * a job little is read, and many guesses are used a while later: with a quarter
 * of this, node's first run over 40 ms and 20 Mb/s took 18 s instead of 13.
 */
#define ALLOWANCE_MAX     UINT64_C(2097152)
/* The same for a link whose rate is not known yet. */
#define ALLOWANCE_UNKNOWN UINT64_C(524288)

/* The price is this times the part of the limit that is used up, by the part
 * that is left. */
#define PRICE     3.0
/* At the limit it is this: a page that spares a round trip of 40 ms on a link
 * of 20 Mb/s has to be of use in nineteen cases of twenty, and a confirmation
 * in three of ten. So what was in vain does not keep back what is short. */
#define PRICE_MAX 200.0
/* At so many times the limit nothing goes any more. */
#define SHUT_PART 1.5

struct waste {
	unsigned percent;
	uint64_t ticked_us;
	double demand, open, judged;
};

struct waste *waste_new(void)
{
	struct waste *w = calloc(1, sizeof(*w));

	if (w)
		w->percent = SHARE_PRESET;
	return w;
}

void waste_free(struct waste *w)
{
	free(w);
}

void waste_set_share(struct waste *w, unsigned percent)
{
	w->percent = percent;
}

static void tick(struct waste *w, uint64_t now_us)
{
	uint64_t n;
	double keep = 1;

	if (now_us < w->ticked_us + TICK_US)
		return;
	n = min_u64((now_us - w->ticked_us) / TICK_US, TICKS_MAX);
	w->ticked_us += n * TICK_US;
	if (n == TICKS_MAX)
		w->ticked_us = now_us;
	while (n-- > 0)
		keep *= 1 - 1.0 / TICK_PARTS;
	w->demand *= keep;
	w->open *= keep;
	w->judged *= keep;
}

static double less(double from, uint64_t bytes)
{
	return from > (double)bytes ? from - (double)bytes : 0;
}

void waste_demand(struct waste *w, uint64_t bytes, uint64_t now_us)
{
	tick(w, now_us);
	w->demand += (double)bytes;
}

void waste_cached(struct waste *w, uint64_t bytes, uint64_t now_us)
{
	double was;

	tick(w, now_us);
	was = w->open;
	w->open = less(w->open, bytes);
	w->demand += was - w->open;
}

void waste_ahead(struct waste *w, uint64_t bytes, uint64_t now_us)
{
	tick(w, now_us);
	w->open += (double)bytes;
}

void waste_unused(struct waste *w, uint64_t bytes, uint64_t now_us)
{
	tick(w, now_us);
	w->judged += (double)bytes;
}

void waste_used(struct waste *w, uint64_t bytes, uint64_t now_us)
{
	tick(w, now_us);
	w->judged = less(w->judged, bytes);
}

void waste_get_status(struct waste *w, uint64_t rate_Bps, uint64_t pipe_bytes,
    uint64_t now_us, struct waste_status *st)
{
	double unused, demand, share = w->percent / 100.0;
	uint64_t allowance = ALLOWANCE_UNKNOWN;

	tick(w, now_us);
	unused = w->open > w->judged ? w->open : w->judged;
	/* Bytes that passed for demand though their object was not used were
	 * none: something else was told instead. */
	demand = w->demand - (unused - w->open);
	if (demand < 0)
		demand = 0;
	if (rate_Bps > 0) {
		allowance = min_u64(ALLOWANCE_MAX, rate_Bps);
		if (rate_Bps < SLOW_BPS)
			share /= 2;
	}
	allowance = allowance * min_u64(w->percent, 100) / 100;
	allowance = max_u64(allowance, 2 * pipe_bytes);
	st->unused_bytes = (uint64_t)unused;
	st->limit_bytes = (uint64_t)(share * demand) + allowance;
}

double waste_price(const struct waste_status *st)
{
	double part = (double)st->unused_bytes / (double)st->limit_bytes;
	double price = part < 1 ? PRICE * part / (1 - part) : PRICE_MAX;

	if (part >= SHUT_PART)
		return INFINITY;
	return price < PRICE_MAX ? price : PRICE_MAX;
}
