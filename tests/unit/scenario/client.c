/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client: its calls and their replies, matched by XID. */
#include "scenario/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "nfsproto/rpc_msg.h"
#include "scenario/peer.h"
#include "scenario/script.h"

/* A call that was sent, and its reply. */
struct sent {
	TAILQ_ENTRY(sent) link;
	char text[CALLTEXT_MAX];
	const struct nfs_proc *proc;
	uint32_t xid;
	bool replied; /* and not taken yet */
	bool answered;
	bool given_up;
	unsigned repeats; /* that may be answered, too */
	struct calltext_facts facts;
	size_t len;
	unsigned char bytes[];
};

TAILQ_HEAD(sent_list, sent);

struct client {
	struct client_params p;
	struct peer *peer;
	bool closed; /* by the proxy */
	uint32_t xid;
	unsigned uid;
	struct sent_list sent; /* the newest first */
	struct event *ev_again;
};

static void on_again(evutil_socket_t fd, short what, void *arg);

struct client *client_new(const struct client_params *p)
{
	struct client *c = calloc(1, sizeof(*c));

	c->p = *p;
	c->uid = 1000;
	TAILQ_INIT(&c->sent);
	c->ev_again = evtimer_new(p->base, on_again, c);
	return c;
}

void client_free(struct client *c)
{
	struct sent *s;

	if (!c)
		return;
	client_close(c);
	event_free(c->ev_again);
	while ((s = TAILQ_FIRST(&c->sent)) != NULL) {
		TAILQ_REMOVE(&c->sent, s, link);
		free(s);
	}
	free(c);
}

void client_set_uid(struct client *c, unsigned uid)
{
	c->uid = uid;
}

void client_set_address(struct client *c, uint32_t from)
{
	c->p.from = from;
}

uint32_t client_address(const struct client *c)
{
	return c->p.from;
}

/* ---- replies ----------------------------------------------------------- */

static struct sent *sent_under(struct client *c, uint32_t xid)
{
	struct sent *s;

	TAILQ_FOREACH (s, &c->sent, link)
		if (s->xid == xid)
			return s;
	return NULL;
}

static const char *const accept_names[] = {
    [PROG_UNAVAIL] = "PROG_UNAVAIL",
    [PROG_MISMATCH] = "PROG_MISMATCH",
    [PROC_UNAVAIL] = "PROC_UNAVAIL",
    [GARBAGE_ARGS] = "GARBAGE_ARGS",
    [SYSTEM_ERR] = "SYSTEM_ERR",
};

static void take_reply(
    struct client *c, struct sent *s, const struct rpc_reply *rpc)
{
	union nfs_res res;

	s->replied = s->answered = true;
	if (!rpc->accepted)
		calltext_one_fact(&s->facts, "denied");
	else if (rpc->status != SUCCESS)
		calltext_one_fact(&s->facts, accept_names[rpc->status]);
	else if (!nfs_res_decode(s->proc, rpc->body.data, rpc->body.len, &res))
		calltext_one_fact(&s->facts, "nonsense");
	else
		calltext_facts(s->proc, &res, &s->facts);
	script_trace(
	    "client %c gets %s for %s", c->p.name, s->facts.list[0], s->text);
}

static void on_record(void *arg, const unsigned char *data, size_t len)
{
	struct client *c = arg;
	struct rpc_reply rpc;
	struct sent *s = NULL;

	if (rpc_reply_decode(data, len, &rpc))
		s = sent_under(c, rpc.xid);
	if (!s)
		script_wrong(
		    "client %c got a reply to no call of its", c->p.name);
	else if (s->answered && s->repeats > 0)
		s->repeats--;
	else if (s->replied)
		script_wrong(
		    "client %c got a second reply to %s", c->p.name, s->text);
	else
		take_reply(c, s, &rpc);
}

bool client_take(struct client *c, const char *to, struct calltext_facts *facts)
{
	size_t len = to ? strlen(to) : 0;
	struct sent *s;

	TAILQ_FOREACH_REVERSE(s, &c->sent, sent_list, link)
	{
		if (!s->replied || strncmp(s->text, to ? to : "", len) != 0)
			continue;
		s->replied = false;
		*facts = s->facts;
		return true;
	}
	return false;
}

bool client_take_one(
    struct client *c, uint32_t xid, struct calltext_facts *facts)
{
	struct sent *s = sent_under(c, xid);

	if (!s || !s->replied)
		return false;
	s->replied = false;
	*facts = s->facts;
	return true;
}

/* ---- calls ------------------------------------------------------------- */

