/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All servers of the configuration at work, and those that come and go when it
 * is read again:
 *
 *	waits ──▶ opens ──▶ serves ──▶ leaves
 *
 * One waits while another of its name, or with its sockets, leaves. Nothing
 * here blocks but servers_open(), which is for the start, and servers_free().
 */
#ifndef FOREFETCH_SERVERS_H
#define FOREFETCH_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct event_base;
struct iopool;
struct listens;
struct loopwatch;
struct rbuf_pool;
struct farm;
struct room;
struct server;
struct servers;
struct statedir;

/* The things that all servers share, and the functions by which the daemon
 * hears of changes. Everything that is pointed to outlives the servers. */
struct servers_params {
	struct event_base *base;
	const struct loopwatch *loop;
	struct rbuf_pool *pool;
	struct room *room;
	struct farm *farm; /* NULL: none */
	struct statedir *state;
	struct iopool *iopool;
	struct listens *listens;
	/* The server is leaving: whatever was begun with its modules must end
	 * now. */
	void (*on_leave)(void *ctx, struct server *s);
	/* servers_at() has others now, or in another order. Work that goes over
	 * them in many turns of the loop must begin anew: a server that is no
	 * more among them is taken apart next. */
	void (*on_list)(void *ctx);
	/* After servers_use(), a server serves that did not. */
	void (*on_serves)(void *ctx, const char *server);
	/* A server could not be taken up, and why. */
	void (*on_failed)(void *ctx, const char *server, const char *why);
	/* After servers_use(): those that were added serve, or failed. */
	void (*on_used)(void *ctx);
	void *ctx;
};

/* Takes the configuration, and opens none of its servers yet. NULL and errno
 * without memory; `config` is freed then. */
struct servers *servers_new(
    const struct servers_params *p, struct config *config);
/* Saves and frees all servers; waits for the disk. NULL is allowed. */
void servers_free(struct servers *ss);

/* Opens all servers, at the start. They wait for the disk until `disk_wait_us`
 * have gone by since `started_us`. False and a sentence in `err`; errno is
 * EINVAL where the configuration is wrong. */
bool servers_open(struct servers *ss, uint64_t started_us,
    uint64_t disk_wait_us, char *err, size_t errlen);

/*
 * Takes another configuration in the place of the one that there is. Servers
 * that it does not have leave; those of which a fixed key differs leave and are
 * opened anew, with the sockets that they had; what could not be opened before
 * is tried again.
 */
void servers_use(struct servers *ss, struct config *config);

/* Whether the machine's network is metered; for servers that come, too. */
void servers_set_metered(struct servers *ss, bool metered);

/* Calls ahead to all servers, and to those that come, are paused until then, as
 * hold_pause() has it. One that takes the place of another of its name has the
 * pause of that. */
void servers_pause(struct servers *ss, uint64_t until_us);

/* The configuration in force; it is freed when no server has it any more. */
const struct config *servers_config(const struct servers *ss);
/* The servers that serve, in the order of the configuration. */
size_t servers_count(const struct servers *ss);
struct server *servers_at(const struct servers *ss, size_t i);

#endif
