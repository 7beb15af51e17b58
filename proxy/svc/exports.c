/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each section's path is looked at by two calls: MNT gives the handle of its
 * root, and GETATTR of that the fsid, to which the section then applies. svc.c
 * calls exports_poll() with each call of a client, since a look needs a
 * credential, and svc_reply.c calls exports_refresh() with each mount. The
 * outcome goes to the caches (caches_set_export()), where caches_policy() finds
 * it.
 */
#include "svc/exports.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/uint.h"
#include "base/clock.h"
#include "base/log.h"
#include "cache/caches.h"
#include "config/config.h"
#include "nfsproto/nfs_proc.h"
#include "prefetch/calls/owncall.h"

enum {
	/* A look that failed is repeated after a second, then after twice as
	 * long each time: a server that boots is there soon, and a path that it
	 * does not have costs a call a minute. */
	PAUSE_US = 1000000,
	PAUSE_MAX_US = 60000000,
	ARGS_BYTES = MNT3_PATH_MAX + 8,
};

enum look { LOOK_IDLE, LOOK_MOUNT, LOOK_ATTRIBUTES };

/* One section. */
struct export
{
	struct exports *ex;
	const struct config_export *config;
	/* `fsid` is the file system that its path led to last. */
	bool known;
	/* Its path is to be looked at, for the first time or again. */
	bool wanted;
	bool told;       /* the log says that a look failed */
	uint64_t fsid;   /* while `known` */
	uint64_t due_us; /* when to look, while `wanted` */
	uint64_t pause_us;
	/* The stricter section on the same file system; NULL: none. */
	const struct export *over;
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
	uint64_t due_us;  /* of the section that is due first */
	uint64_t flushes; /* of the caches, when they were last asked */
};

/* Recalls the file system of a section that the caches know from before. */
static void recall(struct export *e)
{
	struct attrcache *ac = e->ex->caches->attr;
	size_t index = (size_t)(e - e->ex->list) + 1;
	const struct fsys *fs;

	e->known = false;
	for (uint32_t i = 0; !e->known && (fs = attrcache_fsys_at(ac, i)); i++)
		if (fs->export_plus_one == index) {
			e->known = true;
			e->fsid = fs->fsid;
		}
	e->wanted = !e->known;
	e->due_us = e->pause_us = 0;
	e->over = NULL;
}

/* Counts anew after any change to a section: when the next look is due, and
 * whether some section's file system is not known. */
static void update(struct exports *ex)
{
	ex->due_us = UINT64_MAX;
	ex->caches->exports_unknown = false;
	for (size_t i = 0; i < ex->n; i++) {
		const struct export *e = &ex->list[i];

		if (!e->known)
			ex->caches->exports_unknown = true;
		if (e->wanted && e->look == LOOK_IDLE && e->due_us < ex->due_us)
			ex->due_us = e->due_us;
	}
}

/* Recalls all sections after the caches were flushed: with them they forgot the
 * file systems. */
static void recall_all(struct exports *ex)
{
	ex->flushes = ex->caches->flushes;
	for (size_t i = 0; i < ex->n; i++)
		recall(&ex->list[i]);
	update(ex);
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
	}
	recall_all(ex);
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

/* Gives up the looks under way, and the list. Their calls are alone
 * (upstream_request.alone), so nobody else waits for one, and each can be given
 * up. */
static void drop_list(struct exports *ex)
{
	for (size_t i = 0; i < ex->n; i++)
		(void)fetch_cancel(ex->fetch, &ex->list[i].call.waiter);
	free(ex->list);
	ex->list = NULL;
	ex->n = 0;
}

void exports_free(struct exports *ex)
{
	if (!ex)
		return;
	free(ex->list);
	free(ex);
}

void exports_set_config(struct exports *ex, const struct config_server *config)
{
	drop_list(ex);
	if (!make_list(ex, config))
		ex->caches->exports_unknown = true;
}

bool exports_known(const struct exports *ex, size_t i, const char **over)
{
	const struct export *e = i < ex->n ? &ex->list[i] : NULL;

	*over = e && e->over ? e->over->config->path : NULL;
	return e && e->known;
}

/* ---- several sections on one file system -------------------------------- */

