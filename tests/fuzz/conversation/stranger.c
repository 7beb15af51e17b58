/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stranger's connection, what it sent, and what it may get. */
#include "conversation/stranger.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nfsproto/rpc_msg.h"
#include "scenario/hosts.h"
#include "scenario/peer.h"
#include "scenario/script.h"
#include "sweep/place.h"

enum {
	PORT = 2050,
	UID = 1000,
	ASKED = 32, /* the newest calls */
	XIDS = 1000000,
};

#define LAST_FRAGMENT 0x80000000u

struct asked {
	uint32_t xid;
	const struct nfs_proc *proc;
	void *record;
	size_t len;
};

struct stranger {
	struct place *place;
	unsigned number;
	struct peer *peer;
	bool closed; /* by the proxy */
	bool blind;
	uint32_t xid;
	struct asked asked[ASKED];
	unsigned nasked;
	void *newest;
	size_t newest_len;
};

struct stranger *stranger_new(struct place *p, unsigned number)
{
	struct stranger *s = calloc(1, sizeof(*s));

	s->place = p;
	s->number = number;
	return s;
}

void stranger_free(struct stranger *s)
{
	stranger_close(s);
	for (unsigned i = 0; i < ASKED; i++)
		free(s->asked[i].record);
	free(s->newest);
	free(s);
}

uint32_t stranger_next_xid(struct stranger *s)
{
	return (s->number + 1) * XIDS + s->xid++;
}

unsigned stranger_uid(const struct stranger *s)
{
	return UID + s->number;
}

/* ---- what comes -------------------------------------------------------- */

void stranger_expect(struct stranger *s, uint32_t xid,
    const struct nfs_proc *proc, const void *record, size_t len)
{
	struct asked *a = &s->asked[s->nasked++ % ASKED];

	free(a->record);
	*a = (struct asked){
	    .xid = xid, .proc = proc, .record = malloc(len), .len = len};
	memcpy(a->record, record, len);
}

void stranger_blind(struct stranger *s)
{
	s->blind = true;
}

static const struct asked *asked_under(const struct stranger *s, uint32_t xid)
{
	for (unsigned i = 0; i < ASKED; i++)
		if (s->asked[i].record && s->asked[i].xid == xid)
			return &s->asked[i];
	return NULL;
}

static bool is_sound(const struct asked *a, const struct rpc_reply *reply)
{
	struct rpc_call call;
	union nfs_args args;
	union nfs_res res;

	if (rpc_call_decode(a->record, a->len, &call) != RPC_CALL_OK ||
	    !nfs_args_decode(a->proc, call.body.data, call.body.len, &args))
		return true; /* the call was not */
	return nfs_res_decode(
		   a->proc, reply->body.data, reply->body.len, &res) &&
	       nfs_res_check(a->proc, &args, &res);
}

static void on_record(void *arg, const unsigned char *data, size_t len)
{
	struct stranger *s = arg;
	const struct asked *a;
	struct rpc_reply reply;

	if (!rpc_reply_decode(data, len, &reply)) {
		script_wrong("client %c got what is no reply", 'A' + s->number);
		return;
	}
	script_trace("client %c gets a reply of %zu bytes, XID %u",
	    'A' + s->number, len, reply.xid);
	a = asked_under(s, reply.xid);
	if (s->blind)
		return;
	if (reply.xid < (s->number + 1) * XIDS ||
	    reply.xid >= (s->number + 1) * XIDS + s->xid)
		script_wrong(
		    "client %c got a reply to no call", 'A' + s->number);
	if (a && reply.accepted && reply.status == SUCCESS &&
	    !is_sound(a, &reply))
		script_wrong("client %c got an unsound reply to %s",
		    'A' + s->number, a->proc->name);
}

static void on_closed(void *arg)
{
	struct stranger *s = arg;

	s->closed = true;
	script_trace("client %c is disconnected", 'A' + s->number);
}

static const struct peer_ops ops = {
    .on_record = on_record, .on_closed = on_closed};

/* ---- what it sends ----------------------------------------------------- */

void stranger_send(struct stranger *s, const void *bytes, size_t len)
{
	if (s->closed)
		stranger_close(s);
	if (!s->peer)
		s->peer = peer_connect(s->place->base,
		    hosts_address(HOSTS_CLIENT + s->number),
		    hosts_address(HOSTS_PROXY), PORT, &ops, s);
	if (s->peer && peer_room(s->peer) >= len)
		peer_send_raw(s->peer, bytes, len);
}

static void send_fragments(struct stranger *s, unsigned fragments)
{
	const unsigned char *at = s->newest;
	size_t left = s->newest_len;

	for (; fragments > 0; fragments--) {
		size_t n = left / fragments;
		uint32_t mark = (uint32_t)n;

		if (fragments == 1)
			mark |= LAST_FRAGMENT;
		mark = htonl(mark);
		stranger_send(s, &mark, sizeof(mark));
		stranger_send(s, at, n);
		at += n;
		left -= n;
	}
}

void stranger_send_record(
    struct stranger *s, const void *bytes, size_t len, unsigned fragments)
{
	free(s->newest);
	s->newest = malloc(len ? len : 1);
	memcpy(s->newest, bytes, len);
	s->newest_len = len;
	send_fragments(s, fragments);
}

void stranger_repeat(struct stranger *s)
{
	if (s->newest)
		send_fragments(s, 1);
}

void stranger_close(struct stranger *s)
{
	peer_free(s->peer);
	s->peer = NULL;
	s->closed = false;
}

void stranger_shut(struct stranger *s)
{
	if (s->peer)
		peer_shut(s->peer);
}

void stranger_turn_deaf(struct stranger *s)
{
	if (s->peer)
		peer_turn_deaf(s->peer);
}
