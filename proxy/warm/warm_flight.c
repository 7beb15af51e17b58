/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of walks, and which items their replies put on the stack. A reply
 * is learned by the caches like any other before it is looked at here. */
#include <stdlib.h>
#include <string.h>

#include "nfsproto/nfs3_list.h"
#include "prefetch/prefetch.h"
#include "warm/warm_private.h"

/* ---- what a reply leads to -------------------------------------------- */

static struct caches *caches_of(const struct warm_flight *fl)
{
	return fl->warm->p.caches;
}

/* The node of a handle, if its attributes are known. */
static struct node *node_of(const struct warm_flight *fl, const nfs3_fh *fh)
{
	struct node *node = attrcache_find(caches_of(fl)->attr, fh);

	return node && (node->flags & NODE_ATTRS) ? node : NULL;
}

/* The rest of a path goes on from here; at its end, attributes may have come
 * with the handle. */
static void found_handle(struct warm_flight *fl, const nfs3_fh *fh, size_t used)
{
	struct node *node = node_of(fl, fh);
	const char *rest = fl->item.name + used;
	nfs3_name left;

	rest += *rest == '/';
	left = (nfs3_name){.data = rest, .len = (uint32_t)strlen(rest)};
	if (*rest)
		warm_push_new(fl->walk, ITEM_NAME, fh, &left, fl->item.root);
	else if (node)
		warm_push_object(fl->walk, fh,
		    attrcache_type(caches_of(fl)->attr, node), fl->item.root);
	else
		warm_push_new(fl->walk, ITEM_OBJECT, fh, NULL, fl->item.root);
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
	type = attrcache_type(caches_of(fl)->attr, node);
	/* A file in the middle of which the caches forgot it goes on there, and
	 * so does a directory that is about to be listed. */
	it.kind = it.met ? ITEM_DIR : ITEM_FILE;
	if ((type == NF3DIR && it.met) ||
	    (type == NF3REG && (it.file.counted || it.proof)))
		warm_push(fl->walk, &it);
	else
		warm_push_object(fl->walk, &fh, type, it.root);
}

/* The parts of a page that one pass over its entries takes. */
enum pass {
	PASS_COOKIE, /* nothing but the last cookie */
	PASS_DIRS,
	PASS_OTHERS,
};

/* Puts an entry on the stack if it is of this pass. One without a handle or
 * attributes, which a server need not send, is looked up by its name. */
static void enter(
    struct warm_flight *fl, const struct nfs3_dirent *e, enum pass pass)
{
	const fattr3 *a = &e->attributes.post_op_attr_u.attributes;
	bool known =
	    e->handle.handle_follows && e->attributes.attributes_follow;
	bool dir = known && a->type == NF3DIR;

	if (warm_skips(&e->name) || pass != (dir ? PASS_DIRS : PASS_OTHERS))
		return;
	if (known)
		warm_push_object(
		    fl->walk, &e->handle.post_op_fh3_u.handle, a->type, false);
	else
		warm_push_new(fl->walk, ITEM_NAME,
		    &fl->fl.call.args.readdirplus.dir, &e->name, false);
}

/* Returns the last cookie. */
static uint64_t pass_page(
    struct warm_flight *fl, const nfs3_dirlist *list, enum pass pass)
{
	uint64_t cookie = fl->fl.call.args.readdirplus.cookie;
	struct nfs3_dirent e;
	bool more = false;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more) {
		enter(fl, &e, pass);
		cookie = e.cookie;
	}
	return cookie;
}

/* Whether a listing has come back to where it was. */
static bool goes_round(struct warm_walk *w, struct item *next)
{
	uint32_t pages = next->dir.pages++;

	if (pages > 0 && next->dir.cookie == next->dir.mark) {
		w->p.loops++;
		return true;
	}
	if ((pages & (pages - 1)) == 0)
		next->dir.mark = next->dir.cookie;
	return false;
}

/* The next page goes below the entries of this one, and its directories below
 * its files: what is pushed last is done first. */
static void found_page(struct warm_flight *fl, const READDIRPLUS3resok *r)
{
	uint64_t before = fl->fl.call.args.readdirplus.cookie;
	struct item next = fl->item;

	if (before == 0)
		fl->walk->p.directories++;
	next.dir.cookie = pass_page(fl, &r->reply, PASS_COOKIE);
	next.root = false;
	memcpy(next.dir.verf, r->cookieverf, NFS3_COOKIEVERFSIZE);
	/* A page that brought nothing leads nowhere. */
	if (!nfs3_dirlist_eof(&r->reply) && next.dir.cookie != before &&
	    !goes_round(fl->walk, &next))
		warm_push(fl->walk, &next);
	(void)pass_page(fl, &r->reply, PASS_DIRS);
	(void)pass_page(fl, &r->reply, PASS_OTHERS);
}

