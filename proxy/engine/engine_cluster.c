/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Redis Cluster: which node has which slot, as CLUSTER SLOTS of any node
 * says, and as MOVED says before there is a new map (Redis Cluster
 * specification). What a node says is believed: it may send questions to any
 * address, and gets no more by it than a key's hash and a sealed value. */
#include "engine/engine_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"

/* MAP_GAP_… is between two questions for a map while slots have nobody who
 * answers; MAP_EVERY_US otherwise. */
enum {
	MAP_GAP_MIN_US = 100000,
	MAP_GAP_MAX_US = 2000000,
	MAP_EVERY_US = 30000000,
	/* All nodes are taken to have heard of a moved slot after this. */
	MOVED_US = 1000000,
	/* A node that serves nothing is forgotten after this. */
	UNUSED_US = 60000000,
};

/* ---- nodes ------------------------------------------------------------- */

static struct engine *engine_of(const struct redis_node *n)
{
	return n->owner;
}

/* Takes the first free place in the table; errno is ENOSPC where there is
 * none. */
struct redis_node *cluster_add_node(
    struct engine *e, const char *host, uint16_t port, const char *path)
{
	struct redis_node *n;
	unsigned i = 0;

	while (i < NODES_MAX && e->nodes[i])
		i++;
	errno = ENOSPC;
	n = i < NODES_MAX ? redis_node_new(&e->shared, host, port, path) : NULL;
	if (!n)
		return NULL;
	n->owner = e;
	n->index = i;
	e->nodes[i] = n;
	if (i >= e->nnodes)
		e->nnodes = i + 1;
	return n;
}

/* Nothing in the map may lead to the node any more. */
void cluster_remove_node(struct engine *e, struct redis_node *n)
{
	e->nodes[n->index] = NULL;
	redis_node_free(n);
}

/* ---- slots ------------------------------------------------------------- */

/* Four bits at a time, by a table that fits into a line of the cache. */
uint16_t crc16(const void *data, size_t len)
{
	static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063,
	    0x4084, 0x50a5, 0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
	    0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
	const unsigned char *p = data;
	unsigned crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc = crc << 4 ^ table[(crc >> 12 ^ p[i] >> 4) & 15];
		crc = crc << 4 ^ table[(crc >> 12 ^ p[i]) & 15];
	}
	return (uint16_t)crc;
}

unsigned crc16_slot(const char *key, size_t len)
{
	const char *open = memchr(key, '{', len);
	const char *tag = open ? open + 1 : NULL;
	const char *close =
	    open ? memchr(tag, '}', len - (size_t)(tag - key)) : NULL;

	if (close && close > tag)
		return crc16(tag, (size_t)(close - tag)) & 16383;
	return crc16(key, len) & 16383;
}

struct redis_node *cluster_route(
    const struct engine *e, const char *key, size_t len)
{
	unsigned owner;

	if (!e->slots)
		return e->nodes[0];
	owner = e->slots[crc16_slot(key, len)];
	return owner == SLOT_NOBODY ? NULL : e->nodes[owner];
}

/* Asks for a map after so long. */
static void map_arm(struct engine *e, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	(void)evtimer_add(e->ev_map, &tv);
}

/* It asks not more often than map_gap_us, however often nodes say MOVED. */
void cluster_want_map(struct engine *e)
{
	uint64_t since_us;

	if (!e->slots || e->map_wanted)
		return;
	since_us = clock_now_us() - e->map_asked_us;
	e->map_wanted = true;
	map_arm(e, since_us < e->map_gap_us ? e->map_gap_us - since_us : 0);
}

/* Whether some slots have nobody who answers. */
static bool in_trouble(const struct engine *e)
{
	if (e->unserved > 0)
		return true;
	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i] && e->nodes[i]->slots > 0 &&
		    !redis_node_answers(e->nodes[i]))
			return true;
	return false;
}

/* A cluster may have had many nodes in its life, and each costs a
 * connection. */
static void forget_unused(struct engine *e, uint64_t now_us)
{
	for (size_t i = 0; i < e->nnodes; i++) {
		struct redis_node *n = e->nodes[i];

		if (!n)
			continue;
		if (n->slots > 0)
			n->used_us = now_us;
		if (!n->seed && now_us > n->used_us + UNUSED_US)
			cluster_remove_node(e, n);
	}
}

/* The next node that answers; NULL: none does. Another one each time, since one
 * that is cut off has an old map; but just after a slot has moved, always the
 * node that said so: others may not have heard of it, and their map would take
 * the slot back. */
static struct redis_node *map_source(struct engine *e)
{
	bool moved = e->map_asked_us < e->moved_us + MOVED_US;

