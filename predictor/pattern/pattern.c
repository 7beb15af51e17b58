/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differences of the last reads, and the period that they keep.
 *
 *	read     -> was it predicted?  yes: advance in the pattern
 *	                               no:  give the pattern up; look for
 *	                                    another, in the file's last order,
 *	                                    then by period
 *	answered -> tell: predict from here up to the depth
 *
 * The depth begins at 2, or at 4 for a long period, and doubles with each hit.
 * bench/patterns measures what the bounds below are worth.
 */
#include "predictor/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/store/order.h"

enum {
	HISTORY = 512, /* reads; a power of two */
	SETS = 8,
	WAYS = PATTERN_READERS / SETS,
	NEED = 3,        /* differences that a new period must have kept */
	NEED_PROVEN = 2, /* the same for a reader with PROVEN hits */
	PROVEN = 16,
	DOUBT_MAX = 13, /* differences that wrong patterns add to NEED */
	LONG = 8,       /* a period kept for so long begins with depth 4 */
	SKIP = 8,       /* reads that may be left out, or change places */
	LOCKSTEP = 4,   /* reads that each came after the last one's reply */
	ORDER_NEAR = 8, /* pieces that a read of an order may leave out */
	ORDER_NEED = 2, /* reads in an order before it is believed */
};

/* One reader of one file. */
struct pattern {
	uint64_t object, reader;
	uint64_t used; /* 0: free */
	uint64_t offsets[HISTORY];
	uint32_t counts[HISTORY];
	uint32_t came_us[HISTORY]; /* the low bits of the time */
	uint32_t n;                /* reads, ever */
	uint32_t period;           /* 0: none */
	uint32_t ahead;            /* reads predicted beyond the last one */
	uint32_t depth;            /* how many there are to be */
	uint32_t run;              /* differences that kept the period */
	uint32_t hits;     /* reads that it predicted, since it was found */
	uint32_t proven;   /* the same, of all patterns of this reader */
	uint32_t doubt;    /* patterns that were wrong, and few hits since */
	uint32_t lockstep; /* reads in a row that waited for a reply */
	uint32_t begun;    /* `n`, after the last read that began */
	bool waits;        /* that read waits for its reply */
	uint64_t done_us;  /* when the last reply went out */
	uint64_t think_us; /* from a reply to the next read, on average */
	/* The order of the last run, where in it the last read was, and how
	 * many reads in a row have followed it. */
	struct pattern_piece *order;
	uint32_t norder, at, follows;
	bool ordered;      /* predictions come from the order, not a period */
	bool asked;        /* the order was asked for */
	uint32_t file_run; /* the run of the file when it was asked for */
};

struct patterns {
	pattern_order order;
	void *ctx;
	uint64_t clock;
	size_t order_bytes;
	struct pattern at[SETS][WAYS];
};

struct patterns *patterns_new(pattern_order order, void *ctx)
{
	struct patterns *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return NULL;
	ps->order = order;
	ps->ctx = ctx;
	return ps;
}

static void order_drop(struct patterns *ps, struct pattern *p)
{
	ps->order_bytes -= p->norder * sizeof(*p->order);
	free(p->order);
	p->order = NULL;
	p->norder = p->at = p->follows = 0;
}

void patterns_free(struct patterns *ps)
{
	if (!ps)
		return;
	for (int i = 0; i < SETS; i++)
		for (int k = 0; k < WAYS; k++)
			free(ps->at[i][k].order);
	free(ps);
}

size_t patterns_memory_bytes(const struct patterns *ps)
{
	return sizeof(*ps) + ps->order_bytes;
}

/* The reader's pattern, begun anew where it has none: it takes the place of its
 * set that was not in use for longest. */
static struct pattern *pattern_find(
    struct patterns *ps, const struct pattern_read *r)
{
	uint64_t h =
	    (r->object ^ r->reader) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct pattern *set = ps->at[h % SETS], *old = set;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].used && set[i].object == r->object &&
		    set[i].reader == r->reader)
			return &set[i];
		if (set[i].used < old->used)
			old = &set[i];
	}
	order_drop(ps, old);
	memset(old, 0, sizeof(*old));
	old->object = r->object;
	old->reader = r->reader;
	return old;
}

