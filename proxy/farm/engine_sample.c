/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One master after the other is asked for INFO, and by SCAN for some of its
 * keys: these come by their hashes, so that the first ones are as good a sample
 * as any. One command is under way at a time.
 */
#include "farm/engine_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "farm/engine_private.h"

enum {
	SAMPLE_MAX = 2048, /* keys of a node */
	ROUNDS_MAX = 16,   /* of SCAN, which may find none in one */
	CURSOR_MAX = 20,   /* digits of 64 bits */
};

/* The call comes first, so that whoever frees it frees all of it. */
struct sample_call {
	struct call call;
	struct engine_sample *of; /* NULL: nobody waits any more */
};

struct engine_sample {
	struct engine *e;
	engine_sample_key on_key;
	void *ctx;
	struct sample_call *flying; /* NULL: none */
	size_t next;                /* in e->nodes */
	unsigned rounds;
	char cursor[CURSOR_MAX + 1];
	bool done;
	size_t n; /* the last of them is the one that is asked */
	struct engine_sample_node nodes[NODES_MAX];
};

static void sample_next(struct engine_sample *s);

/* ---- commands ----------------------------------------------------------- */

static bool sample_send(struct engine_sample *s, struct node *n,
    call_done on_done, int argc, const char **argv)
{
	struct sample_call *c = calloc(1, sizeof(*c));

	if (!c)
		return false;
	c->call.on_done = on_done;
	c->of = s;
	if (!call_send_argv(n, &c->call, argc, argv, NULL))
		return false;
	s->flying = c;
	return true;
}

/* NULL where nobody waits for the answer; else it is over. */
static struct engine_sample *sample_take(struct call *c)
{
	struct engine_sample *s = ((struct sample_call *)c)->of;

	if (s)
		s->flying = NULL;
	return s;
}

static struct engine_sample_node *at(struct engine_sample *s)
{
	return &s->nodes[s->n - 1];
}

/* What is to be said of a node whose answer to `command` is of no use, or NULL
 * where the connection was lost; `right` is what its user needs for it. */
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
		 fault_of(r, &why) == FAULT_RIGHTS)
		(void)snprintf(to->error, sizeof(to->error),
		    "it refuses %s: its user needs %s", command, right);
	else
		(void)snprintf(to->error, sizeof(to->error),
		    "what it answers to %s is not what Redis would", command);
}

/* ---- keys -------------------------------------------------------------- */

/* [CURSOR, [KEY…]] */
static bool scan_ok(const redisReply *r)
{
	return r && r->type == REDIS_REPLY_ARRAY && r->elements == 2 &&
	       r->element[0]->type == REDIS_REPLY_STRING &&
	       r->element[0]->len <= CURSOR_MAX &&
	       r->element[1]->type == REDIS_REPLY_ARRAY;
}

static void on_scanned(struct node *n, struct call *c, const redisReply *r);

static void sample_scan(struct engine_sample *s, struct node *n)
{
	const char *argv[] = {"SCAN", s->cursor, "COUNT", "256"};

	if (!sample_send(s, n, on_scanned, 4, argv)) {
		note_error(s, "SCAN", "+scan", NULL);
		sample_next(s);
	}
}

static void on_scanned(struct node *n, struct call *c, const redisReply *r)
{
	struct engine_sample *s = sample_take(c);
	const redisReply *keys;

	if (!s)
		return;
	if (!scan_ok(r)) {
		note_error(s, "SCAN", "+scan", r);
		sample_next(s);
		return;
	}
	keys = r->element[1];
	for (size_t i = 0; i < keys->elements; i++) {
		const redisReply *key = keys->element[i];

		if (key->type != REDIS_REPLY_STRING)
			continue;
		at(s)->sampled++;
		s->on_key(s->ctx, s->n - 1, key->str, key->len);
	}
	memcpy(s->cursor, r->element[0]->str, r->element[0]->len + 1);
	if (strcmp(s->cursor, "0") == 0 || ++s->rounds == ROUNDS_MAX ||
	    at(s)->sampled >= SAMPLE_MAX)
		sample_next(s);
	else
		sample_scan(s, n);
}

