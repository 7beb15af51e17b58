/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One Redis server, alone or in a cluster: its addresses, its connection, when
 * it is tried again, and the commands that are under way to it. Replies come in
 * the order of the commands, so the calls of a node are a queue.
 *
 *	redis_node.c   what a node is now: connecting, ready, silent, away
 *	redis_call.c   commands under way: round trips, deadlines
 *	redis_reply.c  what errors and INFO mean
 *	redis_conn.c   the connection, by libhiredis, and its bounds
 *
 * A node knows nothing of the engine that it belongs to but struct
 * redis_shared.
 */
#ifndef FOREFETCH_REDIS_PRIVATE_H
#define FOREFETCH_REDIS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/redis_conn.h"
#include "engine/redis_reply.h"

struct hostname;
struct redis_call;
struct redis_node;

enum {
	REDIS_ADDRS_MAX = 4, /* of a name */
	REDIS_ID_LEN = 40,   /* hexadecimal digits */
};

struct redis_node_ops {
	/* It is connected, or to be greeted again: the owner asks it what it
	 * is, and ends with one of redis_node_ready(), _unready(), _fail(). */
	void (*on_greet)(struct redis_node *n);
	/* It takes no values now. */
	void (*on_away)(struct redis_node *n);
};

/* All nodes of an engine have this in common. */
struct redis_shared {
	struct event_base *base;
	const struct redis_node_ops *ops;
	bool cluster; /* its nodes tell the slots of a cluster */
	uint64_t srtt_us, us_per_mib; /* of all nodes; 0: not known */
	size_t held_bytes;
	uint64_t reconnects;
	struct log_limit limit;
};

/* ---- commands under way: redis_call.c ---------------------------------- */

/* `r` is NULL where the connection ended. NULL: nobody hears of it. */
typedef void (*redis_call_done)(struct redis_call *c, const redisReply *r);

/* Whoever needs more embeds it as the first member. It is freed by free(3)
 * behind on_done(), which is called once. */
struct redis_call {
	TAILQ_ENTRY(redis_call) link;
	struct redis_node *node;
	redis_call_done on_done;
	uint64_t sent_us;
	size_t sent_bytes;
	bool question; /* somebody waits for it, until a deadline */
	bool overdue, given_up;
};
TAILQ_HEAD(redis_calls, redis_call);

/* Takes the call in any case; on failure it frees it and on_done() is not
 * called. The second one is given what redisFormatCommandArgv() made, which
 * stays the caller's. */
bool redis_call_send(struct redis_node *n, struct redis_call *c, int argc,
    const char *const *argv, const size_t *lens);
bool redis_call_send_formatted(struct redis_node *n, struct redis_call *c,
    const char *command, size_t len);
/* Whether it answers commands. */
bool redis_node_answers(const struct redis_node *n);
/* Whether the node may be asked a question at `now_us`. */
bool redis_node_can_ask(const struct redis_node *n, uint64_t now_us);
/* Takes the oldest call from the queue, which is answered by `r`. */
struct redis_call *redis_call_answered(
    struct redis_node *n, const redisReply *r);
/* Ends all calls of a node whose connection has ended. */
void redis_call_drop_all(struct redis_node *n);
/* Nobody waits for the question any longer: its deadline has passed, or whoever
 * asked gave it up. */
void redis_call_miss(struct redis_call *c, uint64_t now_us);
void redis_call_give_up(struct redis_call *c);
/* For how many microseconds the node has owed an answer; 0 where it owes none,
 * or where the command was large. */
uint64_t redis_call_silent_us(const struct redis_node *n, uint64_t now_us);

/* ---- one server: redis_node.c ------------------------------------------ */

enum redis_phase {
	NODE_IDLE, /* until it is time to connect */
	NODE_RESOLVING,
	NODE_CONNECTING,
	NODE_GREETING,
	NODE_UNREADY, /* connected; it is greeted again after a while */
	NODE_READY,
};

/* One server. It lives as long as its owner has it, whatever its connection
 * does. */
struct redis_node {
	struct redis_shared *all;
	char name[128]; /* HOST:PORT, or a path */
	char host[256]; /* "" for a path */
	char path[108];
	uint16_t port;

	enum redis_phase phase;
	enum engine_state away;  /* what it is while it is not ready */
	enum engine_state shown; /* the state that was logged last */
	char error[160];         /* likewise */
	struct event *timer;     /* of its phase */
	unsigned tries;          /* that failed in a row, for the backoff */
	uint64_t ready_us;
	struct hostname *resolving;
	struct sockaddr_storage addrs[REDIS_ADDRS_MAX];
	size_t naddrs, next_addr;
	struct redis_conn *conn;

	struct redis_calls calls; /* that were sent, the oldest first */
	unsigned questions;       /* of them */
	unsigned overdue;         /* of them: past their deadline */
	unsigned given_up;        /* of them: cancelled */
	/* The timer looks for silence. */
	bool watched;
	bool slow;
	uint64_t slow_us;
	unsigned misses; /* deadlines in a row */
	uint64_t pause_us, paused_until_us;
	uint64_t srtt_us, srtt_best_us, answered_us;

	/* Why it keeps nothing now, or will not: rights. Both are NULL, or set
	 * by engine_put.c, and end with the connection. */
	const char *full, *keeps_nothing;

	/* The rest is its owner's. */
	void *owner;
	unsigned index;            /* in the owner's table */
	bool seed;                 /* of the configuration; it stays */
	char id[REDIS_ID_LEN + 1]; /* in a cluster, as it says; "" */
	bool says_cluster;
	unsigned greeting; /* which one is under way, or was the last */
	bool no_unlink;    /* it has only DEL */
	unsigned slots;
	uint64_t used_us;        /* when it was last known to serve something */
	struct redis_calls puts; /* that wait to be sent */
	unsigned puts_flying;
	size_t flying_bytes;
	unsigned full_tries; /* in a row */
	uint64_t full_until_us;
};

/* `host` is "" for a path. NULL and errno. */
struct redis_node *redis_node_new(struct redis_shared *all, const char *host,
    uint16_t port, const char *path);
void redis_node_free(struct redis_node *n);
/* It is elsewhere from the next try on. */
void redis_node_move(struct redis_node *n, const char *host, uint16_t port);
enum engine_state redis_node_state(const struct redis_node *n);
/* Says what is wrong with it, and what to do; "". */
const char *redis_node_error(const struct redis_node *n);
/* Sends a command of words; where that fails, the connection ends. */
bool redis_node_ask(struct redis_node *n, redis_call_done on_done, int argc,
    const char *const *argv);
/* Sends such a command with a call of the caller's, which it takes; NULL: there
 * was no memory for it. */
bool redis_node_ask_call(struct redis_node *n, struct redis_call *c,
    redis_call_done on_done, int argc, const char *const *argv);
/* Ends the connection, if there is one; it is tried again later. `why` is what
 * status says. */
void redis_node_fail(struct redis_node *n, enum engine_state state,
    const char *why) __attribute__((nonnull));
/* It is connected, and not ready; it is greeted again after a while. */
void redis_node_unready(struct redis_node *n, const char *why);
void redis_node_ready(struct redis_node *n);
/* Says in the log what it is now, if that is new. */
void redis_node_note(struct redis_node *n);
/* Does what an error asks for: redis_node_fail(), redis_node_unready(), or
 * nothing. */
void redis_node_judge(struct redis_node *n, const redisReply *r);

#endif