static void on_closed(void *arg)
{
	struct client *c = arg;

	const struct timeval soon = {.tv_usec = 100000};

	c->closed = true;
	script_trace("client %c is disconnected", c->p.name);
	if (c->p.asks_again)
		event_add(c->ev_again, &soon);
}

static const struct peer_ops ops = {
    .on_record = on_record, .on_closed = on_closed};

static struct rpc_cred cred_of(unsigned uid, unsigned char *body)
{
	struct rpc_auth_sys auth = {
	    .machine = {.len = 6, .data = "client"}, .uid = uid, .gid = uid};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	cred.body.len =
	    (uint32_t)rpc_auth_sys_encode(&auth, body, RPC_AUTH_BODY_MAX);
	cred.body.data = (const char *)body;
	return cred;
}

size_t client_encode(const struct nfs_proc *proc, const union nfs_args *args,
    uint32_t xid, unsigned uid, unsigned char to[CLIENT_CALL_MAX])
{
	unsigned char body[RPC_AUTH_BODY_MAX];
	struct rpc_call rpc = {.xid = xid,
	    .prog = proc->prog,
	    .vers = proc->vers,
	    .proc = proc->proc,
	    .cred = cred_of(uid, body)};
	size_t len = rpc_call_encode(&rpc, to, CLIENT_CALL_MAX);

	len += nfs_args_encode(proc, args, to + len, CLIENT_CALL_MAX - len);
	if (proc->prog == NFS_PROGRAM && proc->proc == NFSPROC3_WRITE) {
		const struct xdr_view *data = &args->write.data;

		memcpy(to + len, data->data, data->len);
		memset(to + len + data->len, 0, xdr_pad(data->len));
		len += data->len + xdr_pad(data->len);
	}
	return len;
}

static struct sent *call_new(struct client *c, char *const *words, unsigned n)
{
	struct sent *s = calloc(1, sizeof(*s) + CLIENT_CALL_MAX);
	char err[CALLTEXT_MAX];
	union nfs_args args;

	TAILQ_INSERT_HEAD(&c->sent, s, link);
	if (!calltext_parse(c->p.fs, words, n, &s->proc, &args, err))
		script_fail("%s", err);
	calltext_describe(c->p.fs, s->proc, &args, s->text);
	s->xid = ++c->xid;
	s->len = client_encode(s->proc, &args, s->xid, c->uid, s->bytes);
	return s;
}

/* The newest that the words are the beginning of. */
static struct sent *call_again(struct client *c, char *const *words, unsigned n)
{
	char text[CALLTEXT_MAX];
	struct sent *s;

	calltext_join(words, n, text, sizeof(text));
	TAILQ_FOREACH (s, &c->sent, link)
		if (strncmp(s->text, text, strlen(text)) == 0)
			return s;
	script_fail("client %c never sent %s", c->p.name, text);
}

static bool send_call(struct client *c, const struct sent *s, const char *how)
{
	if (c->closed)
		client_close(c);
	if (!c->peer)
		c->peer = peer_connect(
		    c->p.base, c->p.from, c->p.to, c->p.port, &ops, c);
	if (!c->peer)
		return false;
	script_trace("client %c sends %s%s", c->p.name, s->text, how);
	peer_send(c->peer, s->bytes, s->len);
	return true;
}

void client_send(struct client *c, char *const *words, unsigned n, bool again)
{
	struct sent *s =
	    again ? call_again(c, words, n) : call_new(c, words, n);

	if (!send_call(c, s, again ? " again" : ""))
		script_fail("client %c cannot connect", c->p.name);
}

uint32_t client_newest(const struct client *c)
{
	return TAILQ_FIRST(&c->sent)->xid;
}

static bool repeat(struct client *c, struct sent *s)
{
	s->repeats++;
	return send_call(c, s, " again");
}

bool client_repeat(struct client *c)
{
	return repeat(c, TAILQ_FIRST(&c->sent));
}

bool client_repeat_one(struct client *c, uint32_t xid)
{
	return repeat(c, sent_under(c, xid));
}

/* As the kernel does when the other end closes its connection. */
static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	struct sent *s;

	(void)fd;
	(void)what;
	TAILQ_FOREACH_REVERSE(s, &c->sent, sent_list, link)
	if (!s->answered && !s->given_up && !send_call(c, s, " again"))
		return;
}

void client_give_up(struct client *c)
{
	struct sent *s;

	TAILQ_FOREACH (s, &c->sent, link)
		s->given_up = true;
}

void client_close(struct client *c)
{
	event_del(c->ev_again);
	peer_free(c->peer);
	c->peer = NULL;
	c->closed = false;
}

bool client_connected(const struct client *c)
{
	return c->peer && !c->closed;
}

void client_forget_xids(struct client *c)
{
	c->xid = 0;
}
