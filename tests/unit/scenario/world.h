/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scenario happens in a world: the daemon's server section, as daemon.c makes
 * one, with its caches on a disk; an NFS server; clients; virtual time.
 *
 *	clients ── sockets ── struct server ── sockets ── fakeserver + memfs
 *	                       └ files in a directory of its own
 *
 * Each program has loopback addresses of its own, so several run at once.
 */
#ifndef FOREFETCH_TESTS_WORLD_H
#define FOREFETCH_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/client.h"
#include "scenario/fakeserver.h"

enum { WORLD_CLIENTS = 26, WORLD_CONFIG_MAX = 2048 };

struct world {
	struct event_base *base;
	struct memfs *fs;
	struct fakeserver *nfs;
	struct client *clients[WORLD_CLIENTS];
	struct server *server; /* NULL: the daemon does not run */
	struct config *config;
	struct loopwatch *loop;
	struct rbuf_pool *pool;
	struct room *room;
	struct iopool *iopool;
	struct statedir *state;
	struct listens *listens;
	char dir[32];
	char settings[WORLD_CONFIG_MAX]; /* lines for [server nas] */
	int taken_fd;                    /* holds a port; -1 */
	bool clients_ask_again;          /* client_params.asks_again */
};

struct world *world_new(void);
void world_free(struct world *w);

/* The daemon starts, where it does not run. */
void world_start(struct world *w);
/* It ends in good order, or by kill -9: then the files are as they were. */
void world_stop(struct world *w);
void world_kill(struct world *w);
/* The machine is booted: what lay on its tmpfs is gone. */
void world_crash(struct world *w);

/* As `forefetch pause --for` and, with 0, as `forefetch resume`. */
void world_pause(struct world *w, uint64_t us);

/* The client of a capital letter. */
struct client *world_client(struct world *w, char name);
/* A counter, or else a gauge; false where there is none of the name. */
bool world_counter(struct world *w, const char *name, uint64_t *value);
/* A program that does not share it listens at the port. */
void world_take_port(struct world *w, uint16_t port);

#endif
