/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A check of the engine, for people: a value of its own is put, read back and
 * removed, and a sample of keys is looked at. Each step is a question to the
 * engine, and farm_check_step() goes on as answers come, so that nothing
 * waits. */
#include "farm/farm_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "farm/farm_private.h"

enum {
	/* Small enough to show a round trip. */
	VALUE_BYTES = 1024,
	RANDOM_BYTES = 32, /* at its beginning */
	VALUE_TTL_S = 60,  /* where it cannot be removed */
	GETS = 5,
	/* A cluster that moves a slot refuses what is put once. */
	PUTS_MAX = 3,
	PUT_AGAIN_US = 100000,
	GET_US = 2000000,
	CONNECT_US = 3000000,
	SAMPLE_US = 3000000,
	NODES = 256, /* an engine has no more */
};

/* One check. */
struct farm_check {
	struct engine_ask ask; /* first, so that it leads here */
	struct farm *farm;
	struct farm_key key;
	unsigned char value[VALUE_BYTES];
	unsigned char sealed[VALUE_BYTES + SEAL_EXTRA];
	uint64_t begun_us;
	uint64_t put_us; /* when it was put last; 0: never */
	uint64_t round_trip_us;
	unsigned puts, gets;
	bool waits; /* for an answer */
	bool tried; /* the trial is over */
	enum farm_trial trial;
	struct engine_sample *sample;       /* NULL: not begun */
	uint64_t sampled_us;                /* when it was */
	struct farm_check_keys keys[NODES]; /* of each node of the sample */
	char others[FARM_CHECK_OTHERS_MAX][SEAL_ID_LEN + 1];
	size_t nothers;
};

/* ---- a value of its own ------------------------------------------------ */

/* Ends the trial, and removes the value if it may be there. */
static void trial_end(struct farm_check *c, enum farm_trial trial)
{
	struct engine_key key = farm_engine_key(&c->key);

	c->tried = true;
	c->trial = trial;
	if (c->put_us)
		engine_remove(c->farm->engine, &key);
}

/* Whether the value came back as it was put: sealed, under its key, and with
 * the same bytes in it. */
static bool is_same(
    const struct farm_check *c, const unsigned char *data, size_t len)
{
	unsigned char plain[VALUE_BYTES];

	return len == sizeof(c->sealed) &&
	       seal_open(c->farm->seal, c->key.name, data, len, plain) &&
	       memcmp(plain, c->value, sizeof(plain)) == 0;
}

/* An answer came, or the time for it has passed. The least round trip of some
 * counts, as the others may have met work of the loop. */
static void on_value(struct engine_ask *a, const void *data, size_t len)
{
	struct farm_check *c = (struct farm_check *)a;
	uint64_t took_us = clock_now_us() - a->begun_us;

	c->waits = false;
	if (!data) {
		if (took_us >= GET_US || !engine_is_up(c->farm->engine))
			trial_end(c, FARM_TRIAL_NO_ANSWER);
		else if (c->gets > 0 || c->puts >= PUTS_MAX)
			trial_end(c, FARM_TRIAL_NOT_THERE);
		return;
	}
	if (!is_same(c, data, len)) {
		trial_end(c, FARM_TRIAL_NOT_THE_SAME);
		return;
	}
	if (c->gets == 0 || took_us < c->round_trip_us)
		c->round_trip_us = took_us > 0 ? took_us : 1;
	if (++c->gets == GETS)
		trial_end(c, FARM_TRIAL_GOOD);
}

/* Nobody takes it now; nodes of a cluster may still be connected to. */
static void trial_refused(
    struct farm_check *c, enum farm_trial trial, uint64_t now_us)
{
	if (now_us - c->begun_us >= CONNECT_US)
		trial_end(c, trial);
}

/* It is put, unless it is there or was put just now. */
static void trial_step(struct farm_check *c, uint64_t now_us)
{
	struct engine *e = c->farm->engine;
	struct engine_key key = farm_engine_key(&c->key);
	struct engine_status st;

	if (!engine_is_up(e)) {
		engine_get_status(e, &st);
		if (st.state == ENGINE_CONNECTING)
			trial_refused(c, FARM_TRIAL_NOT_ASKED, now_us);
		else
			trial_end(c, FARM_TRIAL_NOT_ASKED);
		return;
	}
	if (c->gets == 0) {
		if (c->puts > 0 && now_us - c->put_us < PUT_AGAIN_US)
			return;
		if (!engine_put(
			e, &key, c->sealed, sizeof(c->sealed), VALUE_TTL_S)) {
			trial_refused(c, FARM_TRIAL_NOT_SENT, now_us);
			return;
		}
		c->puts++;
		c->put_us = now_us;
	}
	c->waits = engine_get(e, &key, GET_US, &c->ask);
	if (!c->waits)
		trial_refused(c, FARM_TRIAL_NOT_ASKED, now_us);
}

