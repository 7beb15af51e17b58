/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings: the results of READDIR or READDIRPLUS as the server would give
 * them, whole, with handles and without attributes. So they are encoded,
 * decoded and checked as a server's reply is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/known.h"
#include "farm/farm_private.h"
#include "nfsproto/nfs3_list.h"
#include "upstream/fetch.h"

/* How long a listing is taken to be before it has come. */
enum { LISTING_EXPECT = 4096 };

/* One call of farm_ask_listing(); it frees itself when it is over. */
struct list_ask {
	struct farm_question q; /* the first */
	LIST_ENTRY(list_ask) link;
	struct fetch_claim claim;
	struct learn_shared shared;
	bool plus;
};

static const struct nfs_proc *list_proc(bool plus)
{
	return nfs_proc_find(NFS_PROGRAM, NFS_V3,
	    plus ? NFSPROC3_READDIRPLUS : NFSPROC3_READDIR);
}

/* Finds the users and groups of a credential by its number here, which means
 * nothing to other machines. False where it is not known any more. */
static bool cred_by_id(
    const struct caches *c, uint32_t cred, struct cred_key *key)
{
	uint32_t id;

	for (uint32_t i = 0; credtab_at(c->creds, i, key, &id); i++)
		if (id == cred)
			return true;
	return false;
}

/* The key of a listing; false without its credential. */
static bool list_key(struct farm_server *s, const nfs3_fh *fh,
    const struct data_version *v, uint32_t cred, bool plus,
    struct farm_key *key)
{
	struct cred_key who;

	if (!cred_by_id(s->p.caches, cred, &who))
		return false;
	farm_listing_key(s, fh, v, &who, plus, key);
	return true;
}

/* Prepares to ask for or mark the listing of the directory's present version:
 * fills `shared` and `key`. False where it cannot be shared. */
static bool listing_now(struct farm_server *s, const struct node *dir,
    uint32_t cred, bool plus, struct learn_shared *shared, struct farm_key *key)
{
	nfs3_fh fh = node_fh(dir);

	*shared = (struct learn_shared){.cred = cred};
	return learn_shared_begin(shared, s->p.caches, dir) &&
	       list_key(s, &fh, &shared->version, cred, plus, key);
}

/* ---- asked for --------------------------------------------------------- */

/* The arguments that nfs_res_check() compares the results with. */
static union nfs_args list_args(const nfs3_fh *fh, bool plus)
{
	union nfs_args args = {0};

	if (plus) {
		args.readdirplus.dir = *fh;
		args.readdirplus.dircount = LISTING_BYTES_MAX;
		args.readdirplus.maxcount = LISTING_BYTES_MAX;
	} else {
		args.readdir.dir = *fh;
		args.readdir.count = LISTING_BYTES_MAX;
	}
	return args;
}

/* A listing came: decodes and checks it as a server's reply, and learns it. */
static bool take(struct farm_question *q, const void *value, size_t len)
{
	struct list_ask *a = (struct list_ask *)q;
	struct farm_server *s = q->server;
	const struct nfs_proc *proc = list_proc(a->plus);
	nfs3_fh fh = learn_shared_fh(&a->shared);
	union nfs_args args = list_args(&fh, a->plus);
	union nfs_res res;
	size_t n = farm_open(s, &q->key, value, len, LISTING_BYTES_MAX);

	if (n == 0)
		return false;
	if (!nfs_res_decode(proc, (const char *)s->p.farm->plain, n, &res) ||
	    res.status != NFS3_OK || !nfs_res_check(proc, &args, &res)) {
		metrics_add(s->p.metrics, METRICS_FARM_BAD, 1);
		return false;
	}
	if (!learn_shared_listing(&a->shared, proc, &res))
		return false;
	farm_note_found(s, FARM_LISTING);
	metrics_add(s->p.metrics, METRICS_FARM_LISTINGS, 1);
	metrics_add(s->p.metrics, METRICS_FARM_BYTES, n);
	kept_note(s->p.farm, &q->key, UINT32_MAX);
	return true;
}

static void on_end(struct farm_question *q)
{
	struct list_ask *a = (struct list_ask *)q;

	LIST_REMOVE(a, link);
	fetch_claim_end(&a->claim);
	free(a);
}

static struct list_ask *list_ask_new(
    struct farm_server *s, const struct node *dir, uint32_t cred, bool plus)
{
	struct list_ask *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->q = (struct farm_question){
	    .server = s, .kind = FARM_LISTING, .take = take, .on_end = on_end};
	a->plus = plus;
	if (listing_now(s, dir, cred, plus, &a->shared, &a->q.key) &&
	    !farm_is_absent(s, &a->q.key, clock_now_us()))
		return a;
	free(a);
	return NULL;
}

/* Asks for one listing now and then while the engine has had none for long, to
 * notice when that changes. */
static void probe(
    struct farm_server *s, const struct node *dir, uint32_t cred, bool plus)
{
	struct learn_shared shared;
	struct farm_key key;

	if (probe_is_due(s, FARM_LISTING) &&
	    listing_now(s, dir, cred, plus, &shared, &key))
		probe_ask(s, FARM_LISTING, &key);
}

