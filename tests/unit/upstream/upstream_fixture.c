/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server of these tests, and the owner of the calls. */
#include "upstream/upstream_fixture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/clock.h"
#include "base/log.h"

/* ---- the server -------------------------------------------------------- */

static void on_record(void *arg, const unsigned char *data, size_t len)
{
	struct conn *c = arg;
	struct rpc_call rpc;

	assert_int_equal(rpc_call_decode(data, len, &rpc), RPC_CALL_OK);
	assert_true(c->w->ngot < CALLS);
	c->w->got[c->w->ngot++] =
	    (struct got){.xid = rpc.xid, .conn = (unsigned)(c - c->w->conns)};
}

static void on_closed(void *arg)
{
	(void)arg;
}

static const struct peer_ops peer_ops = {
    .on_record = on_record, .on_closed = on_closed};

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct world *w = arg;
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	struct conn *c = &w->conns[w->nconns++];

	(void)what;
	assert_true(w->nconns < CONNS);
	c->w = w;
	c->peer =
	    peer_new(w->base, accept(fd, (void *)&from, &len), &peer_ops, c);
	c->port = ntohs(from.sin_port);
}

static uint32_t server_address(void)
{
	return 127u << 24 | ((unsigned)getpid() & 0xffff) << 8 | 1;
}

void server_listen(struct world *w)
{
	w->fd = peer_bind(server_address(), PORT);
	assert_true(w->fd >= 0 && listen(w->fd, 16) == 0);
	w->ev = event_new(w->base, w->fd, EV_READ | EV_PERSIST, on_accept, w);
	event_add(w->ev, NULL);
}

void server_refuse(struct world *w)
{
	if (w->fd < 0)
		return;
	event_free(w->ev);
	close(w->fd);
	w->fd = -1;
}

void server_break_all(struct world *w)
{
	for (unsigned i = 0; i < w->nconns; i++) {
		peer_free(w->conns[i].peer);
		w->conns[i].peer = NULL;
	}
	vclock_settle();
}

void server_reconnect(struct world *w)
{
	unsigned n = w->nconns;

	server_break_all(w);
	vclock_pass(1 * S);
	assert_int_equal(w->nconns, n + 1);
}

void server_answer(struct world *w, unsigned i)
{
	unsigned char bytes[64];
	size_t len = rpc_reply_encode_accepted(
	    w->got[i].xid, SUCCESS, 0, 0, bytes, sizeof(bytes));

	memset(bytes + len, 0, 4);
	peer_send(w->conns[w->got[i].conn].peer, bytes, len + 4);
	vclock_settle();
}

/* ---- upstream ---------------------------------------------------------- */

static void on_unreachable(void *ctx)
{
	struct world *w = ctx;

	if (w->ntries < TRIES)
		w->tries_us[w->ntries++] = clock_now_us();
}

static void on_port(void *ctx, unsigned conn, uint16_t port)
{
	(void)ctx;
	(void)conn;
	(void)port;
}

void world_open(struct world *w, unsigned connections, bool lazy)
{
	struct upstream_params p = {.base = w->base,
	    .pool = w->pool,
	    .metrics = w->metrics,
	    .name = "nas",
	    .program = "nfs",
	    .connections = connections,
	    .lazy = lazy,
	    .on_unreachable = on_unreachable,
	    .on_port = on_port,
	    .ctx = w};
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(PORT),
	    .sin_addr.s_addr = htonl(server_address())};

	w->up = upstream_new(&p);
	assert_non_null(w->up);
	upstream_set_address(w->up, (struct sockaddr *)&at);
	vclock_settle();
}

void world_setup(struct world *w)
{
	log_set_level(LOG_LEVEL_ERROR);
	w->base = event_base_new();
	vclock_start(w->base);
	w->pool = rbuf_pool_new(0, 2);
	w->metrics = metrics_new();
	w->fd = -1;
}

void world_teardown(struct world *w)
{
	upstream_free(w->up);
	server_refuse(w);
	server_break_all(w);
	metrics_free(w->metrics);
	rbuf_pool_free(w->pool);
	event_base_free(w->base);
}

/* ---- calls ------------------------------------------------------------- */

static void on_send(void *arg, const struct upstream_sent *sent)
{
	struct call *c = arg;

	assert_true(c->sent < SENDINGS);
	c->sent_us[c->sent++] = sent->at_us;
}

static void on_reply(void *arg, const struct upstream_result *res)
{
	struct call *c = arg;

	c->call = NULL;
	c->replies++;
	c->lost = res->rec == NULL;
	c->doubtful = res->doubtful;
	c->resent = res->resent;
}

static bool on_doubt(void *arg)
{
	struct call *c = arg;

	c->doubts++;
	return c->keep;
}

static const struct upstream_call_ops call_ops = {
    .on_send = on_send, .on_reply = on_reply, .on_doubt = on_doubt};

static void send_as(struct world *w, struct call *c, uint32_t proc,
    const struct upstream_sent *former, const struct call *behind)
{
	static const char handle[8] = "\0\0\0\4root";
	static const struct rpc_cred nobody;
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .cred = &nobody,
	    .args = {.len = 8, .data = handle},
	    .former = former,
	    .behind = behind ? behind->call : NULL};

	c->call = upstream_send(w->up, &req, &call_ops, c);
	assert_non_null(c->call);
	vclock_settle();
}

void call_send_as(struct world *w, struct call *c, uint32_t proc,
    const struct upstream_sent *former)
{
	send_as(w, c, proc, former, NULL);
}

void call_send_behind(
    struct world *w, struct call *c, uint32_t proc, const struct call *behind)
{
	send_as(w, c, proc, NULL, behind);
}

void call_send(struct world *w, struct call *c, uint32_t proc)
{
	call_send_as(w, c, proc, NULL);
}

void server_show_life(struct world *w)
{
	struct call c = {0};

	call_send(w, &c, NFSPROC3_GETATTR);
	server_answer(w, w->ngot - 1);
	assert_int_equal(c.replies, 1);
}

void call_send_look(struct world *w, struct call *c, unsigned connections)
{
	server_listen(w);
	world_open(w, connections, false);
	call_send(w, c, NFSPROC3_GETATTR);
}

void call_send_change(struct world *w, struct call *c)
{
	server_listen(w);
	world_open(w, 1, false);
	call_send(w, c, NFSPROC3_REMOVE);
	assert_int_equal(w->ngot, 1);
}

uint64_t world_counter(struct world *w, enum metrics_counter id)
{
	return metrics_get(w->metrics, id);
}
