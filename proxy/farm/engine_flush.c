/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removal of all keys with a prefix: SCAN on one master after the other, and
 * UNLINK of each key that it names, for a node of a cluster takes no command
 * about several slots. What follows waits for the answers to that.
 */
#include "farm/engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 512, /* what SCAN looks at, about */
	/* One who never says that it is at its end. */
	ROUNDS_MAX = 1 << 22,
	CURSOR_MAX = 20, /* digits of 64 bits */
};

struct flush {
	struct engine *e;
	engine_flushed on_done;
	void *ctx;
	struct node *node; /* whose keys are removed; NULL: begin */
	unsigned next;     /* the node behind it, in e->nodes */
	unsigned waits;    /* for answers to so many removals */
	unsigned rounds;
	uint64_t removed;
	char cursor[CURSOR_MAX + 1];
	const char *error;                /* which ends it */
	const char *skipped;              /* which does not */
	char pattern[ENGINE_KEY_MAX + 2]; /* PREFIX* */
};

static void flush_go_on(struct flush *f);

static void flush_finish(struct flush *f)
{
	f->e->flush = NULL;
	f->on_done(f->ctx, f->removed, f->error ? f->error : f->skipped);
	free(f);
}

/* The flush that this call belongs to has ended where `r` is NULL and the
 * engine is freed. */
static bool flush_lost(struct flush *f, const redisReply *r)
{
	if (f && !r && !f->error)
		f->error = "the connection was lost";
	return !f;
}

static void on_removed(struct node *n, struct call *c, const redisReply *r);

static void flush_remove(
    struct flush *f, struct node *n, const char *key, size_t len)
{
	const char *argv[] = {n->no_unlink ? "DEL" : "UNLINK", key};
	size_t lens[] = {strlen(argv[0]), len};
	struct call *c = call_new(on_removed);

	if (c) {
		memcpy(c->key, key, len);
		c->key_len = (uint8_t)len;
	}
	if (c && call_send_argv(n, c, 2, argv, lens))
		f->waits++;
	else
		f->error = "out of memory";
}

static void removal_failed(
    struct flush *f, struct node *n, const struct call *c, const redisReply *r)
{
	static const char unknown[] = "ERR unknown command";
	const char *why;

	if (strncmp(r->str, unknown, sizeof(unknown) - 1) == 0 &&
	    strstr(r->str, "UNLINK")) {
		n->no_unlink = true;
		flush_remove(f, n, c->key, c->key_len);
		return;
	}
	/* A key that is on its way to another node is gone from here. */
	if (fault_of(r, &why) != FAULT_MOVED && fault_of(r, &why) != FAULT_ASK)
		f->error = why ? why : "it does not remove keys";
}

static void on_removed(struct node *n, struct call *c, const redisReply *r)
{
	struct flush *f = n->e->flush;

	if (flush_lost(f, r))
		return;
	f->waits--;
	if (r && r->type == REDIS_REPLY_INTEGER)
		f->removed += r->integer > 0;
	else if (r && r->type == REDIS_REPLY_ERROR)
		removal_failed(f, n, c, r);
	if (f->waits == 0)
		flush_go_on(f);
}

/* [CURSOR, [KEY…]] */
static bool scan_ok(const redisReply *r)
{
	return r->type == REDIS_REPLY_ARRAY && r->elements == 2 &&
	       r->element[0]->type == REDIS_REPLY_STRING &&
	       r->element[0]->len <= CURSOR_MAX &&
	       r->element[1]->type == REDIS_REPLY_ARRAY;
}

static void scan_error(struct flush *f, const redisReply *r)
{
	const char *why = NULL;

	if (r->type == REDIS_REPLY_ERROR)
		(void)fault_of(r, &why);
	f->error = why ? why : "it does not list its keys";
}

/* Only ours are removed, whatever it lists. */
static void remove_keys(struct flush *f, struct node *n, const redisReply *keys)
{
	size_t len = strlen(f->pattern) - 1;

	for (size_t i = 0; i < keys->elements && !f->error; i++) {
		const redisReply *key = keys->element[i];

		if (key->type == REDIS_REPLY_STRING && key->len >= len &&
		    key->len <= ENGINE_KEY_MAX &&
		    memcmp(key->str, f->pattern, len) == 0)
			flush_remove(f, n, key->str, key->len);
	}
}

static void on_scanned(struct node *n, struct call *c, const redisReply *r)
{
	struct flush *f = n->e->flush;

	(void)c;
	if (flush_lost(f, r))
		return;
	if (r && !scan_ok(r))
		scan_error(f, r);
	if (!f->error && ++f->rounds > ROUNDS_MAX)
		f->error = "it lists keys without an end";
	if (f->error) {
		flush_finish(f);
		return;
	}
	(void)snprintf(f->cursor, sizeof(f->cursor), "%s", r->element[0]->str);
	remove_keys(f, n, r->element[1]);
	if (strcmp(f->cursor, "0") == 0)
		f->node = NULL;
	if (f->waits == 0)
		flush_go_on(f);
}

/* The next master that can be asked, or NULL. */
static struct node *next_master(struct flush *f)
{
	struct engine *e = f->e;

	while (f->next < e->nnodes) {
		struct node *n = e->nodes[f->next++];

		if (!n || (e->slots && n->slots == 0))
			continue;
		if (n->phase == NODE_READY && !n->slow)
			return n;
		f->skipped = "not all nodes can be asked";
	}
	return NULL;
}

static bool send_scan(struct flush *f)
{
	const char *argv[] = {
	    "SCAN", f->cursor, "MATCH", f->pattern, "COUNT", "512"};
	struct call *c = call_new(on_scanned);

	_Static_assert(COUNT == 512, "COUNT is in the command");
	return c && call_send_argv(f->node, c, 6, argv, NULL);
}

static void flush_go_on(struct flush *f)
{
	if (!f->node && !f->error) {
		f->node = next_master(f);
		(void)strcpy(f->cursor, "0");
	}
	if (f->node && !f->error &&
	    (f->node->phase != NODE_READY || !send_scan(f)))
		f->error = "the connection was lost";
	if (!f->node || f->error)
		flush_finish(f);
}

bool engine_flush(
    struct engine *e, const char *prefix, engine_flushed on_done, void *ctx)
{
	struct flush *f;

	if (e->flush || strlen(prefix) > ENGINE_KEY_MAX)
		return false;
	f = calloc(1, sizeof(*f));
	if (!f)
		return false;
	f->e = e;
	f->on_done = on_done;
	f->ctx = ctx;
	(void)snprintf(f->pattern, sizeof(f->pattern), "%s*", prefix);
	f->node = next_master(f);
	(void)strcpy(f->cursor, "0");
	if (!f->node || !send_scan(f)) {
		free(f);
		return false;
	}
	e->flush = f;
	return true;
}

void flush_end(struct engine *e)
{
	free(e->flush);
	e->flush = NULL;
}
