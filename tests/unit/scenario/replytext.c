/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a reply says, as facts that a scenario can ask for. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nfsproto/nfs3_list.h"
#include "scenario/calltext.h"

static void fact(struct calltext_facts *f, const char *fmt, ...)
{
	va_list ap;

	if (f->n == sizeof(f->list) / sizeof(f->list[0]))
		return;
	va_start(ap, fmt);
	vsnprintf(f->list[f->n++], CALLTEXT_MAX, fmt, ap);
	va_end(ap);
}

static void facts_of_attr(struct calltext_facts *f, const fattr3 *a)
{
	fact(f, "size %ju", (uintmax_t)a->size);
	fact(f, "mode %o", a->mode);
	fact(f, "nlink %u", a->nlink);
}

static void facts_of_post_op(struct calltext_facts *f, const post_op_attr *attr)
{
	if (attr->attributes_follow)
		facts_of_attr(f, &attr->post_op_attr_u.attributes);
	else
		fact(f, "no attributes");
}

static void facts_of_read(struct calltext_facts *f, const READ3resok *r)
{
	facts_of_post_op(f, &r->file_attributes);
	fact(f, "data %.*s", (int)(r->count < 99 ? r->count : 99),
	    r->count > 0 ? r->data.data : "");
	fact(f, "count %u", r->count);
	if (r->eof)
		fact(f, "eof");
}

static void facts_of_list(
    struct calltext_facts *f, const struct xdr_view *list, bool plus)
{
	char names[CALLTEXT_MAX] = "names";
	size_t len = strlen(names);
	struct nfs3_dirent e;
	bool more;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, plus, &e, &more) && more &&
	       len < sizeof(names))
		len += (size_t)snprintf(names + len, sizeof(names) - len,
		    " %.*s", (int)e.name.len, e.name.data);
	fact(f, "%s", len > 5 ? names : "no names");
}

static void facts_of_ok(
    struct calltext_facts *f, uint32_t proc, const union nfs_res *res)
{
	switch (proc) {
	case NFSPROC3_GETATTR:
		facts_of_attr(
		    f, &res->getattr.GETATTR3res_u.resok.obj_attributes);
		break;
	case NFSPROC3_SETATTR:
		facts_of_post_op(f, &res->wccstat.wcc.after);
		break;
	case NFSPROC3_LOOKUP:
		facts_of_post_op(
		    f, &res->lookup.LOOKUP3res_u.resok.obj_attributes);
		break;
	case NFSPROC3_ACCESS:
		fact(f, "access %x", res->access.ACCESS3res_u.resok.access);
		break;
	case NFSPROC3_READLINK:
		fact(f, "target %.*s",
		    (int)res->readlink.READLINK3res_u.resok.data.len,
		    res->readlink.READLINK3res_u.resok.data.data);
		break;
	case NFSPROC3_READ:
		facts_of_read(f, &res->read.READ3res_u.resok);
		break;
	case NFSPROC3_WRITE:
		fact(f, "verifier %d", res->write.WRITE3res_u.resok.verf[0]);
		fact(f, "%s",
		    res->write.WRITE3res_u.resok.committed == UNSTABLE
			? "unstable"
			: "stable");
		break;
	case NFSPROC3_COMMIT:
		fact(f, "verifier %d", res->commit.COMMIT3res_u.resok.verf[0]);
		break;
	case NFSPROC3_LINK:
		facts_of_post_op(f, &res->link.file_attributes);
		break;
	case NFSPROC3_READDIR:
		facts_of_list(
		    f, &res->readdir.READDIR3res_u.resok.reply, false);
		break;
	case NFSPROC3_READDIRPLUS:
		facts_of_list(
		    f, &res->readdirplus.READDIRPLUS3res_u.resok.reply, true);
		break;
	default:
		break;
	}
}

void calltext_facts(const struct nfs_proc *proc, const union nfs_res *res,
    struct calltext_facts *f)
{
	f->n = 0;
	if (!(proc->flags & NFS_PROC_STATUS)) {
		fact(f, "OK");
		return;
	}
	fact(f, "%s", calltext_status_name(res->status));
	if (res->status == NFS3_OK)
		facts_of_ok(f, proc->proc, res);
}
