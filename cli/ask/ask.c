/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A blocking RPC client with a deadline for each step. */
#include "ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "nfsproto/record.h"

/* Bytes of encoded arguments. */
enum { ARGS_MAX = NFS_RES_SMALL_MAX };

/* One connection. */
struct ask {
	int fd;
	/* Why it has no port below 1024, for ask_port_error(). */
	int port_err;
	/* The number of the last call; the first is 1. */
	uint32_t xid;
	/* When all of it ends, by clock_now_us(). */
	uint64_t until_us;
	/* Microseconds that a reply may take. */
	uint64_t call_us;
	struct rbuf_pool *pool;
	struct record_reader *reader;
	struct rpc_auth_sys auth;
};

/* Wait until `fd` is ready, for `limit_us` at most: 0 or ETIMEDOUT. */
static int wait_for(const struct ask *a, short events, uint64_t limit_us)
{
	uint64_t until = clock_now_us() + limit_us, now;
	struct pollfd p = {.fd = a->fd, .events = events};
	int n;

	if (until > a->until_us)
		until = a->until_us;
	for (;;) {
		now = clock_now_us();
		if (now >= until)
			return ETIMEDOUT;
		n = poll(&p, 1, (int)((until - now) / 1000) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
	}
}

/* Sets the port of an address of either family. */
static void set_port(struct sockaddr_storage *ss, uint16_t port)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)ss)->sin_port = htons(port);
}

/* A socket for one connection, at a port below 1024 if this is root; -1 and
 * errno. */
static int ask_socket(struct ask *a, int family)
{
	/* No TIME_WAIT keeps a port below 1024. */
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	const int on = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	/* Who cannot have such a port takes any: a server may do with it. */
	if (geteuid() == 0 && bindresvport_sa(fd, NULL) < 0)
		a->port_err = errno;
	return fd;
}

/* Connects, within ASK_CONNECT_US: 0 or an errno. */
static int ask_connect(struct ask *a, const struct sockaddr *to, uint16_t port)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);
	socklen_t err_len = sizeof(int);
	int err;

	memcpy(&ss, to, len);
	set_port(&ss, port);
	a->fd = ask_socket(a, to->sa_family);
	if (a->fd < 0)
		return errno;
	if (connect(a->fd, (struct sockaddr *)&ss, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	err = wait_for(a, POLLOUT, ASK_CONNECT_US);
	if (err)
		return err;
	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &err, &err_len) < 0)
		return errno;
	return err;
}

/* Who runs this, with the groups that AUTH_SYS has room for. */
static void set_auth(struct ask *a)
{
	gid_t groups[256];
	int n = getgroups(256, groups);

	a->auth.machine = (struct xdr_view){.len = 9, .data = "forefetch"};
	a->auth.uid = geteuid();
	a->auth.gid = getegid();
	for (int i = 0; i < n && a->auth.ngids < RPC_GIDS_MAX; i++)
		a->auth.gids[a->auth.ngids++] = groups[i];
}

void ask_wait_long(struct ask *a)
{
	a->call_us = a->until_us;
}

struct ask *ask_open(
    const struct sockaddr *to, uint16_t port, uint64_t until_us, int *err)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (!a) {
		*err = ENOMEM;
		return NULL;
	}
	a->fd = -1;
	a->until_us = until_us;
	a->call_us = ASK_CALL_US;
	set_auth(a);
	a->pool = rbuf_pool_new(0, 2);
	if (a->pool)
		a->reader = record_reader_new(a->pool);
	*err = a->reader ? ask_connect(a, to, port) : ENOMEM;
	if (*err == 0)
		return a;
	ask_close(a);
	return NULL;
}

void ask_close(struct ask *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	if (a->reader)
		record_reader_free(a->reader);
	if (a->pool)
		rbuf_pool_free(a->pool);
	free(a);
}

int ask_port_error(const struct ask *a)
{
	return a->port_err;
}

uint16_t ask_source_port(const struct ask *a)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getsockname(a->fd, (struct sockaddr *)&ss, &len) < 0)
		return 0;
	return ntohs(ss.ss_family == AF_INET6
			 ? ((struct sockaddr_in6 *)&ss)->sin6_port
			 : ((struct sockaddr_in *)&ss)->sin_port);
}

/* Sends everything, waiting for room in between: 0 or an errno. */
static int send_all(struct ask *a, const unsigned char *data, size_t len)
{
	ssize_t n;
	int err;

	while (len > 0) {
		n = send(a->fd, data, len, MSG_NOSIGNAL);
		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			err = wait_for(a, POLLOUT, a->call_us);
			if (err)
				return err;
		} else if (errno != EINTR) {
			return errno == EPIPE ? ECONNRESET : errno;
		}
	}
	return 0;
}

