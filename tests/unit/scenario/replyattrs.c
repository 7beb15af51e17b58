/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects each set of attributes in a reply, so that a judge can look at all.
 */
#include <stdio.h>

#include "nfsproto/nfs3_list.h"
#include "scenario/calltext.h"

void calltext_attr(const post_op_attr *attr, struct calltext_attr *to)
{
	const fattr3 *a = &attr->post_op_attr_u.attributes;

	to->fileid = attr->attributes_follow ? a->fileid : 0;
	snprintf(to->text, sizeof(to->text),
	    "type %d, size %ju, mode %o, nlink %u, uid %u, mtime %u.%09u, "
	    "ctime %u.%09u",
	    (int)a->type, (uintmax_t)a->size, a->mode, a->nlink, a->uid,
	    a->mtime.seconds, a->mtime.nseconds, a->ctime.seconds,
	    a->ctime.nseconds);
}

static void add(struct calltext_facts *f, const post_op_attr *attr)
{
	if (attr->attributes_follow && f->nattrs < CALLTEXT_ATTRS)
		calltext_attr(attr, &f->attrs[f->nattrs++]);
}

/* Those that the result and the failure of a procedure both have: whichever of
 * them `ok` tells. */
#define EITHER(res, name, member)                                              \
	(ok ? &(res)->name##res_u.resok.member : &(res)->name##res_u.member)

static void of_change(
    struct calltext_facts *f, uint32_t proc, const union nfs_res *res)
{
	bool ok = res->status == NFS3_OK;

	switch (proc) {
	case NFSPROC3_SETATTR:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
		add(f, &res->wccstat.wcc.after);
		break;
	case NFSPROC3_WRITE:
		add(f, &EITHER(&res->write, WRITE3, file_wcc)->after);
		break;
	case NFSPROC3_RENAME:
		add(f, &res->rename.fromdir_wcc.after);
		add(f, &res->rename.todir_wcc.after);
		break;
	case NFSPROC3_LINK:
		add(f, &res->link.file_attributes);
		add(f, &res->link.linkdir_wcc.after);
		break;
	case NFSPROC3_COMMIT:
		add(f, &EITHER(&res->commit, COMMIT3, file_wcc)->after);
		break;
	default: /* CREATE, MKDIR, SYMLINK and MKNOD */
		add(f, &EITHER(&res->newobj, newobj3, dir_wcc)->after);
		if (ok)
			add(f, &res->newobj.newobj3res_u.resok.obj_attributes);
	}
}

static void of_entries(struct calltext_facts *f, const struct xdr_view *list)
{
	struct nfs3_dirent e;
	bool more;
	XDR xdrs;

	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more)
		add(f, &e.attributes);
}

static void of_look(
    struct calltext_facts *f, uint32_t proc, const union nfs_res *res)
{
	const READDIRPLUS3res *plus = &res->readdirplus;
	bool ok = res->status == NFS3_OK;

	switch (proc) {
	case NFSPROC3_LOOKUP:
		add(f, EITHER(&res->lookup, LOOKUP3, dir_attributes));
		if (ok)
			add(f, &res->lookup.LOOKUP3res_u.resok.obj_attributes);
		break;
	case NFSPROC3_ACCESS:
		add(f, EITHER(&res->access, ACCESS3, obj_attributes));
		break;
	case NFSPROC3_READLINK:
		add(f, EITHER(&res->readlink, READLINK3, symlink_attributes));
		break;
	case NFSPROC3_READ:
		add(f, EITHER(&res->read, READ3, file_attributes));
		break;
	case NFSPROC3_READDIR:
		add(f, EITHER(&res->readdir, READDIR3, dir_attributes));
		break;
	case NFSPROC3_READDIRPLUS:
		add(f, EITHER(plus, READDIRPLUS3, dir_attributes));
		if (ok)
			of_entries(f, &plus->READDIRPLUS3res_u.resok.reply);
		break;
	case NFSPROC3_FSSTAT:
		add(f, EITHER(&res->fsstat, FSSTAT3, obj_attributes));
		break;
	default:
		break;
	}
}

bool calltext_is_change(const struct nfs_proc *proc)
{
	return proc->proc == NFSPROC3_SETATTR ||
	       (proc->proc >= NFSPROC3_WRITE && proc->proc <= NFSPROC3_LINK) ||
	       proc->proc == NFSPROC3_COMMIT;
}

void calltext_attrs(struct calltext_facts *f, const struct nfs_proc *proc,
    const union nfs_res *res)
{
	post_op_attr attr = {.attributes_follow = TRUE};

	f->nattrs = 0;
	if (proc->prog != NFS_PROGRAM)
		return;
	if (proc->proc == NFSPROC3_GETATTR && res->status == NFS3_OK) {
		attr.post_op_attr_u.attributes =
		    res->getattr.GETATTR3res_u.resok.obj_attributes;
		add(f, &attr);
	} else if (calltext_is_change(proc)) {
		of_change(f, proc->proc, res);
	} else {
		of_look(f, proc->proc, res);
	}
}
