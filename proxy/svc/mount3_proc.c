/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MOUNTv3 (RFC 1813 section 5): which paths may be mounted, and under which
 * flavors. Only paths of the configuration are let through, and of flavors only
 * AUTH_SYS is offered. svc.c finds these rows by the procedure's number.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/known.h"
#include "config/config.h"
#include "config/exportpath.h"
#include "nfsproto/nfs3_list.h"
#include "svc/svc_rqst.h"

static void proc_null(struct svc_rqst *rqst)
{
	svc_reply_accepted(rqst, SUCCESS);
}

/* Answers a MNT while the server is away by what the server answered this user
 * before, for as long as a right counts. False where there is nothing. */
static bool mnt_offline(struct svc_rqst *rqst)
{
	struct asker who = svc_asker(rqst);
	struct mounttab_entry e;
	struct known k;
	struct cred_key key;
	union nfs_res res;

	cred_key_make(&key, rqst->call.cred.flavor, &rqst->auth);
	known_node(&k, &who, NULL);
	if (!mounttab_find(
		who.caches->mounts, &rqst->args.mnt.dirpath, &key, &e) ||
	    !contract_right(&k.contract, e.sent_us) ||
	    !nfs_res_decode(rqst->proc, e.body.data, e.body.len, &res))
		return false;
	(void)rqst->row->edit(rqst, &res);
	svc_served(rqst->svc, e.sent_us, rqst->received_us);
	svc_reply_result(rqst, &res);
	return true;
}

static void proc_mnt(struct svc_rqst *rqst)
{
	if (!exportpath_allowed(rqst->svc->p.config, &rqst->args.mnt.dirpath))
		svc_reply_status(rqst, (nfsstat3)MNT3ERR_ACCES);
	else if (!rqst->svc->offline || !mnt_offline(rqst))
		svc_forward(rqst);
}

/* Offers AUTH_SYS and nothing else. Where the server would not take it, the
 * client gets MNT3ERR_ACCES, since the export is of no use through the proxy.
 */
static bool edit_mnt(struct svc_rqst *rqst, union nfs_res *res)
{
	static const char auth_sys[4] = {0, 0, 0, AUTH_SYS};
	mnt3_flavors *f = &res->mnt.MNT3res_u.resok.auth_flavors;
	bool offered = false;

	(void)rqst;
	for (uint32_t i = 0; i < f->len; i += 4)
		if (memcmp(f->data + i, auth_sys, 4) == 0)
			offered = true;
	if (!offered && f->len > 0) {
		memset(&res->mnt, 0, sizeof(res->mnt));
		res->mnt.status = MNT3ERR_ACCES;
		return true;
	}
	f->len = 4;
	f->data = auth_sys;
	return true;
}

/* Lists only what may be mounted. The entries that stay are moved together in
 * the server's reply; another request that joined the call finds the shorter
 * list there, which is right for it, too. */
static bool edit_export(struct svc_rqst *rqst, union nfs_res *res)
{
	mnt3_exports *list = &res->export_list.exports;
	char *to = (char *)(uintptr_t)list->data;
	uint32_t kept = 0;
	struct mnt3_export e;
	bool more;
	XDR xdrs;

	if (rqst->svc->p.config->exports.n == 0)
		return false;
	nfs3_list_open(&xdrs, list);
	while (mnt3_export_decode(&xdrs, &e, &more) && more) {
		if (!exportpath_allowed(rqst->svc->p.config, &e.dir))
			continue;
		memmove(to + kept, e.raw.data, e.raw.len);
		kept += e.raw.len;
	}
	memset(to + kept, 0, 4);
	list->len = kept + 4;
	return true;
}

const struct svc_proc mount3_rows[] = {
    [MOUNTPROC3_NULL] = {.call = proc_null},
    [MOUNTPROC3_MNT] = {.call = proc_mnt, .edit = edit_mnt},
    [MOUNTPROC3_DUMP] = {.call = svc_forward},
    [MOUNTPROC3_UMNT] = {.call = svc_forward},
    [MOUNTPROC3_UMNTALL] = {.call = svc_forward},
    [MOUNTPROC3_EXPORT] = {.call = svc_forward, .edit = edit_export},
};
