/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each section's path is looked at by two calls: MNT gives the handle of its
 * root, and GETATTR of that the fsid, to which the section then applies.
 */
#include "svc/exports.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cache/caches.h"
#include "config/config.h"
#include "nfsproto/nfs_proc.h"
#include "prefetch/owncall.h"

enum {
	AGAIN_US = 10000000, /* between two looks */
	ARGS_BYTES = MNT3_PATH_MAX + 8,
};

enum look { LOOK_IDLE, LOOK_MOUNT, LOOK_ATTRIBUTES };

/* One section. */
struct export
{
	struct exports *ex;
	const struct config_export *config;
	bool known; /* as far as it can be */
	enum look look;
	struct owncall call;
	struct rpc_cred cred;
	char cred_bytes[RPC_AUTH_BODY_MAX];
	char fh[NFS3_FHSIZE_MAX]; /* of the root, while LOOK_ATTRIBUTES */
	_Alignas(8) char encoded[ARGS_BYTES];
};

struct exports {
	struct fetch *fetch;
	struct caches *caches;
	const struct config_server *config;
	struct export *list;
	size_t n;
	uint64_t looked_us;
};

static bool already_known(const struct exports *ex, size_t i)
{
	const struct fsys *fs;

	for (uint32_t n = 0; (fs = attrcache_fsys_at(ex->caches->attr, n)); n++)
		if (fs->export_plus_one == i + 1)
			return true;
	return false;
}

static void update_unknown(struct exports *ex)
{
	ex->caches->exports_unknown = false;
	for (size_t i = 0; i < ex->n; i++)
		if (!ex->list[i].known)
			ex->caches->exports_unknown = true;
}

static bool make_list(struct exports *ex, const struct config_server *config)
{
	struct export *list = NULL;

	if (config->noverrides > 0)
		list = calloc(config->noverrides, sizeof(*list));
	if (config->noverrides > 0 && !list)
		return false;
	ex->config = config;
	ex->list = list;
	ex->n = config->noverrides;
	for (size_t i = 0; i < ex->n; i++) {
		list[i].ex = ex;
		list[i].config = &config->overrides[i];
		list[i].known = already_known(ex, i);
	}
	update_unknown(ex);
	return true;
}

struct exports *exports_new(struct fetch *fetch, struct caches *caches,
    const struct config_server *config)
{
	struct exports *ex = calloc(1, sizeof(*ex));

	if (!ex)
		return NULL;
	ex->fetch = fetch;
	ex->caches = caches;
	if (make_list(ex, config))
		return ex;
	free(ex);
	return NULL;
}

/* These calls are alone (upstream_request.alone): no client waits for one,
 * so each may be given up. */
static void drop_list(struct exports *ex)
{
	for (size_t i = 0; i < ex->n; i++)
		if (ex->list[i].call.waiter.flight)
			(void)fetch_cancel(ex->fetch, &ex->list[i].call.waiter);
	free(ex->list);
	ex->list = NULL;
	ex->n = 0;
}

void exports_free(struct exports *ex)
{
	if (!ex)
		return;
	/* The flights are forgotten with fetch. */
	free(ex->list);
	free(ex);
}

void exports_set_config(struct exports *ex, const struct config_server *config)
{
	drop_list(ex);
	if (!make_list(ex, config))
		ex->caches->exports_unknown = true;
	ex->looked_us = 0;
}

/* ---- looking ---------------------------------------------------------- */

static void finish(struct export *e, bool known)
{
	e->look = LOOK_IDLE;
	e->known = e->known || known;
	update_unknown(e->ex);
}

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up);

static void send_look(
    struct export *e, enum look look, const union nfs_args *args)
{
	e->look = look;
	e->call = (struct owncall){
	    .proc = look == LOOK_MOUNT
			? nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT)
			: nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR),
	    .args = *args,
	    /* A client's call must not wait on one that goes with the list. */
	    .alone = true,
	    .on_reply = on_reply};
	if (!owncall_send(&e->call, e->ex->fetch, &e->cred, NULL, e->encoded,
		sizeof(e->encoded)))
		finish(e, false);
}

static void on_mounted(struct export *e, const union nfs_res *res)
{
	union nfs_args args = {.object = {0}};

	if (res->mnt.status != MNT3_OK) {
		log_warn("exports server=%s path=%s status=%d: the server "
			 "does not have it",
		    e->ex->config->name, e->config->path, res->mnt.status);
		finish(e, true);
		return;
	}
	args.object = res->mnt.MNT3res_u.resok.fhandle;
	memcpy(e->fh, args.object.data, args.object.len);
	args.object.data = e->fh;
	send_look(e, LOOK_ATTRIBUTES, &args);
}

static void on_attributes(struct export *e, const union nfs_res *res)
{
	const fattr3 *a = &res->getattr.GETATTR3res_u.resok.obj_attributes;

	if (res->status == NFS3_OK)
		caches_set_export(e->ex->caches, e->config->path, a->fsid);
	finish(e, res->status == NFS3_OK);
}

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct export *e = (void *)((char *)c - offsetof(struct export, call));

	(void)up;
	if (kind != REPLY_RESULTS)
		finish(e, false);
	else if (e->look == LOOK_MOUNT)
		on_mounted(e, res);
	else
		on_attributes(e, res);
}

static void look(struct export *e, const struct rpc_cred *cred)
{
	union nfs_args args = {
	    .mnt = {.dirpath = {.len = (uint32_t)strlen(e->config->path),
			.data = e->config->path}}};

	if (e->look != LOOK_IDLE)
		return;
	memcpy(e->cred_bytes, cred->body.data, cred->body.len);
	e->cred = *cred;
	e->cred.body.data = e->cred_bytes;
	send_look(e, LOOK_MOUNT, &args);
}

void exports_poll(
    struct exports *ex, const struct rpc_cred *cred, uint64_t now_us)
{
	if (!ex->caches->exports_unknown ||
	    (ex->looked_us != 0 && now_us - ex->looked_us < AGAIN_US))
		return;
	ex->looked_us = now_us;
	for (size_t i = 0; i < ex->n; i++)
		if (!ex->list[i].known)
			look(&ex->list[i], cred);
}

void exports_refresh(
    struct exports *ex, const struct rpc_cred *cred, uint64_t now_us)
{
	ex->looked_us = now_us;
	for (size_t i = 0; i < ex->n; i++)
		look(&ex->list[i], cred);
}
