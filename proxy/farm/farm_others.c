/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other machines that work on the same server at the same time. Machines that
 * start together would all fetch the same things, each before another one could
 * have published it. So while there are others, whoever sends the server a call
 * for what is shared leaves a mark in the place of the value; who finds the
 * mark waits a little (farm_question.c).
 *
 * A machine that is alone leaves none: they cost the engine, and spare nobody
 * anything. Nothing depends on a mark being true.
 */
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "farm/farm_private.h"
#include "link/linkest.h"

enum {
	/* How often it is asked who is there: while others are, and while
	 * nobody is known to be. */
	THERE_US = 1000000,
	ALONE_US = 250000,
	/* A machine counts as there for so long after its last question. */
	STAYS_S = 3,
	DEADLINE_US = 20000,
	/* After VAIN_MAX waits in vain in a row, only one mark in VAIN_PART is
	 * waited for. */
	VAIN_MAX = 8,
	VAIN_PART = 16,
	/* Longer than anybody waits: else who comes next would fetch it, too.
	 */
	MARK_MS = 2000,
	/* The other machine's call went out before, and what it brings is
	 * published a little later. */
	WAIT_TIMES = 4,
	PUBLISHED_US = 40000,
	/* The server is taken to need so long, until that is measured. */
	SERVER_US = 40000,
	MARK_MAGIC_BYTES = 8,
	MARK_BYTES = MARK_MAGIC_BYTES + FARM_NUMBER_BYTES,
};

static const char mark_magic[MARK_MAGIC_BYTES] = "fetching";

/* ---- who is there ------------------------------------------------------ */

/* The answer to who asked last: each machine reads that, then writes its own
 * number there, so that the next one sees it. */
static void on_other(struct engine_ask *ask, const void *data, size_t len)
{
	struct farm_others *o = (struct farm_others *)ask;
	struct farm *f = o->server->p.farm;
	struct engine_key key = farm_engine_key(&o->key);
	unsigned char me[FARM_NUMBER_BYTES];

	farm_put_number(me, f->id);
	if (data && len == sizeof(me) && memcmp(data, me, len) != 0)
		o->seen_us = clock_now_us();
	(void)engine_put(f->engine, &key, me, sizeof(me), STAYS_S);
}

/* Asks the engine once; the first time, for a server, it makes the key. */
static void look_for_others(struct farm_server *s, uint64_t now_us)
{
	struct farm_others *o = &s->others;
	struct engine_key key;

	o->asked_us = now_us;
	if (!o->server) {
		o->server = s;
		o->ask.on_value = on_other;
		farm_others_key(s, &o->key);
	}
	key = farm_engine_key(&o->key);
	(void)engine_get(s->p.farm->engine, &key, DEADLINE_US, &o->ask);
}

/* Asks the engine now and then, and answers by what it said last. */
bool others_are_there(struct farm_server *s, uint64_t now_us)
{
	struct farm_others *o = &s->others;
	bool there = o->seen_us > 0 && now_us - o->seen_us < STAYS_S * 1000000;

	if (!o->ask.call &&
	    now_us - o->asked_us >= (there ? THERE_US : ALONE_US))
		look_for_others(s, now_us);
	return there;
}

/* Draws the number of this machine, which marks have in them. */
bool others_begin(struct farm *f)
{
	return getrandom(&f->id, sizeof(f->id), 0) == (ssize_t)sizeof(f->id);
}

void others_forget(struct farm_server *s)
{
	if (s->others.ask.call)
		engine_cancel(s->p.farm->engine, &s->others.ask);
}

/* ---- marks ------------------------------------------------------------- */

void others_mark(struct farm_server *s, const struct farm_key *key)
{
	struct engine_key k = farm_engine_key(key);
	char mark[MARK_BYTES];

	memcpy(mark, mark_magic, MARK_MAGIC_BYTES);
	farm_put_number(
	    (unsigned char *)mark + MARK_MAGIC_BYTES, s->p.farm->id);
	engine_mark(s->p.farm->engine, &k, mark, sizeof(mark), MARK_MS);
}

bool others_is_mark(const void *value, size_t len)
{
	return len == MARK_BYTES &&
	       memcmp(value, mark_magic, MARK_MAGIC_BYTES) == 0;
}

bool others_is_own_mark(const struct farm *f, const void *mark)
{
	return farm_get_number(
		   (const unsigned char *)mark + MARK_MAGIC_BYTES) == f->id;
}

/* ---- waiting for them -------------------------------------------------- */

uint64_t others_server_us(const struct farm_server *s)
{
	uint64_t us = linkest_srtt_us(s->p.link);

	return us > 0 ? us : SERVER_US;
}

/* The other machine's call was sent before its mark was seen, so its reply is
 * there within some round trips. */
uint64_t others_wait_us(const struct farm_server *s)
{
	return WAIT_TIMES * others_server_us(s) + PUBLISHED_US;
}

bool others_are_worth_waiting(struct farm_server *s)
{
	struct farm_others *o = &s->others;

	return o->vain < VAIN_MAX || o->passed++ % VAIN_PART == 0;
}

void others_waited(struct farm_server *s, bool found)
{
	s->others.vain = found ? 0 : s->others.vain + 1;
}
