/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that are to be kept wait in a queue of their node, and little of them
 * is under way at a time: a question then waits behind one value at most.
 * (Redis, SET: PX is a time to live in milliseconds, NX sets only what is not
 * there.) */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine_private.h"

/* WINDOW_BYTES are sent and not answered; one larger value goes alone. */
enum {
	/* Sent and not answered; one larger value goes alone. */
	WINDOW_BYTES = 256 << 10,
	/* A full node is tried again, with one value. */
	FULL_MIN_US = 1000000,
	FULL_MAX_US = 30000000,
};

/* A SET that waits to be sent, or for its answer. */
struct engine_put {
	struct redis_call call;
	/* The command as libhiredis formats it; NULL once it is sent. */
	char *command;
	size_t bytes; /* of the command */
	/* It is a mark: only where there is nothing. */
	bool mark;
};

/* It waits no longer, for its turn or an answer. */
static void put_end(struct engine *e, const struct engine_put *p)
{
	e->puts_open--;
	e->backlog_bytes -= p->bytes;
}

static struct engine_put *first_put(const struct redis_node *n)
{
	return (struct engine_put *)TAILQ_FIRST(&n->puts);
}

void put_drop_all(struct redis_node *n)
{
	struct engine *e = n->owner;
	struct engine_put *p;

	while ((p = first_put(n)) != NULL) {
		TAILQ_REMOVE(&n->puts, &p->call, link);
		put_end(e, p);
		e->refused_puts += !p->mark;
		redisFreeCommand(p->command);
		free(p);
	}
}

/* ---- answers ----------------------------------------------------------- */

/* The node keeps nothing for a while, which grows from time to time; what waits
 * for it is dropped, since newer values will follow. */
static void become_full(struct redis_node *n, const char *why)
{
	uint64_t wait_us = (uint64_t)FULL_MIN_US << n->full_tries;

	if (wait_us < FULL_MAX_US)
		n->full_tries++;
	else
		wait_us = FULL_MAX_US;
	n->full = why;
	n->full_until_us = clock_now_us() + wait_us;
	put_drop_all(n);
	redis_node_note(n);
}

/* The node answered a SET with something else than OK. */
static void put_rejected(
    struct redis_node *n, const struct engine_put *p, const redisReply *r)
{
	struct engine *e = n->owner;
	const char *why = NULL;

	/* Marks are not counted, whatever becomes of them. */
	e->rejected_puts += !p->mark;
	if (r->type != REDIS_REPLY_ERROR)
		return;
	switch (redis_fault_of(r, &why)) {
	case FAULT_NONE:
		break;
	case FAULT_FULL:
		become_full(n, why);
		break;
	case FAULT_RIGHTS:
		n->keeps_nothing = "its user may not SET: what this machine "
				   "learns is not shared";
		put_drop_all(n);
		redis_node_note(n);
		break;
	case FAULT_MOVED:
	case FAULT_ASK:
		(void)cluster_redirect(n, r);
		break;
	default:
		redis_node_judge(n, r);
	}
}

/* A mark is not kept where there is something: then the answer is nil. */
static bool put_is_done(const struct engine_put *p, const redisReply *r)
{
	return r->type == REDIS_REPLY_STATUS ||
	       (p->mark && r->type == REDIS_REPLY_NIL);
}

static void put_pump(struct redis_node *n);

/* A SET was answered, or the connection has ended (NULL). */
static void on_kept(struct redis_call *c, const redisReply *r)
{
	struct redis_node *n = c->node;
	struct engine_put *p = (struct engine_put *)c;

	put_end(n->owner, p);
	n->puts_flying--;
	n->flying_bytes -= p->bytes;
	if (!r)
		return;
	if (!put_is_done(p, r)) {
		put_rejected(n, p, r);
	} else if (n->full) {
		n->full = NULL;
		n->full_tries = 0;
		redis_node_note(n);
	}
	if (n->phase == NODE_READY)
		put_pump(n);
}

