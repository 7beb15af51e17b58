/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of a file is read, by its kind; see the header. */
#include "prefetch/sources/kinds.h"

#include <stdlib.h>

#include "base/ageing.h"

enum {
	SIZES = 7,
	SIZE_SHIFT = 14, /* up to 16 KiB is the first; each holds 4 times it */
	CELLS = 512,
	READINGS = 256,
	AGED_AT_ONCE = 4,
	/* After so many both counts are halved. */
	KIND_MAX = 32,
	SIZE_MAX_COUNT = 256,
	/* Of what is read whole a little may be missing: the client had it. */
	WHOLE_PERCENT = 95,
	/* Where it was read at so many places, it may be read at others. */
	PLACES_NEWS = 3,
};

/* Nothing more was read of it for so long: then it is over. */
#define OVER_US UINT64_C(10000000)

/* As many files as this the odds of all files of its size are worth for a kind;
 * and what is usual, for a size. */
#define KIND_LEANS 2.0
#define SIZE_LEANS 2.0

/* Files that were read; of them, those that were read behind the beginning;
 * and what share of the rest that was, summed up. */
struct kinds_odds {
	float read, on, share;
};

struct cell {
	uint16_t type;
	uint8_t size;
	struct kinds_odds odds;
};

struct reading {
	uint64_t object; /* 0: none */
	uint64_t us;     /* of the last READ */
	uint64_t size_bytes;
	uint64_t first_bytes; /* of the beginning */
	uint64_t rest_bytes;  /* that were read behind it */
	uint64_t next_bytes;  /* where the last READ ended */
	float told;           /* the share that was counted; below 0: none */
	uint16_t type;
	uint8_t places; /* READs that do not go on where the last one ended */
	bool was_read;  /* before this reading */
	bool within;    /* it did not begin at the beginning */
};

struct kinds {
	struct kinds_odds sizes[SIZES];
	struct cell cells[CELLS];
	struct reading readings[READINGS];
	struct ageing ageing; /* when readings that go on are judged */
};

/* How usual it is that a file is read on, and how much of it then. Programs,
 * sources and documents are small and read whole; what is large is mostly
 * mapped, or an archive of which little is wanted. */
static const struct {
	float on, share;
} usual[SIZES] = {
    {1.0f, 1.0f}, /* 16 KiB */
    {.9f, .95f},  /* 64 KiB */
    {.85f, .9f},  /* 256 KiB */
    {.8f, .8f},   /* 1 MiB */
    {.6f, .5f},   /* 4 MiB */
    {.5f, .3f},   /* 16 MiB */
    {.4f, .15f},
};

struct kinds *kinds_new(void)
{
	struct kinds *k = calloc(1, sizeof(*k));

	if (k)
		ageing_init(&k->ageing);
	return k;
}

void kinds_free(struct kinds *k)
{
	free(k);
}

static uint8_t size_of(uint64_t bytes)
{
	uint8_t size = 0;

	while (size < SIZES - 1 && bytes > UINT64_C(1) << SIZE_SHIFT) {
		bytes = (bytes + 3) / 4;
		size++;
	}
	return size;
}

static unsigned cell_at(uint16_t type, uint8_t size)
{
	return (type * 31u + size * 77u) % CELLS;
}

static struct reading *reading_at(const struct kinds *k, uint64_t object)
{
	/* The low bits of some keys say little. */
	uint64_t mix = object * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return (struct reading *)&k->readings[mix % READINGS];
}

/* ---- counting --------------------------------------------------------- */

static void odds_count(struct kinds_odds *o, double share, float max)
{
	o->read++;
	o->on += share > 0;
	o->share += (float)share;
	if (o->read < max)
		return;
	o->read /= 2;
	o->on /= 2;
	o->share /= 2;
}

/* It turned out to be more than was counted. */
static void odds_mend(struct kinds_odds *o, double more, bool on)
{
	if (on && o->on + 1 <= o->read)
		o->on++;
	o->share += (float)more;
	if (o->share > o->on)
		o->share = o->on;
}

/* The kind's cell; another one's is given up for it. */
static struct kinds_odds *cell_take(
    struct kinds *k, uint16_t type, uint8_t size)
{
	struct cell *c = &k->cells[cell_at(type, size)];

	if (c->type != type || c->size != size)
		*c = (struct cell){.type = type, .size = size};
	return &c->odds;
}

static double share_of(const struct reading *r)
{
	uint64_t rest =
	    r->size_bytes > r->first_bytes ? r->size_bytes - r->first_bytes : 0;

	if (rest == 0)
		return 0;
	return r->rest_bytes < rest ? (double)r->rest_bytes / (double)rest : 1;
}

