/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says of the engine and of each of its nodes how they are. */
#include "engine/engine_private.h"

#include <stdio.h>
#include <string.h>

/* Whether a node's state counts for that of the engine. Seeds that are replicas
 * are not missed while they are away. */
static bool matters(const struct engine *e, const struct redis_node *n)
{
	return n && (!e->slots || e->unserved == SLOTS || n->slots > 0);
}

/* The engine is as good as the best of the nodes that matter. */
static enum engine_state best_state(const struct engine *e)
{
	static const enum engine_state order[] = {ENGINE_UP, ENGINE_FULL,
	    ENGINE_SLOW, ENGINE_REFUSES, ENGINE_DOWN, ENGINE_CONNECTING};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t j = 0; j < e->nnodes; j++)
			if (matters(e, e->nodes[j]) &&
			    redis_node_state(e->nodes[j]) == order[i])
				return order[i];
	return ENGINE_DOWN;
}

/* The error of the first node that has one to tell. */
static void find_error(const struct engine *e, char *error, size_t size)
{
	for (size_t i = 0; i < e->nnodes; i++) {
		const struct redis_node *n = e->nodes[i];
		const char *why = matters(e, n) ? redis_node_error(n) : "";

		if (!why[0])
			continue;
		if (e->many || e->slots)
			(void)snprintf(
			    error, size, "%.60s: %.90s", n->name, why);
		else
			(void)snprintf(error, size, "%s", why);
		return;
	}
	if (e->slots && e->unserved > 0)
		(void)snprintf(error, size,
		    "%u slots of the cluster have no master", e->unserved);
}

void engine_get_status(const struct engine *e, struct engine_status *st)
{
	memset(st, 0, sizeof(*st));
	st->state = best_state(e);
	find_error(e, st->error, sizeof(st->error));
	memcpy(st->version, e->version, sizeof(st->version));
	st->cluster = e->slots != NULL;
	st->srtt_us = e->shared.srtt_us;
	st->gets = e->gets;
	st->hits = e->hits;
	st->timeouts = e->timeouts;
	st->puts = e->puts;
	st->put_bytes = e->put_bytes;
	st->got_bytes = e->got_bytes;
	st->refused_puts = e->refused_puts;
	st->rejected_puts = e->rejected_puts;
	st->redirects = e->redirects;
	st->reconnects = e->shared.reconnects;
}

/* Counts nodes beyond `max`, too. */
size_t engine_get_nodes(
    const struct engine *e, struct engine_node_status *nodes, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < e->nnodes; i++) {
		const struct redis_node *n = e->nodes[i];
		struct engine_node_status *to;

		if (!n || count++ >= max)
			continue;
		to = &nodes[count - 1];
		memset(to, 0, sizeof(*to));
		memcpy(to->name, n->name, sizeof(to->name));
		to->state = redis_node_state(n);
		(void)snprintf(
		    to->error, sizeof(to->error), "%s", redis_node_error(n));
		to->slots = n->slots;
		to->srtt_us = n->srtt_us;
	}
	return count;
}

uint64_t engine_srtt_us(const struct engine *e)
{
	return e->shared.srtt_us;
}

uint64_t engine_expect_us(const struct engine *e, uint64_t bytes)
{
	return e->shared.srtt_us + (bytes * e->shared.us_per_mib >> 20);
}

bool engine_is_idle(const struct engine *e)
{
	return e->puts_open == 0;
}
