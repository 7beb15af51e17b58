/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of a farm: one Redis server, or a Redis Cluster, asked on the
 * event loop. It keeps values under keys, may lose any of them at any time,
 * and is trusted with nothing: seal.h sees to that.
 *
 * Nothing waits for it. A question has a deadline; while the engine is away,
 * slow, full or refuses, questions are answered at once with "nothing", what
 * is to be kept is dropped, and a connection is tried again after a while
 * that grows. Memory is bounded on both sides, whatever the engine sends.
 *
 * Questions go before values that are to be kept: of these, little is under way
 * at a time. A node of a cluster may send questions to any address: that is
 * what MOVED is for. It gets a key's hash by it, and no value that anybody can
 * open. The daemon must ignore SIGPIPE.
 */
#ifndef FOREFETCH_ENGINE_H
#define FOREFETCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct config_farm;
struct engine;
struct event_base;

enum {
	ENGINE_KEY_MAX = 64,         /* bytes of a key */
	ENGINE_VALUE_MAX = 16 << 20, /* bytes of a value */
	ENGINE_ASKS_MAX = 1024,      /* questions at once */
	ENGINE_MARK_MAX = 32,        /* bytes of a mark; values are longer */
	/* Bytes that were put and are not answered; a larger value goes alone.
	 */
	ENGINE_BACKLOG_MAX = 4 << 20,
};

enum engine_state {
	ENGINE_CONNECTING, /* for the first time */
	ENGINE_UP,
	ENGINE_FULL,    /* it answers, and keeps nothing more */
	ENGINE_SLOW,    /* it did not answer in time; it is tried again */
	ENGINE_DOWN,    /* no connection */
	ENGINE_REFUSES, /* password, rights, missing commands, not Redis */
};

/* A key, as bytes; not a string. The bytes are the caller's, and are copied
 * where they are needed longer. */
struct engine_key {
	const char *data;
	size_t len; /* at most ENGINE_KEY_MAX */
};

/* A part of the struct of whoever asks for a value. Zeros at first, but for
 * on_value(). */
struct engine_ask {
	/* The value, which is gone after the call; NULL where there is none,
	 * or no answer. Never called from within engine_get(). The ask is
	 * free again when this is called. */
	void (*on_value)(struct engine_ask *a, const void *data, size_t len);
	TAILQ_ENTRY(engine_ask) link; /* private, as all that follows */
	void *call;                   /* NULL while it waits for nothing */
	uint64_t begun_us;
	uint64_t deadline_us;
};

/* Makes an engine, which begins to connect by itself. `farm` outlives it. NULL
 * and errno without memory. */
struct engine *engine_new(
    struct event_base *base, const struct config_farm *farm);
/* Closes all connections. Nobody who asked hears anything. Not to be called
 * from within on_value() or on_done(). NULL is allowed. */
void engine_free(struct engine *e);

/* Whether it may be asked now: it is connected, answers, and has not let
 * several deadlines pass just now. */
bool engine_is_up(const struct engine *e);

/*
 * Ask for a value; on_value() hears of it within `deadline_us` microseconds
 * from now, as exactly as the loop's timers are. False where nobody can be
 * asked: then on_value() is not called.
 */
bool engine_get(struct engine *e, const struct engine_key *key,
    uint64_t deadline_us, struct engine_ask *a);
/* on_value() will not be called; the reply is read and ignored when it comes.
 * An ask that waits for nothing is allowed. */
void engine_cancel(struct engine *e, struct engine_ask *a);

/* Has a value kept, which is copied; for `ttl_s` seconds, or as long as there
 * is room where that is 0. False where it was not sent; true says nothing of
 * whether the engine keeps it. */
bool engine_put(struct engine *e, const struct engine_key *key,
    const void *data, size_t len, uint32_t ttl_s);

/* Has a mark of up to ENGINE_MARK_MAX bytes kept for `ttl_ms` milliseconds
 * where there is no value; before all values that wait to be sent. It may be
 * lost without a word. */
