/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Somebody who asks by the control socket has the credential that the NFS
 * client of this machine would send for him: the same caches answer both.
 */
#include "cache/user.h"

#include <string.h>
#include <unistd.h>

#include "cache/caches.h"

uint32_t user_cred(struct caches *c, const struct user *user,
    struct rpc_cred *cred, char body[RPC_AUTH_BODY_MAX])
{
	char machine[RPC_MACHINE_MAX + 1] = "";
	struct rpc_auth_sys auth = {
	    .uid = (uint32_t)user->uid, .gid = (uint32_t)user->gid};

	(void)gethostname(machine, sizeof(machine) - 1);
	auth.machine.data = machine;
	auth.machine.len = (uint32_t)strlen(machine);
	for (size_t i = 0; i < user->ngroups && i < RPC_GIDS_MAX; i++)
		auth.gids[auth.ngids++] = (uint32_t)user->groups[i];
	cred->flavor = AUTH_SYS;
	cred->body.data = body;
	cred->body.len =
	    (uint32_t)rpc_auth_sys_encode(&auth, body, RPC_AUTH_BODY_MAX);
	return caches_cred(c, cred, &auth);
}
