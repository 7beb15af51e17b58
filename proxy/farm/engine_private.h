/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine in its parts:
 *
 *	engine.c          the facade: whom to ask, questions, deadlines
 *	engine_status.c   what all of it and each node is said to be
 *	engine_node.c     one server: addresses, connecting, backoff, hanging
 *	engine_greet.c    after connecting: password, version, commands
 *	engine_call.c     a command that is under way: round trips, silence
 *	engine_put.c      what is to be kept, which waits behind questions
 *	engine_fault.c    what an error of the server means, in a sentence
 *	engine_cluster.c  slots, maps of them, MOVED and ASK
 *	engine_flush.c    removal of all keys with a prefix
 *	engine_wire.c     the connection: bytes, replies, bounds
 *
 *	engine_get ─▶ node of the key's slot ─▶ call ─▶ wire ─▶ reply ─▶
 * on_value └─ deadline: on_value(NULL); the reply is read and ignored
 *
 * Replies come in the order of the commands, so the calls of a node are a
 * queue. Nothing here calls its user from within a function that the user has
 * called.
 */
#ifndef FOREFETCH_ENGINE_PRIVATE_H
#define FOREFETCH_ENGINE_PRIVATE_H

#include <hiredis/hiredis.h>

#include "base/log.h"
#include "farm/engine.h"
#include "farm/engine_wire.h"

struct call;
struct flush;
struct hostname;
struct node;

enum {
	NODES_MAX = 256,
	SLOTS =
	    16384, /* Redis Cluster specification, "Key distribution model" */
	SLOT_NOBODY = 0xffff,
	ADDRS_MAX = 4,    /* of a name */
	NODE_ID_LEN = 40, /* hexadecimal digits */
	SECRET_MAX = 512, /* bytes of a password */
};

enum node_phase {
	NODE_IDLE, /* until it is time to connect */
	NODE_RESOLVING,
	NODE_CONNECTING,
	NODE_GREETING,
	NODE_UNREADY, /* connected; it is greeted again after a while */
	NODE_READY,
};

/* `r` is NULL where the connection ended. The call is freed afterwards. */
typedef void (*call_done)(struct node *n, struct call *c, const redisReply *r);

/* A command that is under way. */
struct call {
	TAILQ_ENTRY(call) link;
	struct node *node;
	call_done on_done;
	struct engine_ask *ask; /* of a question; NULL: nobody waits any more */
	uint64_t sent_us;
	size_t sent_bytes;
	bool question, overdue, given_up;
	bool mark; /* is put only where there is nothing */
	uint8_t redirects;
	uint8_t key_len; /* of a question */
	char key[ENGINE_KEY_MAX];
	char *command; /* of a put that waits; NULL */
};
TAILQ_HEAD(calls, call);

/* One server. */
struct node {
	struct engine *e;
	unsigned index; /* in e->nodes */
	bool seed;      /* of the configuration; it stays */
	char name[128]; /* HOST:PORT, or a path */
	char host[256]; /* "" for a path */
	char path[108];
	uint16_t port;
	char id[NODE_ID_LEN + 1]; /* in a cluster, as it says; "" */
	unsigned slots;
	uint64_t used_us; /* when it was last known to serve something */

	enum node_phase phase;
	enum engine_state away;  /* what it is while it is not ready */
	enum engine_state shown; /* the state that was logged last */
	char error[160];         /* likewise */
	struct event *timer;     /* of its phase */
	unsigned tries;          /* that failed in a row, for the backoff */
	uint64_t ready_us;
	struct hostname *resolving;
	struct sockaddr_storage addrs[ADDRS_MAX];
	size_t naddrs, next_addr;
	struct wire *wire;
	bool says_cluster;
	bool no_unlink; /* it has only DEL */

	struct calls calls; /* that were sent, the oldest first */
	unsigned questions; /* of them */
	unsigned overdue;   /* of them: past their deadline */
	unsigned given_up;  /* of them: cancelled */
	bool watched;       /* the timer looks for silence */
	bool slow;
	uint64_t slow_us;
	unsigned misses; /* deadlines in a row */
	uint64_t pause_us, paused_until_us;
	uint64_t srtt_us, srtt_best_us, answered_us;

	struct calls puts; /* that wait to be sent */
	unsigned puts_flying;
	size_t flying_bytes;
	const char *full;          /* why it keeps nothing now, or NULL */
	const char *keeps_nothing; /* why it will not: rights; or NULL */
	unsigned full_tries;       /* in a row */
	uint64_t full_until_us;
};

TAILQ_HEAD(engine_asks, engine_ask);

struct engine {
	struct event_base *base;
	const struct config_farm *farm;
	struct node *nodes[NODES_MAX]; /* seeds first; may have holes */
	size_t nnodes;
	bool many;               /* several URLs, so it must be a cluster */
	struct engine_asks asks; /* by deadline */
	struct event *ev_deadline;
	uint64_t armed_us; /* when that fires; 0: it does not */
	unsigned gets_open, puts_open;
	size_t backlog_bytes, held_bytes;
	uint64_t srtt_us, us_per_mib;
	uint64_t gets, hits, timeouts, puts, put_bytes, got_bytes;
	uint64_t refused_puts, rejected_puts, redirects, reconnects;
	char version[32];
	struct log_limit limit;

