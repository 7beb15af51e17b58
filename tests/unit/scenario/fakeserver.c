/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server: connections, the calls that came, and what is done with each. */
#include "scenario/fakeserver.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "nfsproto/rpc_msg.h"
#include "scenario/peer.h"
#include "scenario/script.h"
#include "scenario/spare.h"
#include "scenario/vclock.h"

enum {
	PORT = 2049,
	CONNS = 1024,
	REPLIES = 1024, /* in the reply cache */
	REPLY_MAX = MEMFS_DATA_MAX + 4096,
	MOUNT_RESULTS_MAX = 2048,
};

TAILQ_HEAD(fakeserver_calls, fakeserver_call);

struct fakeserver_conn {
	struct fakeserver *s;
	struct peer *peer; /* NULL: it is closed */
	uint16_t port;
};

struct reply {
	uint32_t xid;
	uint16_t port;
	unsigned char *bytes; /* NULL: it was not answered */
	size_t len;
};

struct fakeserver {
	struct event_base *base;
	struct memfs *fs;
	uint32_t address;
	int fd;
	struct event *ev;
	bool listening;
	bool serving;
	bool takes_mount;
	struct fakeserver_conn conns[CONNS];
	unsigned nconns;
	struct fakeserver_calls calls;
	struct reply replies[REPLIES];
	unsigned nreplies;
	void (*answer)(void *arg, struct fakeserver_call *call);
	void *answer_arg;
	const void *mount;
	size_t mount_len;
};

/* ---- replies ----------------------------------------------------------- */

static struct reply *reply_of(struct fakeserver *s, uint32_t xid)
{
	unsigned n = s->nreplies < REPLIES ? s->nreplies : REPLIES;

	for (unsigned i = n; i-- > 0;)
		if (s->replies[i].xid == xid)
			return &s->replies[i];
	return NULL;
}

/* In place of the oldest. */
static struct reply *reply_new(struct fakeserver *s, uint32_t xid)
{
	struct reply *r = &s->replies[s->nreplies++ % REPLIES];

	free(r->bytes);
	*r = (struct reply){.xid = xid};
	return r;
}

static void call_end(struct fakeserver *s, struct fakeserver_call *call)
{
	TAILQ_REMOVE(&s->calls, call, link);
	free(call->held);
	free(call);
}

static void send_to(struct fakeserver *s, const struct fakeserver_call *call,
    const void *bytes, size_t len)
{
	struct peer *peer = s->conns[call->conn].peer;

	if (peer)
		peer_send(peer, bytes, len);
}

/* A successful reply: header, results, and a READ's payload. */
static size_t encode(const struct fakeserver_call *call,
    const union nfs_res *res, unsigned char *to)
{
	const READ3resok *r = &res->read.READ3res_u.resok;
	size_t len =
	    rpc_reply_encode_accepted(call->xid, SUCCESS, 0, 0, to, REPLY_MAX);

	len += nfs_res_encode(call->proc, res, to + len, REPLY_MAX - len);
	if (call->proc->prog == NFS_PROGRAM &&
	    call->proc->proc == NFSPROC3_READ && res->status == NFS3_OK &&
	    r->data.len > 0) {
		memcpy(to + len, r->data.data, r->data.len);
		len += r->data.len;
		memset(to + len, 0, xdr_pad(r->data.len));
		len += xdr_pad(r->data.len);
	}
	return len;
}

static void keep(struct fakeserver *s, const struct fakeserver_call *call,
    const unsigned char *bytes, size_t len)
{
	struct reply *r = reply_of(s, call->xid);

	if (!r)
		return;
	free(r->bytes);
	r->bytes = malloc(len);
	memcpy(r->bytes, bytes, len);
	r->len = len;
}

static void reply_make(struct fakeserver *s, struct fakeserver_call *call,
    const union nfs_res *res)
{
	call->held = malloc(REPLY_MAX);
	call->held_len = encode(call, res, call->held);
	keep(s, call, call->held, call->held_len);
}

static void finish(struct fakeserver *s, struct fakeserver_call *call,
    const union nfs_res *res, bool answer)
{
	reply_make(s, call, res);
	if (answer)
		send_to(s, call, call->held, call->held_len);
	call_end(s, call);
}

