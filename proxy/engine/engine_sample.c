/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One master after the other is asked for INFO, and by SCAN for some of its
 * keys: these come by their hashes, so that the first ones are as good a sample
 * as any. One command is under way at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"

/* Bounds of a sample, which is to take no server's time. */
enum {
	SAMPLE_MAX = 2048, /* keys of a node */
	ROUNDS_MAX = 16,   /* of SCAN, which may find none in one */
};

/* A command of a sample, which may be over before the answer comes. */
struct sample_call {
	struct redis_call call;
	struct engine_sample *of; /* NULL: nobody waits any more */
};

/* A sample that is under way, or over. */
struct engine_sample {
	struct engine_scan scan;
	engine_sample_key on_key;
	void *ctx;
	struct sample_call *flying; /* NULL: none */
	bool done;
	size_t n; /* the last of them is the one that is asked */
	struct engine_sample_node nodes[NODES_MAX];
};

static void sample_next(struct engine_sample *s);

/* ---- commands ---------------------------------------------------------- */

/* A call for the sample's next command; NULL without memory. */
static struct redis_call *sample_call(
    struct engine_sample *s, redis_call_done on_done)
{
	struct sample_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->call.on_done = on_done;
	c->of = s;
	s->flying = c;
	return &c->call;
}

/* NULL where nobody waits for the answer; else it is over. */
static struct engine_sample *sample_take(struct redis_call *c)
{
	struct engine_sample *s = ((struct sample_call *)c)->of;

	if (s)
		s->flying = NULL;
	return s;
}

/* The node that is asked now. */
static struct engine_sample_node *at(struct engine_sample *s)
{
	return &s->nodes[s->n - 1];
}

/* Says what is wrong with a node whose answer to `command` is of no use; `r` is
 * NULL where the connection was lost; `right` is what its user needs for it. */
static void note_error(struct engine_sample *s, const char *command,
    const char *right, const redisReply *r)
{
	struct engine_sample_node *to = at(s);
	const char *why;

	if (to->error[0])
		return;
	if (!r)
		(void)snprintf(
		    to->error, sizeof(to->error), "the connection was lost");
	else if (r->type == REDIS_REPLY_ERROR &&
		 redis_fault_of(r, &why) == FAULT_RIGHTS)
		(void)snprintf(to->error, sizeof(to->error),
		    "it refuses %s: its user needs %s", command, right);
	else
		(void)snprintf(to->error, sizeof(to->error),
		    "what it answers to %s is not what Redis would", command);
}

/* ---- keys -------------------------------------------------------------- */

static void on_scanned(struct redis_call *c, const redisReply *r);

/* Asks for some more keys, or goes on to the next node. */
static void sample_scan(struct engine_sample *s)
{
	struct redis_call *c = sample_call(s, on_scanned);

	if (c && scan_ask(&s->scan, c, NULL))
		return;
	s->flying = NULL;
	note_error(s, "SCAN", "+scan", NULL);
	sample_next(s);
}

static void on_scanned(struct redis_call *c, const redisReply *r)
{
	struct engine_sample *s = sample_take(c);
	const redisReply *keys;

	if (!s)
		return;
	keys = r ? scan_take(&s->scan, r) : NULL;
	if (!keys) {
		note_error(s, "SCAN", "+scan", r);
		sample_next(s);
		return;
	}
	for (size_t i = 0; i < keys->elements; i++) {
		const redisReply *key = keys->element[i];

		if (key->type != REDIS_REPLY_STRING)
			continue;
		at(s)->sampled++;
		s->on_key(s->ctx, s->n - 1, key->str, key->len);
	}
	if (scan_is_over(&s->scan) || s->scan.rounds == ROUNDS_MAX ||
	    at(s)->sampled >= SAMPLE_MAX)
		sample_next(s);
	else
		sample_scan(s);
}

/* ---- memory ------------------------------------------------------------ */

/* A policy, used memory and the limit are in INFO's section "Memory", evicted
 * keys in "Stats", all keys in "Keyspace" (Redis, INFO). */
static void take_info(struct engine_sample_node *to, const redisReply *r)
{
	(void)redis_info_text(
	    r, "maxmemory_policy", to->policy, sizeof(to->policy));
	to->memory_bytes = redis_info_number(r, "used_memory");
	to->memory_limit_bytes = redis_info_number(r, "maxmemory");
	to->evicted = redis_info_number(r, "evicted_keys");
	to->keys = redis_info_keys(r);
}

static void on_info(struct redis_call *c, const redisReply *r)
{
	struct engine_sample *s = sample_take(c);

	if (!s)
		return;
	if (r && r->type == REDIS_REPLY_STRING)
		take_info(at(s), r);
	else
		note_error(s, "INFO", "+info", r);
	if (r)
		sample_scan(s);
	else
		sample_next(s);
}

/* ---- nodes ------------------------------------------------------------- */

static bool sample_ask_info(struct engine_sample *s, struct redis_node *n)
{
	static const char *const words[] = {"INFO"};
	struct redis_call *c =
	    n->phase == NODE_READY ? sample_call(s, on_info) : NULL;

	if (c && redis_call_send(n, c, 1, words, NULL))
		return true;
	s->flying = NULL;
	return false;
}

/* Goes on to the next node that can be asked; those that cannot are listed with
 * the reason. */
static void sample_next(struct engine_sample *s)
{
	struct redis_node *n;

	while (s->n < NODES_MAX && (n = scan_next_node(&s->scan)) != NULL) {
		struct engine_sample_node *to = &s->nodes[s->n++];
		const char *why = redis_node_error(n);

		(void)snprintf(to->name, sizeof(to->name), "%s", n->name);
		if (sample_ask_info(s, n))
			return;
		(void)snprintf(to->error, sizeof(to->error), "%s",
		    why[0] ? why : "it is not connected");
	}
	s->done = true;
}

struct engine_sample *engine_sample_new(
    struct engine *e, engine_sample_key on_key, void *ctx)
{
	struct engine_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->scan.e = e;
	s->on_key = on_key;
	s->ctx = ctx;
	sample_next(s);
	return s;
}

void engine_sample_stop(struct engine_sample *s)
{
	if (s->flying)
		s->flying->of = NULL;
	s->flying = NULL;
	if (!s->done && s->n > 0 && !at(s)->error[0])
		(void)snprintf(at(s)->error, sizeof(at(s)->error),
		    "it does not answer in time");
	s->done = true;
}

void engine_sample_free(struct engine_sample *s)
{
	if (s && s->flying)
		s->flying->of = NULL;
	free(s);
}

bool engine_sample_is_done(const struct engine_sample *s)
{
	return s->done;
}

const struct engine_sample_node *engine_sample_nodes(
    const struct engine_sample *s, size_t *n)
{
	*n = s->n;
	return s->nodes;
}
