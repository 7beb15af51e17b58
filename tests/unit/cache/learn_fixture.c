/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server's replies as caches learn them; see the header. */
#include "cache/learn_fixture.h"

#include "unittest.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"

static const uint64_t T0 = UINT64_C(1) << 40;

enum { REPLY_BYTES = 32768 };

void set_up(struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 1000, .gid = 1000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->config.policy.consistency = CONFIG_CONSISTENCY_BOUNDED;
	w->config.policy.attr_timeout_us = 3000000;
	w->metrics = metrics_new();
	w->caches = caches_new(&w->config, w->metrics, 64 << 20, NULL);
	w->now_us = T0;
	w->cred = caches_cred(w->caches, &cred, &auth);
	w->version = 1;
}

void tear_down(struct world *w)
{
	caches_free(w->caches);
	metrics_free(w->metrics);
}

uint64_t key_of(const char *fh)
{
	nfs3_fh handle = fh_of(fh);

	return fh_key(&handle);
}

struct node *node_of(struct world *w, const char *fh)
{
	nfs3_fh handle = fh_of(fh);

	return attrcache_find(w->caches->attr, &handle);
}

/* ---- a server's words ------------------------------------------------- */

static post_op_attr post(const struct world *w, ftype3 type, uint64_t fileid)
{
	post_op_attr p = {.attributes_follow = TRUE};
	nfstime3 time = {10, type == NF3DIR ? w->version : 1};

	p.post_op_attr_u.attributes = (fattr3){.type = type,
	    .mode = 0755,
	    .nlink = 1,
	    .size = type == NF3DIR ? 4096 : 100 + fileid,
	    .fsid = 7,
	    .fileid = fileid,
	    .mtime = time,
	    .ctime = time};
	return p;
}

void say(struct world *w, uint32_t proc, const union nfs_args *args,
    const union nfs_res *res)
{
	struct learn l = {.caches = w->caches,
	    .args = args,
	    .res = res,
	    .cred = w->cred,
	    .sent_us = w->now_us};

	w->now_us += 40000;
	l.now_us = w->now_us;
	learn_said(l, proc);
}

void say_attr(struct world *w, const char *fh, ftype3 type, uint64_t fileid)
{
	union nfs_args args = {.object = fh_of(fh)};
	union nfs_res res = {.status = NFS3_OK};

	res.getattr.GETATTR3res_u.resok.obj_attributes =
	    post(w, type, fileid).post_op_attr_u.attributes;
	say(w, NFSPROC3_GETATTR, &args, &res);
}

void say_dir(struct world *w)
{
	say_attr(w, "dir", NF3DIR, 1);
}

void say_name(struct world *w, const char *name, const char *child, ftype3 type)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = name_of(name)}};
	union nfs_res res = {.status = child ? NFS3_OK : NFS3ERR_NOENT};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;

	if (child) {
		r->object = fh_of(child);
		r->obj_attributes = post(w, type, 20);
		r->dir_attributes = post(w, NF3DIR, 1);
	} else {
		res.lookup.LOOKUP3res_u.dir_attributes = post(w, NF3DIR, 1);
	}
	say(w, NFSPROC3_LOOKUP, &args, &res);
}

static void encode_entry(
    const struct world *w, XDR *xdrs, const struct entry *e, uint64_t place)
{
	struct nfs3_dirent d = {.fileid = 30 + place,
	    .name = name_of(e->name),
	    .cookie = 1 + place};

	if (e->fh) {
		if (strcmp(e->name, ".") == 0)
			d.fileid = 1;
		d.attributes = post(w, e->type, d.fileid);
		d.handle.handle_follows = TRUE;
		d.handle.post_op_fh3_u.handle = fh_of(e->fh);
	}
	assert_true(nfs3_dirent_encode(xdrs, true, &d));
}

void say_page(
    struct world *w, const struct entry *e, size_t n, uint64_t from, bool eof)
{
	union nfs_args args = {.readdirplus = {.dir = fh_of("dir")}};
	union nfs_res res = {.status = NFS3_OK};
	READDIRPLUS3resok *r = &res.readdirplus.READDIRPLUS3res_u.resok;
	char list[REPLY_BYTES];
	XDR xdrs;

	args.readdirplus.cookie = from;
	xdrmem_create(&xdrs, list, sizeof(list), XDR_ENCODE);
	for (size_t i = 0; i < n; i++)
		encode_entry(w, &xdrs, &e[i], from + i);
	assert_true(nfs3_dirlist_end(&xdrs, eof));
	r->dir_attributes = post(w, NF3DIR, 1);
	r->cookieverf[0] = w->verf;
	r->reply.data = list;
	r->reply.len = xdr_getpos(&xdrs);
	say(w, NFSPROC3_READDIRPLUS, &args, &res);
}