static void judge(struct kinds *k, struct reading *r)
{
	uint8_t size = size_of(r->size_bytes);
	double share = share_of(r);
	struct kinds_odds *kind;

	if (!r->object || r->size_bytes <= r->first_bytes ||
	    share <= (double)r->told)
		return;
	kind = cell_take(k, r->type, size);
	if (r->told < 0) {
		odds_count(kind, share, KIND_MAX);
		odds_count(&k->sizes[size], share, SIZE_MAX_COUNT);
	} else {
		odds_mend(kind, share - (double)r->told, r->told <= 0);
		odds_mend(
		    &k->sizes[size], share - (double)r->told, r->told <= 0);
	}
	r->told = (float)share;
}

static uint64_t over_us(const struct reading *r)
{
	return r->us + OVER_US;
}

static bool is_over(const struct reading *r, uint64_t now_us)
{
	return now_us >= over_us(r);
}

/* Of the file, whose READ is not counted yet. */
static struct reading *reading_take(
    struct kinds *k, const struct kinds_file *f, uint64_t offset, uint64_t end)
{
	struct reading *r = reading_at(k, f->object);

	if (r->object == f->object && r->size_bytes == f->size_bytes &&
	    (offset > 0 || !is_over(r, f->now_us)))
		return r;
	judge(k, r);
	*r = (struct reading){.object = f->object,
	    .type = f->type,
	    .size_bytes = f->size_bytes,
	    .first_bytes = 1 << SIZE_SHIFT,
	    .next_bytes = UINT64_MAX,
	    .told = -1,
	    .was_read = f->read,
	    .within = offset > 0};
	if (offset == 0 && end > r->first_bytes)
		r->first_bytes = end;
	return r;
}

bool kinds_seen(struct kinds *k, const struct kinds_file *f,
    uint64_t offset_bytes, uint32_t count_bytes)
{
	uint64_t end = offset_bytes + count_bytes;
	struct reading *r = reading_take(k, f, offset_bytes, end);
	uint64_t from = offset_bytes, rest = r->rest_bytes;
	uint8_t places = r->places;

	r->us = f->now_us;
	ageing_expect(&k->ageing, over_us(r));
	if (from != r->next_bytes && places < UINT8_MAX)
		r->places++;
	r->next_bytes = end;
	if (from < r->first_bytes)
		from = r->first_bytes;
	if (end > f->size_bytes)
		end = f->size_bytes;
	if (end > from)
		r->rest_bytes += end - from;
	if (share_of(r) * 100 >= WHOLE_PERCENT)
		judge(k, r);
	return (rest == 0 && r->rest_bytes > 0) ||
	       (r->places != places && r->places <= PLACES_NEWS);
}

void kinds_age(struct kinds *k, uint64_t now_us)
{
	for (int i = 0;
	     i < AGED_AT_ONCE && ageing_is_due(&k->ageing, READINGS, now_us);
	     i++) {
		struct reading *r = &k->readings[ageing_next(&k->ageing)];

		if (is_over(r, now_us))
			judge(k, r);
		else
			ageing_expect(&k->ageing, over_us(r));
	}
}

/* ---- odds ------------------------------------------------------------- */

/* How likely a file is read on, and how much of the rest then. */
struct kinds_guess {
	double on, share;
};

static struct kinds_guess lean(
    const struct kinds_odds *o, const struct kinds_guess *on_what, double much)
{
	struct kinds_guess g;

	g.on = ((double)o->on + much * on_what->on) / ((double)o->read + much);
	g.share =
	    ((double)o->share + much * on_what->share) / ((double)o->on + much);
	return g;
}

double kinds_rest(const struct kinds *k, const struct kinds_file *f)
{
	uint8_t size = size_of(f->size_bytes);
	const struct cell *c = &k->cells[cell_at(f->type, size)];
	const struct reading *r = reading_at(k, f->object);
	struct kinds_guess g = {
	    (double)usual[size].on, (double)usual[size].share};
	bool reads = r->object == f->object && !is_over(r, f->now_us);

	/* Who begins elsewhere looks for something. */
	if (reads ? r->was_read || r->within : f->read)
		return 0;
	g = lean(&k->sizes[size], &g, SIZE_LEANS);
	if (c->type == f->type && c->size == size)
		g = lean(&c->odds, &g, KIND_LEANS);
	/* Whoever has read on does read on. */
	return reads && r->rest_bytes > 0 ? g.share : g.on * g.share;
}