/* Servers may give less than was asked for. */
static void found_data(struct warm_flight *fl, const READ3resok *r)
{
	const READ3args *a = &fl->fl.call.args.read;
	struct item rest = fl->item;

	if (r->eof || r->data.len == 0 || r->data.len >= a->count)
		return;
	rest.file.counted = true;
	rest.file.offset = a->offset + r->data.len;
	rest.file.end = a->offset + a->count;
	warm_push(fl->walk, &rest);
}

/* Goes on by a good reply. */
static void found(struct warm_flight *fl, const union nfs_res *res)
{
	switch (fl->fl.call.proc->proc) {
	case NFSPROC3_LOOKUP:
		found_handle(fl, &res->lookup.LOOKUP3res_u.resok.object,
		    fl->fl.call.args.dirop.name.len);
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

/* The user may not: a file counts once, whichever of its pieces was refused
 * first. */
static void count_refusal(struct warm_flight *fl)
{
	if (fl->fl.call.proc->proc == NFSPROC3_READ) {
		drop_rest(fl);
		if (fl->fl.call.args.read.offset > 0)
			return;
	}
	fl->walk->p.refused++;
}

/* Puts the item back if the error may pass: the server is busy, or wants the
 * listing begun anew (RFC 1813, NFS3ERR_JUKEBOX and NFS3ERR_BAD_COOKIE). False
 * where the walk cannot go on with it. */
static bool retry(struct warm_flight *fl, nfsstat3 status)
{
	struct item it = fl->item;

	if (++it.tries > WARM_TRIES_MAX)
		return false;
	if (status == NFS3ERR_BAD_COOKIE && it.kind == ITEM_DIR)
		it.dir.cookie = it.dir.mark = it.dir.pages = 0;
	else if (status != NFS3ERR_JUKEBOX)
		return false;
	fl->item.name = NULL;
	warm_push(fl->walk, &it);
	return true;
}

/* A bad reply. An entry that is gone is no error, as others change the tree
 * while it is walked; where the walk begins, any error ends it. */
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

/* The reply to a MNT of the export. */
static void mounted(struct warm_flight *fl, const union nfs_res *res)
{
	/* The codes of mountstat3 that matter are those of nfsstat3. */
	if (res->mnt.status != MNT3_OK)
		not_found(fl, (nfsstat3)res->mnt.status);
	else
		found_handle(fl, &res->mnt.MNT3res_u.resok.fhandle, 0);
}

/* ---- flights ---------------------------------------------------------- */

static void take(struct warm_flight *fl, const union nfs_res *res,
    const struct upstream_result *up)
{
	fl->walk->p.fetched_bytes += up->rec->len;
	if (fl->fl.call.proc->prog == MOUNT_PROGRAM)
		mounted(fl, res);
	else if (res->status != NFS3_OK)
		not_found(fl, res->status);
	else
		found(fl, res);
}

static void on_reply(struct flight *f, enum reply_kind kind,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us)
{
	struct warm_flight *fl = (struct warm_flight *)f;

	/* A user asked for this tree, so its data is not the first to go. */
	if (res && f->call.proc->prog == NFS_PROGRAM)
		owncall_learn(&f->call, caches_of(fl), res, up, now_us, false);
	if (!fl->walk)
		return;
	if (kind == REPLY_RESULTS)
		take(fl, res, up);
	else
		not_found(fl, NFS3ERR_IO);
	want_go_on(&fl->walk->job);
}

static void on_end(struct flight *f)
{
	struct warm_flight *fl = (struct warm_flight *)f;

	if (fl->walk)
		fl->walk->nflights--;
	free(fl->item.name);
}

void warm_flights_init(struct warm *wm)
{
	wm->flights = (struct flights){.calls = prefetch_calls(wm->p.prefetch),
	    .sent = METRICS_WARM_CALLS,
	    .bytes = METRICS_WARM_BYTES,
	    .on_reply = on_reply,
	    .on_end = on_end};
}

bool warm_flight_start(struct warm_walk *w, const struct item *it,
    const struct nfs_proc *proc, const union nfs_args *args, uint64_t bytes,
    uint64_t now_us)
{
	struct warm_flight *fl =
	    flight_new(&w->warm->flights, sizeof(*fl), w->cred, proc);
	struct fetch_about about;

	if (!fl)
		return false;
	fl->warm = w->warm;
	fl->walk = w;
	fl->fl.asked = w->asked;
	w->nflights++;
	fl->item = *it;
	/* It is the flight's only if that goes out. */
	fl->item.name = NULL;
	flight_set_args(&fl->fl, args);
	about =
	    fetch_about_call(proc, &fl->fl.call.args, credential_id(w->cred));
	if (!flight_send(&fl->fl, about.object ? &about : NULL, bytes, now_us))
		return false;
	fl->item.name = it->name;
	w->p.calls++;
	return true;
}

void warm_flights_leave(struct warm_walk *w)
{
	struct flight *f;

	LIST_FOREACH (f, &w->warm->flights.list, link) {
		struct warm_flight *fl = (struct warm_flight *)f;

		if (fl->walk == w)
			fl->walk = NULL;
	}
	w->nflights = 0;
}