int ask_send(struct ask *a, uint32_t prog, uint32_t vers, uint32_t proc,
    const void *args, size_t len)
{
	unsigned char auth[RPC_AUTH_BODY_MAX];
	unsigned char rec[RECORD_MARK_BYTES + RPC_CALL_HEADER_MAX + ARGS_MAX];
	struct rpc_call call = {
	    .xid = ++a->xid, .prog = prog, .vers = vers, .proc = proc};
	uint32_t mark;
	size_t head;

	/* NULL procedures are for everybody, RFC 5531 section 12.1. */
	if (proc != 0) {
		call.cred.flavor = AUTH_SYS;
		call.cred.body.data = (const char *)auth;
		call.cred.body.len =
		    (uint32_t)rpc_auth_sys_encode(&a->auth, auth, sizeof(auth));
	}
	head = rpc_call_encode(
	    &call, rec + RECORD_MARK_BYTES, RPC_CALL_HEADER_MAX);
	if (head == 0 || len > ARGS_MAX)
		return EMSGSIZE;
	if (len > 0)
		memcpy(rec + RECORD_MARK_BYTES + head, args, len);
	mark = htonl((uint32_t)(head + len) | RECORD_LAST_FRAGMENT);
	memcpy(rec, &mark, sizeof(mark));
	return send_all(a, rec, RECORD_MARK_BYTES + head + len);
}

/* Receive what is there: 0, or an errno. */
static int receive_some(struct ask *a)
{
	size_t room;
	void *to = record_reader_space(a->reader, &room);
	ssize_t n;

	if (!to)
		return ENOMEM;
	n = recv(a->fd, to, room, 0);
	if (n > 0)
		record_reader_filled(a->reader, (size_t)n);
	else if (n == 0)
		return ECONNRESET;
	else if (errno != EAGAIN && errno != EINTR)
		return errno;
	return 0;
}

int ask_receive(struct ask *a, struct rpc_reply *reply)
{
	uint64_t until = clock_now_us() + a->call_us, now;
	struct record rec;
	int err;

	for (;;) {
		switch (record_reader_next(a->reader, &rec)) {
		case RECORD_MORE:
			break;
		case RECORD_READY:
			return rpc_reply_decode(rec.data, rec.len, reply)
				   ? 0
				   : EPROTO;
		case RECORD_NO_MEMORY:
			return ENOMEM;
		default:
			return EPROTO;
		}
		now = clock_now_us();
		err =
		    now < until ? wait_for(a, POLLIN, until - now) : ETIMEDOUT;
		if (!err)
			err = receive_some(a);
		if (err)
			return err;
	}
}

int ask_call(struct ask *a, uint32_t prog, uint32_t vers, uint32_t proc,
    const void *args, size_t len, struct rpc_reply *reply)
{
	int err = ask_send(a, prog, vers, proc, args, len);

	if (!err)
		err = ask_receive(a, reply);
	if (!err && reply->xid != a->xid)
		err = EPROTO;
	return err;
}

int ask_reply_error(const struct rpc_reply *reply)
{
	if (!reply->accepted)
		return reply->status == AUTH_ERROR ? EACCES : EPROTO;
	switch (reply->status) {
	case SUCCESS:
		return 0;
	case PROG_UNAVAIL:
	case PROG_MISMATCH:
		return EPROTONOSUPPORT;
	case PROC_UNAVAIL:
		return EOPNOTSUPP;
	default:
		return EPROTO;
	}
}

/* The procedure of nfs_proc.h; the caller names one that is there. */
static const struct nfs_proc *find_proc(uint32_t prog, uint32_t proc)
{
	return nfs_proc_find(prog, NFS_V3, proc); /* all are version 3 */
}

int ask_proc_send(
    struct ask *a, uint32_t prog, uint32_t proc, const union nfs_args *args)
{
	unsigned char buf[ARGS_MAX];
	const struct nfs_proc *p = find_proc(prog, proc);
	size_t len = args ? nfs_args_encode(p, args, buf, sizeof(buf)) : 0;

	if (args && len == 0)
		return EMSGSIZE;
	return ask_send(a, prog, p->vers, proc, buf, len);
}

int ask_proc_results(uint32_t prog, uint32_t proc, const union nfs_args *args,
    const struct rpc_reply *reply, union nfs_res *res)
{
	static const union nfs_args none;
	const struct nfs_proc *p = find_proc(prog, proc);
	int err = ask_reply_error(reply);

	if (err)
		return err;
	memset(res, 0, sizeof(*res));
	if (!nfs_res_decode(p, reply->body.data, reply->body.len, res) ||
	    !nfs_res_check(p, args ? args : &none, res))
		return EPROTO;
	return 0;
}

int ask_proc(struct ask *a, uint32_t prog, uint32_t proc,
    const union nfs_args *args, union nfs_res *res)
{
	struct rpc_reply reply;
	int err = ask_proc_send(a, prog, proc, args);

	if (!err)
		err = ask_receive(a, &reply);
	if (!err && reply.xid != a->xid)
		err = EPROTO;
	return err ? err : ask_proc_results(prog, proc, args, &reply, res);
}

bool ask_path_below(const char *path, const char *export, size_t len)
{
	while (len > 0 && export[len - 1] == '/')
		len--;
	return strncmp(path, export, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}