/* ---- sending ----------------------------------------------------------- */

/* The call is gone where it cannot be sent. */
static void put_send(struct redis_node *n, struct engine_put *p)
{
	struct engine_put was = *p;

	TAILQ_REMOVE(&n->puts, &p->call, link);
	p->command = NULL;
	if (redis_call_send_formatted(n, &p->call, was.command, was.bytes)) {
		n->puts_flying++;
		n->flying_bytes += was.bytes;
	} else {
		struct engine *e = n->owner;

		put_end(e, &was);
		e->refused_puts += !was.mark;
	}
	redisFreeCommand(was.command);
}

/* Sends what waits, as far as the window has room. */
static void put_pump(struct redis_node *n)
{
	struct engine_put *p;

	while (
	    (p = first_put(n)) != NULL &&
	    (n->puts_flying == 0 || n->flying_bytes + p->bytes <= WINDOW_BYTES))
		put_send(n, p);
}

/* Whether a value may wait for the node at all. While it is full, one is a
 * trial. */
static bool put_may(const struct redis_node *n, size_t len)
{
	const struct engine *e = n->owner;

	if (!redis_node_answers(n) || n->keeps_nothing ||
	    e->puts_open >= ENGINE_ASKS_MAX ||
	    (e->backlog_bytes > 0 &&
		e->backlog_bytes + len > ENGINE_BACKLOG_MAX))
		return false;
	/* While it is full, one is a trial. */
	return !n->full || (n->puts_flying == 0 && TAILQ_EMPTY(&n->puts) &&
			       clock_now_us() >= n->full_until_us);
}

/* SET KEY VALUE [PX MS] [NX]; its length goes to `p->bytes`. */
static bool put_format(struct engine_put *p, const struct engine_key *key,
    const void *data, size_t len, uint64_t ttl_ms)
{
	char ttl[24];
	const char *argv[6] = {"SET", key->data, data};
	size_t lens[6] = {3, key->len, len};
	long long bytes; /* libhiredis 0.14 returns an int. */
	int argc = 3;

	if (ttl_ms > 0) {
		argv[argc] = "PX";
		lens[argc++] = 2;
		argv[argc] = ttl;
		lens[argc++] =
		    (size_t)snprintf(ttl, sizeof(ttl), "%" PRIu64, ttl_ms);
	}
	if (p->mark) {
		argv[argc] = "NX";
		lens[argc++] = 2;
	}
	bytes = redisFormatCommandArgv(&p->command, argc, argv, lens);
	p->bytes = bytes < 0 ? 0 : (size_t)bytes;
	return bytes >= 0;
}

/* Has it sent, which copies it; false where it will not be. A mark is sent
 * before all values that wait. */
static bool put_queue(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint64_t ttl_ms, bool mark)
{
	struct redis_node *n = cluster_route(e, key->data, key->len);
	struct engine_put *p;

	if (!n || !put_may(n, len))
		return false;
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	p->call.on_done = on_kept;
	p->mark = mark;
	if (!put_format(p, key, data, len, ttl_ms)) {
		free(p);
		return false;
	}
	if (mark)
		TAILQ_INSERT_HEAD(&n->puts, &p->call, link);
	else
		TAILQ_INSERT_TAIL(&n->puts, &p->call, link);
	e->backlog_bytes += p->bytes;
	e->puts_open++;
	put_pump(n);
	return true;
}

bool engine_put(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint32_t ttl_s)
{
	if (key->len > ENGINE_KEY_MAX || len > ENGINE_VALUE_MAX ||
	    !put_queue(e, key, data, len, UINT64_C(1000) * ttl_s, false)) {
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
	assert(key->len <= ENGINE_KEY_MAX && len <= ENGINE_MARK_MAX);
	(void)put_queue(e, key, mark, len, ttl_ms, true);
}