/* ---- memory ------------------------------------------------------------ */

/* Behind NAME in a line "NAME:VALUE"; NULL where there is none. */
static const char *info_find(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, len) == 0 && p[len] == ':')
			return p + len + 1;
	}
	return NULL;
}

static uint64_t info_number(const char *text, const char *name)
{
	const char *value = info_find(text, name);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* Lines "dbN:keys=K,…". */
static uint64_t info_keys(const char *text)
{
	uint64_t keys = 0;

	for (const char *p = text; p; p = strchr(p, '\n')) {
		const char *value;

		p += *p == '\n';
		if (strncmp(p, "db", 2) != 0)
			continue;
		value = p + 2 + strspn(p + 2, "0123456789");
		if (strncmp(value, ":keys=", 6) == 0)
			keys += strtoull(value + 6, NULL, 10);
	}
	return keys;
}

static void take_info(struct engine_sample_node *to, const char *text)
{
	const char *policy = info_find(text, "maxmemory_policy");

	if (policy)
		(void)snprintf(to->policy, sizeof(to->policy), "%.*s",
		    (int)strcspn(policy, "\r\n"), policy);
	to->memory_bytes = info_number(text, "used_memory");
	to->memory_limit_bytes = info_number(text, "maxmemory");
	to->evicted = info_number(text, "evicted_keys");
	to->keys = info_keys(text);
}

static void on_info(struct node *n, struct call *c, const redisReply *r)
{
	struct engine_sample *s = sample_take(c);

	if (!s)
		return;
	if (r && r->type == REDIS_REPLY_STRING)
		take_info(at(s), r->str);
	else
		note_error(s, "INFO", "+info", r);
	if (!r) {
		sample_next(s);
		return;
	}
	(void)strcpy(s->cursor, "0");
	s->rounds = 0;
	sample_scan(s, n);
}

/* ---- nodes ------------------------------------------------------------- */

static struct node *next_master(struct engine_sample *s)
{
	const struct engine *e = s->e;

	while (s->next < e->nnodes) {
		struct node *n = e->nodes[s->next++];

		if (n && (!e->slots || n->slots > 0))
			return n;
	}
	return NULL;
}

static void sample_next(struct engine_sample *s)
{
	const char *argv[] = {"INFO"};
	struct node *n;

	while ((n = next_master(s)) != NULL && s->n < NODES_MAX) {
		struct engine_sample_node *to = &s->nodes[s->n++];

		(void)snprintf(to->name, sizeof(to->name), "%s", n->name);
		if (n->phase == NODE_READY &&
		    sample_send(s, n, on_info, 1, argv))
			return;
		(void)snprintf(to->error, sizeof(to->error), "%s",
		    node_error(n)[0] ? node_error(n) : "it is not connected");
	}
	s->done = true;
}

struct engine_sample *engine_sample_new(
    struct engine *e, engine_sample_key on_key, void *ctx)
{
	struct engine_sample *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->e = e;
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

/* ---- one value --------------------------------------------------------- */

static void on_removed(struct node *n, struct call *c, const redisReply *r)
{
	(void)n;
	(void)c;
	(void)r;
}

void engine_remove(struct engine *e, const struct engine_key *key)
{
	struct node *n =
	    e->slots ? cluster_route(e, key->data, key->len) : e->nodes[0];
	struct call *c;

	if (!n || n->phase != NODE_READY)
		return;
	c = call_new(on_removed);
	if (c) {
		const char *argv[] = {
		    n->no_unlink ? "DEL" : "UNLINK", key->data};
		const size_t lens[] = {strlen(argv[0]), key->len};

		(void)call_send_argv(n, c, 2, argv, lens);
	}
}