/* ---- the last reads --------------------------------------------------- */

/* The read that came `back` reads before the last one; there must be so
 * many. */
static struct pattern_piece last(const struct pattern *p, uint32_t back)
{
	uint32_t i = (p->n - 1 - back) % HISTORY;

	return (struct pattern_piece){p->offsets[i], p->counts[i]};
}

static uint32_t kept(const struct pattern *p)
{
	return p->n < HISTORY ? p->n : HISTORY;
}

static struct pattern_piece piece_of(const struct pattern_read *r)
{
	return (struct pattern_piece){r->offset_bytes, r->count_bytes};
}

/* Appends a read to the ring. */
static void push(struct pattern *p, struct pattern_piece x, uint64_t now_us)
{
	p->offsets[p->n % HISTORY] = x.offset_bytes;
	p->counts[p->n % HISTORY] = x.count_bytes;
	p->came_us[p->n % HISTORY] = (uint32_t)now_us;
	p->n++;
	/* Only the place in the ring matters, and it stays the same. */
	if (p->n == UINT32_MAX)
		p->n = HISTORY + p->n % HISTORY;
}

/* The step to the read `back` reads before the last one. Going backward it
 * wraps around, which comparisons and sums do not mind. */
static uint64_t difference(const struct pattern *p, uint32_t back)
{
	return last(p, back).offset_bytes - last(p, back + 1).offset_bytes;
}

/* How many of the last differences equal those one period before them. */
static uint32_t agreement(const struct pattern *p, uint32_t period)
{
	uint32_t n = 0, max = kept(p) - 1 - period;

	while (n < max && n < PATTERN_AHEAD &&
	       difference(p, n) == difference(p, n + period))
		n++;
	return n;
}

/* How many differences must agree before a period is believed. */
static uint32_t needed(const struct pattern *p)
{
	return (p->proven >= PROVEN ? NEED_PROVEN : NEED) + p->doubt;
}

/* Takes the smallest period that holds, if there is one. */
static void period_find(struct pattern *p)
{
	uint32_t need = needed(p), run;

	for (uint32_t i = 1; i + need <= kept(p); i++) {
		run = agreement(p, i);
		/* n equal steps make n differences, but n - 1 pairs of
		 * them, so a period of 1 is given one for nothing. */
		if (run + (i == 1) < need)
			continue;
		p->period = i;
		p->run = run;
		p->hits = 0;
		p->depth = run >= LONG ? 4 : 2;
		return;
	}
}

/* Whether the reads go forward and leave nothing out, as readahead does. */
static bool is_forward(const struct pattern *p)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i <= p->period; i++)
		bytes += last(p, i).count_bytes;
	return last(p, 0).offset_bytes - last(p, p->period).offset_bytes ==
	       bytes;
}

/* ---- what follows ----------------------------------------------------- */

/* The `k`th read from here; 1 is the next one. Nothing behind an order's
 * end. */
static struct pattern_piece next(const struct pattern *p, uint32_t k)
{
	struct pattern_piece x;
	uint64_t shift;

	if (p->ordered)
		return p->at + k < p->norder ? p->order[p->at + k]
					     : (struct pattern_piece){0};
	shift = last(p, 0).offset_bytes - last(p, p->period).offset_bytes;
	x = last(p, p->period - 1 - (k - 1) % p->period);
	x.offset_bytes += shift * ((k - 1) / p->period + 1);
	return x;
}

static bool is_active(const struct pattern *p)
{
	return p->ordered || p->period > 0;
}

/* Whether the read begins within the piece. */
static bool has(const struct pattern_piece *x, const struct pattern_read *r)
{
	return r->offset_bytes >= x->offset_bytes &&
	       r->offset_bytes - x->offset_bytes < x->count_bytes;
}

/* Which of the next reads this one is; 0 for none of them. */
static uint32_t foreseen(const struct pattern *p, const struct pattern_read *r)
{
	uint32_t far = p->ahead + 1 < SKIP ? p->ahead + 1 : SKIP;

	for (uint32_t k = 1; is_active(p) && k <= far; k++) {
		struct pattern_piece x = next(p, k);

		if (p->ordered ? has(&x, r) : x.offset_bytes == r->offset_bytes)
			return k;
	}
	return 0;
}