static int compare(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* Compares two policies: below 0 where `x` is the stricter one, whose answers
 * may be less old. */
static int compare_policies(
    const struct config_policy *x, const struct config_policy *y)
{
	int order = compare(x->consistency, y->consistency);

	if (order == 0)
		order = compare(x->attr_timeout_us, y->attr_timeout_us);
	if (order == 0)
		order = compare(x->negative_timeout_us, y->negative_timeout_us);
	return order ? order
		     : compare(x->grant_timeout_us, y->grant_timeout_us);
}

/* The strictest section of the file system that `e` is on; of equal ones the
 * first. */
static const struct export *strictest(const struct export *e)
{
	const struct exports *ex = e->ex;
	const struct export *best = NULL;

	for (size_t i = 0; i < ex->n; i++) {
		const struct export *other = &ex->list[i];

		if (other->known && other->fsid == e->fsid &&
		    (!best || compare_policies(&other->config->policy,
				  &best->config->policy) < 0))
			best = other;
	}
	return best;
}

/* Notes, and logs once, that a stricter section counts in place of this one. */
static void overrule(struct export *e, const struct export *by)
{
	if (by && by != e->over)
		log_warn("exports server=%s path=%s stricter=%s: both sections "
			 "are about one file system; the stricter one counts",
		    e->ex->config->name, e->config->path, by->config->path);
	e->over = by;
}

/* Lets the strictest section of each file system count for all of it: replies
 * tell the file system that an object is on, and not by which path somebody
 * came to it. False without memory. */
static bool settle(struct exports *ex)
{
	bool kept = true;

	for (size_t i = 0; i < ex->n; i++) {
		struct export *e = &ex->list[i];
		const struct export *best = e->known ? strictest(e) : e;

		overrule(e, compare_policies(
				&best->config->policy, &e->config->policy) < 0
				? best
				: NULL);
		if (e->known && best == e)
			kept = caches_set_export(
				   ex->caches, e->config->path, e->fsid) &&
			       kept;
	}
	return kept;
}

/* ---- looking ---------------------------------------------------------- */

/* Schedules another look after one that failed. A failed look tells nothing, so
 * whatever was known before stays. */
static void fail(struct export *e)
{
	e->look = LOOK_IDLE;
	e->wanted = true;
	e->pause_us = e->pause_us ? 2 * e->pause_us : PAUSE_US;
	if (e->pause_us > PAUSE_MAX_US)
		e->pause_us = PAUSE_MAX_US;
	e->due_us = clock_now_us() + e->pause_us;
	update(e->ex);
}

/* The same, and logs the first of several failures. */
static void fail_loudly(struct export *e, const char *what, unsigned status)
{
	if (!e->told)
		log_warn("exports server=%s path=%s %s=%u: cannot find out "
			 "which file system it is on; trying again",
		    e->ex->config->name, e->config->path, what, status);
	e->told = true;
	fail(e);
}

/* The look has shown which file system the section is about. */
static void succeed(struct export *e, uint64_t fsid)
{
	if (e->told)
		log_info("exports server=%s path=%s: its file system is known",
		    e->ex->config->name, e->config->path);
	e->look = LOOK_IDLE;
	e->known = true;
	e->fsid = fsid;
	e->wanted = e->told = false;
	e->pause_us = 0;
	/* The file system that the path led to before may be another section's
	 * now. */
	if (!caches_set_export(e->ex->caches, e->config->path, fsid) ||
	    !settle(e->ex)) {
		e->known = false;
		fail(e);
	}
	update(e->ex);
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
	    /* No client's call may join this one, which is given up with the
	     * list. */
	    .alone = true,
	    .on_reply = on_reply};
	if (!owncall_send(&e->call, e->ex->fetch, &e->cred, NULL, e->encoded,
		sizeof(e->encoded)))
		fail(e);
}

static void on_mounted(struct export *e, const union nfs_res *res)
{
	union nfs_args args = {.object = {0}};

	if (res->mnt.status != MNT3_OK) {
		fail_loudly(e, "mnt_status", res->mnt.status);
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
		succeed(e, a->fsid);
	else
		fail_loudly(e, "status", res->status);
}

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct export *e = container_of(c, struct export, call);

	(void)up;
	if (kind != REPLY_RESULTS)
		fail_loudly(e, "reply", kind);
	else if (e->look == LOOK_MOUNT)
		on_mounted(e, res);
	else
		on_attributes(e, res);
}

/* Begins to look at a section's path with a client's credential, of which it
 * keeps a copy; nothing where a look is under way. */
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
	if (ex->flushes != ex->caches->flushes)
		recall_all(ex);
	if (now_us < ex->due_us)
		return;
	for (size_t i = 0; i < ex->n; i++)
		if (ex->list[i].wanted && ex->list[i].due_us <= now_us)
			look(&ex->list[i], cred);
	update(ex);
}

void exports_refresh(struct exports *ex, const struct rpc_cred *cred)
{
	for (size_t i = 0; i < ex->n; i++)
		look(&ex->list[i], cred);
	update(ex);
}
