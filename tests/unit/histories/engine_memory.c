/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that was ever put, in a list, and a timer for each question. */
#include "histories/engine_memory.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "farm/seal.h"
#include "scenario/script.h"
#include "scenario/vclock.h"

enum {
	/* Longer than asked for, as if the loop were late. What happens until
	 * then must not matter. */
	LATE_US = 50000,
	/* Nearer than any server. */
	TRIP_US = 1,
	/* Of a key, behind the letter of its kind. */
	KIND_END = 3 + SEAL_ID_LEN + 2,
};

TAILQ_HEAD(asks, engine_ask);

struct engine {
	struct event_base *base;
	struct asks asks;
};

/* An ask waits with this until the history answers it, or its time is over. */
struct question {
	struct engine *engine;
	struct engine_ask *ask;
	struct event *ev;
	bool answered; /* in the next turn; else its time is over */
	char key[ENGINE_KEY_MAX + 1];
};

struct value {
	char key[ENGINE_KEY_MAX + 1];
	unsigned char *data;
	size_t len;
	uint64_t until_ns; /* 0: for good */
};

static struct {
	struct engine *engine; /* of the daemon that runs; or NULL */
	struct value *values;  /* the oldest first */
	size_t n;
	uint64_t away_until_ns, hangs_until_ns;
	enum memory_lie lie;
	uint32_t random;
	void (*on_lie)(void *arg, enum memory_lie lie);
	void *arg;
} memory;

static void copy_key(char to[ENGINE_KEY_MAX + 1], const struct engine_key *key)
{
	memcpy(to, key->data, key->len);
	to[key->len] = '\0';
}

/* The newest value of the key among the first `n`; NULL: there is none. */
static const struct value *value_before(const char *key, size_t n)
{
	while (n-- > 0) {
		const struct value *v = &memory.values[n];

		if (strcmp(v->key, key) == 0 &&
		    (v->until_ns == 0 || vclock_wall_ns() < v->until_ns))
			return v;
	}
	return NULL;
}

static bool is_hanging(void)
{
	return vclock_wall_ns() < memory.hangs_until_ns;
}

/* ---- lies -------------------------------------------------------------- */

/* Of the same kind, which might be believed. */
static const struct value *value_of_another(const char *key)
{
	for (size_t i = 0; i < memory.n; i++) {
		const struct value *v =
		    &memory.values[(i + memory.random) % memory.n];

		if (strncmp(v->key, key, KIND_END) == 0 &&
		    strcmp(v->key, key) != 0)
			return v;
	}
	return NULL;
}

static const struct value *lie_about(const struct value *right)
{
	/* Most questions are about trees, of which no client is told. */
	if (right->key[KIND_END - 2] == 't' && memory.random % 8)
		return NULL;
	switch (memory.lie) {
	case MEMORY_DAMAGED:
		return right;
	case MEMORY_OTHER:
		return value_of_another(right->key);
	case MEMORY_FORMER:
		return value_before(
		    right->key, (size_t)(right - memory.values));
	default:
		return NULL;
	}
}

static void say(struct engine_ask *a, const struct value *v, bool damaged)
{
	unsigned char *data = malloc(v->len);
	size_t len = v->len;

	memcpy(data, v->data, len);
	if (damaged && memory.random % 4 == 0)
		len -= 1 + memory.random % len;
	else if (damaged)
		data[memory.random % len] ^=
		    (unsigned char)(1 + memory.random % 255);
	a->on_value(a, data, len);
	free(data);
}

static void say_nothing(struct engine_ask *a)
{
	a->on_value(a, NULL, 0);
}

static void answer(struct engine_ask *a, const char *key)
{
	const struct value *right = value_before(key, memory.n);
	const struct value *lie = right ? lie_about(right) : NULL;
	enum memory_lie kind = memory.lie;

	script_trace("engine: %s: %s%s", key, right ? "a value" : "nothing",
	    lie ? ", a lie" : "");
	if (!right) {
		say_nothing(a);
		return;
	}
	if (!lie) {
		say(a, right, false);
		return;
	}
	memory.lie = MEMORY_NONE;
	memory.on_lie(memory.arg, kind);
	say(a, lie, kind == MEMORY_DAMAGED);
}

/* ---- for the history --------------------------------------------------- */

bool memory_answer(uint32_t nth)
{
	struct engine_ask *a;
	uint32_t n = 0;

	if (!memory.engine || is_hanging())
		return false;
	TAILQ_FOREACH (a, &memory.engine->asks, link)
		n++;
	if (n == 0)
		return false;
	nth %= n;
	TAILQ_FOREACH (a, &memory.engine->asks, link) {
		struct question *q = a->call;

		if (nth-- > 0)
			continue;
		q->answered = true;
		event_active(q->ev, EV_TIMEOUT, 0);
		break;
	}
	return true;
}

