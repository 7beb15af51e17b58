/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removal of all keys with a prefix: SCAN on one master after the other, and
 * UNLINK of each key that it names, for a node of a cluster takes no command
 * about several slots (Redis, SCAN and UNLINK). What follows waits for the
 * answers to that. Keys that are added meanwhile may stay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"

enum {
	/* One who never says that it is at its end. */
	ROUNDS_MAX = 1 << 22,
	/* Each key of a page is a command at once. SCAN asks for 512; a table
	 * that is being resized may give some more. */
	PAGE_KEYS_MAX = 1 << 14,
};

/* The one removal that is under way; it frees itself when it is over. */
struct engine_removal {
	struct engine_scan scan;
	engine_flushed on_done;
	void *ctx;
	/* Answers to UNLINK that are to come. */
	unsigned waits;
	uint64_t removed;
	/* Ends the removal; NULL: none. */
	const char *error;
	/* A node that could not be asked, which does not end it; NULL: none. */
	const char *skipped;
	char pattern[ENGINE_KEY_MAX + 2]; /* PREFIX* */
};

/* UNLINK, with its key. */
struct removal_call {
	struct redis_call call;
	uint8_t key_len;
	char key[ENGINE_KEY_MAX];
};

/* The removal under way; NULL: it has ended, and the answer is to be
 * ignored. */
static struct engine_removal *removal_of(const struct redis_node *n)
{
	return ((struct engine *)n->owner)->removal;
}

/* It goes on until no key waits to be removed, then to more keys. */
static void removal_go_on(struct engine_removal *m);

/* ---- keys -------------------------------------------------------------- */

/* Sends UNLINK, or DEL. */
static bool key_unlink(struct redis_node *n, struct redis_call *c,
    redis_call_done on_done, const char *key, size_t len)
{
	const char *argv[] = {n->no_unlink ? "DEL" : "UNLINK", key};
	size_t lens[] = {strlen(argv[0]), len};

	if (!c)
		return false;
	c->on_done = on_done;
	return redis_call_send(n, c, 2, argv, lens);
}

static void on_removed(struct redis_call *c, const redisReply *r);

/* Sends the removal of one key. */
static void key_remove(
    struct engine_removal *m, struct redis_node *n, const char *key, size_t len)
{
	struct removal_call *c = calloc(1, sizeof(*c));

	if (c) {
		memcpy(c->key, key, len);
		c->key_len = (uint8_t)len;
	}
	if (key_unlink(n, c ? &c->call : NULL, on_removed, key, len))
		m->waits++;
	else
		m->error = "out of memory";
}

/* UNLINK may be renamed, or missing in a server of another make. DEL removes,
 * too, and blocks that server for as long as freeing takes. */
static void removal_failed(struct engine_removal *m, struct redis_node *n,
    const struct removal_call *c, const redisReply *r)
{
	static const char unknown[] = "ERR unknown command";
	enum redis_fault fault;
	const char *why;

	if (strncmp(r->str, unknown, sizeof(unknown) - 1) == 0 &&
	    strstr(r->str, "UNLINK")) {
		n->no_unlink = true;
		key_remove(m, n, c->key, c->key_len);
		return;
	}
	fault = redis_fault_of(r, &why);
	/* A key that is on its way to another node is gone from here. */
	if (fault != FAULT_MOVED && fault != FAULT_ASK)
		m->error = why ? why : "it does not remove keys";
}

static void on_removed(struct redis_call *c, const redisReply *r)
{
	struct redis_node *n = c->node;
	struct engine_removal *m = removal_of(n);

	if (!m)
		return;
	m->waits--;
	if (!r && !m->error)
		m->error = "the connection was lost";
	if (r && r->type == REDIS_REPLY_INTEGER)
		m->removed += r->integer > 0;
	else if (r && r->type == REDIS_REPLY_ERROR)
		removal_failed(m, n, (struct removal_call *)c, r);
	if (m->waits == 0)
		removal_go_on(m);
}

