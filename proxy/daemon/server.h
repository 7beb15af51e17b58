/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One [server] section of the configuration at work: its clients, the caches,
 * everything that learns and fetches ahead, and the way to the NFS server.
 *
 *	clients ──▶ svc ──▶ caches ──▶ fetch ──▶ upstream ──▶ NFS server
 *	             │                   ▲
 *	             └──▶ prefetch ──────┤
 *	                  warm, pins, hints
 */
#ifndef FOREFETCH_SERVER_H
#define FOREFETCH_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control.h"

struct config_server;
struct farm;
struct iopool;
struct listens;
struct loopwatch;
struct event_base;
struct netmatch_addr;
struct rbuf_pool;
struct room;
struct server;
struct statedir;

/* servers.c fills this in to make a server. Everything that is pointed to
 * outlives the server, but for `config`, which server_set_config() replaces. */
struct server_params {
	struct event_base *base;
	/* How long turns of the loop take, for the gauges. */
	const struct loopwatch *loop;
	struct rbuf_pool *pool;
	/* Memory for calls and replies, shared by the clients of all
	 * servers. */
	struct room *room;
	struct farm *farm; /* NULL: none */
	struct statedir *state;
	/* The path of the control socket, beside which replies to changes are
	 * kept. */
	const char *control;
	struct iopool *iopool;
	struct listens *listens;
	/* This server's shares of cache_size and memory_size: see
	 * server_set_shares(). */
	uint64_t disk_bytes;
	uint64_t memory_bytes;
	/* For what is learned; does not change. */
	uint64_t learn_bytes;
	/* The rate as struct config has it, in bits a second. */
	uint64_t reorder_rate;
	bool metered;             /* see server_set_metered() */
	uint64_t paused_until_us; /* see server_pause() */
	/* A number that no other server of this process has had. */
	uint64_t serial;
	const struct config_server *config;
};

/* Begins to open its caches; NULL without memory. Does not wait for the disk,
 * but for memory. */
struct server *server_new(const struct server_params *p);
/* Takes up a part of what is on disk; server_open() would do the rest. 0 where
 * there is none, -EAGAIN where there is, or -EBUSY while the disk does not
 * answer. */
int server_load(struct server *s);
/* Listens when it returns, whether or not the server can be reached. Without
 * the disk, if that does not answer within `disk_wait_us`: it waits for that if
 * it `blocks`, else -EAGAIN, and it is to be called again. 0, or -errno and a
 * sentence in `err`; after -EADDRINUSE it may be called again, too. */
int server_open(struct server *s, bool blocks, uint64_t disk_wait_us, char *err,
    size_t errlen);
/* Registers with the local rpcbind, if the configuration says so. Blocks for as
 * long as that takes, or has a thread do it. */
void server_register(struct server *s, bool blocks);
/* Saves what is not saved; waits for the disk, unless it has left. */
void server_free(struct server *s);

/*
 * Puts it away beside everything else; to be called every few milliseconds
 * until it returns true: then server_free() is quick. Its sockets go back to
 * `listens` with the first call. Calls in flight are answered, for five
 * seconds; what is known is saved. While the disk does not answer it goes on
 * for ever.
 */
bool server_leave(struct server *s, uint64_t now_us);
/* It registered with rpcbind, and has not undone that. */
bool server_is_registered(const struct server *s);

/* The amounts of its shares that a server uses, in bytes. */
struct server_use {
	uint64_t disk_bytes;
	/* Bytes of the disk that pins keep. */
	uint64_t pinned_bytes;
	uint64_t memory_bytes;
	uint64_t learn_bytes; /* its part for what is learned, used or not */
	/* The shares as they are. */
	uint64_t disk_share_bytes, memory_share_bytes;
};
void server_get_use(struct server *s, struct server_use *use);
/* Sets the shares of cache_size and memory_size; what is above them is evicted
 * a part at a time. */
void server_set_shares(
    struct server *s, uint64_t disk_bytes, uint64_t memory_bytes);

/* A reloaded configuration, which differs in nothing that is fixed. It lives
 * until the next one, or as long as the server. */
void server_set_config(struct server *s, const struct config_server *config,
    uint64_t reorder_rate);
/* The machine's addresses or routes changed; `woke`: it slept meanwhile, so
 * that connections may be dead. */
void server_network_changed(struct server *s, bool woke);
/* The machine's network is metered, or is not: for `metered = auto`. */
void server_set_metered(struct server *s, bool metered);

/* A user of this machine has logged in: caches_end_rights_uid(). */
void server_end_rights(struct server *s, uint32_t uid);

/* Calls ahead are paused until `until_us`, as hold_pause() has it. */
void server_pause(struct server *s, uint64_t until_us);
/* The time until which they are paused; 0: they are not. */
uint64_t server_paused_until_us(const struct server *s);

/* Accepts no more connections and calls. */
void server_drain(struct server *s);
/* Whether nothing is in flight, and nothing left to send. */
bool server_idle(const struct server *s);

const char *server_name(const struct server *s);
/* The server's metrics, with gauges as they are now; they stay the server's. */
const struct metrics *server_measure(struct server *s);
/* Empties the caches: 0, or -ENOMEM, when some of it stays. */
int server_flush(struct server *s);
/* Whether clients reach it at an address ("127.0.0.1:2050"). */
bool server_listens(const struct server *s, const struct netmatch_addr *at);
/* Gives the modules that control may ask, with gauges as they are now. */
void server_modules(struct server *s, struct control_server *out);
/* Calls that wait and those who waited, of `uid`, or with 0 of all. */
void server_fill_activity(const struct server *s, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out);
/* Fills in what `forefetch status` tells of it, with messages in the arena. For
 * a server that is open, as are the functions above it from server_drain()
 * on. */
void server_fill_status(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out);

#endif
