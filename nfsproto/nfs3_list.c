/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of READDIR, READDIRPLUS, DUMP and EXPORT, one link at a time: in a
 * loop and not by recursion, because a peer chooses how long a list is. */
#include "nfsproto/nfs3_list.h"

#include <string.h>

void nfs3_list_open(XDR *xdrs, const struct xdr_view *list)
{
	/* xdrmem_create() takes a plain pointer but only reads on DECODE. */
	xdrmem_create(
	    xdrs, (char *)(uintptr_t)list->data, list->len, XDR_DECODE);
}

/* Reads whether one more link follows. */
static bool list_more(XDR *xdrs, bool *more)
{
	uint32_t follows;

	if (!xdr_u_int(xdrs, &follows))
		return false;
	*more = follows != 0;
	return true;
}

bool nfs3_dirent_decode(XDR *xdrs, bool plus, struct nfs3_dirent *e, bool *more)
{
	uint32_t eof;

	if (!list_more(xdrs, more))
		return false;
	if (!*more)
		return xdr_u_int(xdrs, &eof);
	if (!xdr_u_int64_t(xdrs, &e->fileid) ||
	    !xdr_nfs3_name(xdrs, &e->name) || !xdr_u_int64_t(xdrs, &e->cookie))
		return false;
	if (!plus)
		return true;
	return xdr_post_op_attr(xdrs, &e->attributes) &&
	       xdr_post_op_fh3(xdrs, &e->handle);
}

bool nfs3_dirent_encode(XDR *xdrs, bool plus, struct nfs3_dirent *e)
{
	uint32_t follows = TRUE;

	return xdr_u_int(xdrs, &follows) && xdr_u_int64_t(xdrs, &e->fileid) &&
	       xdr_nfs3_name(xdrs, &e->name) &&
	       xdr_u_int64_t(xdrs, &e->cookie) &&
	       (!plus || (xdr_post_op_attr(xdrs, &e->attributes) &&
			     xdr_post_op_fh3(xdrs, &e->handle)));
}

bool nfs3_dirlist_end(XDR *xdrs, bool eof)
{
	uint32_t more = FALSE, end = eof;

	return xdr_u_int(xdrs, &more) && xdr_u_int(xdrs, &end);
}

/* Bytes of an opaque item with its length and its padding. */
static size_t opaque_size(uint32_t len)
{
	return (size_t)4 + len + xdr_pad(len);
}

size_t nfs3_dirent_size(bool plus, const struct nfs3_dirent *e)
{
	/* Four-byte words and padding of fattr3, RFC 1813 section 2.5. */
	enum { FATTR_SIZE = 84 };
	size_t size = 4u + 8u + opaque_size(e->name.len) + 8u;

	if (!plus)
		return size;
	size += e->attributes.attributes_follow ? 8u + FATTR_SIZE : 8u;
	if (e->handle.handle_follows)
		size += opaque_size(e->handle.post_op_fh3_u.handle.len);
	return size;
}

bool nfs3_dirlist_eof(const struct xdr_view *list)
{
	static const char zero[4];

	return list->len >= 4 &&
	       memcmp(list->data + list->len - 4, zero, sizeof(zero)) != 0;
}

bool mnt3_mount_decode(XDR *xdrs, struct mnt3_mount *m, bool *more)
{
	if (!list_more(xdrs, more))
		return false;
	if (!*more)
		return true;
	return xdr_nfs3_name(xdrs, &m->hostname) &&
	       xdr_mnt3_path(xdrs, &m->directory);
}

/* Steps over the groups of an export, which are passed on as they are. */
static bool export_groups(XDR *xdrs)
{
	struct xdr_view group;
	bool more;

	do {
		if (!list_more(xdrs, &more))
			return false;
		if (more && !xdr_nfs3_name(xdrs, &group))
			return false;
	} while (more);
	return true;
}

bool mnt3_export_decode(XDR *xdrs, struct mnt3_export *e, bool *more)
{
	uint32_t start = xdr_getpos(xdrs), end;

	if (!list_more(xdrs, more))
		return false;
	if (!*more)
		return true;
	if (!xdr_mnt3_path(xdrs, &e->dir) || !export_groups(xdrs))
		return false;
	end = xdr_getpos(xdrs);
	if (!xdr_setpos(xdrs, start))
		return false;
	e->raw.len = end - start;
	e->raw.data = (const char *)xdr_inline(xdrs, e->raw.len);
	return e->raw.data != NULL;
}
