/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCAN on one master after another: a node of a cluster has its own keys
 * (Redis, SCAN: a cursor that is 0 at the begin and at the end, and pages that
 * may be empty). */
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"

struct redis_node *scan_next_node(struct engine_scan *s)
{
	s->node = NULL;
	s->rounds = 0;
	(void)strcpy(s->cursor, "0");
	while (!s->node && s->next < s->e->nnodes) {
		struct redis_node *n = s->e->nodes[s->next++];

		if (n && (!s->e->slots || n->slots > 0))
			s->node = n;
	}
	return s->node;
}

/* COUNT is how many keys the server looks at, not how many it returns. */
bool scan_ask(struct engine_scan *s, struct redis_call *c, const char *pattern)
{
	const char *argv[] = {
	    "SCAN", s->cursor, "COUNT", "512", "MATCH", pattern};

	return redis_call_send(s->node, c, pattern ? 6 : 4, argv, NULL);
}

/* Takes [CURSOR, [KEY…]]. A cursor is digits of 64 bits, and is sent back as it
 * came. */
const redisReply *scan_take(struct engine_scan *s, const redisReply *r)
{
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 ||
	    r->element[0]->type != REDIS_REPLY_STRING ||
	    r->element[0]->len >= sizeof(s->cursor) ||
	    r->element[1]->type != REDIS_REPLY_ARRAY)
		return NULL;
	memcpy(s->cursor, r->element[0]->str, r->element[0]->len + 1);
	s->rounds++;
	return r->element[1];
}

bool scan_is_over(const struct engine_scan *s)
{
	return strcmp(s->cursor, "0") == 0;
}