	uint16_t *slots; /* indices of nodes; NULL: no cluster */
	unsigned unserved;
	struct event *ev_map;
	bool map_wanted; /* ev_map fires soon */
	uint64_t map_asked_us, map_gap_us;
	unsigned map_turn; /* who is asked for a map */

	struct flush *flush;
};

/* engine_node.c */

/* `host` is "" for a path. NULL without memory or room. */
struct node *node_new(
    struct engine *e, const char *host, uint16_t port, const char *path);
void node_free(struct node *n);
/* It is elsewhere from the next try on. */
void node_move(struct node *n, const char *host, uint16_t port);
enum engine_state node_state(const struct node *n);
/* What is wrong with it, and what to do; "". */
const char *node_error(const struct node *n);
/* Whether it may be asked a question at `now_us`. */
bool node_can_ask(const struct node *n, uint64_t now_us);
/* For how many microseconds the node has owed an answer; 0 where it owes none,
 * or where the command was large. */
uint64_t node_silent_us(const struct node *n, uint64_t now_us);
/* End the connection, if there is one; it is tried again later. `why` is what
 * status says. */
void node_fail(struct node *n, enum engine_state state, const char *why)
    __attribute__((nonnull));
/* It is connected, and not ready; it is greeted again after a while. */
void node_unready(struct node *n, const char *why);
void node_ready(struct node *n);
/* Say in the log what it is now, if that is new. */
void node_note(struct node *n);
/* As node_fail() or node_unready(), or nothing: what an error asks for. */
void node_judge(struct node *n, const redisReply *r);

/* engine_greet.c */
void greet_begin(struct node *n);

/* engine_call.c */

/* A call without memory for it is NULL. */
struct call *call_new(call_done on_done);
void call_free(struct call *c);
/* Take it in any case; on failure it is freed and on_done() is not called. */
bool call_send(struct node *n, struct call *c, char *command, size_t len);
bool call_send_argv(struct node *n, struct call *c, int argc, const char **argv,
    const size_t *lens);
/* The same for a command of words, and for a new call. Where that fails, the
 * connection ends. */
bool call_words(
    struct node *n, call_done on_done, int argc, const char *const *argv);
/* The oldest call of the node is answered. */
void call_on_reply(struct node *n, const redisReply *r);
/* All calls of a node whose connection ended. */
void call_drop_all(struct node *n);
/* Nobody waits for the question any longer. */
void call_miss(struct call *c, uint64_t now_us);
void call_give_up(struct call *c);
/* Silence of a node that is ready: it may be slow from now on, or gone. */
void call_watch(struct node *n, uint64_t now_us);

/* engine_put.c */

struct put {
	const struct engine_key *key;
	const void *data;
	size_t len;
	uint64_t ttl_ms; /* 0: it stays while there is room */
	bool mark;       /* only where there is nothing */
};

/* Have it sent, which copies it; false where it will not be. */
bool put_queue(struct node *n, const struct put *put);
void put_drop_all(struct node *n);

/* engine.c */
void engine_question_done(struct node *n, struct call *c, const redisReply *r);

/* engine_fault.c */
enum fault_kind {
	FAULT_NONE,   /* of this one command */
	FAULT_REFUSE, /* asking again is of no use */
	FAULT_WAIT,   /* it is not ready */
	FAULT_FULL,   /* it keeps nothing now */
	FAULT_RIGHTS, /* of this kind of command */
	FAULT_MOVED,
	FAULT_ASK,
};
/* What an error reply means; `*why` is a sentence, or NULL. */
enum fault_kind fault_of(const redisReply *r, const char **why);

/* engine_cluster.c */

/* CRC-16/XMODEM: polynomial 0x1021, begun with 0, not reflected. */
uint16_t crc16(const void *data, size_t len);
/* Redis Cluster specification, "Key distribution model" and "Hash tags": where
 * a key has a {tag} that is not empty, only the first such counts. */
unsigned crc16_slot(const char *key, size_t len);
/* Redirect a question; false where there is nobody to ask. */
bool cluster_redirect(struct node *from, struct call *c, const redisReply *r);
/* What CLUSTER SLOTS of `from` says; false where it is of no use. */
bool cluster_take_map(struct node *from, const redisReply *r);
/* Ask for a map soon. */
void cluster_want_map(struct engine *e);
/* Whose key it is, or NULL. */
struct node *cluster_route(const struct engine *e, const char *key, size_t len);
/* An engine that turns out to be a cluster. 0 or -errno. */
int cluster_begin(struct engine *e);
void cluster_end(struct engine *e);

/* engine_flush.c */
void flush_end(struct engine *e);

#endif