enum farm_answer farm_ask_listing(struct farm_server *s, const struct node *dir,
    uint32_t cred, bool plus, bool ahead)
{
	struct fetch_about about = {
	    .proc = NFSPROC3_READDIRPLUS, .cred = cred, .to = UINT64_MAX};
	struct list_ask *a;
	uint64_t us;

	if (!s || !cred ||
	    !(s->p.farm->config->share & CONFIG_SHARE_LISTINGS) ||
	    !grant_read(accesscache_find(s->p.caches->access, dir, cred)))
		return FARM_NO;
	about.object = node_key(dir);
	/* One that is under way is as good. */
	if (fetch_under_way(s->p.fetch, &about) ||
	    !farm_pays(s, LISTING_EXPECT, ahead, &us))
		return FARM_NO;
	if (farm_is_barren(s, FARM_LISTING)) {
		probe(s, dir, cred, plus);
		return FARM_NO;
	}
	a = list_ask_new(s, dir, cred, plus);
	if (!a)
		return FARM_NO;
	a->q.deadline_us = us;
	if (!question_ask(&a->q)) {
		free(a);
		return FARM_NO;
	}
	metrics_add(s->p.metrics, METRICS_FARM_ASKED, 1);
	LIST_INSERT_HEAD(&s->lists, a, link);
	fetch_claim(s->p.fetch, &a->claim, &about);
	return FARM_ASKED;
}

/* Marks a listing that was asked of the server and will be published. */
void farm_list_sent(struct farm_server *s, const struct node *dir,
    uint32_t cred, bool plus, uint64_t sent_us)
{
	struct learn_shared shared;
	struct farm_key key;

	if (cred && (s->p.farm->config->share & CONFIG_SHARE_LISTINGS) &&
	    attrcache_firm(s->p.caches->attr, dir, sent_us) &&
	    listing_now(s, dir, cred, plus, &shared, &key) &&
	    !kept_has(s->p.farm, &key, 1))
		others_mark(s, &key);
}

void farm_list_free(struct farm_server *s)
{
	struct list_ask *a;

	while ((a = LIST_FIRST(&s->lists)) != NULL) {
		question_drop(&a->q);
		LIST_REMOVE(a, link);
		fetch_claim_drop(&a->claim);
		free(a);
	}
}

/* ---- published --------------------------------------------------------- */

/* Whether the server said it of this version of the directory, for good. What
 * was bound before a change of our own holds here for a time only. */
static bool is_sure(const struct known *dir, const struct binding *b)
{
	return b->firm && known_holds(dir, b) &&
	       attrcache_may_fill(dir->caches->attr, dir->node, b->sent_us);
}

/* The entry as the server gave it, with the handle if that is known and of this
 * version of the directory. */
static struct nfs3_dirent entry(
    const struct known *dir, const struct list_entry *le, bool plus)
{
	struct nfs3_dirent e = {
	    .fileid = le->fileid, .name = le->name, .cookie = le->cookie};
	struct named to;

	if (!plus || nfs3_name_is_dots(&le->name))
		return e;
	to = known_name(dir->caches, dir->node, &le->name);
	if (!to.child || !is_sure(dir, &to.bound))
		return e;
	e.handle.handle_follows = TRUE;
	e.handle.post_op_fh3_u.handle = node_fh(to.child);
	return e;
}

/* All entries; their length, or 0 where they do not fit. */
static size_t encode_entries(
    const struct known *dir, const struct listing *l, char *to, size_t room)
{
	bool plus = listing_plus(l);
	struct list_entry le;
	size_t pos = 0;
	XDR xdrs;

	xdrmem_create(&xdrs, to, (unsigned)room, XDR_ENCODE);
	while (listing_next(l, &pos, &le)) {
		struct nfs3_dirent e = entry(dir, &le, plus);

		if (!nfs3_dirent_encode(&xdrs, plus, &e))
			return 0;
	}
	return nfs3_dirlist_end(&xdrs, true) ? xdr_getpos(&xdrs) : 0;
}

/* The results, into farm->plain; 0 where they are too long. The entries are
 * made in farm->sealed, which is not needed before. */
static size_t encode(
    const struct known *dir, const struct listing *l, const struct farm *f)
{
	bool plus = listing_plus(l);
	char *entries = (char *)f->sealed;
	union nfs_res res = {0};
	struct xdr_view list = {.data = entries,
	    .len = (uint32_t)encode_entries(
		dir, l, entries, LISTING_BYTES_MAX - 256)};

	if (list.len == 0)
		return 0;
	if (plus) {
		READDIRPLUS3resok *r = &res.readdirplus.READDIRPLUS3res_u.resok;

		memcpy(r->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		r->reply = list;
	} else {
		READDIR3resok *r = &res.readdir.READDIR3res_u.resok;

		memcpy(r->cookieverf, listing_verf(l), NFS3_COOKIEVERFSIZE);
		r->reply = list;
	}
	return nfs_res_encode(
	    list_proc(plus), &res, f->plain, LISTING_BYTES_MAX);
}

size_t farm_list_publish(
    struct farm_server *s, struct node *dir, uint32_t cred, bool plus)
{
	struct caches *c = s->p.caches;
	struct listing *l = listcache_find(c->lists, dir, cred, plus);
	struct asker who = asker_now(c, cred, clock_now_us());
	struct data_version v = caches_data_version(c, dir);
	nfs3_fh fh = node_fh(dir);
	struct farm_key key;
	struct binding b;
	struct known k;
	size_t n;

	if (!l || !listing_complete(l) ||
	    listing_size_max(l, plus) > LISTING_BYTES_MAX)
		return 0;
	b = listing_binding(l);
	known_node(&k, &who, dir);
	if (!is_sure(&k, &b) || !list_key(s, &fh, &v, cred, plus, &key) ||
	    kept_has(s->p.farm, &key, UINT32_MAX))
		return 0;
	n = encode(&k, l, s->p.farm);
	if (n > 0 && farm_put(s, &key, n))
		kept_note(s->p.farm, &key, UINT32_MAX);
	return n;
}
