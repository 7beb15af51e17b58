/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe of a port, and what a server answers to it, in virtual time. The
 * replies to a query of rpcbind come the same way. */
#include "unittest.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "nfsproto/rpc_msg.h"
#include "scenario/peer.h"
#include "scenario/vclock.h"
#include "upstream/portmap.h"
#include "upstream/xprt.h"

enum { PORT = 2049 };

struct world {
	struct event_base *base;
	struct rbuf_pool *pool;
	int fd; /* of the server, which has one connection */
	struct event *ev;
	struct peer *peer;
	struct portmap *probe;
	uint32_t xid;   /* of the call */
	unsigned calls; /* that came */
	bool heard;
	int err;
};

/* ---- the server -------------------------------------------------------- */

static void on_record(void *arg, const unsigned char *data, size_t len)
{
	struct world *w = arg;
	struct rpc_call rpc;

	assert_int_equal(rpc_call_decode(data, len, &rpc), RPC_CALL_OK);
	w->xid = rpc.xid;
	w->calls++;
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

	(void)what;
	assert_null(w->peer);
	w->peer = peer_new(w->base, accept(fd, NULL, NULL), &peer_ops, w);
}

static void server_answer(struct world *w, uint32_t xid, enum accept_stat stat)
{
	unsigned char bytes[64];
	size_t len =
	    rpc_reply_encode_accepted(xid, stat, 0, 0, bytes, sizeof(bytes));

	peer_send(w->peer, bytes, len);
	vclock_settle();
}

/* ---- the probe --------------------------------------------------------- */

static void on_probed(void *arg, int err, uint32_t least)
{
	struct world *w = arg;

	(void)least;
	w->probe = NULL;
	w->heard = true;
	w->err = err;
}

static void world_open(struct world *w)
{
	uint32_t address = 127u << 24 | ((unsigned)getpid() & 0xffff) << 8 | 1;
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(PORT),
	    .sin_addr.s_addr = htonl(address)};

	w->base = event_base_new();
	vclock_start(w->base);
	w->pool = rbuf_pool_new(0, 2);
	w->fd = peer_bind(address, PORT);
	assert_true(w->fd >= 0 && listen(w->fd, 16) == 0);
	w->ev = event_new(w->base, w->fd, EV_READ | EV_PERSIST, on_accept, w);
	event_add(w->ev, NULL);
	w->probe = portmap_probe(
	    w->base, w->pool, (struct sockaddr *)&at, on_probed, w);
	assert_non_null(w->probe);
	vclock_settle();
	assert_int_equal(w->calls, 1);
}

static void world_close(struct world *w)
{
	portmap_cancel(w->probe);
	peer_free(w->peer);
	event_free(w->ev);
	close(w->fd);
	rbuf_pool_free(w->pool);
	event_base_free(w->base);
}

FIXTURE(struct world, world_open, world_close);

TEST(test_answers, struct world *w)
{
	server_answer(w, w->xid, SUCCESS);
	assert_true(w->heard);
	assert_int_equal(w->err, 0);
}

TEST(test_other_versions_answer, struct world *w)
{
	server_answer(w, w->xid, PROG_MISMATCH);
	assert_true(w->heard);
	assert_int_equal(w->err, -EPROTONOSUPPORT);
}

TEST(test_answer_to_another_call, struct world *w)
{
	server_answer(w, w->xid + 1, PROG_UNAVAIL);
	assert_false(w->heard);
	server_answer(w, w->xid, SUCCESS);
	assert_true(w->heard);
	assert_int_equal(w->err, 0);
}

/* Others are not waited for any longer than none. */
TEST(test_answers_to_other_calls_only, struct world *w)
{
	for (int s = 0; s < 6 && !w->heard; s++) {
		server_answer(w, w->xid + 1, SUCCESS);
		vclock_pass(1000000);
	}
	assert_true(w->heard);
	assert_int_equal(w->err, -ETIMEDOUT);
}
