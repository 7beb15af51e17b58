/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clients of one server: its listening sockets, who may connect, and the
 * connections there are. All functions are for the loop's thread. */
#ifndef FOREFETCH_CLIENTS_H
#define FOREFETCH_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/control.h"

struct clients;
struct config_server;
struct event_base;
struct listens;
struct rbuf_pool;
struct room;
struct svc;

/* The most connections of one server's clients. */
enum { CLIENTS_MAX = 256 };

/* Everything that is pointed to outlives the clients, but for `config`, which
 * clients_set_config() replaces. */
struct clients_params {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct room *room; /* of the clients of all servers */
	struct listens *listens;
	struct svc *svc;
	struct metrics *metrics;
	const struct config_server *config; /* see clients_set_config() */
	const char *server;                 /* its name; outlives this */
};

/* Listens at all addresses of the configuration. NULL, a sentence in `err` and
 * errno where one cannot be had. */
struct clients *clients_new(
    const struct clients_params *p, char *err, size_t errlen);
/* Closes all connections and sockets. NULL is allowed. */
void clients_free(struct clients *c);
/* A reloaded configuration of the server, in which `listen` is as it was. */
void clients_set_config(struct clients *c, const struct config_server *config);

/* To be called every second: ends the connections that are stuck, and accepts
 * again where descriptors had run out. */
void clients_sweep(struct clients *c, uint64_t now_us);
/* The server is back: changes that waited for it too long are held, and the
 * connections that they came over are closed, so that the clients connect and
 * ask again; now, or in a later sweep. */
void clients_ask_again(struct clients *c, uint64_t now_us);
/* The sockets go back to `listens`, which go on to listen; then as
 * clients_drain(). */
void clients_leave(struct clients *c);
/* Accepts no more connections and calls; calls under way are answered. */
void clients_drain(struct clients *c);
/* Whether no call is in flight, and nothing is left to send. */
bool clients_idle(const struct clients *c);

/* Sums over all connections. */
struct clients_load {
	unsigned connections;
	/* Calls in flight. */
	uint64_t calls;
	/* Bytes that their calls and replies hold in memory. */
	uint64_t bytes;
};
void clients_get_load(const struct clients *c, struct clients_load *out);
/* Fills in the clients, the first CONTROL_LIST_MAX of them, and how many were
 * left out. The messages are in the arena. */
void clients_fill_status(
    const struct clients *c, struct arena *a, Forefetch__ServerStatus *out);

#endif
