/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers at the local rpcbind, with libtirpc. daemon/ calls this where the
 * configuration says `rpcbind = yes`, at its start and end. */
#include "upstream/rpcbind.h"

#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>

#include "base/log.h"
#include "nfsproto/mount3.h"
#include "nfsproto/nfs3.h"
#include "nfsproto/nfsacl3.h"

static const struct {
	rpcprog_t prog;
	rpcvers_t vers;
} programs[] = {
    {NFS_PROGRAM, NFS_V3},
    {MOUNT_PROGRAM, MOUNT_V3},
    {NFSACL_PROGRAM, NFSACL_V3},
};

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static const struct netconfig *netconfig_of(const struct netmatch_addr *na)
{
	return getnetconfigent(na->addr.ss_family == AF_INET6 ? "tcp6" : "tcp");
}

/* Registers all programs at one address; returns how many were refused. */
static unsigned register_at(const char *server, const struct netmatch_addr *na)
{
	struct netmatch_addr copy = *na;
	struct netbuf nb = {
	    .maxlen = copy.len, .len = copy.len, .buf = &copy.addr};
	struct netconfig *nc = (struct netconfig *)(uintptr_t)netconfig_of(na);
	char text[NETMATCH_TEXT_MAX];
	unsigned refused = 0;

	netmatch_addr_format(na, text);
	for (size_t i = 0; i < PROGRAMS; i++) {
		if (nc && rpcb_set(programs[i].prog, programs[i].vers, nc, &nb))
			continue;
		refused++;
		log_warn("rpcbind server=%s address=%s program=%u: not "
			 "registered; is rpcbind running, and is no other NFS "
			 "server registered?",
		    server, text, (unsigned)programs[i].prog);
	}
	if (nc)
		freenetconfigent(nc);
	return refused;
}

unsigned rpcbind_register(
    const char *server, const struct netmatch_addr *addrs, size_t count)
{
	unsigned refused = 0;

	for (size_t i = 0; i < count; i++)
		refused += register_at(server, &addrs[i]);
	return refused;
}

void rpcbind_unregister(void)
{
	for (size_t i = 0; i < PROGRAMS; i++)
		(void)rpcb_unset(programs[i].prog, programs[i].vers, NULL);
}
