/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first steps of a probe: name, rpcbind, NFS, MOUNT. Each asks the server
 * itself, over TCP, and writes down what came of it in a struct probe_facts;
 * nothing is judged here. */
#include "base/clock.h"
#include "doctor/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/probe_private.h"
#include "ask/ask_host.h"
#include "nfsproto/nfs3_list.h"

/* Numbers of rpcbind (RFC 1833): its port, its program, its versions for IPv4
 * and for IPv6, and the procedure that lists everything. */
enum {
	RPCBIND_PORT = 111,
	RPCBIND_PROG = 100000,
	PMAP_VERS = 2,
	RPCB_VERS = 3,
	/* PMAPPROC_DUMP and RPCBPROC_DUMP have the same number. */
	BIND_DUMP = 4,
	/* Entries of a list that are looked at; a server chooses how many it
	 * sends. */
	DUMP_MAX = 4096,
};

const struct sockaddr *probe_addr(const struct probe_facts *f)
{
	return (const struct sockaddr *)&f->addr[f->at];
}

/* A numeric address; "?" where the C library does not know the family. */
const char *probe_addr_text(
    const struct sockaddr_storage *ss, char *buf, size_t size)
{
	socklen_t len = ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);

	if (getnameinfo((const struct sockaddr *)ss, len, buf, (socklen_t)size,
		NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(buf, size, "?");
	return buf;
}

/* The resolver gets a part of the time only: without an address nothing else
 * can be asked. */
void probe_name(const struct probe_target *t, struct probe_facts *f)
{
	uint64_t start = clock_now_us();

	f->naddr = PROBE_ADDRESSES_MAX;
	f->gai = ask_host(t->host,
	    t->limit_us && t->limit_us < PROBE_NAME_US ? t->limit_us
						       : PROBE_NAME_US,
	    f->addr, &f->naddr);
	f->name_us = clock_now_us() - start;
}

/* One entry of rpcbind's list: which version of a program is at which port. */
struct rpcbind_entry {
	uint32_t prog;
	uint32_t vers;
	uint16_t port;
	bool tcp;
};

/* The port in a universal address, "host.high.low" (RFC 1833 section 2.1); 0
 * where it is none. The text is the server's, and is not trusted. */
static uint16_t uaddr_port(const struct xdr_view *uaddr)
{
	char text[256];
	unsigned high, low;
	char *dot;

	snprintf(text, sizeof(text), "%.*s", (int)uaddr->len,
	    uaddr->data ? uaddr->data : "");
	dot = strrchr(text, '.');
	if (!dot || sscanf(dot + 1, "%3u", &low) != 1)
		return 0;
	*dot = '\0';
	dot = strrchr(text, '.');
	if (!dot || sscanf(dot + 1, "%3u", &high) != 1 || high > 255 ||
	    low > 255)
		return 0;
	return (uint16_t)(high << 8 | low);
}

/* Decodes an entry of version 2 (struct mapping, RFC 1833 section 3.1) or, for
 * `v6`, of version 3 (struct rpcb, section 2.1). False where it is
 * malformed. */
static bool get_binding(XDR *xdrs, bool v6, struct rpcbind_entry *b)
{
	struct xdr_view netid, uaddr, owner;
	uint32_t prot, port;

	if (!xdr_u_int(xdrs, &b->prog) || !xdr_u_int(xdrs, &b->vers))
		return false;
	if (!v6) {
		if (!xdr_u_int(xdrs, &prot) || !xdr_u_int(xdrs, &port))
			return false;
		b->tcp = prot == IPPROTO_TCP;
		b->port = port <= UINT16_MAX ? (uint16_t)port : 0;
		return true;
	}
	if (!xdr_nfs3_name(xdrs, &netid) || !xdr_nfs3_name(xdrs, &uaddr) ||
	    !xdr_nfs3_name(xdrs, &owner))
		return false;
	b->tcp = netid.len == 4 && memcmp(netid.data, "tcp6", 4) == 0;
	b->port = uaddr_port(&uaddr);
	return true;
}

/* Keeps an entry that a mount could use: over TCP, with a port. */
static void note_binding(struct probe_facts *f, const struct rpcbind_entry *b)
{
	struct probe_reg *reg = NULL;

	if (b->prog == NFS_PROGRAM && b->vers == 3)
		reg = &f->nfs3;
	else if (b->prog == NFS_PROGRAM && b->vers == 4)
		reg = &f->nfs4;
	else if (b->prog == MOUNT_PROGRAM && b->vers == MOUNT_V3)
		reg = &f->mount3;
	else if (b->prog == NFSACL_PROG && b->vers == 3)
		reg = &f->acl3;
	if (!reg || !b->tcp || !b->port)
		return;
	reg->there = true;
	reg->port = b->port;
}

/* Reads the list: 0 or EPROTO. */
static int read_bindings(
    struct probe_facts *f, const struct rpc_reply *reply, bool v6)
{
	struct rpcbind_entry b;
	uint32_t more;
	XDR xdrs;

	nfs3_list_open(&xdrs, &reply->body);
	for (int i = 0; i < DUMP_MAX; i++) {
		if (!xdr_u_int(&xdrs, &more))
			return EPROTO;
		if (!more)
			return 0;
		if (!get_binding(&xdrs, v6, &b))
			return EPROTO;
		note_binding(f, &b);
	}
	return 0;
}

/* Asks rpcbind for its list: 0 or an errno of ask.h. Over IPv6 version 2 knows
 * no addresses, so version 3 is asked. */
static int ask_rpcbind(struct probe_facts *f)
{
	bool v6 = probe_addr(f)->sa_family == AF_INET6;
	struct rpc_reply reply;
	struct ask *a;
	int err;

	a = ask_open(probe_addr(f), RPCBIND_PORT, f->until_us, &err);
	if (!a)
		return err;
	err = ask_call(a, RPCBIND_PROG, v6 ? RPCB_VERS : PMAP_VERS, BIND_DUMP,
	    NULL, 0, &reply);
	if (!err)
		err = ask_reply_error(&reply);
	if (!err)
		err = read_bindings(f, &reply, v6);
	ask_close(a);
	return err;
}

/* For qsort(3). */
static int compare_us(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Times some NULL calls, one after the other, on a connection that is open: the
 * least and the median. */
static void measure_rtt(struct probe_facts *f, struct ask *a)
{
	uint64_t took[PROBE_NULLS], start;
	struct rpc_reply reply;

	for (int i = 0; i < PROBE_NULLS; i++) {
		start = clock_now_us();
		if (ask_call(a, NFS_PROGRAM, NFS_V3, 0, NULL, 0, &reply) != 0)
			return;
		took[i] = clock_now_us() - start;
	}
	qsort(took, PROBE_NULLS, sizeof(took[0]), compare_us);
	f->rtt_min_us = took[0];
	f->rtt_us = took[PROBE_NULLS / 2];
}

/* Asks which versions answer at the port. A program without version 3 says
 * which it has (PROG_MISMATCH, RFC 5531 section 9), which tells a server of
 * NFSv4 from something else. */
static void ask_versions(struct probe_facts *f, struct ask *a)
{
	struct rpc_reply reply;

	f->nfs_err = ask_call(a, NFS_PROGRAM, NFS_V3, 0, NULL, 0, &reply);
	if (f->nfs_err)
		return;
	f->nfs_err = ask_reply_error(&reply);
	f->low = reply.low;
	f->high = reply.high;
	/* Where version 3 is served, another one is only worth to know. */
	if (f->nfs_err || f->nfs4.there) {
		f->nfs4_err = ask_call(a, NFS_PROGRAM, 4, 0, NULL, 0, &reply);
		if (!f->nfs4_err)
			f->nfs4_err = ask_reply_error(&reply);
	}
	if (f->nfs_err)
		return;
	measure_rtt(f, a);
	f->acl_err = ask_call(a, NFSACL_PROG, 3, 0, NULL, 0, &reply);
	if (!f->acl_err)
		f->acl_err = ask_reply_error(&reply);
}

struct ask *probe_open_nfs(const struct probe_facts *f, int *err)
{
	return ask_open(probe_addr(f), f->nfs_port, f->until_us, err);
}

/* The port is the target's, or rpcbind's, or the usual one. */
static void reach_nfs(const struct probe_target *t, struct probe_facts *f)
{
	struct ask *a;

	f->nfs_port = t->nfs_port    ? t->nfs_port
		      : f->nfs3.port ? f->nfs3.port
		      : f->nfs4.port ? f->nfs4.port
				     : NFS_PORT;
	a = probe_open_nfs(f, &f->nfs_err);
	/* An attempt at a former address may have set these two facts. */
	f->connected = a != NULL;
	f->low_port = a && ask_source_port(a) < IPPORT_RESERVED;
	if (!a)
		return;
	ask_versions(f, a);
	ask_close(a);
}

/* Asks MOUNT's NULL procedure at a port: 0 or an errno. */
static int try_mount_port(struct probe_facts *f, uint16_t port)
{
	struct rpc_reply reply;
	struct ask *a;
	int err;

	a = ask_open(probe_addr(f), port, f->until_us, &err);
	if (!a)
		return err;
	err = ask_call(a, MOUNT_PROGRAM, MOUNT_V3, 0, NULL, 0, &reply);
	if (!err)
		err = ask_reply_error(&reply);
	ask_close(a);
	if (!err)
		f->mount_port = port;
	return err;
}

/* Looks for MOUNT; where no rpcbind tells its port, at that of NFS, where
 * servers in user space have it, or at the usual one. */
static void reach_mount(const struct probe_target *t, struct probe_facts *f)
{
	uint16_t port = t->mount_port ? t->mount_port : f->mount3.port;

	if (port) {
		f->mount_err = try_mount_port(f, port);
		f->mount_port = port;
		return;
	}
	if (!f->rpcbind_err)
		return;
	f->mount_err = try_mount_port(f, f->nfs_port);
	if (f->mount_err)
		f->mount_err = try_mount_port(f, MOUNTD_PORT);
}

/* Whether the machine itself was heard of: a refusal is an answer, too. */
static bool answered(const struct probe_facts *f)
{
	return f->rpcbind_err == 0 || f->rpcbind_err == ECONNREFUSED ||
	       f->nfs_err == 0 || f->nfs_err == ECONNREFUSED ||
	       f->nfs_err == EPROTONOSUPPORT;
}

/* Tries the addresses in turn until one answers, as a mount would. Where none
 * does, the errors are those of the last one. */
void probe_reach(const struct probe_target *t, struct probe_facts *f)
{
	for (f->at = 0; f->at < f->naddr; f->at++) {
		f->rpcbind_err = PROBE_NOT_TRIED;
		if (!t->nfs_port || !t->mount_port)
			f->rpcbind_err = ask_rpcbind(f);
		reach_nfs(t, f);
		if (answered(f))
			break;
	}
	if (f->at == f->naddr)
		f->at--; /* the last one's errors are told */
	else if (f->nfs_err == 0)
		reach_mount(t, f);
}

struct probe_facts *probe_run(const struct probe_target *t)
{
	struct probe_facts *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->until_us =
	    clock_now_us() + (t->limit_us ? t->limit_us : PROBE_TOTAL_US);
	f->rpcbind_err = f->nfs_err = f->nfs4_err = f->acl_err = f->mount_err =
	    f->exports_err = f->mnt_err = f->fsinfo_err = f->fsstat_err =
		f->pathconf_err = f->access_err = f->list_err = f->read_err =
		    f->write_err = PROBE_NOT_TRIED;
	probe_name(t, f);
	if (f->gai)
		return f;
	probe_reach(t, f);
	probe_mount(t, f);
	return f;
}

void probe_facts_free(struct probe_facts *f)
{
	for (unsigned i = 0; f && i < f->nexports; i++)
		free(f->exports[i]);
	free(f);
}

void probe_why(const struct probe_target *target, struct probe_why *out)
{
	struct probe_facts *f = probe_run(target);

	*out = (struct probe_why){
	    .cause = PROBE_UNSURE, .sentence = "out of memory"};
	if (f)
		probe_judge(target, f, out);
	probe_facts_free(f);
}
