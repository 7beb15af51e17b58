/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/learn.h"
#include "nfsproto/nfs3_list.h"
#include "warm/warm_private.h"

/* How long a server that is busy is left alone. */
enum { PAUSE_US = 5000000 };

static void flight_end(struct warm_flight *fl)
{
	LIST_REMOVE(fl, link);
	fl->warm->nflights--;
	if (fl->walk)
		fl->walk->nflights--;
	free(fl->item.name);
	free(fl);
}

/* ---- what a reply leads to -------------------------------------------- */

static struct node *node_of(const struct warm_flight *fl, const nfs3_fh *fh)
{
	struct node *node = attrcache_find(fl->warm->p.caches->attr, fh);

	return node && (node->flags & NODE_ATTRS) ? node : NULL;
}

/* The end of a path: its attributes may have come with it. */
static void found_object(struct warm_flight *fl, const nfs3_fh *fh, bool root)
{
	struct node *node = node_of(fl, fh);
	struct item it = {
	    .kind = ITEM_OBJECT, .root = root, .fh_len = (uint8_t)fh->len};

	memcpy(it.fh, fh->data, fh->len);
	if (node)
		warm_push_object(fl->walk, fh,
		    attrcache_type(fl->warm->p.caches->attr, node), root);
	else
		warm_push(fl->walk, &it);
}

/* The rest of a path goes on from here. */
static void found_name(struct warm_flight *fl, const nfs3_fh *fh, size_t used)
{
	struct item it = {.kind = ITEM_NAME,
	    .root = fl->item.root,
	    .fh_len = (uint8_t)fh->len};
	const char *rest = fl->item.name + used;

	rest += *rest == '/';
	if (!*rest) {
		found_object(fl, fh, fl->item.root);
		return;
	}
	memcpy(it.fh, fh->data, fh->len);
	it.name = strdup(rest);
	if (it.name)
		warm_push(fl->walk, &it);
	else
		fl->walk->p.failed++;
}

/* The object itself answered: now it is known what it is. */
static void found_attributes(struct warm_flight *fl)
{
	nfs3_fh fh = item_fh(&fl->item);
	struct node *node = node_of(fl, &fh);
	struct item it = fl->item;
	ftype3 type;

	if (it.kind != ITEM_OBJECT)
		return;
	if (!node) {
		fl->walk->p.failed++;
		return;
	}
	type = attrcache_type(fl->warm->p.caches->attr, node);
	/* A file in the middle of which the caches forgot it goes on there. */
	it.kind = ITEM_FILE;
	if (type == NF3REG && (it.file.counted || it.proof))
		warm_push(fl->walk, &it);
	else
		warm_push_object(fl->walk, &fh, type, it.root);
}

static void enter(
    struct warm_flight *fl, const struct nfs3_dirent *e, bool dirs)
{
	const fattr3 *a = &e->attributes.post_op_attr_u.attributes;
	bool known =
	    e->handle.handle_follows && e->attributes.attributes_follow;

	if (warm_skips(&e->name) || (known && a->type == NF3DIR) != dirs)
		return;
	if (known)
		warm_push_object(
		    fl->walk, &e->handle.post_op_fh3_u.handle, a->type, false);
	else
		warm_push_name(fl->walk, &fl->args.readdirplus.dir, &e->name);
}

/* Directories first: what lies above them on the stack is done before. */
static uint64_t enter_page(
    struct warm_flight *fl, const nfs3_dirlist *list, bool dirs)
{
	uint64_t cookie = fl->args.readdirplus.cookie;
	struct nfs3_dirent e;
	bool more = false;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more) {
		enter(fl, &e, dirs);
		cookie = e.cookie;
	}
	return cookie;
}

static uint64_t last_cookie(const nfs3_dirlist *list, uint64_t cookie)
{
	struct nfs3_dirent e;
	bool more = false;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more)
		cookie = e.cookie;
	return cookie;
}

static void found_page(struct warm_flight *fl, const READDIRPLUS3resok *r)
{
	uint64_t before = fl->args.readdirplus.cookie;
	struct item next = fl->item;

	if (before == 0)
		fl->walk->p.directories++;
	next.dir.cookie = last_cookie(&r->reply, before);
	next.root = false;
	memcpy(next.dir.verf, r->cookieverf, NFS3_COOKIEVERFSIZE);
	/* A page that brought nothing leads nowhere. */
	if (!nfs3_dirlist_eof(&r->reply) && next.dir.cookie != before)
		warm_push(fl->walk, &next);
	(void)enter_page(fl, &r->reply, true);
	(void)enter_page(fl, &r->reply, false);
}