/* Whether it is one of the last few reads, repeated or out of order. */
static bool was_just(const struct pattern *p, const struct pattern_read *r)
{
	for (uint32_t i = 0; i < SKIP && i < kept(p); i++)
		if (last(p, i).offset_bytes == r->offset_bytes)
			return true;
	return p->ordered && p->at < p->norder && has(&p->order[p->at], r);
}

/* The piece is not wanted any more. */
static void drop(struct pattern_news *news, struct pattern_piece x)
{
	if (news->ndrop < PATTERN_AHEAD && x.count_bytes > 0)
		news->drop[news->ndrop++] = x;
}

/* The read is the `k`th one from here: those before it were left out, and count
 * as read. Each hit doubles the depth, until tell() finds it deep enough. */
static void advance(struct pattern *p, const struct pattern_read *r, uint32_t k,
    struct pattern_news *news)
{
	news->hit = k <= p->ahead;
	for (uint32_t i = 1; i <= k; i++) {
		struct pattern_piece x = next(p, 1);

		if (i <= p->ahead)
			drop(news, x);
		if (i == k)
			x = piece_of(r);
		push(p, x, r->now_us);
		if (p->ordered)
			p->at++;
	}
	p->ahead = p->ahead > k ? p->ahead - k : 0;
	p->run++;
	p->hits++;
	p->proven++;
	p->depth *= 2;
	if (p->doubt > 0 && p->hits % NEED == 0)
		p->doubt--;
}

/* The pattern is over: what was predicted and not read is taken back. If it
 * held for hardly any read, the next one has to prove itself for longer. */
static void give_up(struct pattern *p, struct pattern_news *news)
{
	news->broken = p->ahead > 0;
	for (uint32_t k = 1; k <= p->ahead; k++)
		drop(news, next(p, k));
	if (is_active(p) && p->hits < NEED) {
		p->proven = 0;
		p->doubt = p->doubt + 1 < DOUBT_MAX ? p->doubt + 1 : DOUBT_MAX;
	}
	p->ahead = p->period = p->run = p->hits = 0;
	p->ordered = false;
}

/* ---- orders ----------------------------------------------------------- */

/* Gets the order of the file's last run, once for each run. */
static void order_load(
    struct patterns *ps, struct pattern *p, const struct pattern_read *r)
{
	struct predictor_extent pieces[ORDER_MAX];
	size_t n;

	if (!ps->order || (p->asked && p->file_run == r->run))
		return;
	order_drop(ps, p);
	p->asked = true;
	p->file_run = r->run;
	n = ps->order(ps->ctx, p->object, pieces, ORDER_MAX);
	p->order = n > 0 ? malloc(n * sizeof(*p->order)) : NULL;
	if (!p->order)
		return;
	for (size_t i = 0; i < n; i++)
		p->order[i] = (struct pattern_piece){
		    pieces[i].offset_bytes, pieces[i].length_bytes};
	p->norder = (uint32_t)n;
	/* The search begins behind `at`, which is the first piece then. */
	p->at = p->norder - 1;
	ps->order_bytes += n * sizeof(*p->order);
}

/* Finds the read in the order, looking forward from the last one. */
static void order_follow(struct pattern *p, const struct pattern_read *r)
{
	uint32_t at = p->at;

	if (p->follows > 0 && has(&p->order[at], r))
		return;
	for (uint32_t i = 1; i <= p->norder; i++) {
		at = (p->at + i) % p->norder;
		if (!has(&p->order[at], r))
			continue;
		p->follows = i <= ORDER_NEAR ? p->follows + 1 : 1;
		p->at = at;
		return;
	}
	p->follows = 0;
}

static bool order_begin(struct pattern *p, const struct pattern_read *r)
{
	if (p->norder == 0)
		return false;
	order_follow(p, r);
	if (p->follows < ORDER_NEED + p->doubt)
		return false;
	p->ordered = true;
	p->run = p->follows;
	p->hits = 0;
	p->depth = p->follows >= LONG ? 4 : 2;
	return true;
}

/* ---- reads ------------------------------------------------------------ */

/* How many reads of this size the link holds, or how many the reader sends
 * while one is fetched, whichever is less, and two more. */
