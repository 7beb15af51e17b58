/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whom to ask, questions and their deadlines; see engine_private.h. */
#include "farm/engine_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"

enum {
	/* An engine that owes an answer for so long is not asked more: it
	 * hangs, and a client that wants what was asked ahead waits for that.
	 */
	SILENT_US = 20000,
};

/* "redis://HOST:PORT", the host in brackets where it is an IPv6 address, or
 * "redis+unix:///PATH"; the configuration has checked it. */
static struct node *node_of_url(struct engine *e, const char *url)
{
	static const char tcp[] = "redis://", local[] = "redis+unix://";
	char host[256];
	const char *begin, *colon;
	size_t len;

	if (strncmp(url, local, sizeof(local) - 1) == 0)
		return node_new(e, "", 0, url + sizeof(local) - 1);
	begin = url + sizeof(tcp) - 1;
	colon = strrchr(url, ':');
	if (strncmp(url, tcp, sizeof(tcp) - 1) != 0 || colon < begin) {
		errno = EINVAL;
		return NULL;
	}
	len = (size_t)(colon - begin);
	if (*begin == '[' && len > 2) {
		begin++;
		len -= 2;
	}
	if (len >= sizeof(host)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(host, begin, len);
	host[len] = '\0';
	return node_new(e, host, (uint16_t)strtoul(colon + 1, NULL, 10), NULL);
}

static void engine_arm(struct engine *e, uint64_t now_us)
{
	const struct engine_ask *first = TAILQ_FIRST(&e->asks);
	struct timeval tv;

	/* Most are answered in time, so what is armed stays, and finds out
	 * when it fires. */
	if (!first || (e->armed_us && e->armed_us <= first->deadline_us))
		return;
	e->armed_us = first->deadline_us;
	tv = clock_timeval(
	    first->deadline_us > now_us ? first->deadline_us - now_us : 0);
	(void)evtimer_add(e->ev_deadline, &tv);
}

/* The ask waits for nothing any more. */
static void ask_end(struct engine *e, struct engine_ask *a)
{
	TAILQ_REMOVE(&e->asks, a, link);
	a->call = NULL;
}

static void engine_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	uint64_t now_us = clock_now_us();
	struct engine_ask *a;

	(void)fd;
	(void)what;
	e->armed_us = 0;
	while ((a = TAILQ_FIRST(&e->asks)) && a->deadline_us <= now_us) {
		struct call *c = a->call;

		ask_end(e, a);
		e->timeouts++;
		call_miss(c, now_us);
		a->on_value(a, NULL, 0);
	}
	engine_arm(e, now_us);
}

struct engine *engine_new(
    struct event_base *base, const struct config_farm *farm)
{
	struct engine *e = calloc(1, sizeof(*e));
	bool ok;

	if (!e)
		return NULL;
	TAILQ_INIT(&e->asks);
	e->base = base;
	e->farm = farm;
	e->many = farm->engine.n > 1;
	e->ev_deadline = evtimer_new(base, engine_on_deadline, e);
	errno = e->ev_deadline ? EINVAL : ENOMEM;
	ok = e->ev_deadline && farm->engine.n > 0;
	for (size_t i = 0; ok && i < farm->engine.n; i++) {
		struct node *n = node_of_url(e, farm->engine.list[i]);

		ok = n != NULL;
		if (ok)
			n->seed = true;
	}
	if (ok)
		return e;
	engine_free(e);
	return NULL;
}

/* Nobody hears of what ends now. */
static void asks_forget(struct engine *e)
{
	struct engine_ask *a;

	while ((a = TAILQ_FIRST(&e->asks)) != NULL) {
		struct call *c = a->call;

		c->ask = NULL;
		ask_end(e, a);
	}
}

void engine_free(struct engine *e)
{
	int saved = errno;

	if (!e)
		return;
	asks_forget(e);
	flush_end(e);
	for (size_t i = 0; i < e->nnodes; i++)
		node_free(e->nodes[i]);
	cluster_end(e);
	if (e->ev_deadline)
		event_free(e->ev_deadline);
	free(e);
	errno = saved;
}

bool engine_is_up(const struct engine *e)
{
	uint64_t now_us = clock_sending_us();

	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i] && node_can_ask(e->nodes[i], now_us))
			return true;
	return false;
}

static struct node *engine_route(
    const struct engine *e, const struct engine_key *key)
{
	if (e->slots)
		return cluster_route(e, key->data, key->len);
	return e->nodes[0];
}

