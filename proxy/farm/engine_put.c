/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be kept. It waits in a queue of its node, and little of it is
 * under way at a time: a question then waits behind one value at most.
 */
#include "farm/engine_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum {
	/* Sent and not answered; one larger value goes alone. */
	WINDOW_BYTES = 256 << 10,
	/* A full node is tried again, with one value. */
	FULL_MIN_US = 1000000,
	FULL_MAX_US = 30000000,
};

static void put_pump(struct node *n);

static void put_end(struct engine *e, size_t bytes)
{
	e->puts_open--;
	e->backlog_bytes -= bytes;
}

void put_drop_all(struct node *n)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&n->puts)) != NULL) {
		TAILQ_REMOVE(&n->puts, c, link);
		put_end(n->e, c->sent_bytes);
		n->e->refused_puts += !c->mark;
		call_free(c);
	}
}

static void become_full(struct node *n, const char *why)
{
	uint64_t wait_us = (uint64_t)FULL_MIN_US << n->full_tries;

	if (wait_us < FULL_MAX_US)
		n->full_tries++;
	else
		wait_us = FULL_MAX_US;
	n->full = why;
	n->full_until_us = clock_now_us() + wait_us;
	put_drop_all(n);
	node_note(n);
}

static void put_rejected(
    struct node *n, const struct call *c, const redisReply *r)
{
	const char *why = NULL;

	/* Marks are not counted, whatever becomes of them. */
	n->e->rejected_puts += !c->mark;
	if (r->type != REDIS_REPLY_ERROR)
		return;
	switch (fault_of(r, &why)) {
	case FAULT_NONE:
		break;
	case FAULT_FULL:
		become_full(n, why);
		break;
	case FAULT_RIGHTS:
		n->keeps_nothing = "its user may not SET: what this machine "
				   "learns is not shared";
		put_drop_all(n);
		node_note(n);
		break;
	case FAULT_MOVED:
	case FAULT_ASK:
		(void)cluster_redirect(n, NULL, r);
		break;
	default:
		node_judge(n, r);
	}
}

/* A mark is not kept where there is something: then the answer is nil. */
static bool put_is_done(const struct call *c, const redisReply *r)
{
	return r->type == REDIS_REPLY_STATUS ||
	       (c->mark && r->type == REDIS_REPLY_NIL);
}

static void put_on_reply(struct node *n, struct call *c, const redisReply *r)
{
	put_end(n->e, c->sent_bytes);
	n->puts_flying--;
	n->flying_bytes -= c->sent_bytes;
	if (!r)
		return;
	if (!put_is_done(c, r)) {
		put_rejected(n, c, r);
	} else if (n->full) {
		n->full = NULL;
		n->full_tries = 0;
		node_note(n);
	}
	if (n->phase == NODE_READY)
		put_pump(n);
}

static void put_pump(struct node *n)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&n->puts)) != NULL) {
		char *command = c->command;
		size_t len = c->sent_bytes;
		bool mark = c->mark;

		if (n->puts_flying > 0 && n->flying_bytes + len > WINDOW_BYTES)
			return;
		TAILQ_REMOVE(&n->puts, c, link);
		c->command = NULL;
		if (call_send(n, c, command, len)) {
			n->puts_flying++;
			n->flying_bytes += len;
		} else {
			/* The call is gone. */
			put_end(n->e, len);
			n->e->refused_puts += !mark;
		}
	}
}

static bool put_may(const struct node *n)
{
	const struct engine *e = n->e;

	if (n->phase != NODE_READY || n->slow || n->keeps_nothing ||
	    e->puts_open >= ENGINE_ASKS_MAX)
		return false;
	/* While it is full, one is a trial. */
	return !n->full || (n->puts_flying == 0 && TAILQ_EMPTY(&n->puts) &&
			       clock_sending_us() >= n->full_until_us);
}

static long long put_format(char **command, const struct put *put)
{
	char ttl[24];
	const char *argv[6] = {"SET", put->key->data, put->data};
	size_t lens[6] = {3, put->key->len, put->len};
	int argc = 3;

	if (put->ttl_ms > 0) {
		argv[argc] = "PX";
		lens[argc++] = 2;
		argv[argc] = ttl;
		lens[argc++] =
		    (size_t)snprintf(ttl, sizeof(ttl), "%" PRIu64, put->ttl_ms);
	}
	if (put->mark) {
		argv[argc] = "NX";
		lens[argc++] = 2;
	}
	return redisFormatCommandArgv(command, argc, argv, lens);
}

bool put_queue(struct node *n, const struct put *put)
{
	struct engine *e = n->e;
	struct call *c;
	long long bytes;

	if (!put_may(n) ||
	    (e->backlog_bytes > 0 &&
		e->backlog_bytes + put->len > ENGINE_BACKLOG_MAX))
		return false;
	c = call_new(put_on_reply);
	if (!c)
		return false;
	bytes = put_format(&c->command, put);
	if (bytes < 0) {
		c->command = NULL;
		call_free(c);
		return false;
	}
	c->mark = put->mark;
	c->sent_bytes = (size_t)bytes;
	if (c->mark)
		TAILQ_INSERT_HEAD(&n->puts, c, link);
	else
		TAILQ_INSERT_TAIL(&n->puts, c, link);
	e->backlog_bytes += c->sent_bytes;
	e->puts_open++;
	put_pump(n);
	return true;
}

bool engine_is_idle(const struct engine *e)
{
	return e->puts_open == 0;
}