/* Servers may give less than was asked for. */
static void found_data(struct warm_flight *fl, const READ3resok *r)
{
	const READ3args *a = &fl->args.read;
	struct item rest = fl->item;

	if (r->eof || r->data.len == 0 || r->data.len >= a->count)
		return;
	rest.file.counted = true;
	rest.file.offset = a->offset + r->data.len;
	rest.file.end = a->offset + a->count;
	warm_push(fl->walk, &rest);
}

static void found(struct warm_flight *fl, const union nfs_res *res)
{
	switch (fl->proc->proc) {
	case NFSPROC3_LOOKUP:
		found_name(fl, &res->lookup.LOOKUP3res_u.resok.object,
		    fl->args.dirop.name.len);
		break;
	case NFSPROC3_ACCESS:
		found_attributes(fl);
		break;
	case NFSPROC3_READDIRPLUS:
		found_page(fl, &res->readdirplus.READDIRPLUS3res_u.resok);
		break;
	case NFSPROC3_READ:
		found_data(fl, &res->read.READ3res_u.resok);
		break;
	default:
		break;
	}
}

/* ---- what it does not lead to ----------------------------------------- */

/* Once for a file: its other pieces would be refused, too. */
static void drop_rest(struct warm_flight *fl)
{
	struct warm_walk *w = fl->walk;
	struct item *top = w->nitems ? &w->items[w->nitems - 1] : NULL;

	if (top && top->kind == ITEM_FILE && top->fh_len == fl->item.fh_len &&
	    memcmp(top->fh, fl->item.fh, top->fh_len) == 0)
		top->file.offset = top->file.end;
}

static void count_refusal(struct warm_flight *fl)
{
	if (fl->proc->proc == NFSPROC3_READ) {
		drop_rest(fl);
		if (fl->args.read.offset > 0)
			return;
	}
	fl->walk->p.refused++;
}

/* The walk may go on with it; false where not. */
static bool retry(struct warm_flight *fl, nfsstat3 status)
{
	struct item it = fl->item;

	if (++it.tries > WARM_TRIES_MAX)
		return false;
	if (status == NFS3ERR_BAD_COOKIE && it.kind == ITEM_DIR)
		it.dir.cookie = 0;
	else if (status != NFS3ERR_JUKEBOX)
		return false;
	fl->item.name = NULL;
	warm_push(fl->walk, &it);
	return true;
}

static void not_found(struct warm_flight *fl, nfsstat3 status)
{
	struct warm_walk *w = fl->walk;

	if (retry(fl, status))
		return;
	if (status == NFS3ERR_ACCES || status == NFS3ERR_PERM)
		count_refusal(fl);
	else if (fl->item.root || status != NFS3ERR_NOENT)
		w->p.failed++;
	if (!fl->item.root || fl->item.kind > ITEM_OBJECT)
		return;
	w->p.state = WARM_FAILED;
	w->p.status = (uint32_t)status;
}

static void mounted(struct warm_flight *fl, const union nfs_res *res)
{
	/* The codes of mountstat3 that matter are those of nfsstat3. */
	if (res->mnt.status != MNT3_OK)
		not_found(fl, (nfsstat3)res->mnt.status);
	else
		found_name(fl, &res->mnt.MNT3res_u.resok.fhandle, 0);
}

/* ---- replies ---------------------------------------------------------- */

static void learn(struct warm_flight *fl, const struct upstream_result *up,
    const union nfs_res *res, uint64_t now_us)
{
	struct learn l = {.caches = fl->warm->p.caches,
	    .proc = fl->proc,
	    .args = &fl->args,
	    .res = res,
	    .cred = fl->cred_id,
	    .body = &up->rpc->body,
	    .hold = up->rec->buf,
	    .sent_us = up->sent_us,
	    .now_us = now_us};

	if (fl->proc->prog == NFS_PROGRAM)
		learn_reply(&l);
	if (fl->proc->prog == NFS_PROGRAM && res->status == NFS3ERR_JUKEBOX)
		budget_pause(fl->warm->p.budget, now_us + PAUSE_US);
}

static void take(
    struct warm_flight *fl, const struct upstream_result *up, uint64_t now_us)
{
	union nfs_res res;