/* The root, of any path; nothing is mounted, nothing exported. */
static void mount_results(
    struct fakeserver *s, const struct nfs_proc *proc, union nfs_res *res)
{
	memset(res, 0, sizeof(*res));
	if (proc->proc == MOUNTPROC3_MNT) {
		res->mnt.MNT3res_u.resok.fhandle = memfs_fh(s->fs->objects);
		res->mnt.MNT3res_u.resok.auth_flavors =
		    (struct xdr_view){.len = 4, .data = "\0\0\0\1"};
	} else if (proc->proc == MOUNTPROC3_EXPORT) {
		res->export_list.exports =
		    (struct xdr_view){.len = 4, .data = "\0\0\0\0"};
	}
}

static void perform(struct fakeserver *s, struct fakeserver_call *call,
    union nfs_res *res, const char *how)
{
	s->fs->now_ns = vclock_wall_ns();
	if (call->proc->prog == MOUNT_PROGRAM)
		mount_results(s, call->proc, res);
	else
		memfs_execute(
		    s->fs, call->proc->proc, &call->args, call->uid, res);
	script_trace("server does %s: %s%s", call->text,
	    calltext_status_name(res->status), how);
}

static void execute(
    struct fakeserver *s, struct fakeserver_call *call, bool answer)
{
	union nfs_res res;

	perform(s, call, &res, answer ? "" : " (not answered)");
	finish(s, call, &res, answer);
}

void fakeserver_hold(struct fakeserver *s, struct fakeserver_call *call)
{
	union nfs_res res;

	perform(s, call, &res, " (answered later)");
	reply_make(s, call, &res);
}

void fakeserver_release(struct fakeserver *s, struct fakeserver_call *call)
{
	send_to(s, call, call->held, call->held_len);
	call_end(s, call);
}

void fakeserver_do_badly(
    struct fakeserver *s, struct fakeserver_call *call, nfsstat3 status)
{
	union nfs_res res;

	perform(s, call, &res, " (and says that it failed)");
	fakeserver_answer(s, call, status);
}

void fakeserver_do(struct fakeserver *s, struct fakeserver_call *call)
{
	execute(s, call, true);
}

void fakeserver_do_silently(struct fakeserver *s, struct fakeserver_call *call)
{
	execute(s, call, false);
}

void fakeserver_drop(struct fakeserver *s, struct fakeserver_call *call)
{
	call_end(s, call);
}

void fakeserver_answer(
    struct fakeserver *s, struct fakeserver_call *call, nfsstat3 status)
{
	union nfs_res res;

	memset(&res, 0, sizeof(res));
	res.status = status;
	finish(s, call, &res, true);
}

void fakeserver_answer_rpc(
    struct fakeserver *s, struct fakeserver_call *call, enum accept_stat status)
{
	unsigned char bytes[RPC_REPLY_HEADER_MAX];

	send_to(s, call, bytes,
	    rpc_reply_encode_accepted(
		call->xid, status, 4, 4, bytes, sizeof(bytes)));
	call_end(s, call);
}

void fakeserver_deny(struct fakeserver *s, struct fakeserver_call *call)
{
	unsigned char bytes[RPC_REPLY_HEADER_MAX];

	send_to(s, call, bytes,
	    rpc_reply_encode_auth_error(
		call->xid, AUTH_TOOWEAK, bytes, sizeof(bytes)));
	call_end(s, call);
}

void fakeserver_babble(struct fakeserver *s, struct fakeserver_call *call)
{
	unsigned char bytes[RPC_REPLY_HEADER_MAX + 8];
	size_t len = rpc_reply_encode_accepted(
	    call->xid, SUCCESS, 0, 0, bytes, sizeof(bytes));

	/* OK, and then attributes that do not come. */
	memcpy(bytes + len, "\0\0\0\0\0\0\0\1", 8);
	send_to(s, call, bytes, len + 8);
	call_end(s, call);
}

void fakeserver_set_mount(struct fakeserver *s, const void *bytes, size_t len)
{
	if (len > MOUNT_RESULTS_MAX)
		abort();
	s->mount = bytes;
	s->mount_len = len;
}

void fakeserver_take_mount(struct fakeserver *s)
{
	s->takes_mount = true;
}

void fakeserver_answer_by(struct fakeserver *s,
    void (*answer)(void *arg, struct fakeserver_call *call), void *arg)
{
	s->answer = answer;
	s->answer_arg = arg;
}

void fakeserver_say(
    struct fakeserver *s, unsigned conn, const void *record, size_t len)
{
	struct peer *peer = s->conns[conn].peer;

	if (peer && peer_room(peer) >= len + 4)
		peer_send(peer, record, len);
}

