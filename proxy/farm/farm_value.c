/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All values have in common: whether asking for one pays, whether the engine
 * lacked it a short time ago, and how it is opened and put.
 */
#include "base/clock.h"
#include "base/metrics.h"
#include "base/uint.h"
#include "farm/farm_private.h"
#include "link/linkest.h"

enum {
	/* A question that takes so many times as long as usual is given up.
	 * Below the least no machine's scheduler is as exact. */
	DEADLINE_TIMES = 8,
	DEADLINE_LEAST_US = 5000,
	/* A value that nobody waits for has more time. */
	DEADLINE_AHEAD_US = 100000,
	/* A client waits for the engine at most this part of the time in which
	 * the server would answer. */
	DEADLINE_PART = 2,
};

/* ---- whether asking pays ----------------------------------------------- */

/* How long the server would take; 0: nobody knows. */
static uint64_t server_us(const struct farm_server *s, uint64_t bytes)
{
	const struct linkest *le = s->p.link;

	return linkest_srtt_us(le) +
	       linkest_wire_us(le, linkest_wire_bytes(bytes));
}

bool farm_pays(
    const struct farm_server *s, uint64_t bytes, bool ahead, uint64_t *us)
{
	const struct engine *e = s->p.farm->engine;
	uint64_t server = server_us(s, bytes);
	uint64_t expect = engine_expect_us(e, bytes + s->ahead_bytes);
	uint64_t patience = engine_srtt_us(e) * DEADLINE_TIMES;

	/* A client that waits for it in vain asks the server all the same. */
	if (server > 0 && !ahead)
		server /= DEADLINE_PART;
	if (!engine_is_up(e) || (server > 0 && expect >= server))
		return false;
	if (patience < DEADLINE_LEAST_US)
		patience = DEADLINE_LEAST_US;
	if (ahead && patience < DEADLINE_AHEAD_US)
		patience = DEADLINE_AHEAD_US;
	*us = expect + patience;
	if (server > 0 && *us > server)
		*us = server;
	return true;
}

/* ---- what the engine lacked -------------------------------------------- */

/* While others are there, a value may come at any time. */
bool farm_is_barren(struct farm_server *s, enum farm_kind kind)
{
	return !others_are_there(s, clock_now_us()) &&
	       s->barren[kind].misses >= BARREN_MISSES;
}

/* The table has one entry a slot, so an absence may be forgotten early; then
 * the engine is asked in vain. */
bool farm_is_absent(
    struct farm_server *s, const struct farm_key *key, uint64_t now_us)
{
	size_t at = key->tag & (ABSENT_SLOTS - 1);
	uint64_t us = ABSENT_US;

	if (s->absent[at].tag != key->tag)
		return false;
	if (others_are_there(s, now_us))
		us = max_u64(ABSENT_AMONG_US, ABSENT_WAITS * others_wait_us(s));
	return now_us - s->absent[at].us < us;
}

void farm_note_found(struct farm_server *s, enum farm_kind kind)
{
	s->barren[kind].misses = s->barren[kind].passed = 0;
}

void farm_note_absent(struct farm_server *s, enum farm_kind kind,
    const struct farm_key *key, uint64_t now_us)
{
	size_t at = key->tag & (ABSENT_SLOTS - 1);

	s->absent[at].tag = key->tag;
	s->absent[at].us = now_us;
	s->barren[kind].misses++;
	/* It may have had the value once. */
	kept_lost(s->p.farm, key);
}

/* ---- values ------------------------------------------------------------ */

/* Two lengths are checked: that of the kind, and that of the buffer. */
size_t farm_open(struct farm_server *s, const struct farm_key *key,
    const void *value, size_t len, size_t max)
{
	struct farm *f = s->p.farm;

	if (len > SEAL_EXTRA && len - SEAL_EXTRA <= max &&
	    len - SEAL_EXTRA <= FARM_VALUE_MAX &&
	    seal_open(f->seal, key->name, value, len, f->plain))
		return len - SEAL_EXTRA;
	metrics_add(s->p.metrics, METRICS_FARM_BAD, 1);
	return 0;
}

bool farm_put(struct farm_server *s, const struct farm_key *key, size_t len)
{
	struct farm *f = s->p.farm;
	struct engine_key k = farm_engine_key(key);

	seal_close(f->seal, key->name, f->plain, len, f->sealed);
	if (!engine_put(f->engine, &k, f->sealed, len + SEAL_EXTRA, 0))
		return false;
	metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED, 1);
	metrics_add(s->p.metrics, METRICS_FARM_PUBLISHED_BYTES, len);
	return true;
}
