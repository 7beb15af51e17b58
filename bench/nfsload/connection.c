/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends calls on one TCP connection and waits for them; see connection.h. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#include "clock.h"
#include "connection.h"

#define OPEN_ATTEMPTS 4

/* Exported by libnfs 4.0.0 but missing from its headers; 0 switches off. */
void rpc_set_autoreconnect(struct rpc_context *rpc, int num_retries);

struct connection {
	struct rpc_context *rpc; /* NULL once it has failed */
	uint64_t timeout_ns;
	bool connected;
	bool refused;
	TAILQ_HEAD(call_list, call) calls; /* oldest first */
	uint32_t outstanding;
	enum call_result ending; /* what unanswered calls get */
	char error[160];
};

static void connection_on_connect(
    struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct connection *c = private_data;
	const char *why = data;

	(void)rpc;
	if (status == RPC_STATUS_SUCCESS) {
		c->connected = true;
		return;
	}
	c->refused = true;
	if (!c->error[0] && status == RPC_STATUS_ERROR)
		snprintf(
		    c->error, sizeof(c->error), "%s", why ? why : "refused");
}

static void connection_on_finish(struct call *call)
{
	struct connection *c = call->via;

	TAILQ_REMOVE(&c->calls, call, link);
	c->outstanding--;
	/* While the connection goes down, libnfs's reason is not ours. */
	if (c->ending != CALL_OK)
		call->result = c->ending;
	call->done(call);
}

/*
 * The context goes, and libnfs cancels what is queued on it. What it forgot
 * is finished here.
 */
static void fail(struct connection *c, enum call_result ending)
{
	struct rpc_context *rpc = c->rpc;

	c->rpc = NULL;
	c->ending = ending;
	rpc_destroy_context(rpc);
	while (!TAILQ_EMPTY(&c->calls))
		connection_on_finish(TAILQ_FIRST(&c->calls));
}

static void set_nodelay(struct connection *c)
{
	int one = 1;

	/* Without it, a small call waits for the answer to the last. */
	setsockopt(
	    rpc_get_fd(c->rpc), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static bool start(struct connection *c, const char *address, uint16_t port)
{
	c->rpc = rpc_init_context();
	if (!c->rpc) {
		snprintf(c->error, sizeof(c->error), "out of memory");
		return false;
	}
	rpc_set_autoreconnect(c->rpc, 0);
	if (rpc_connect_async(c->rpc, address, port, connection_on_connect, c))
		snprintf(
		    c->error, sizeof(c->error), "%s", rpc_get_error(c->rpc));
	else
		set_nodelay(c);
	return !c->error[0];
}

/* libnfs says only that the socket hung up; the socket knows why. */
static void note_socket_error(struct connection *c)
{
	int err = 0;
	socklen_t len = sizeof(err);

	getsockopt(rpc_get_fd(c->rpc), SOL_SOCKET, SO_ERROR, &err, &len);
	if (err && !c->error[0])
		snprintf(c->error, sizeof(c->error), "%s%s", strerror(err),
		    err == ECONNREFUSED ? " (nothing listens there)" : "");
}

static bool wait_connected(struct connection *c)
{
	uint64_t end = clock_now_ns() + c->timeout_ns;

	while (!c->connected && !c->refused) {
		struct pollfd p = {
		    .fd = rpc_get_fd(c->rpc),
		    .events = (short)rpc_which_events(c->rpc),
		};

		if (clock_now_ns() > end) {
			snprintf(c->error, sizeof(c->error),
			    "no answer within %.3g s",
			    (double)c->timeout_ns / NS_PER_SEC);
			return false;
		}
		if (poll(&p, 1, 100) < 0)
			p.revents = 0;
		if (p.revents & (POLLERR | POLLHUP))
			note_socket_error(c);
		if (c->error[0])
			return false;
		if (p.revents && rpc_service(c->rpc, p.revents) < 0 &&
		    !c->error[0])
			snprintf(c->error, sizeof(c->error), "%s",
			    rpc_get_error(c->rpc));
		if (c->error[0])
			return false;
	}
	return c->connected;
}

static struct connection *open_once(const char *address, uint16_t port,
    uint64_t timeout_ns, char *why, size_t why_size)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	TAILQ_INIT(&c->calls);
	c->timeout_ns = timeout_ns;
	if (start(c, address, port) && wait_connected(c))
		return c;
	snprintf(why, why_size, "%s", c->error);
	connection_close(c);
	return NULL;
}

/*
 * Root's ports are few and chosen by chance: one that is still in TIME_WAIT
 * towards this server is not a reason to give up.
 */
struct connection *connection_open(const char *address, uint16_t port,
    uint64_t timeout_ns, char *why, size_t why_size)
{
	struct connection *c = NULL;

	for (int i = 0; !c && i < OPEN_ATTEMPTS; i++) {
		c = open_once(address, port, timeout_ns, why, why_size);
		if (!c && !strstr(why, strerror(EADDRNOTAVAIL)) &&
		    !strstr(why, strerror(EADDRINUSE)))
			break;
	}
	return c;
}

void connection_close(struct connection *c)
{
	if (!c)
		return;
	if (c->rpc)
		fail(c, CALL_LOST);
	free(c);
}

void connection_set_cred(struct connection *c, uint32_t uid, uint32_t gid)
{
	if (c->rpc)
		rpc_set_auth(c->rpc,
		    libnfs_authunix_create("nfsload", uid, gid, 0, NULL));
}

int connection_send(struct connection *c, struct call *call)
{
	int err;

	if (!c->rpc)
		return -ENOTCONN;
	call->via = c;
	call->finish = connection_on_finish;
	call->sent_ns = clock_now_ns();
	TAILQ_INSERT_TAIL(&c->calls, call, link);
	c->outstanding++;
	err = call_queue(call, c->rpc);
	if (err) {
		TAILQ_REMOVE(&c->calls, call, link);
		c->outstanding--;
		snprintf(c->error, sizeof(c->error), "cannot queue a call: %s",
		    rpc_get_error(c->rpc));
		fail(c, CALL_LOST);
	}
	return err;
}

int connection_fd(const struct connection *c)
{
	return c->rpc ? rpc_get_fd(c->rpc) : -1;
}

short connection_events(const struct connection *c)
{
	return c->rpc ? (short)rpc_which_events(c->rpc) : 0;
}

static void check_overdue(struct connection *c, uint64_t now)
{
	const struct call *oldest = TAILQ_FIRST(&c->calls);

	if (!oldest || now < oldest->sent_ns + c->timeout_ns)
		return;
	snprintf(c->error, sizeof(c->error),
	    "%s: no reply within %.3g s, %u calls outstanding",
	    call_op_name(oldest->op), (double)c->timeout_ns / NS_PER_SEC,
	    c->outstanding);
	fail(c, CALL_TIMEOUT);
}

bool connection_service(struct connection *c, short revents, uint64_t now)
{
	if (!c->rpc)
		return false;
	if (revents) {
		int fd_before = rpc_get_fd(c->rpc);
		int err = rpc_service(c->rpc, revents);

		if (err < 0 || rpc_get_fd(c->rpc) != fd_before) {
			snprintf(c->error, sizeof(c->error),
			    "connection lost: %s", rpc_get_error(c->rpc));
			fail(c, CALL_LOST);
			return false;
		}
	}
	check_overdue(c, now);
	return c->rpc != NULL;
}

const char *connection_error(const struct connection *c)
{
	return c->error;
}

uint32_t connection_outstanding(const struct connection *c)
{
	return c->outstanding;
}
