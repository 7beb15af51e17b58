/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that says anything in any order: replies about a few handles and
 * names go into the caches, while a small budget throws them out again.
 */
#include "fuzz.h"

#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn.h"

enum { STEP_BYTES = 8, HANDLES = 6, NAMES = 5 };

static const char *const names[NAMES] = {"a", "b", ".", "..", "long-name"};

struct step {
	uint8_t proc, fh, other, name, time, status, flags, sent;
};

static nfs3_fh fh_of(unsigned n)
{
	static const char *const handles[HANDLES] = {
	    "root", "dir", "file-1", "file-2", "link", "other-handle"};

	n %= HANDLES;
	return (nfs3_fh){
	    .len = (uint32_t)strlen(handles[n]), .data = handles[n]};
}

static nfs3_name name_of(unsigned n)
{
	const char *s = names[n % NAMES];

	return (nfs3_name){.len = (uint32_t)strlen(s), .data = s};
}

static post_op_attr attr_of(const struct step *s, unsigned fh)
{
	post_op_attr p = {.attributes_follow = (s->flags & 1) == 0};

	p.post_op_attr_u.attributes =
	    (fattr3){.type = fh % HANDLES < 2 ? NF3DIR : NF3REG,
		.nlink = 1 + (s->flags >> 1 & 1),
		.size = s->time & 3,
		.fsid = s->flags >> 2 & 1,
		.fileid = fh % HANDLES % 5,
		.mtime = {s->time & 7, 1},
		.ctime = {s->time >> 3 & 7, 1}};
	return p;
}

static wcc_data wcc_of(const struct step *s, unsigned fh)
{
	wcc_data w = {.after = attr_of(s, fh)};
	const fattr3 *a = &w.after.post_op_attr_u.attributes;

	w.before.attributes_follow = (s->flags & 8) == 0;
	w.before.pre_op_attr_u.attributes = (wcc_attr){
	    .size = a->size, .mtime = a->mtime, .ctime = {s->time >> 6, 1}};
	return w;
}

static void fill_lookup(const struct step *s, union nfs_res *res)
{
	LOOKUP3resok *r = &res->lookup.LOOKUP3res_u.resok;

	if (res->status != NFS3_OK) {
		res->lookup.LOOKUP3res_u.dir_attributes = attr_of(s, s->fh);
		return;
	}
	r->object = fh_of(s->other);
	r->obj_attributes = attr_of(s, s->other);
	r->dir_attributes = attr_of(s, s->fh);
}

static void fill_newobj(const struct step *s, union nfs_res *res)
{
	newobj3resok *r = &res->newobj.newobj3res_u.resok;

	if (res->status != NFS3_OK) {
		res->newobj.newobj3res_u.dir_wcc = wcc_of(s, s->fh);
		return;
	}
	r->obj.handle_follows = (s->flags & 16) == 0;
	r->obj.post_op_fh3_u.handle = fh_of(s->other);
	r->obj_attributes = attr_of(s, s->other);
	r->dir_wcc = wcc_of(s, s->fh);
}

/* RENAME and LINK are about two objects each. */
static void fill_two(
    const struct step *s, union nfs_args *args, union nfs_res *res)
{
	if (s->proc % 22 == NFSPROC3_RENAME) {
		args->rename.to =
		    (diropargs3){fh_of(s->other), name_of(s->sent)};
		res->rename.fromdir_wcc = wcc_of(s, s->fh);
		res->rename.todir_wcc = wcc_of(s, s->other);
	} else {
		args->link = (LINK3args){
		    fh_of(s->other), {fh_of(s->fh), name_of(s->name)}};
		res->link.file_attributes = attr_of(s, s->other);
		res->link.linkdir_wcc = wcc_of(s, s->fh);
	}
}

static void fill(const struct step *s, union nfs_args *args, union nfs_res *res)
{
	args->dirop = (diropargs3){fh_of(s->fh), name_of(s->name)};
	switch (s->proc % 22) {
	case NFSPROC3_GETATTR:
		res->getattr.GETATTR3res_u.resok.obj_attributes =
		    attr_of(s, s->fh).post_op_attr_u.attributes;
		break;
	case NFSPROC3_LOOKUP:
		fill_lookup(s, res);
		break;
	case NFSPROC3_ACCESS:
		args->access.access = s->other;
		res->access.ACCESS3res_u.resok.obj_attributes =
		    attr_of(s, s->fh);
		break;
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
		fill_newobj(s, res);
		break;
	case NFSPROC3_SETATTR:
		args->setattr.new_attributes.size.set_it = s->other & 1;
		res->wccstat.wcc = wcc_of(s, s->fh);
		break;
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		res->wccstat.wcc = wcc_of(s, s->fh);
		break;
	case NFSPROC3_RENAME:
	case NFSPROC3_LINK:
		fill_two(s, args, res);
		break;
	default:
		break;
	}
}

static void take(struct caches *c, const struct step *s, uint64_t now_us)
{
	static const nfsstat3 statuses[] = {NFS3_OK, NFS3_OK, NFS3ERR_NOENT,
	    NFS3ERR_STALE, NFS3ERR_ACCES, NFS3ERR_IO};
	union nfs_args args;
	union nfs_res res;
	char body[NFS_RES_SMALL_MAX];
	struct xdr_view view = {.data = body};
	struct learn l = {.caches = c,
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, s->proc % 22),
	    .args = &args,
	    .res = &res,
	    .body = &view,
	    .cred = 1 + (s->flags >> 6),
	    .sent_us = now_us - s->sent * UINT64_C(200),
	    .now_us = now_us};

	memset(&args, 0, sizeof(args));
	memset(&res, 0, sizeof(res));
	res.status = statuses[s->status % 6];
	fill(s, &args, &res);
	view.len = (uint32_t)nfs_res_encode(l.proc, &res, body, sizeof(body));
	/* Listings have a view that only a decoder makes. */
	if (s->proc % 22 == NFSPROC3_READDIR ||
	    s->proc % 22 == NFSPROC3_READDIRPLUS)
		return;
	if (s->status > 240 && (l.proc->flags & NFS_PROC_DRC))
		learn_unknown(&l);
	else
		learn_reply(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct config_server config;
	struct metrics *m = metrics_new();
	struct caches *c = m ? caches_new(&config, m, 8 << 10, NULL) : NULL;
	uint64_t now_us = UINT64_C(1) << 40;
	struct step s;

	MUST(c);
	for (; size >= STEP_BYTES; size -= STEP_BYTES, data += STEP_BYTES) {
		memcpy(&s, data, sizeof(s));
		now_us += 1000;
		/* All of it goes at times, some of it always. */
		c->memory_bytes = s.flags & 32 ? 0 : 8 << 10;
		take(c, &s, now_us);
	}
	caches_free(c);
	metrics_free(m);
	return 0;
}
