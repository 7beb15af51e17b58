/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One query of a server's rpcbind, or one probe of a port, over a connection of
 * its own. resolve.c asks. Whatever ends a query goes through portmap_end() or
 * probe_end(), which free it before they tell, so that the callee may ask
 * again. */
#include "upstream/portmap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "nfsproto/nfs3.h"
#include "nfsproto/rpc_msg.h"
#include "upstream/dial.h"
#include "upstream/xprt.h"

enum {
	RPCBIND_PORT = 111,
	RPCBIND_PROG = 100000,
	PMAP_VERS = 2,
	PMAP_GETPORT = 3,
	RPCB_VERS = 3,
	RPCB_GETADDR = 3,
	TIMEOUT_US = 5000000,
	UADDR_MAX = 64, /* "ffff:…:ffff.255.255" */
};

struct portmap {
	struct event_base *base;
	struct rbuf_pool *pool;
	struct dial *dial;
	struct xprt *xprt;
	struct event *ev_timeout;
	struct sockaddr_storage to;
	uint32_t xid;
	uint32_t prog;
	uint32_t vers;
	portmap_cb cb;
	portmap_probe_cb probe; /* of a probe, in place of `cb` */
	void *arg;
};

void portmap_cancel(struct portmap *pm)
{
	if (!pm)
		return;
	dial_cancel(pm->dial);
	xprt_free(pm->xprt);
	if (pm->ev_timeout)
		event_free(pm->ev_timeout);
	free(pm);
}

static void portmap_end(struct portmap *pm, uint16_t port, const char *why)
{
	portmap_cb cb = pm->cb;
	void *arg = pm->arg;

	portmap_cancel(pm);
	cb(arg, port, why);
}

static void probe_end(struct portmap *pm, int err, uint32_t least)
{
	portmap_probe_cb cb = pm->probe;
	void *arg = pm->arg;

	portmap_cancel(pm);
	cb(arg, err, least);
}

/* Ends the query or probe without an answer. */
static void portmap_fail(struct portmap *pm, int err)
{
	char why[128];

	snprintf(why, sizeof(why), "the server's rpcbind (port %d): %s",
	    RPCBIND_PORT, strerror(err));
	if (pm->probe)
		probe_end(pm, -err, 0);
	else
		portmap_end(pm, 0, why);
}

/* The port of a universal address: "host.high.low" (RFC 1833 section 2.1). */
static uint16_t uaddr_port(const struct xdr_view *uaddr)
{
	char text[UADDR_MAX + 1];
	char *low, *high;
	unsigned h, l;

	if (uaddr->len == 0 || uaddr->len > UADDR_MAX)
		return 0;
	memcpy(text, uaddr->data, uaddr->len);
	text[uaddr->len] = '\0';
	low = strrchr(text, '.');
	if (!low)
		return 0;
	*low++ = '\0';
	high = strrchr(text, '.');
	if (!high || sscanf(high + 1, "%3u", &h) != 1 ||
	    sscanf(low, "%3u", &l) != 1 || h > 255 || l > 255)
		return 0;
	return (uint16_t)(h << 8 | l);
}

/* The port in the reply: a number in version 2, a universal address in version
 * 3; 0 where the program is not registered, or the reply makes no sense. */
static uint16_t reply_port(
    const struct portmap *pm, const struct rpc_reply *rpc)
{
	struct xdr_view uaddr;
	uint32_t port;
	XDR xdrs;

	xdrmem_create(&xdrs, (char *)(uintptr_t)rpc->body.data, rpc->body.len,
	    XDR_DECODE);
	if (pm->to.ss_family == AF_INET6)
		return xdr_nfs3_name(&xdrs, &uaddr) ? uaddr_port(&uaddr) : 0;
	if (!xdr_u_int(&xdrs, &port) || port > UINT16_MAX)
		return 0;
	return (uint16_t)port;
}

static void on_record(void *ctx, const struct record *rec)
{
	struct portmap *pm = ctx;
	struct rpc_reply rpc;
	uint16_t port;
	bool reply = rpc_reply_decode(rec->data, rec->len, &rpc);

	/* An answer to another call is none to this one, and says nothing about
	 * the one that may come (RFC 5531 section 9). */
	if (reply && rpc.xid != pm->xid)
		return;
	if (!reply || !rpc.accepted) {
		portmap_fail(pm, EPROTO);
	} else if (pm->probe) {
		probe_end(
		    pm, rpc.status == SUCCESS ? 0 : -EPROTONOSUPPORT, rpc.low);
	} else if (rpc.status != SUCCESS) {
		portmap_fail(pm, EPROTO);
	} else {
		port = reply_port(pm, &rpc);
		portmap_end(pm, port,
		    port ? ""
			 : "it is not registered with the server's rpcbind");
	}
}

static void on_end(void *ctx, enum xprt_end end, const char *why)
{
	(void)end;
	(void)why;
	portmap_fail(ctx, ECONNRESET);
}

static void on_sent(void *ctx, size_t bytes)
{
	(void)ctx;
	(void)bytes;
}

