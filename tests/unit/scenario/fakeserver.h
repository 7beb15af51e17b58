/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NFS server of a scenario: it receives calls and keeps them until it is
 * told what to do with each. MOUNT calls it answers by itself.
 */
#ifndef FOREFETCH_TESTS_FAKESERVER_H
#define FOREFETCH_TESTS_FAKESERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "scenario/calltext.h"

struct event_base;
struct fakeserver;

struct fakeserver_call {
	TAILQ_ENTRY(fakeserver_call) link;
	const struct nfs_proc *proc;
	union nfs_args args; /* into `bytes` */
	char text[CALLTEXT_MAX];
	uint32_t xid;
	unsigned conn; /* by the order in which they were made, from 0 */
	unsigned uid;
	uint16_t port;
	bool again;          /* its XID came before … */
	bool moved;          /* it came before from another port */
	bool claimed;        /* a line of the scenario has named it */
	unsigned char *held; /* the reply to be sent later; NULL: none */
	size_t held_len;
	_Alignas(8) unsigned char bytes[];
};

/* Does not listen yet. */
struct fakeserver *fakeserver_new(
    struct event_base *base, struct memfs *fs, uint32_t address);
void fakeserver_free(struct fakeserver *s);

void fakeserver_listen(struct fakeserver *s, bool on);
/* All connections are reset, or that over which a call came. */
void fakeserver_break(struct fakeserver *s);
void fakeserver_break_one(struct fakeserver *s, unsigned conn);
bool fakeserver_connected(const struct fakeserver *s, unsigned conn);
/* How many connections there were. */
unsigned fakeserver_conns(const struct fakeserver *s);
/* It forgets what was not committed, and tells so by its verifier. */
void fakeserver_reboot(struct fakeserver *s);
/* The source port of the newest connection that was made first; 0: none. */
uint16_t fakeserver_peer_port(const struct fakeserver *s);
/* Answer each call as it comes. */
void fakeserver_serve(struct fakeserver *s, bool on);
/* Something else is done with each as it comes; it may end the call, and close
 * no connection. NULL: as above. */
void fakeserver_answer_by(struct fakeserver *s,
    void (*answer)(void *arg, struct fakeserver_call *call), void *arg);
/* Calls of MOUNT are kept from now on, like all others. */
void fakeserver_take_mount(struct fakeserver *s);
/* These bytes are the results of all calls of MOUNT; NULL: its own. */
void fakeserver_set_mount(struct fakeserver *s, const void *bytes, size_t len);
/* Any record, or bytes that may be none, over a connection: where it is open
 * still, and takes them. */
void fakeserver_say(
    struct fakeserver *s, unsigned conn, const void *record, size_t len);
void fakeserver_say_raw(
    struct fakeserver *s, unsigned conn, const void *bytes, size_t len);

/* The oldest call that is not over and has the text, or begins with it;
 * `claimed`: among those that were named already. NULL text: any. */
struct fakeserver_call *fakeserver_find(
    struct fakeserver *s, const char *text, bool claimed);

/* How many calls wait to be dealt with, and one of them, by age from 0. */
unsigned fakeserver_waiting(const struct fakeserver *s);
struct fakeserver_call *fakeserver_nth(struct fakeserver *s, unsigned n);

/* It is done, and answered by fakeserver_release(). */
void fakeserver_hold(struct fakeserver *s, struct fakeserver_call *call);
/* Each of these ends the call. */
void fakeserver_release(struct fakeserver *s, struct fakeserver_call *call);
void fakeserver_do(struct fakeserver *s, struct fakeserver_call *call);
void fakeserver_do_silently(struct fakeserver *s, struct fakeserver_call *call);
void fakeserver_drop(struct fakeserver *s, struct fakeserver_call *call);
void fakeserver_answer(
    struct fakeserver *s, struct fakeserver_call *call, nfsstat3 status);
void fakeserver_answer_rpc(struct fakeserver *s, struct fakeserver_call *call,
    enum accept_stat status);
void fakeserver_deny(struct fakeserver *s, struct fakeserver_call *call);
/* A reply whose results do not decode; a record that is no reply. */
void fakeserver_babble(struct fakeserver *s, struct fakeserver_call *call);
void fakeserver_break_record(
    struct fakeserver *s, struct fakeserver_call *call);
/* It is done, and its reply says that it failed. */
void fakeserver_do_badly(
    struct fakeserver *s, struct fakeserver_call *call, nfsstat3 status);
/* The server's reply cache knows the call: false where it does not. */
bool fakeserver_repeat(struct fakeserver *s, struct fakeserver_call *call);

#endif