static uint32_t deep_enough(
    const struct pattern *p, const struct pattern_read *r)
{
	uint64_t pipe = r->pipe_bytes / (r->count_bytes ? r->count_bytes : 1);
	uint64_t pace = r->fetch_us / (p->think_us ? p->think_us : 1);
	uint64_t depth = (pipe < pace ? pipe : pace) + 2;

	return depth < PATTERN_AHEAD ? (uint32_t)depth : PATTERN_AHEAD;
}

/* Forward reads are told only to a client that reads in lockstep. */
static bool may_tell(const struct pattern *p)
{
	return is_active(p) &&
	       (p->ordered || !is_forward(p) || p->lockstep >= LOCKSTEP);
}

/* Predicts from here up to the depth, which the link and the reader's pace
 * bound. */
static void tell(
    struct pattern *p, const struct pattern_read *r, struct pattern_news *news)
{
	uint32_t max = deep_enough(p, r);

	if (p->depth > max)
		p->depth = max;
	if (!may_tell(p))
		return;
	news->lead = p->ahead + 1;
	/* The rule of succession: after n hits (n + 1) / (n + 2); the three
	 * differences that made the pattern count as hits. */
	news->p = (float)(p->run + 4) / (float)(p->run + 5);
	while (p->ahead < p->depth) {
		struct pattern_piece x = next(p, p->ahead + 1);

		/* The pattern leaves the file here, at its end or its
		 * beginning. */
		if (x.count_bytes == 0 || x.offset_bytes >= r->size_bytes)
			return;
		news->want[news->nwant++] = x;
		p->ahead++;
	}
}

/* Learns how long the reader takes from a reply to its next read; the average
 * gives the newest an eighth, as RFC 6298 does for round trips. */
static void pace(struct pattern *p, const struct pattern_read *r)
{
	bool alone = !p->waits && r->now_us >= p->done_us;
	uint64_t think = alone ? r->now_us - p->done_us : 0;

	if (p->n > 0) {
		p->lockstep = alone ? p->lockstep + 1 : 0;
		p->think_us = p->think_us - p->think_us / 8 + think / 8;
	}
}

/* Whether the read was told when it came. */
static bool began(struct pattern *p, const struct pattern_read *r)
{
	for (uint32_t i = 0; i < kept(p); i++) {
		uint32_t at = (p->n - 1 - i) % HISTORY;

		if (p->came_us[at] != (uint32_t)r->now_us ||
		    p->offsets[at] != r->offset_bytes)
			continue;
		p->waits &= p->n - i != p->begun;
		return true;
	}
	return false;
}

/* Takes the read into its reader's pattern; false where that says nothing. */
static bool follow(struct patterns *ps, struct pattern *p,
    const struct pattern_read *r, struct pattern_news *news)
{
	uint32_t k;

	if (p->n > 0 && last(p, 0).offset_bytes == r->offset_bytes)
		return false;
	k = foreseen(p, r);
	if (k == 0 && is_active(p) && was_just(p, r))
		return false;
	pace(p, r);
	if (k > 0) {
		advance(p, r, k, news);
	} else {
		give_up(p, news);
		push(p, piece_of(r), r->now_us);
		order_load(ps, p, r);
		if (!order_begin(p, r))
			period_find(p);
	}
	if (r->begins) {
		p->waits = true;
		p->begun = p->n;
	}
	return true;
}

void patterns_read(struct patterns *ps, const struct pattern_read *r,
    struct pattern_news *news)
{
	struct pattern *p;
	bool goes_on;

	news->ndrop = news->nwant = 0;
	news->hit = news->broken = false;
	if (!r->object || r->count_bytes == 0 ||
	    r->offset_bytes >= r->size_bytes)
		return;
	p = pattern_find(ps, r);
	p->used = ++ps->clock;
	/* A reply at once is that to a read that began only where one waits. */
	goes_on = ((r->latency_us > 0 || p->waits) && began(p, r)) ||
		  follow(ps, p, r, news);
	if (r->begins)
		return;
	if (r->now_us + r->latency_us > p->done_us)
		p->done_us = r->now_us + r->latency_us;
	if (goes_on)
		tell(p, r, news);
}