static const struct xprt_ops portmap_xprt_ops = {
    .on_record = on_record, .on_end = on_end, .on_sent = on_sent};

static size_t encode_args(const struct portmap *pm, void *buf, size_t size)
{
	struct xdr_view netid = {4, "tcp6"}, empty = {0, NULL};
	uint32_t prog = pm->prog, vers = pm->vers, tcp = IPPROTO_TCP, zero = 0;
	XDR xdrs;
	bool ok;

	xdrmem_create(&xdrs, buf, (unsigned)size, XDR_ENCODE);
	ok = xdr_u_int(&xdrs, &prog) && xdr_u_int(&xdrs, &vers);
	if (pm->to.ss_family == AF_INET6)
		ok = ok && xdr_nfs3_name(&xdrs, &netid) &&
		     xdr_nfs3_name(&xdrs, &empty) &&
		     xdr_nfs3_name(&xdrs, &empty);
	else
		ok = ok && xdr_u_int(&xdrs, &tcp) && xdr_u_int(&xdrs, &zero);
	return ok ? xdr_getpos(&xdrs) : 0;
}

static void portmap_call_null(struct portmap *pm)
{
	unsigned char head[RPC_CALL_HEADER_MAX];
	struct rpc_call call = {.xid = pm->xid,
	    .prog = pm->prog,
	    .vers = pm->vers,
	    .cred = {.flavor = AUTH_NONE}};
	size_t len = rpc_call_encode(&call, head, sizeof(head));

	xprt_queue(pm->xprt, head, len, NULL, 0);
}

static void portmap_call(struct portmap *pm)
{
	unsigned char head[RPC_CALL_HEADER_MAX], args[64];
	bool v6 = pm->to.ss_family == AF_INET6;
	struct rpc_call call = {.xid = pm->xid,
	    .prog = RPCBIND_PROG,
	    .vers = v6 ? RPCB_VERS : PMAP_VERS,
	    .proc = v6 ? RPCB_GETADDR : PMAP_GETPORT,
	    .cred = {.flavor = AUTH_NONE}};
	size_t len = rpc_call_encode(&call, head, sizeof(head));
	struct rbuf_piece piece = {
	    .data = args, .len = (uint32_t)encode_args(pm, args, sizeof(args))};

	xprt_queue(pm->xprt, head, len, &piece, 1);
}

static void on_dialed(void *arg, int fd, int err)
{
	struct portmap *pm = arg;

	pm->dial = NULL;
	if (err) {
		portmap_fail(pm, err);
		return;
	}
	pm->xprt = xprt_new(pm->base, fd, pm->pool, &portmap_xprt_ops, pm);
	if (!pm->xprt) {
		close(fd);
		portmap_fail(pm, ENOMEM);
	} else if (pm->probe) {
		portmap_call_null(pm);
	} else {
		portmap_call(pm);
	}
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	portmap_fail(arg, ETIMEDOUT);
}

/* Dials; NULL and errno where that fails, and then the query is freed. */
static struct portmap *portmap_start(struct portmap *pm)
{
	struct timeval tv = clock_timeval(TIMEOUT_US);
	int err;

	pm->ev_timeout = evtimer_new(pm->base, on_timeout, pm);
	if (pm->ev_timeout && event_add(pm->ev_timeout, &tv) == 0)
		pm->dial = dial_start(pm->base, (struct sockaddr *)&pm->to, 0,
		    TIMEOUT_US, on_dialed, pm);
	if (pm->dial)
		return pm;
	err = pm->ev_timeout ? errno : ENOMEM;
	portmap_cancel(pm);
	errno = err;
	return NULL;
}

static struct portmap *portmap_new(struct event_base *base,
    struct rbuf_pool *pool, const struct sockaddr *to, void *arg)
{
	struct portmap *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return NULL;
	pm->base = base;
	pm->pool = pool;
	pm->xid = (uint32_t)clock_now_us();
	pm->arg = arg;
	memcpy(&pm->to, to, dial_addr_len(to));
	return pm;
}

struct portmap *portmap_query(struct event_base *base, struct rbuf_pool *pool,
    const struct sockaddr *host, uint32_t prog, uint32_t vers, portmap_cb cb,
    void *arg)
{
	struct portmap *pm = portmap_new(base, pool, host, arg);

	if (!pm)
		return NULL;
	pm->prog = prog;
	pm->vers = vers;
	pm->cb = cb;
	dial_addr_set_port((struct sockaddr *)&pm->to, RPCBIND_PORT);
	return portmap_start(pm);
}

struct portmap *portmap_probe(struct event_base *base, struct rbuf_pool *pool,
    const struct sockaddr *at, portmap_probe_cb cb, void *arg)
{
	struct portmap *pm = portmap_new(base, pool, at, arg);

	if (!pm)
		return NULL;
	pm->prog = NFS_PROGRAM;
	pm->vers = NFS_V3;
	pm->probe = cb;
	return portmap_start(pm);
}
