/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the work of a sweep or a history is done: the whole daemon, between
 * clients and an NFS server of the scenarios, in virtual time and with files of
 * its own.
 */
#ifndef FOREFETCH_TESTS_PLACE_H
#define FOREFETCH_TESTS_PLACE_H

#include <stdbool.h>

#include "control/control.pb-c.h"
#include "scenario/client.h"
#include "scenario/fakeserver.h"

enum { PLACE_CLIENTS = 4, PLACE_ERR_MAX = 256 };

struct daemon;

struct place {
	struct event_base *base;
	struct memfs *fs;
	struct fakeserver *nfs;
	struct event *ev_back; /* the end of an outage */
	struct client *clients[PLACE_CLIENTS];
	struct daemon *daemon; /* NULL: it does not run */
	char dir[32];
	char file[64];  /* the configuration */
	char cache[64]; /* the disk */
};

/* Threads of the daemon's pool; 0: as many as it makes. */
extern unsigned place_threads;

/* One at a time. The server listens and answers; the daemon does not run
 * yet. `settings` are lines of its server's section. */
void place_begin(struct place *p, const char *settings);
void place_end(struct place *p);

/* False and what the daemon said, where it did not start. */
bool place_start(struct place *p, char err[PLACE_ERR_MAX]);
/* As systemctl stop. */
void place_stop(struct place *p);
/* Ends the daemon as kill -9 does: what is not in its files yet is lost. */
void place_kill(struct place *p);
/* The same, and all that it had cached is lost: the next daemon is another,
 * new machine's. */
void place_lose(struct place *p);

/* The server is away from now on, for so long. The first leaves it to the
 * caller to let that have its effects. */
void place_outage_begin(struct place *p, uint64_t us);
void place_outage(struct place *p, uint64_t us);

/* The answer to a command, or NULL: the daemon closed the connection, or there
 * is none. To be freed. The sentence in `err` is empty unless the daemon hung.
 */
Forefetch__Response *place_control(
    struct place *p, Forefetch__Request *request, char err[PLACE_ERR_MAX]);

#endif
