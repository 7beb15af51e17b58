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
struct iopool;
struct listens;
struct loopwatch;
struct event_base;
struct netmatch_addr;
struct rbuf_pool;
struct room;
struct server;
struct statedir;

struct server_params {
	struct event_base *base;
	const struct loopwatch *loop;
	struct rbuf_pool *pool;
	struct room *room; /* of all clients */
	struct statedir *state;
	uint64_t disk_wait_us; /* how long a start may wait for cache_dir */
	const char *control;   /* path of the socket */
	struct iopool *iopool;
	struct listens *listens;
	/* This server's shares of cache_size and memory_size. */
	uint64_t disk_bytes;
	uint64_t memory_bytes;
	uint64_t reorder_rate; /* as in struct config */
	bool metered;          /* see server_set_metered() */
	const struct config_server *config;
};

/* NULL and a sentence in `err`. Listens when it returns, whether or not the
 * server can be reached. */
struct server *server_new(
    const struct server_params *p, char *err, size_t errlen);
void server_free(struct server *s);

/* A reloaded configuration, which differs in nothing that is fixed. */
void server_set_config(struct server *s, const struct config_server *config,
    uint64_t reorder_rate);
void server_network_changed(struct server *s, bool woke);
/* The machine's network is metered, or is not: for `metered = auto`. */
void server_set_metered(struct server *s, bool metered);

/* Accept no more connections and calls. */
void server_drain(struct server *s);
/* Nothing in flight and nothing left to send. */
bool server_idle(const struct server *s);

const char *server_name(const struct server *s);
/* Gauges as they are now. */
const struct metrics *server_measure(struct server *s);
/* Empty the caches: 0, or -ENOMEM, when some of it stays. */
int server_flush(struct server *s);
/* Whether clients reach it at an address ("127.0.0.1:2050"). */
bool server_listens(const struct server *s, const struct netmatch_addr *at);
/* What control may ask, with gauges as they are now. */
void server_modules(struct server *s, struct control_server *out);
/* Calls that wait and those who waited, of `uid`, or with 0 of all. */
void server_fill_activity(const struct server *s, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out);
void server_fill_status(
    const struct server *s, struct arena *a, Forefetch__ServerStatus *out);

#endif
