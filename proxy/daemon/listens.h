/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets that clients connect to. systemd keeps a copy of each in its file
 * descriptor store, also while the daemon restarts or after it crashed: clients
 * wait in the backlog meanwhile, and nobody else can take the port.
 */
#ifndef FOREFETCH_LISTENS_H
#define FOREFETCH_LISTENS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/netmatch.h"

struct config;
struct listens;

enum { LISTENS_TEXT_MAX = 384 };

/* Takes the sockets that systemd kept, which it does once in a process. NULL
 * without memory. */
struct listens *listens_new(void);
/* Closes those that listens_open() did not hand out. */
void listens_free(struct listens *l);

/* Closes all that no `listen` of the configuration names. True where there were
 * any: their addresses are in use until systemd has closed its copies. */
bool listens_drop_unwanted(struct listens *l, const struct config *config);

/* Whoever had `fd` from listens_open() is about to close it: a copy goes on to
 * listen until it is handed out again or not wanted. */
void listens_give_back(struct listens *l, int fd);

/* A socket that listens at `na`, non-blocking and the caller's; or -errno, with
 * a sentence in `text` about the cause and what to do. */
int listens_open(struct listens *l, const struct netmatch_addr *na,
    char text[LISTENS_TEXT_MAX]);
/* Whether listens_open() ever failed since somebody else listens at such an
 * address. */
bool listens_taken(const struct listens *l);

/* Whether any local user could listen at `na` while nobody else does: such a
 * user could answer in the daemon's place after a restart. If so, with a
 * sentence in `text`. */
bool listens_unsafe(
    const struct netmatch_addr *na, char text[LISTENS_TEXT_MAX]);

#endif