void engine_mark(struct engine *e, const struct engine_key *key,
    const char *mark, size_t len, uint32_t ttl_ms);

/* Whether the engine has answered to all that it was given to keep. */
bool engine_is_idle(const struct engine *e);

/* The round trip in microseconds, smoothed, of what was asked lately (RFC 6298
 * section 2); 0: not known. */
uint64_t engine_srtt_us(const struct engine *e);
/* How long a value of so many bytes takes, in microseconds, as far as is
 * known. */
uint64_t engine_expect_us(const struct engine *e, uint64_t bytes);

/* How one server of the engine is. */
struct engine_node_status {
	char name[128]; /* HOST:PORT, or a path */
	enum engine_state state;
	char error[160]; /* why it is not up; "" */
	/* Slots of a cluster that it serves; else 0. */
	unsigned slots;
	uint64_t srtt_us;
};

/* How the engine is; counts are of this run of the daemon. */
struct engine_status {
	enum engine_state state; /* of all of it */
	/* The first thing that is wrong, and what to do; "". */
	char error[160];
	char version[32]; /* as it says; "" */
	bool cluster;
	uint64_t srtt_us;
	uint64_t gets, hits, timeouts, puts, put_bytes, got_bytes;
	uint64_t refused_puts;  /* not sent, for want of room or connection */
	uint64_t rejected_puts; /* sent, and answered with an error */
	uint64_t redirects;     /* MOVED and ASK */
	uint64_t reconnects;
};
void engine_get_status(const struct engine *e, struct engine_status *st);
/* Fills in up to `max` nodes; returns how many there are, which may be more. */
size_t engine_get_nodes(
    const struct engine *e, struct engine_node_status *nodes, size_t max);

/*
 * Remove all keys that begin with `prefix` (ASCII without *, ?, [ and \), on
 * all nodes: SCAN and UNLINK, a part at a time. `on_done` is called once,
 * later: how many were removed, and an error text or NULL. One at a time;
 * false where one is under way, or nobody can be asked.
 */
typedef void (*engine_flushed)(void *ctx, uint64_t removed, const char *error);
bool engine_flush(
    struct engine *e, const char *prefix, engine_flushed on_done, void *ctx);

/* Has the engine remove one value; nobody hears whether it did. */
void engine_remove(struct engine *e, const struct engine_key *key);

/* ---- what its nodes say of themselves, and a sample of their keys ------ */

struct engine_sample;

/* A node that keeps values: of a cluster, a master. */
struct engine_sample_node {
	char name[128];
	char error[160]; /* why not all was said; "" */
	char policy[32]; /* maxmemory-policy; "": not known */
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes; /* maxmemory; 0: none, or not known */
	uint64_t evicted;            /* keys, since it runs */
	uint64_t keys;               /* of all databases */
	uint64_t sampled;            /* keys that were given to on_key() */
};

/* A key of the sample; `node` is the index in engine_sample_nodes(). Keys have
 * any bytes and any length. */
typedef void (*engine_sample_key)(
    void *ctx, size_t node, const char *key, size_t len);

/* Asks all nodes, one after the other; on_key() is called as answers come, and
 * engine_sample_is_done() tells when that is over. NULL without memory. */
struct engine_sample *engine_sample_new(
    struct engine *e, engine_sample_key on_key, void *ctx);
/* Ends it; before the engine. NULL is allowed. */
void engine_sample_free(struct engine_sample *s);
bool engine_sample_is_done(const struct engine_sample *s);
/* It has lasted for too long: it is over. */
void engine_sample_stop(struct engine_sample *s);
/* The nodes that were asked, or begun with, `*n` of them; they are the
 * sample's. */
const struct engine_sample_node *engine_sample_nodes(
    const struct engine_sample *s, size_t *n);

/* "up", "full", … */
const char *engine_state_name(enum engine_state state);

#endif
