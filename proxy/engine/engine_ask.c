/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the engine: whom to ask, their deadlines, and what is asked of
 * another node where one says MOVED or ASK (Redis Cluster specification, "MOVED
 * Redirection" and "ASK redirection").
 *
 * A question outlives its ask: where the deadline has passed, the reply still
 * comes, since replies come in order, and has to be read.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "engine/engine_private.h"

enum {
	/* An engine that owes an answer for so long is not asked more: it
	 * hangs, and a client that wants what was asked ahead waits for that.
	 */
	SILENT_US = 20000,
	REDIRECTS_MAX = 3, /* of one question */
};

/* A GET that was sent. It has a copy of its key, for a redirection. */
struct engine_question {
	struct redis_call call;
	/* Whoever waits for it; NULL: nobody does any more. */
	struct engine_ask *ask;
	/* How often it was sent to another node. */
	uint8_t redirects;
	uint8_t key_len;
	char key[ENGINE_KEY_MAX];
};

/* ---- deadlines --------------------------------------------------------- */

/* Has the timer fire at the first deadline, or earlier. */
static void deadline_arm(struct engine *e, uint64_t now_us)
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

/* Parts an ask from its question, which goes on to wait for its reply. */
static struct engine_question *ask_take(struct engine *e, struct engine_ask *a)
{
	struct engine_question *q = a->call;

	TAILQ_REMOVE(&e->asks, a, link);
	a->call = NULL;
	q->ask = NULL;
	return q;
}

/* Tells those whose time is over that there is nothing. */
static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct engine *e = arg;
	uint64_t now_us = clock_now_us();
	struct engine_ask *a;

	(void)fd;
	(void)what;
	e->armed_us = 0;
	while ((a = TAILQ_FIRST(&e->asks)) && a->deadline_us <= now_us) {
		e->timeouts++;
		redis_call_miss(&ask_take(e, a)->call, now_us);
		a->on_value(a, NULL, 0);
	}
	deadline_arm(e, now_us);
}

/* False without memory. */
bool ask_begin(struct engine *e)
{
	TAILQ_INIT(&e->asks);
	e->ev_deadline = evtimer_new(e->shared.base, on_deadline, e);
	return e->ev_deadline != NULL;
}

/* Nobody hears of what ends now. */
void ask_end(struct engine *e)
{
	struct engine_ask *a;

	while ((a = TAILQ_FIRST(&e->asks)) != NULL)
		(void)ask_take(e, a);
	if (e->ev_deadline)
		event_free(e->ev_deadline);
}

/* ---- questions --------------------------------------------------------- */

static void on_answered(struct redis_call *c, const redisReply *r);

/* Sends GET to the node; NULL where that fails. (Redis, GET: a string, or
 * nil.) */
static struct engine_question *question_send(
    struct redis_node *n, const struct engine_key *key, uint8_t redirects)
{
	const char *argv[] = {"GET", key->data};
	size_t lens[] = {3, key->len};
	struct engine *e = n->owner;
	struct engine_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->call.on_done = on_answered;
	q->call.question = true;
	q->redirects = redirects;
	q->key_len = (uint8_t)key->len;
	memcpy(q->key, key->data, key->len);
	if (!redis_call_send(n, &q->call, 2, argv, lens))
		return NULL;
	e->gets_open++;
	return q;
}

/* Asks it of `n` instead; `asking`: for this once. */
static bool question_again(
    struct redis_node *n, const struct engine_question *q, bool asking)
{
	static const char *const words[] = {"ASKING"};
	const struct engine_key key = {.data = q->key, .len = q->key_len};
	const struct engine *e = n->owner;
	struct engine_question *again;

	if (!q->ask || q->redirects == REDIRECTS_MAX ||
	    !redis_node_can_ask(n, clock_now_us()) ||
	    e->gets_open >= ENGINE_ASKS_MAX ||
	    (asking && !redis_node_ask(n, NULL, 1, words)))
		return false;
	again = question_send(n, &key, (uint8_t)(q->redirects + 1));
	if (!again)
		return false;
	again->ask = q->ask;
	again->ask->call = again;
	return true;
}

/* Hands what came to whoever asked: the value, or that there is none. */
static void question_answer(
    struct engine *e, struct engine_question *q, const redisReply *r)
{
	struct engine_ask *a = q->ask;
	bool found = r && r->type == REDIS_REPLY_STRING;

	if (found)
		e->got_bytes += r->len;
	if (!a)
		return;
	(void)ask_take(e, a);
	e->hits += found && r->len > ENGINE_MARK_MAX;
	a->on_value(a, found ? r->str : NULL, found ? r->len : 0);
}

/* A reply, or NULL where the connection has ended. An error may send the
 * question on; anything that GET cannot answer ends the connection. */
static void on_answered(struct redis_call *c, const redisReply *r)
{
	struct redis_node *n = c->node;
	struct engine_question *q = (struct engine_question *)c;
	struct engine *e = n->owner;
	struct redis_node *to = NULL;
	enum redis_fault fault = FAULT_NONE;
	const char *why;

	e->gets_open--;
	if (r && r->type == REDIS_REPLY_ERROR) {
		fault = redis_fault_of(r, &why);
		if (fault == FAULT_MOVED || fault == FAULT_ASK)
			to = cluster_redirect(n, r);
		if (to && question_again(to, q, fault == FAULT_ASK))
			return;
		question_answer(e, q, NULL);
		redis_node_judge(n, r);
		return;
	}
	question_answer(e, q, r);
	if (r && r->type != REDIS_REPLY_STRING && r->type != REDIS_REPLY_NIL)
		redis_node_fail(
		    n, ENGINE_DOWN, "what it answers is not what Redis would");
}

/* ---- for the user ------------------------------------------------------ */

bool engine_is_up(const struct engine *e)
{
	uint64_t now_us = clock_now_us();

	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i] && redis_node_can_ask(e->nodes[i], now_us))
			return true;
	return false;
}

/* Deadlines are mostly alike, so the place is near the end. */
static void ask_insert(struct engine *e, struct engine_ask *a)
{
	struct engine_ask *before = TAILQ_LAST(&e->asks, engine_asks);

	while (before && before->deadline_us > a->deadline_us)
		before = TAILQ_PREV(before, engine_asks, link);
	if (before)
		TAILQ_INSERT_AFTER(&e->asks, before, a, link);
	else
		TAILQ_INSERT_HEAD(&e->asks, a, link);
}

/* The node is not asked while it owes an answer for long: the question would
 * only wait behind that. */
bool engine_get(struct engine *e, const struct engine_key *key,
    uint64_t deadline_us, struct engine_ask *a)
{
	uint64_t now_us = clock_now_us();
	struct engine_question *q;
	struct redis_node *n;

	assert(!a->call);
	if (e->gets_open >= ENGINE_ASKS_MAX || key->len > ENGINE_KEY_MAX)
		return false;
	n = cluster_route(e, key->data, key->len);
	if (!n || !redis_node_can_ask(n, now_us) ||
	    redis_call_silent_us(n, now_us) > SILENT_US + 4 * n->srtt_us)
		return false;
	q = question_send(n, key, 0);
	if (!q)
		return false;
	e->gets++;
	q->ask = a;
	a->call = q;
	a->begun_us = now_us;
	a->deadline_us = now_us + deadline_us;
	ask_insert(e, a);
	deadline_arm(e, now_us);
	return true;
}

void engine_cancel(struct engine *e, struct engine_ask *a)
{
	if (a->call)
		redis_call_give_up(&ask_take(e, a)->call);
}