	if (!up->rpc->accepted || up->rpc->status != SUCCESS ||
	    !nfs_res_decode(
		fl->proc, up->rpc->body.data, up->rpc->body.len, &res) ||
	    !nfs_res_check(fl->proc, &fl->args, &res)) {
		if (fl->walk)
			not_found(fl, NFS3ERR_IO);
		return;
	}
	learn(fl, up, &res, now_us);
	if (!fl->walk)
		return;
	fl->walk->p.fetched_bytes += up->rec->len;
	if (fl->proc->prog == MOUNT_PROGRAM)
		mounted(fl, &res);
	else if (res.status != NFS3_OK)
		not_found(fl, res.status);
	else
		found(fl, &res);
}

static void on_reply(struct fetch_waiter *w, const struct upstream_result *up)
{
	struct warm_flight *fl =
	    (void *)((char *)w - offsetof(struct warm_flight, waiter));
	struct warm *wm = fl->warm;
	uint64_t now_us = clock_now_us();

	if (up->rec) {
		metrics_add(wm->p.metrics, METRICS_WARM_BYTES, up->rec->len);
		budget_received(wm->p.budget, fl->bytes, up->rec->len, now_us);
		take(fl, up, now_us);
	} else {
		budget_lost(wm->p.budget, fl->bytes);
		if (fl->walk)
			not_found(fl, NFS3ERR_IO);
	}
	flight_end(fl);
	warm_wake(wm);
}

static const struct fetch_ops ops = {.on_reply = on_reply};

/* ---- calls ------------------------------------------------------------ */

static void copy_cred(struct warm_flight *fl, const struct warm_walk *w)
{
	fl->cred_id = w->cred_id;
	fl->cred = w->cred;
	memcpy(fl->cred_body, w->cred_body, w->cred.body.len);
	fl->cred.body.data = fl->cred_body;
}

static bool flight_send(struct warm_flight *fl, uint64_t now_us)
{
	struct warm *wm = fl->warm;
	struct upstream_request req = {.proc = fl->proc, .cred = &fl->cred};
	struct fetch_about about;
	bool nfs = fl->proc->prog == NFS_PROGRAM;

	req.args.data = fl->encoded;
	req.args.len = (uint32_t)nfs_args_encode(
	    fl->proc, &fl->args, fl->encoded, sizeof(fl->encoded));
	about = fetch_about_call(fl->proc, &fl->args, fl->cred_id);
	fl->waiter.ops = &ops;
	if (req.args.len == 0 || fetch_start(wm->p.fetch, &req,
				     nfs ? &about : NULL, &fl->waiter) < 0)
		return false;
	budget_sent(wm->p.budget, fl->bytes, now_us);
	metrics_add(wm->p.metrics, METRICS_WARM_CALLS, 1);
	return true;
}

bool warm_flight_start(struct warm_walk *w, const struct item *it,
    const struct nfs_proc *proc, const union nfs_args *args, uint64_t bytes,
    uint64_t now_us)
{
	struct warm_flight *fl = calloc(1, sizeof(*fl));

	if (!fl)
		return false;
	fl->warm = w->warm;
	fl->walk = w;
	fl->proc = proc;
	fl->item = *it;
	fl->bytes = bytes;
	copy_cred(fl, w);
	fl->args = *args;
	/* Views into the item point into this copy of it; a MOUNT's path is
	 * the walk's, and encoded at once. */
	if (proc->prog == NFS_PROGRAM)
		fl->args.object.data = fl->item.fh;
	LIST_INSERT_HEAD(&w->warm->flights, fl, link);
	w->warm->nflights++;
	w->nflights++;
	if (flight_send(fl, now_us)) {
		w->p.calls++;
		return true;
	}
	fl->item.name = NULL;
	flight_end(fl);
	return false;
}

void warm_flights_leave(struct warm_walk *w)
{
	struct warm_flight *fl;

	LIST_FOREACH (fl, &w->warm->flights, link)
		if (fl->walk == w)
			fl->walk = NULL;
	w->nflights = 0;
}

void warm_flights_free(struct warm *wm)
{
	/* The flights are forgotten with fetch. */
	while (!LIST_EMPTY(&wm->flights)) {
		struct warm_flight *fl = LIST_FIRST(&wm->flights);

		(void)fetch_cancel(wm->p.fetch, &fl->waiter);
		flight_end(fl);
	}
}
