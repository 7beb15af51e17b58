/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
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
		warm_push_name(
		    fl->walk, &fl->call.args.readdirplus.dir, &e->name);
}

/* Directories first: what lies above them on the stack is done before. */
static uint64_t enter_page(
    struct warm_flight *fl, const nfs3_dirlist *list, bool dirs)
{
	uint64_t cookie = fl->call.args.readdirplus.cookie;
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
	uint64_t before = fl->call.args.readdirplus.cookie;
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
	const READ3args *a = &fl->call.args.read;
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
	switch (fl->call.proc->proc) {
	case NFSPROC3_LOOKUP:
		found_name(fl, &res->lookup.LOOKUP3res_u.resok.object,
		    fl->call.args.dirop.name.len);
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
	if (fl->call.proc->proc == NFSPROC3_READ) {
		drop_rest(fl);
		if (fl->call.args.read.offset > 0)
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

static void take(struct warm_flight *fl, const union nfs_res *res,
    const struct upstream_result *up, uint64_t now_us)
{
	bool nfs = fl->call.proc->prog == NFS_PROGRAM;

	if (nfs)
		owncall_learn(
		    &fl->call, fl->warm->p.caches, res, up, now_us, false);
	if (nfs && res->status == NFS3ERR_JUKEBOX)
		budget_pause(fl->warm->p.budget, now_us + PAUSE_US);
	if (!fl->walk)
		return;
	fl->walk->p.fetched_bytes += up->rec->len;
	if (!nfs)
		mounted(fl, res);
	else if (res->status != NFS3_OK)
		not_found(fl, res->status);
	else
		found(fl, res);
}

static void on_reply(struct owncall *c, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up)
{
	struct warm_flight *fl =
	    (void *)((char *)c - offsetof(struct warm_flight, call));
	struct warm *wm = fl->warm;
	uint64_t now_us = clock_now_us();

	if (kind == REPLY_NONE) {
		budget_lost(wm->p.budget, fl->bytes);
	} else {
		metrics_add(wm->p.metrics, METRICS_WARM_BYTES, up->rec->len);
		budget_received(wm->p.budget, fl->bytes, up->rec->len, now_us);
	}
	if (kind == REPLY_RESULTS)
		take(fl, res, up, now_us);
	else if (fl->walk)
		not_found(fl, NFS3ERR_IO);
	flight_end(fl);
	warm_wake(wm);
}

/* ---- calls ------------------------------------------------------------ */

static void copy_cred(struct warm_flight *fl, const struct warm_walk *w)
{
	fl->call.cred_id = w->cred_id;
	fl->cred = w->cred;
	memcpy(fl->cred_body, w->cred_body, w->cred.body.len);
	fl->cred.body.data = fl->cred_body;
}

static bool flight_send(struct warm_flight *fl, uint64_t now_us)
{
	struct warm *wm = fl->warm;
	struct owncall *c = &fl->call;
	struct fetch_about about =
	    fetch_about_call(c->proc, &c->args, c->cred_id);

	if (!owncall_send(c, wm->p.fetch, &fl->cred,
		about.object ? &about : NULL, fl->encoded, sizeof(fl->encoded)))
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
	fl->call.proc = proc;
	fl->call.on_reply = on_reply;
	fl->item = *it;
	fl->bytes = bytes;
	copy_cred(fl, w);
	fl->call.args = *args;
	/* Views into the item point into this copy of it; a MOUNT's path is
	 * the walk's, and encoded at once. */
	if (proc->prog == NFS_PROGRAM)
		fl->call.args.object.data = fl->item.fh;
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

		(void)fetch_cancel(wm->p.fetch, &fl->call.waiter);
		flight_end(fl);
	}
}