/* Deadlines are mostly alike, so the place is near the end. */
static void ask_begin(
    struct engine *e, struct engine_ask *a, struct call *c, uint64_t now_us)
{
	struct engine_ask *before = TAILQ_LAST(&e->asks, engine_asks);

	while (before && before->deadline_us > a->deadline_us)
		before = TAILQ_PREV(before, engine_asks, link);
	if (before)
		TAILQ_INSERT_AFTER(&e->asks, before, a, link);
	else
		TAILQ_INSERT_HEAD(&e->asks, a, link);
	a->call = c;
	c->ask = a;
	engine_arm(e, now_us);
}

/* What came is the value, or there is none. */
static void question_answer(
    struct engine *e, struct call *c, const redisReply *r)
{
	struct engine_ask *a = c->ask;
	bool found = r && r->type == REDIS_REPLY_STRING;

	if (found)
		e->got_bytes += r->len;
	if (!a)
		return;
	c->ask = NULL;
	ask_end(e, a);
	e->hits += found && r->len > ENGINE_MARK_MAX;
	a->on_value(a, found ? r->str : NULL, found ? r->len : 0);
}

void engine_question_done(struct node *n, struct call *c, const redisReply *r)
{
	struct engine *e = n->e;
	const char *why;

	if (r && r->type == REDIS_REPLY_ERROR) {
		enum fault_kind kind = fault_of(r, &why);

		if ((kind == FAULT_MOVED || kind == FAULT_ASK) &&
		    cluster_redirect(n, c, r))
			return;
		question_answer(e, c, NULL);
		node_judge(n, r);
		return;
	}
	question_answer(e, c, r);
	if (r && r->type != REDIS_REPLY_STRING && r->type != REDIS_REPLY_NIL)
		node_fail(
		    n, ENGINE_DOWN, "what it answers is not what Redis would");
}

bool engine_get(struct engine *e, const struct engine_key *key,
    uint64_t deadline_us, struct engine_ask *a)
{
	const char *argv[] = {"GET", key->data};
	size_t lens[] = {3, key->len};
	uint64_t now_us = clock_sending_us();
	struct node *n;
	struct call *c;

	assert(!a->call);
	if (e->gets_open >= ENGINE_ASKS_MAX || key->len > ENGINE_KEY_MAX)
		return false;
	n = engine_route(e, key);
	if (!n || !node_can_ask(n, now_us) ||
	    node_silent_us(n, now_us) > SILENT_US + 4 * n->srtt_us)
		return false;
	c = call_new(engine_question_done);
	if (!c)
		return false;
	c->question = true;
	c->key_len = (uint8_t)key->len;
	memcpy(c->key, key->data, key->len);
	if (!call_send_argv(n, c, 2, argv, lens))
		return false;
	e->gets_open++;
	e->gets++;
	a->begun_us = now_us;
	a->deadline_us = now_us + deadline_us;
	ask_begin(e, a, c, now_us);
	return true;
}

void engine_cancel(struct engine *e, struct engine_ask *a)
{
	struct call *c = a->call;

	if (!c)
		return;
	ask_end(e, a);
	call_give_up(c);
}

bool engine_put(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint32_t ttl_s)
{
	const struct put put = {.key = key,
	    .data = data,
	    .len = len,
	    .ttl_ms = UINT64_C(1000) * ttl_s};
	struct node *n = NULL;

	if (key->len <= ENGINE_KEY_MAX && len <= ENGINE_VALUE_MAX)
		n = engine_route(e, key);
	if (!n || !put_queue(n, &put)) {
		e->refused_puts++;
		return false;
	}
	e->puts++;
	e->put_bytes += len;
	return true;
}

void engine_mark(struct engine *e, const struct engine_key *key,
    const char *mark, size_t len, uint32_t ttl_ms)
{
	const struct put put = {.key = key,
	    .data = mark,
	    .len = len,
	    .ttl_ms = ttl_ms,
	    .mark = true};
	struct node *n = engine_route(e, key);

	assert(key->len <= ENGINE_KEY_MAX && len <= ENGINE_MARK_MAX);
	if (n)
		(void)put_queue(n, &put);
}

uint64_t engine_srtt_us(const struct engine *e)
{
	return e->srtt_us;
}

uint64_t engine_expect_us(const struct engine *e, uint64_t bytes)
{
	return e->srtt_us + (bytes * e->us_per_mib >> 20);
}