/* ---- all of them ------------------------------------------------------- */

/* Only ours are removed, whatever it lists. */
static void remove_keys(
    struct engine_removal *m, struct redis_node *n, const redisReply *keys)
{
	size_t len = strlen(m->pattern) - 1;

	for (size_t i = 0; i < keys->elements && !m->error; i++) {
		const redisReply *key = keys->element[i];

		if (key->type == REDIS_REPLY_STRING && key->len >= len &&
		    key->len <= ENGINE_KEY_MAX &&
		    memcmp(key->str, m->pattern, len) == 0)
			key_remove(m, n, key->str, key->len);
	}
}

/* Why a SCAN was of no use. */
static const char *scan_error(const redisReply *r)
{
	const char *why = NULL;

	if (!r)
		return "the connection was lost";
	if (r->type == REDIS_REPLY_ERROR)
		(void)redis_fault_of(r, &why);
	return why ? why : "it does not list its keys";
}

/* A page of keys came; their removal goes on before the next page. */
static void on_scanned(struct redis_call *c, const redisReply *r)
{
	struct redis_node *n = c->node;
	struct engine_removal *m = removal_of(n);
	const redisReply *keys;

	if (!m)
		return;
	keys = r ? scan_take(&m->scan, r) : NULL;
	if (!keys)
		m->error = scan_error(r);
	else if (m->scan.rounds > ROUNDS_MAX)
		m->error = "it lists keys without an end";
	else if (keys->elements > PAGE_KEYS_MAX)
		m->error = "it lists too many keys at once";
	else
		remove_keys(m, n, keys);
	if (m->waits == 0)
		removal_go_on(m);
}

/* Moves to the next node that can be asked; false at the end. */
static bool removal_next_node(struct engine_removal *m)
{
	struct redis_node *n;

	while ((n = scan_next_node(&m->scan)) != NULL) {
		if (redis_node_answers(n))
			return true;
		m->skipped = "not all nodes can be asked";
	}
	return false;
}

/* Asks for the next page; false where the connection has gone. */
static bool removal_scan(struct engine_removal *m)
{
	struct redis_call *c = calloc(1, sizeof(*c));

	if (!c || m->scan.node->phase != NODE_READY) {
		free(c);
		return false;
	}
	c->on_done = on_scanned;
	return scan_ask(&m->scan, c, m->pattern);
}

static void removal_go_on(struct engine_removal *m)
{
	/* A node's first page and its last have the same cursor. */
	bool over = m->scan.rounds > 0 && scan_is_over(&m->scan);

	if (!m->error && (!over || removal_next_node(m))) {
		if (removal_scan(m))
			return;
		m->error = "the connection was lost";
	}
	m->scan.e->removal = NULL;
	m->on_done(m->ctx, m->removed, m->error ? m->error : m->skipped);
	free(m);
}

bool engine_flush(
    struct engine *e, const char *prefix, engine_flushed on_done, void *ctx)
{
	struct engine_removal *m;

	if (e->removal || strlen(prefix) > ENGINE_KEY_MAX)
		return false;
	m = calloc(1, sizeof(*m));
	if (!m)
		return false;
	m->scan.e = e;
	m->on_done = on_done;
	m->ctx = ctx;
	(void)snprintf(m->pattern, sizeof(m->pattern), "%s*", prefix);
	if (!removal_next_node(m) || !removal_scan(m)) {
		free(m);
		return false;
	}
	e->removal = m;
	return true;
}

void removal_end(struct engine *e)
{
	free(e->removal);
	e->removal = NULL;
}

/* ---- one value --------------------------------------------------------- */

void engine_remove(struct engine *e, const struct engine_key *key)
{
	struct redis_node *n = cluster_route(e, key->data, key->len);

	if (n && n->phase == NODE_READY)
		(void)key_unlink(n, calloc(1, sizeof(struct redis_call)), NULL,
		    key->data, key->len);
}
