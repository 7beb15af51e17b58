/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies are told here as facts that a scenario can ask for. */
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
	char data[500] = "";

	facts_of_post_op(f, &r->file_attributes);
	for (unsigned i = 0; i < r->count && i < sizeof(data) - 1; i++)
		data[i] = r->data.data[i] ? r->data.data[i] : '.';
	fact(f, "data %s", data);
	fact(f, "count %u", r->count);
	if (r->eof)
		fact(f, "eof");
}

static void add_entry(struct calltext_facts *f, const struct nfs3_dirent *from)
{
	const nfs3_fh *fh = &from->handle.post_op_fh3_u.handle;
	struct calltext_entry *e;

	if (!from->handle.handle_follows || f->nentries == MEMFS_NAMES)
		return;
	e = &f->entries[f->nentries++];
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%.*s", (int)from->name.len,
	    from->name.data);
	snprintf(e->handle, sizeof(e->handle), "%.*s", (int)fh->len, fh->data);
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
	       len < sizeof(names)) {
		len += (size_t)snprintf(names + len, sizeof(names) - len,
		    " %.*s", (int)e.name.len, e.name.data);
		if (plus)
			add_entry(f, &e);
	}
	fact(f, "%s", len > 5 ? names : "no names");
}

static void facts_of_write(struct calltext_facts *f, const WRITE3resok *r)
{
	fact(f, "verifier %d", r->verf[0]);
	fact(f, "%s", r->committed == UNSTABLE ? "unstable" : "stable");
}

static void facts_of_room(struct calltext_facts *f, const FSSTAT3resok *r)
{
	fact(f, "%ju bytes free", (uintmax_t)r->fbytes);
	fact(f, "%ju files free", (uintmax_t)r->ffiles);
}

static void facts_of_target(struct calltext_facts *f, const READLINK3resok *r)
{
	fact(f, "target %.*s", (int)r->data.len, r->data.data);
}

/* Those whose success says no more than attributes of the object. */
static const post_op_attr *attr_of(uint32_t proc, const union nfs_res *res)
{
	switch (proc) {
	case NFSPROC3_SETATTR:
		return &res->wccstat.wcc.after;
	case NFSPROC3_LOOKUP:
		return &res->lookup.LOOKUP3res_u.resok.obj_attributes;
	case NFSPROC3_LINK:
		return &res->link.file_attributes;
	default:
		return NULL;
	}
}

static void facts_of_ok(
    struct calltext_facts *f, uint32_t proc, const union nfs_res *res)
{
	const post_op_attr *attr = attr_of(proc, res);

	if (proc == NFSPROC3_LOOKUP)
		fact(f, "handle %.*s",
		    (int)res->lookup.LOOKUP3res_u.resok.object.len,
		    res->lookup.LOOKUP3res_u.resok.object.data);
	if (attr)
		facts_of_post_op(f, attr);
	else if (proc == NFSPROC3_GETATTR)
		facts_of_attr(
		    f, &res->getattr.GETATTR3res_u.resok.obj_attributes);
	else if (proc == NFSPROC3_ACCESS)
		fact(f, "access %x", res->access.ACCESS3res_u.resok.access);
	else if (proc == NFSPROC3_READLINK)
		facts_of_target(f, &res->readlink.READLINK3res_u.resok);
	else if (proc == NFSPROC3_READ)
		facts_of_read(f, &res->read.READ3res_u.resok);
	else if (proc == NFSPROC3_WRITE)
		facts_of_write(f, &res->write.WRITE3res_u.resok);
	else if (proc == NFSPROC3_FSSTAT)
		facts_of_room(f, &res->fsstat.FSSTAT3res_u.resok);
	else if (proc == NFSPROC3_COMMIT)
		fact(f, "verifier %d", res->commit.COMMIT3res_u.resok.verf[0]);
	else if (proc == NFSPROC3_READDIR)
		facts_of_list(
		    f, &res->readdir.READDIR3res_u.resok.reply, false);
	else if (proc == NFSPROC3_READDIRPLUS)
		facts_of_list(
		    f, &res->readdirplus.READDIRPLUS3res_u.resok.reply, true);
}

void calltext_facts(const struct nfs_proc *proc, const union nfs_res *res,
    struct calltext_facts *f)
{
	f->n = f->nentries = 0;
	if (proc->prog == NFS_PROGRAM)
		calltext_attrs(f, proc, res);
	if (!(proc->flags & NFS_PROC_STATUS)) {
		fact(f, "OK");
		return;
	}
	fact(f, "%s", calltext_status_name(res->status));
	if (res->status == NFS3_OK && proc->prog == NFS_PROGRAM)
		facts_of_ok(f, proc->proc, res);
}

void calltext_one_fact(struct calltext_facts *f, const char *text)
{
	f->n = f->nentries = f->nattrs = 0;
	fact(f, "%s", text);
}

bool calltext_begin_alike(
    const struct calltext_facts *a, const struct calltext_facts *b, unsigned n)
{
	if (a->n < n || b->n < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (strcmp(a->list[i], b->list[i]) != 0)
			return false;
	return true;
}

bool calltext_same_facts(
    const struct calltext_facts *a, const struct calltext_facts *b)
{
	return a->n == b->n && calltext_begin_alike(a, b, a->n);
}

void calltext_say_facts(const struct calltext_facts *f, char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < f->n && len < size; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%.60s",
		    i > 0 ? ", " : "", f->list[i]);
}
