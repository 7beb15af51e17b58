/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in a list, questions in a queue that a timer empties. */
#include "farm/engine_stub.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "farm/seal.h"

enum { VALUES_MAX = 512 };

TAILQ_HEAD(asks, engine_ask);

struct engine {
	struct event_base *base;
	struct event *ev;
	struct asks asks;
};

/* An ask keeps its key here while it waits. */
struct fake_call {
	char key[ENGINE_KEY_MAX + 1];
};

struct fake_value fake_values[VALUES_MAX];
unsigned fake_count, fake_gets;
bool fake_down, fake_hangs;

static struct fake_value *value_of(const char *key)
{
	for (unsigned i = 0; i < fake_count; i++)
		if (strcmp(fake_values[i].key, key) == 0)
			return &fake_values[i];
	return NULL;
}

/* The same, unless its time is over. */
static struct fake_value *value_now(const char *key)
{
	struct fake_value *v = value_of(key);

	return v && (v->until_us == 0 || v->until_us >= clock_now_us()) ? v
									: NULL;
}

struct fake_value *fake_find(char kind, unsigned n)
{
	for (unsigned i = 0; i < fake_count; i++)
		if (fake_values[i].key[3 + SEAL_ID_LEN + 1] == kind && n-- == 0)
			return &fake_values[i];
	return NULL;
}

unsigned fake_count_of(char kind)
{
	unsigned n = 0;

	while (fake_find(kind, n))
		n++;
	return n;
}

void fake_clear(void)
{
	for (unsigned i = 0; i < fake_count; i++)
		free(fake_values[i].data);
	fake_count = fake_gets = 0;
	fake_down = fake_hangs = false;
}

static void copy_key(char to[ENGINE_KEY_MAX + 1], const struct engine_key *key)
{
	memcpy(to, key->data, key->len);
	to[key->len] = '\0';
}

static bool keep(const char *key, const void *data, size_t len)
{
	struct fake_value *v = value_of(key);

	if (fake_down || (!v && fake_count == VALUES_MAX))
		return false;
	if (!v) {
		v = &fake_values[fake_count++];
		memset(v, 0, sizeof(*v));
		memcpy(v->key, key, strlen(key) + 1);
	}
	free(v->data);
	v->data = malloc(len);
	memcpy(v->data, data, len);
	v->len = len;
	v->until_us = 0;
	return true;
}

static void answer(struct engine_ask *a)
{
	struct fake_call *call = a->call;
	const struct fake_value *v = fake_hangs ? NULL : value_now(call->key);

	a->call = NULL;
	free(call);
	if (v)
		a->on_value(a, v->data, v->len);
	else
		a->on_value(a, NULL, 0);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	struct engine_ask *a;

	(void)fd;
	(void)what;
	while ((a = TAILQ_FIRST(&e->asks)) != NULL) {
		TAILQ_REMOVE(&e->asks, a, link);
		answer(a);
	}
}

struct engine *engine_new(
    struct event_base *base, const struct config_farm *farm)
{
	struct engine *e = calloc(1, sizeof(*e));

	(void)farm;
	e->base = base;
	e->ev = evtimer_new(base, on_turn, e);
	TAILQ_INIT(&e->asks);
	return e;
}

void engine_free(struct engine *e)
{
	struct engine_ask *a;

	if (!e)
		return;
	while ((a = TAILQ_FIRST(&e->asks)) != NULL)
		engine_cancel(e, a);
	event_free(e->ev);
	free(e);
}

bool engine_is_up(const struct engine *e)
{
	(void)e;
	return !fake_down;
}

bool engine_get(struct engine *e, const struct engine_key *key,
    uint64_t deadline_us, struct engine_ask *a)
{
	struct fake_call *call;

	(void)deadline_us;
	if (fake_down)
		return false;
	call = calloc(1, sizeof(*call));
	copy_key(call->key, key);
	a->call = call;
	TAILQ_INSERT_TAIL(&e->asks, a, link);
	event_active(e->ev, EV_TIMEOUT, 0);
	fake_gets++;
	return true;
}

void engine_cancel(struct engine *e, struct engine_ask *a)
{
	TAILQ_REMOVE(&e->asks, a, link);
	free(a->call);
	a->call = NULL;
}

void engine_mark(struct engine *e, const struct engine_key *key,
    const char *mark, size_t len, uint32_t ttl_ms)
{
	char text[ENGINE_KEY_MAX + 1];

	(void)e;
	copy_key(text, key);
	if (!value_now(text) && keep(text, mark, len))
		value_of(text)->until_us = clock_now_us() + ttl_ms * 1000;
}

bool engine_put(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint32_t ttl_s)
{
	char text[ENGINE_KEY_MAX + 1];

	(void)e;
	(void)ttl_s;
	copy_key(text, key);
	return keep(text, data, len);
}

uint64_t engine_srtt_us(const struct engine *e)
{
	(void)e;
	return 200;
}

uint64_t engine_expect_us(const struct engine *e, uint64_t bytes)
{
	(void)e;
	(void)bytes;
	return 200;
}

bool engine_is_idle(const struct engine *e)
{
	(void)e;
	return true;
}