	for (unsigned i = 0; i < e->nnodes; i++) {
		struct redis_node *n = e->nodes[(e->map_turn + i) % e->nnodes];

		if (n && redis_node_answers(n)) {
			e->map_turn = n->index + !moved;
			return n;
		}
	}
	return NULL;
}

/* A map came; one that is of no use is left alone. */
static void on_map(struct redis_call *c, const redisReply *r)
{
	if (r && r->type != REDIS_REPLY_ERROR)
		(void)cluster_take_map(c->node, r);
}

/* Asks for a map, and has itself called again: soon while something is
 * wrong. */
static void engine_on_map_timer(evutil_socket_t fd, short what, void *arg)
{
	static const char *const words[] = {"CLUSTER", "SLOTS"};
	struct engine *e = arg;
	struct redis_node *n;

	(void)fd;
	(void)what;
	e->map_wanted = false;
	e->map_asked_us = clock_now_us();
	forget_unused(e, e->map_asked_us);
	n = map_source(e);
	if (n)
		(void)redis_node_ask(n, on_map, 2, words);
	if (!in_trouble(e)) {
		e->map_gap_us = MAP_GAP_MIN_US;
		map_arm(e, MAP_EVERY_US);
		return;
	}
	map_arm(e, e->map_gap_us);
	e->map_wanted = true;
	e->map_gap_us *= 2;
	if (e->map_gap_us > MAP_GAP_MAX_US)
		e->map_gap_us = MAP_GAP_MAX_US;
}

/* The engine turns out to be a cluster. False without memory. */
static bool cluster_begin(struct engine *e)
{
	if (e->slots)
		return true;
	e->ev_map = evtimer_new(e->shared.base, engine_on_map_timer, e);
	e->slots = malloc(SLOTS * sizeof(*e->slots));
	if (!e->ev_map || !e->slots) {
		cluster_end(e);
		return false;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		e->slots[i] = SLOT_NOBODY;
	e->unserved = SLOTS;
	e->map_gap_us = MAP_GAP_MIN_US;
	e->shared.cluster = true;
	return true;
}

void cluster_end(struct engine *e)
{
	if (e->ev_map)
		event_free(e->ev_map);
	e->ev_map = NULL;
	free(e->slots);
	e->slots = NULL;
}

/* An address as a node gives it; "" or none means its own. */
struct engine_place {
	char host[256];
	uint16_t port;
	const char *id; /* of REDIS_ID_LEN bytes, or NULL */
};

/* An address as a node gives it; false where it is none. A name goes to the
 * resolver, and to the log, so it has printable characters only. */
static bool place_set(struct engine_place *p, const struct redis_node *from,
    const char *host, size_t len, long long port)
{
	if (len == 0 || (len == 1 && host[0] == '?')) {
		host = from->host;
		len = strlen(host);
	}
	if (len == 0 || len >= sizeof(p->host) || port < 1 || port > 65535)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)host[i]))
			return false;
	memcpy(p->host, host, len);
	p->host[len] = '\0';
	p->port = (uint16_t)port;
	return true;
}

/* The node at that address, or NULL. A node is the same one under another name,
 * too, as seeds have names. */
static struct redis_node *place_find(
    struct engine *e, const struct engine_place *p)
{
	for (size_t i = 0; p->id && i < e->nnodes; i++)
		if (e->nodes[i] &&
		    memcmp(e->nodes[i]->id, p->id, REDIS_ID_LEN) == 0)
			return e->nodes[i];
	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i] && e->nodes[i]->port == p->port &&
		    strcmp(e->nodes[i]->host, p->host) == 0)
			return e->nodes[i];
	return NULL;
}

/* The node at that address, made where it is missing; NULL: there is no room.
 * One that is not connected may have moved. */
static struct redis_node *place_node(
    struct engine *e, const struct engine_place *p)
{
	struct redis_node *n = place_find(e, p);

	if (!n)
		return cluster_add_node(e, p->host, p->port, NULL);
	if (!n->seed && n->phase == NODE_IDLE)
		redis_node_move(n, p->host, p->port);
	return n;
}

/* The slot is the node's from now on. */
static void slot_set(struct engine *e, unsigned slot, struct redis_node *n)
{
	unsigned old = e->slots[slot];

	if (old == n->index)
		return;
	if (old == SLOT_NOBODY)
		e->unserved--;
	else
		e->nodes[old]->slots--;
	e->slots[slot] = (uint16_t)n->index;
	n->slots++;
}

/* The node of [HOST, PORT, ID, …]; NULL where that is none (Redis, CLUSTER
 * SLOTS). */
