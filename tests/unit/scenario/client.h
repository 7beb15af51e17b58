/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client of the proxy: it sends calls, and keeps the replies until they are
 * asked for. Its XIDs count from 1, as some programs' do. */
#ifndef FOREFETCH_TESTS_CLIENT_H
#define FOREFETCH_TESTS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "scenario/calltext.h"

enum { CLIENT_CALL_MAX = MEMFS_DATA_MAX };

struct client;
struct event_base;

struct client_params {
	struct event_base *base;
	struct memfs *fs; /* where paths lead to */
	char name;
	uint32_t from; /* its address */
	uint32_t to;   /* the proxy's */
	uint16_t port;
	/* Where its connection is closed, it connects and repeats what it has
	 * no reply to. */
	bool asks_again;
};

/* Encodes a call as an RPC record without its mark, and returns the length. */
size_t client_encode(const struct nfs_proc *proc, const union nfs_args *args,
    uint32_t xid, unsigned uid, unsigned char to[CLIENT_CALL_MAX]);

struct client *client_new(const struct client_params *p);
void client_free(struct client *c);
void client_set_uid(struct client *c, unsigned uid);
void client_set_address(struct client *c, uint32_t from);
uint32_t client_address(const struct client *c);

/* Connects where there is no connection. `again`: with the XID that it had. */
void client_send(struct client *c, char *const *words, unsigned n, bool again);
/* The XID of the newest call. */
uint32_t client_newest(const struct client *c);
/* The newest call once more; false where there is no connection to be had. */
bool client_repeat(struct client *c);
/* The same of the call that has the XID. */
bool client_repeat_one(struct client *c, uint32_t xid);
/* Nobody waits for the replies any more: the calls are not repeated. */
void client_give_up(struct client *c);
void client_close(struct client *c);
bool client_connected(const struct client *c);
void client_forget_xids(struct client *c);

/* The facts of the oldest reply that was not taken yet, or of that to the call
 * that `to` is the text, or the beginning of; false where there is none. */
bool client_take(
    struct client *c, const char *to, struct calltext_facts *facts);
/* The facts of the reply to the call that has the XID, likewise. */
bool client_take_one(
    struct client *c, uint32_t xid, struct calltext_facts *facts);

#endif
