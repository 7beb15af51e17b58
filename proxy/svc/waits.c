/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The waits of the last seconds: a row for each actor, and in it a ring with a
 * bucket for each second. Old buckets are not cleared but overwritten, and
 * readers skip them. svc_waits.c fills it, control/ shows it. */
#include "svc/waits.h"

#include <stdlib.h>
#include <string.h>

struct bucket {
	uint64_t second; /* the second that it is of; 0: none */
	uint32_t calls;
	uint32_t us[WAITS_CAUSES];
};

struct actor {
	uint64_t second; /* when its last wait ended, in seconds */
	uint32_t uid;
	char address[WAITS_CLIENT_MAX];
	struct bucket buckets[WAITS_SPAN_S];
};

struct waits {
	/* key_of() of each actor. They lie beside each other, since every wait
	 * that is added looks through them. */
	uint64_t keys[WAITS_ACTORS];
	struct actor actors[WAITS_ACTORS];
	size_t n;
};

struct waits *waits_new(void)
{
	return calloc(1, sizeof(struct waits));
}

void waits_free(struct waits *w)
{
	free(w);
}

struct waits *waits_copy(const struct waits *w)
{
	struct waits *copy = malloc(sizeof(*copy));

	if (copy)
		memcpy(copy, w, sizeof(*copy));
	return copy;
}

const char *waits_cause_name(enum waits_cause cause)
{
	static const char *const names[WAITS_CAUSES] = {
	    [WAITS_NONE] = "unknown",
	    [WAITS_NOT_CACHED] = "not cached",
	    [WAITS_EXPIRED] = "expired",
	    [WAITS_STRICT] = "confirmed by strict",
	    [WAITS_CHANGE] = "goes through",
	    [WAITS_AHEAD] = "on its way",
	    [WAITS_BUSY] = "link busy",
	    [WAITS_SLOW] = "server slow",
	    [WAITS_AWAY] = "server away",
	    [WAITS_DISK] = "cache disk",
	};

	return names[cause];
}

/* ---- who -------------------------------------------------------------- */

/* A number for the client and its user; never 0. */
static uint64_t key_of(const struct waits_actor *who)
{
	return (who->client ^ who->uid * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

/* Copies the address without its port: "127.0.0.1:812" is 127.0.0.1, and
 * "[::1]:812" is [::1]. */
static void copy_address(char to[WAITS_CLIENT_MAX], const char *from)
{
	const char *port = strrchr(from, ':');
	size_t len = port ? (size_t)(port - from) : strlen(from);

	if (len >= WAITS_CLIENT_MAX)
		len = WAITS_CLIENT_MAX - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

/* The place of the key, or else a free one, or else that of the actor that has
 * waited longest ago. */
static size_t place_of(const struct waits *w, uint64_t key)
{
	size_t oldest = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->keys[i] == key)
			return i;
	if (w->n < WAITS_ACTORS)
		return w->n;
	for (size_t i = 1; i < w->n; i++)
		if (w->actors[i].second < w->actors[oldest].second)
			oldest = i;
	return oldest;
}

static struct actor *actor_of(struct waits *w, const struct waits_actor *who)
{
	uint64_t key = key_of(who);
	size_t i = place_of(w, key);
	struct actor *a = &w->actors[i];

	if (i < w->n && w->keys[i] == key)
		return a;
	if (i == w->n)
		w->n++;
	memset(a, 0, sizeof(*a));
	w->keys[i] = key;
	a->uid = who->uid;
	copy_address(a->address, who->address);
	return a;
}

/* ---- how long --------------------------------------------------------- */

void waits_share(const struct waits_split *s, uint64_t us[WAITS_CAUSES])
{
	uint64_t left = s->sum_us;
	uint64_t must = s->must_us < left ? s->must_us : left;
	uint64_t busy;

	memset(us, 0, WAITS_CAUSES * sizeof(us[0]));
	/* The cache's disk is no affair of the server. */
	if (s->why == WAITS_DISK)
		must = left;
	us[s->why] += must;
	left -= must;
	busy = s->away ? 0 : s->busy_us < left ? s->busy_us : left;
	us[WAITS_BUSY] += busy;
	us[s->away ? WAITS_AWAY : WAITS_SLOW] += left - busy;
}

/* Adds, but stays at the top instead of beginning anew. */
static uint32_t plus(uint32_t a, uint64_t b)
{
	return b < UINT32_MAX - a ? a + (uint32_t)b : UINT32_MAX;
}

void waits_add(struct waits *w, const struct waits_actor *who,
    const uint64_t us[WAITS_CAUSES], uint64_t now_us)
{
	const uint64_t span_us = WAITS_SPAN_S * UINT64_C(1000000);
	struct actor *a = actor_of(w, who);
	uint64_t second = now_us / 1000000, sum = 0;
	struct bucket *b = &a->buckets[second % WAITS_SPAN_S];

	if (b->second != second)
		*b = (struct bucket){.second = second};
	a->second = second;
	b->calls = plus(b->calls, 1);
	for (int i = 0; i < WAITS_CAUSES; i++)
		sum += us[i];
	for (int i = 0; i < WAITS_CAUSES; i++)
		b->us[i] = plus(b->us[i],
		    sum > span_us ? (uint64_t)((double)us[i] * (double)span_us /
					       (double)sum)
				  : us[i]);
}

static bool row_fill(
    const struct actor *a, uint64_t second, struct waits_row *row)
{
	*row = (struct waits_row){.uid = a->uid};
	memcpy(row->address, a->address, sizeof(row->address));
	for (int i = 0; i < WAITS_SPAN_S; i++) {
		const struct bucket *b = &a->buckets[i];

		if (b->second + WAITS_SPAN_S <= second)
			continue;
		row->calls += b->calls;
		for (int c = 0; c < WAITS_CAUSES; c++) {
			row->us[c] += b->us[c];
			row->sum_us += b->us[c];
		}
	}
	return row->calls > 0;
}

size_t waits_rows(
    const struct waits *w, uint64_t now_us, struct waits_row rows[WAITS_ACTORS])
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += row_fill(&w->actors[i], now_us / 1000000, &rows[n]);
	return n;
}
