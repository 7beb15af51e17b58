/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine in its parts, each above those that follow it; redis_private.h has
 * the parts of one server:
 *
 *	engine_open.c     the begin and end of the engine
 *	engine_status.c   what all of it and each node is said to be
 *	engine_sample.c   what nodes say of themselves, and some of their keys
 *	engine_removal.c  all keys with a prefix are removed
 *	engine_scan.c     the keys of one node after another
 *	engine_greet.c    after connecting: password, version, commands
 *	engine_ask.c      questions and their deadlines
 *	engine_put.c      what is to be kept, which waits behind questions
 *	engine_cluster.c  nodes; slots, maps of them, MOVED and ASK
 *
 *	engine_get ─▶ node of the key's slot ─▶ call ─▶ reply ─▶ on_value
 *	    └─ deadline: on_value(NULL); the reply is read and ignored
 *
 * Nothing here calls its user from within a function that the user has called.
 */
#ifndef FOREFETCH_ENGINE_PRIVATE_H
#define FOREFETCH_ENGINE_PRIVATE_H

#include "engine/engine.h"
#include "engine/redis_private.h"

struct engine_removal;

enum {
	NODES_MAX = 256,
	SLOTS =
	    16384, /* Redis Cluster specification, "Key distribution model" */
	SLOT_NOBODY = 0xffff,
};

TAILQ_HEAD(engine_asks, engine_ask);

/* An engine; one farm has one. */
struct engine {
	struct redis_shared shared;
	const struct config_farm *farm;
	struct redis_node *nodes[NODES_MAX]; /* seeds first; may have holes */
	size_t nnodes;
	bool many;               /* several URLs, so it must be a cluster */
	struct engine_asks asks; /* by deadline */
	struct event *ev_deadline;
	uint64_t armed_us; /* when that fires; 0: it does not */
	/* Commands that are not answered. */
	unsigned gets_open, puts_open;
	/* Bytes that are to be kept, and are not answered. */
	size_t backlog_bytes;
	uint64_t gets, hits, timeouts, puts, put_bytes, got_bytes;
	uint64_t refused_puts, rejected_puts, redirects;
	char version[32];

	uint16_t *slots; /* indices of nodes; NULL: no cluster */
	/* Slots that nobody serves, by the map. */
	unsigned unserved;
	struct event *ev_map;
	bool map_wanted; /* ev_map fires soon */
	uint64_t map_asked_us, map_gap_us;
	/* The node that is asked for the next map. */
	unsigned map_turn;
	uint64_t moved_us; /* when a node last said MOVED */

	struct engine_removal *removal; /* NULL: none is under way */
};

/* engine_cluster.c */

/* A new node of the engine; NULL and errno. */
struct redis_node *cluster_add_node(
    struct engine *e, const char *host, uint16_t port, const char *path);
void cluster_remove_node(struct engine *e, struct redis_node *n);
/* CRC-16/XMODEM: polynomial 0x1021, begun with 0, not reflected. */
uint16_t crc16(const void *data, size_t len);
/* Redis Cluster specification, "Key distribution model" and "Hash tags": where
 * a key has a {tag} that is not empty, only the first such counts. */
unsigned crc16_slot(const char *key, size_t len);
/* The node whose key it is, or NULL. */
struct redis_node *cluster_route(
    const struct engine *e, const char *key, size_t len);
/* Takes over what MOVED or ASK says: the node that it names, or NULL. */
struct redis_node *cluster_redirect(
    struct redis_node *from, const redisReply *r);
/* Takes over what `from` answers to CLUSTER SLOTS; false where that is of no
 * use. */
bool cluster_take_map(struct redis_node *from, const redisReply *r);
/* Asks for a map soon, if it is a cluster. */
void cluster_want_map(struct engine *e);
void cluster_end(struct engine *e);

/* Drops all values that wait to be sent to the node. */
void put_drop_all(struct redis_node *n);

/* engine_ask.c */
bool ask_begin(struct engine *e); /* False without memory. */
/* Ends all questions; nobody hears of it. */
void ask_end(struct engine *e);

/* engine_greet.c: `on_greet` of struct redis_node_ops. */
void greet_begin(struct redis_node *n);

/* engine_scan.c */

/* Begins as zeros but for `e`. */
struct engine_scan {
	struct engine *e;
	size_t next;             /* in e->nodes */
	struct redis_node *node; /* NULL: not begun, or all were asked */
	unsigned rounds;         /* of this node */
	char cursor[20 + 1];     /* digits of 64 bits */
};
/* Moves to the next node that keeps values: of a cluster, a master. */
struct redis_node *scan_next_node(struct engine_scan *s);
/* Asks the node for more keys, that match `pattern` or are any (NULL). Takes
 * the call as redis_call_send() does. */
bool scan_ask(struct engine_scan *s, struct redis_call *c, const char *pattern);
/* The keys of an answer, or NULL where it is none. */
const redisReply *scan_take(struct engine_scan *s, const redisReply *r);
/* Whether the answer was the node's last. */
bool scan_is_over(const struct engine_scan *s);

/* Ends a removal, if one is under way; nobody hears of it. */
void removal_end(struct engine *e);

#endif