static struct redis_node *map_master(
    struct redis_node *from, const redisReply *r)
{
	struct engine_place p = {.id = NULL};
	const redisReply *host, *id;

	if (r->type != REDIS_REPLY_ARRAY || r->elements < 2 ||
	    r->element[1]->type != REDIS_REPLY_INTEGER)
		return NULL;
	id = r->elements > 2 ? r->element[2] : NULL;
	if (id && id->type == REDIS_REPLY_STRING && id->len == REDIS_ID_LEN)
		p.id = id->str;
	/* Itself may be known by a path alone. */
	if (p.id && memcmp(p.id, from->id, REDIS_ID_LEN) == 0)
		return from;
	host = r->element[0];
	if (host->type != REDIS_REPLY_STRING && host->type != REDIS_REPLY_NIL)
		return NULL;
	if (!place_set(&p, from, host->str ? host->str : "", host->len,
		r->element[1]->integer))
		return NULL;
	return place_node(engine_of(from), &p);
}

/* Takes [FIRST, LAST, MASTER, REPLICA…] into `map`; returns how many slots it
 * has. */
static unsigned map_range(
    struct redis_node *from, const redisReply *r, uint16_t map[SLOTS])
{
	unsigned count = 0;
	long long first, last;
	struct redis_node *n;

	if (r->type != REDIS_REPLY_ARRAY || r->elements < 3 ||
	    r->element[0]->type != REDIS_REPLY_INTEGER ||
	    r->element[1]->type != REDIS_REPLY_INTEGER)
		return 0;
	first = r->element[0]->integer;
	last = r->element[1]->integer;
	if (first < 0 || last >= SLOTS || first > last)
		return 0;
	n = map_master(from, r->element[2]);
	if (!n)
		return 0;
	for (long long i = first; i <= last; i++, count++)
		map[i] = (uint16_t)n->index;
	return count;
}

/* The map takes the place of the one before, as a whole. */
static void map_apply(struct engine *e, const uint16_t map[SLOTS])
{
	for (size_t i = 0; i < e->nnodes; i++)
		if (e->nodes[i])
			e->nodes[i]->slots = 0;
	e->unserved = 0;
	for (unsigned i = 0; i < SLOTS; i++) {
		e->slots[i] = map[i];
		if (map[i] == SLOT_NOBODY)
			e->unserved++;
		else
			e->nodes[map[i]]->slots++;
	}
}

bool cluster_take_map(struct redis_node *from, const redisReply *r)
{
	struct engine *e = engine_of(from);
	uint16_t *map = malloc(SLOTS * sizeof(*map));
	unsigned count = 0;

	if (!map || r->type != REDIS_REPLY_ARRAY || !cluster_begin(e)) {
		free(map);
		return false;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		map[i] = SLOT_NOBODY;
	/* Each range has its own slots, unless it lies. */
	for (size_t i = 0; i < r->elements && count < SLOTS; i++)
		count += map_range(from, r->element[i], map);
	if (count > 0)
		map_apply(e, map);
	free(map);
	if (!e->map_wanted)
		map_arm(e, in_trouble(e) ? e->map_gap_us : MAP_EVERY_US);
	return count > 0;
}

/* Parses "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT". False where it is
 * none. */
static bool redirect_parse(const struct redis_node *from, const redisReply *r,
    unsigned *slot, struct engine_place *p)
{
	const char *digits = strchr(r->str, ' ');
	const char *colon = strrchr(r->str, ':');
	char *end;
	unsigned long n;

	if (!digits || !colon)
		return false;
	n = strtoul(digits + 1, &end, 10);
	if (end == digits + 1 || *end != ' ' || n >= SLOTS || colon < end)
		return false;
	*slot = (unsigned)n;
	p->id = NULL;
	return place_set(p, from, end + 1, (size_t)(colon - end - 1),
	    strtoll(colon + 1, NULL, 10));
}

struct redis_node *cluster_redirect(
    struct redis_node *from, const redisReply *r)
{
	struct engine *e = engine_of(from);
	bool moved = r->str[0] == 'M';
	struct engine_place p;
	unsigned slot;
	struct redis_node *n;

	if (!e->slots || !redirect_parse(from, r, &slot, &p))
		return NULL;
	e->redirects++;
	if (moved) {
		e->map_turn = from->index;
		e->moved_us = clock_now_us();
		cluster_want_map(e);
	}
	n = place_node(e, &p);
	if (!n)
		return NULL;
	n->used_us = clock_now_us();
	if (moved)
		slot_set(e, slot, n);
	return n;
}