void memory_away(uint64_t until_ns)
{
	struct engine_ask *a;

	memory.away_until_ns = until_ns;
	if (!memory.engine)
		return;
	TAILQ_FOREACH (a, &memory.engine->asks, link)
		event_active(((struct question *)a->call)->ev, EV_TIMEOUT, 0);
}

void memory_hang(uint64_t until_ns)
{
	memory.hangs_until_ns = until_ns;
}

void memory_lie(enum memory_lie lie, uint32_t random,
    void (*on_lie)(void *arg, enum memory_lie lie), void *arg)
{
	memory.lie = lie;
	memory.random = random;
	memory.on_lie = on_lie;
	memory.arg = arg;
}

static void keep(const char *key, const void *data, size_t len, uint64_t ttl_ms)
{
	struct value *v;

	memory.values =
	    realloc(memory.values, (memory.n + 1) * sizeof(*memory.values));
	v = &memory.values[memory.n++];
	memcpy(v->key, key, sizeof(v->key));
	v->data = malloc(len);
	memcpy(v->data, data, len);
	v->len = len;
	v->until_ns =
	    ttl_ms > 0 ? vclock_wall_ns() + ttl_ms * UINT64_C(1000000) : 0;
	script_trace("engine: %s is put, %zu bytes", v->key, len);
}

/* ---- the engine's interface -------------------------------------------- */

struct engine *engine_new(
    struct event_base *base, const struct config_farm *farm)
{
	struct engine *e = calloc(1, sizeof(*e));

	(void)farm;
	if (!e)
		return NULL;
	e->base = base;
	TAILQ_INIT(&e->asks);
	memory.engine = e;
	return e;
}

void engine_free(struct engine *e)
{
	struct engine_ask *a;

	if (!e)
		return;
	while ((a = TAILQ_FIRST(&e->asks)) != NULL)
		engine_cancel(e, a);
	memory.engine = NULL;
	free(e);
}

bool engine_is_up(const struct engine *e)
{
	(void)e;
	return vclock_wall_ns() >= memory.away_until_ns;
}

void engine_cancel(struct engine *e, struct engine_ask *a)
{
	struct question *q = a->call;

	TAILQ_REMOVE(&e->asks, a, link);
	a->call = NULL;
	event_free(q->ev);
	free(q);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct question *q = arg;
	struct engine_ask *a = q->ask;
	bool answered = q->answered && engine_is_up(q->engine);
	char key[ENGINE_KEY_MAX + 1];

	(void)fd;
	(void)what;
	memcpy(key, q->key, sizeof(key));
	engine_cancel(q->engine, a);
	if (answered)
		answer(a, key);
	else
		say_nothing(a);
}

bool engine_get(struct engine *e, const struct engine_key *key,
    uint64_t deadline_us, struct engine_ask *a)
{
	struct timeval tv = clock_timeval(deadline_us + LATE_US);
	struct question *q;

	if (!engine_is_up(e))
		return false;
	q = calloc(1, sizeof(*q));
	q->engine = e;
	q->ask = a;
	q->ev = evtimer_new(e->base, on_turn, q);
	copy_key(q->key, key);
	event_add(q->ev, &tv);
	a->call = q;
	TAILQ_INSERT_TAIL(&e->asks, a, link);
	return true;
}

void engine_mark(struct engine *e, const struct engine_key *key,
    const char *mark, size_t len, uint32_t ttl_ms)
{
	char text[ENGINE_KEY_MAX + 1];

	copy_key(text, key);
	if (engine_is_up(e) && !is_hanging() && !value_before(text, memory.n))
		keep(text, mark, len, ttl_ms);
}

bool engine_put(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint32_t ttl_s)
{
	char text[ENGINE_KEY_MAX + 1];

	if (!engine_is_up(e))
		return false;
	/* It is sent, and lost. */
	if (is_hanging())
		return true;
	copy_key(text, key);
	keep(text, data, len, ttl_s * UINT64_C(1000));
	return true;
}

uint64_t engine_srtt_us(const struct engine *e)
{
	(void)e;
	return TRIP_US;
}

uint64_t engine_expect_us(const struct engine *e, uint64_t bytes)
{
	(void)e;
	(void)bytes;
	return TRIP_US;
}

void engine_get_status(const struct engine *e, struct engine_status *st)
{
	*st = (struct engine_status){
	    .state = engine_is_up(e) ? ENGINE_UP : ENGINE_DOWN};
}

size_t engine_get_nodes(
    const struct engine *e, struct engine_node_status *nodes, size_t max)
{
	(void)e;
	(void)nodes;
	(void)max;
	return 0;
}

bool engine_is_idle(const struct engine *e)
{
	(void)e;
	return true;
}