void fakeserver_say_raw(
    struct fakeserver *s, unsigned conn, const void *bytes, size_t len)
{
	struct peer *peer = s->conns[conn].peer;

	if (peer && peer_room(peer) >= len)
		peer_send_raw(peer, bytes, len);
}

void fakeserver_break_record(struct fakeserver *s, struct fakeserver_call *call)
{
	send_to(s, call, "no reply", 8);
	call_end(s, call);
}

bool fakeserver_repeat(struct fakeserver *s, struct fakeserver_call *call)
{
	const struct reply *r = reply_of(s, call->xid);

	if (!r || !r->bytes)
		return false;
	send_to(s, call, r->bytes, r->len);
	call_end(s, call);
	return true;
}

/* ---- calls ------------------------------------------------------------- */

static void answer_mount(struct fakeserver *s, unsigned conn,
    const struct rpc_call *rpc, const struct nfs_proc *proc)
{
	struct fakeserver_call call = {
	    .proc = proc, .xid = rpc->xid, .conn = conn};
	unsigned char bytes[RPC_REPLY_HEADER_MAX + MOUNT_RESULTS_MAX];
	union nfs_res res;
	size_t len = rpc_reply_encode_accepted(
	    rpc->xid, SUCCESS, 0, 0, bytes, sizeof(bytes));

	mount_results(s, proc, &res);
	if (s->mount) {
		memcpy(bytes + len, s->mount, s->mount_len);
		len += s->mount_len;
	} else {
		len += nfs_res_encode(
		    proc, &res, bytes + len, sizeof(bytes) - len);
	}
	send_to(s, &call, bytes, len);
}

/* A server without access control lists refuses the calls of NFSACL. */
static void refuse_acl(
    struct fakeserver *s, unsigned conn, const struct rpc_call *rpc)
{
	struct fakeserver_call call = {.conn = conn};
	unsigned char bytes[RPC_REPLY_HEADER_MAX];

	send_to(s, &call, bytes,
	    rpc_reply_encode_accepted(
		rpc->xid, PROG_UNAVAIL, 0, 0, bytes, sizeof(bytes)));
}

static void note_xid(struct fakeserver *s, struct fakeserver_call *call)
{
	struct reply *r = reply_of(s, call->xid);

	call->again = r != NULL;
	call->moved = r && r->port != call->port;
	if (!r)
		r = reply_new(s, call->xid);
	r->port = call->port;
}

static void take_call(struct fakeserver *s, unsigned conn,
    const struct rpc_call *rpc, const struct nfs_proc *proc)
{
	struct fakeserver_call *call =
	    calloc(1, sizeof(*call) + rpc->body.len + 1);
	struct rpc_auth_sys auth = {.uid = 0};

	(void)rpc_auth_sys_decode(&rpc->cred.body, &auth);
	memcpy(call->bytes, rpc->body.data, rpc->body.len);
	call->proc = proc;
	call->xid = rpc->xid;
	call->conn = conn;
	call->port = s->conns[conn].port;
	call->uid = auth.uid;
	if (!nfs_args_decode(proc, call->bytes, rpc->body.len, &call->args)) {
		script_wrong("the server got a call that does not decode");
		free(call);
		return;
	}
	calltext_describe(s->fs, proc, &call->args, call->text);
	note_xid(s, call);
	TAILQ_INSERT_TAIL(&s->calls, call, link);
	script_trace("server gets %s%s (connection %u, XID %u)", call->text,
	    call->again ? " again" : "", conn, call->xid);
	/* As a server with a reply cache does it. */
	if (s->answer)
		s->answer(s->answer_arg, call);
	else if (s->serving && !(call->again && fakeserver_repeat(s, call)))
		execute(s, call, true);
}

static void on_record(void *arg, const unsigned char *data, size_t len)
{
	struct fakeserver_conn *c = arg;
	unsigned conn = (unsigned)(c - c->s->conns);
	const struct nfs_proc *proc = NULL;
	struct rpc_call rpc;

	if (rpc_call_decode(data, len, &rpc) == RPC_CALL_OK)
		proc = nfs_proc_find(rpc.prog, rpc.vers, rpc.proc);
	if (!proc)
		script_wrong("the server got what it does not know");
	else if (rpc.prog == MOUNT_PROGRAM && !c->s->takes_mount)
		answer_mount(c->s, conn, &rpc, proc);
	else if (rpc.prog == NFSACL_PROGRAM)
		refuse_acl(c->s, conn, &rpc);
	else
		take_call(c->s, conn, &rpc, proc);
}