/* ---- the keys ---------------------------------------------------------- */

/* Notes the id of another farm, once; more than there is room for are left
 * out. */
static void note_other(struct farm_check *c, const char *id)
{
	for (size_t i = 0; i < c->nothers; i++)
		if (memcmp(c->others[i], id, SEAL_ID_LEN) == 0)
			return;
	if (c->nothers < FARM_CHECK_OTHERS_MAX)
		memcpy(c->others[c->nothers++], id, SEAL_ID_LEN);
}

/* Whether a key is "ff:ID:…", of the length that all names of a farm have. An
 * id is of letters, digits and two more signs, as base64url has it (RFC 4648
 * section 5). */
static bool is_of_a_farm(const char *key, size_t len)
{
	const char *id = key + 3;

	if (len != SEAL_NAME_LEN || memcmp(key, "ff:", 3) != 0 ||
	    id[SEAL_ID_LEN] != ':' || id[SEAL_ID_LEN + 2] != ':')
		return false;
	for (size_t i = 0; i < SEAL_ID_LEN; i++)
		if (!(id[i] >= '0' && id[i] <= '9') &&
		    !(id[i] >= 'a' && id[i] <= 'z') &&
		    !(id[i] >= 'A' && id[i] <= 'Z') && id[i] != '-' &&
		    id[i] != '_')
			return false;
	return true;
}

/* Counts a key of the sample by whose it is. Keys are any bytes. */
static void on_key(void *ctx, size_t node, const char *key, size_t len)
{
	struct farm_check *c = ctx;
	const char *prefix = farm_prefix(c->farm);

	if (node >= NODES)
		return;
	if (!is_of_a_farm(key, len)) {
		c->keys[node].foreign++;
	} else if (memcmp(key, prefix, strlen(prefix)) == 0) {
		c->keys[node].own++;
	} else {
		c->keys[node].others++;
		note_other(c, key + 3);
	}
}

/* ---- all of it --------------------------------------------------------- */

struct farm_check *farm_check_new(struct farm *f, uint64_t now_us)
{
	struct farm_check *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->farm = f;
	c->ask.on_value = on_value;
	c->begun_us = now_us;
	/* Random bytes give it a key that no other check has. Where there are
	 * none, the key of the farm still makes it one of its own. */
	(void)!getrandom(c->value, RANDOM_BYTES, 0);
	seal_name(f->seal, KIND_CHECK, c->value, sizeof(c->value), c->key.name);
	seal_close(f->seal, c->key.name, c->value, sizeof(c->value), c->sealed);
	return c;
}

void farm_check_free(struct farm_check *c)
{
	if (!c)
		return;
	if (c->waits)
		engine_cancel(c->farm->engine, &c->ask);
	engine_sample_free(c->sample);
	free(c);
}

bool farm_check_step(struct farm_check *c, uint64_t now_us)
{
	if (!c->tried && !c->waits)
		trial_step(c, now_us);
	if (!c->tried)
		return false;
	if (!c->sample) {
		c->sample = engine_sample_new(c->farm->engine, on_key, c);
		c->sampled_us = now_us;
		return !c->sample; /* without memory, none is looked at */
	}
	if (now_us - c->sampled_us >= SAMPLE_US)
		engine_sample_stop(c->sample);
	return engine_sample_is_done(c->sample);
}

enum farm_trial farm_check_trial(const struct farm_check *c)
{
	return c->trial;
}

uint64_t farm_check_round_trip_us(const struct farm_check *c)
{
	return c->round_trip_us;
}

size_t farm_check_nodes(const struct farm_check *c,
    const struct engine_sample_node **nodes,
    const struct farm_check_keys **keys)
{
	size_t n = 0;

	*nodes = c->sample ? engine_sample_nodes(c->sample, &n) : NULL;
	*keys = c->keys;
	return n;
}

const char *farm_check_other(const struct farm_check *c, size_t i)
{
	return i < c->nothers ? c->others[i] : NULL;
}