struct fakeserver_call *fakeserver_find(
    struct fakeserver *s, const char *text, bool claimed)
{
	struct fakeserver_call *call;
	size_t len = text ? strlen(text) : 0;

	TAILQ_FOREACH (call, &s->calls, link)
		if (call->claimed == claimed &&
		    strncmp(call->text, text ? text : "", len) == 0 &&
		    (!text || !call->text[len] || call->text[len] == ' '))
			return call;
	return NULL;
}

unsigned fakeserver_waiting(const struct fakeserver *s)
{
	const struct fakeserver_call *call;
	unsigned n = 0;

	TAILQ_FOREACH (call, &s->calls, link)
		n++;
	return n;
}

struct fakeserver_call *fakeserver_nth(struct fakeserver *s, unsigned n)
{
	struct fakeserver_call *call = TAILQ_FIRST(&s->calls);

	for (; n > 0 && call; n--)
		call = TAILQ_NEXT(call, link);
	return call;
}

/* ---- connections ------------------------------------------------------- */

static void on_closed(void *arg)
{
	struct fakeserver_conn *c = arg;

	fakeserver_break_one(c->s, (unsigned)(c - c->s->conns));
}

static const struct peer_ops ops = {
    .on_record = on_record, .on_closed = on_closed};

static void take_conn(struct fakeserver *s, int fd)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	struct fakeserver_conn *c = &s->conns[s->nconns];
	int got = accept(fd, (void *)&from, &len);

	if (got < 0)
		return;
	if (s->nconns == CONNS) {
		script_wrong("the proxy connects again and again");
		close(got);
		return;
	}
	c->s = s;
	c->port = ntohs(from.sin_port);
	c->peer = peer_new(s->base, got, &ops, c);
	script_trace(
	    "server accepts connection %u from port %u", s->nconns, c->port);
	s->nconns++;
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	spare_begin();
	take_conn(arg, fd);
	spare_end();
}

void fakeserver_listen(struct fakeserver *s, bool on)
{
	if (s->listening == on)
		return;
	s->listening = on;
	if (on) {
		s->fd = peer_bind(s->address, PORT);
		if (s->fd < 0 || listen(s->fd, 64) < 0)
			script_fail("the server cannot listen");
		s->ev = event_new(
		    s->base, s->fd, EV_READ | EV_PERSIST, on_accept, s);
		event_add(s->ev, NULL);
	} else {
		event_free(s->ev);
		close(s->fd);
	}
}

void fakeserver_break_one(struct fakeserver *s, unsigned conn)
{
	struct fakeserver_call *call, *next;

	peer_free(s->conns[conn].peer);
	s->conns[conn].peer = NULL;
	for (call = TAILQ_FIRST(&s->calls); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->conn == conn && call->claimed)
			call_end(s, call);
	}
}

void fakeserver_break(struct fakeserver *s)
{
	for (unsigned i = 0; i < s->nconns; i++)
		fakeserver_break_one(s, i);
}

bool fakeserver_connected(const struct fakeserver *s, unsigned conn)
{
	return s->conns[conn].peer;
}

unsigned fakeserver_conns(const struct fakeserver *s)
{
	return s->nconns;
}

void fakeserver_reboot(struct fakeserver *s)
{
	fakeserver_break(s);
	s->fs->verifier++;
	for (unsigned i = 0; i < REPLIES; i++) {
		free(s->replies[i].bytes);
		s->replies[i].bytes = NULL;
	}
}

uint16_t fakeserver_peer_port(const struct fakeserver *s)
{
	return s->nconns > 0 ? s->conns[s->nconns - 1].port : 0;
}

void fakeserver_serve(struct fakeserver *s, bool on)
{
	struct fakeserver_call *call;

	s->serving = on;
	while (on && (call = fakeserver_find(s, NULL, false)) != NULL)
		execute(s, call, true);
}

struct fakeserver *fakeserver_new(
    struct event_base *base, struct memfs *fs, uint32_t address)
{
	struct fakeserver *s = calloc(1, sizeof(*s));

	s->base = base;
	s->fs = fs;
	s->address = address;
	TAILQ_INIT(&s->calls);
	return s;
}

void fakeserver_free(struct fakeserver *s)
{
	if (!s)
		return;
	fakeserver_listen(s, false);
	fakeserver_reboot(s);
	while (!TAILQ_EMPTY(&s->calls))
		call_end(s, TAILQ_FIRST(&s->calls));
	free(s);
}
