/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views: bounded, allocation-free decoding of variable-length items. */
#include "nfsproto/xdr_view.h"

#include "nfsproto/nfs3_list.h"

/* Step over `len` bytes and their padding; false where they are not there. */
static bool view_take(XDR *xdrs, uint32_t len, const char **data)
{
	*data = "";
	if (len == 0)
		return true;
	/* xdrmem's inline reads the sum; `len` is bounded by the callers. */
	*data = (const char *)xdr_inline(xdrs, len + xdr_pad(len));
	return *data != NULL;
}

/* Writes the bytes of the view and their padding. */
static bool view_copy(XDR *xdrs, const struct xdr_view *v)
{
	/* xdr_opaque() only reads from its argument while encoding. */
	return xdr_opaque(xdrs, (char *)(uintptr_t)v->data, v->len);
}

/* Decodes or encodes an opaque item of at most `max` bytes. The bound comes
 * first: a length near 2^32 would overflow with its padding. */
static bool_t view_opaque(XDR *xdrs, struct xdr_view *v, uint32_t max)
{
	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(xdrs, &v->len) || v->len > max)
		return FALSE;
	if (xdrs->x_op == XDR_ENCODE)
		return view_copy(xdrs, v);
	return view_take(xdrs, v->len, &v->data);
}

bool_t xdr_nfs3_fh(XDR *xdrs, nfs3_fh *v)
{
	return view_opaque(xdrs, v, NFS3_FHSIZE_MAX);
}

bool_t xdr_nfs3_name(XDR *xdrs, nfs3_name *v)
{
	return view_opaque(xdrs, v, NFS3_NAME_MAX);
}

bool_t xdr_nfs3_path(XDR *xdrs, nfs3_path *v)
{
	return view_opaque(xdrs, v, NFS3_PATH_MAX);
}

bool_t xdr_mnt3_path(XDR *xdrs, mnt3_path *v)
{
	return view_opaque(xdrs, v, MNT3_PATH_MAX);
}

bool_t xdr_nfs3_data(XDR *xdrs, nfs3_data *v)
{
	if (xdrs->x_op == XDR_ENCODE)
		return v->len <= NFS3_DATA_MAX && xdr_u_int(xdrs, &v->len);
	return view_opaque(xdrs, v, NFS3_DATA_MAX);
}

/* `count` items of `size` bytes each, led by the count. */
static bool_t view_array(
    XDR *xdrs, struct xdr_view *v, uint32_t max, uint32_t size)
{
	uint32_t count = v->len / size;

	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	if (!xdr_u_int(xdrs, &count) || count > max)
		return FALSE;
	if (xdrs->x_op == XDR_ENCODE)
		return view_copy(xdrs, v);
	v->len = count * size;
	return view_take(xdrs, v->len, &v->data);
}

bool_t xdr_nfsacl3_list(XDR *xdrs, nfsacl3_list *v)
{
	return view_array(xdrs, v, NFSACL3_ENTRIES_MAX, NFSACL3_ENTRY_BYTES);
}

bool_t xdr_mnt3_flavors(XDR *xdrs, mnt3_flavors *v)
{
	return view_array(xdrs, v, MNT3_FLAVORS_MAX, 4);
}

/*
 * Walk a list with `next` and leave a view of its bytes in `v`, from the
 * first "another entry follows" to the last word (the end mark or `eof`).
 */
typedef bool (*walk_fn)(XDR *xdrs, bool *more);

static bool_t view_list(
    XDR *xdrs, struct xdr_view *v, uint32_t max, walk_fn next)
{
	uint32_t start = xdr_getpos(xdrs), end;
	bool more = true;

	if (xdrs->x_op == XDR_FREE)
		return TRUE;
	if (xdrs->x_op == XDR_ENCODE)
		return v->len <= max && view_copy(xdrs, v);
	while (more) {
		if (!next(xdrs, &more))
			return FALSE;
		if (xdr_getpos(xdrs) - start > max)
			return FALSE;
	}
	end = xdr_getpos(xdrs);
	if (!xdr_setpos(xdrs, start))
		return FALSE;
	v->len = end - start;
	return view_take(xdrs, v->len, &v->data);
}

static bool walk_dir(XDR *xdrs, bool *more)
{
	struct nfs3_dirent e;

	return nfs3_dirent_decode(xdrs, false, &e, more);
}

static bool walk_dirplus(XDR *xdrs, bool *more)
{
	struct nfs3_dirent e;

	return nfs3_dirent_decode(xdrs, true, &e, more);
}

static bool walk_mounts(XDR *xdrs, bool *more)
{
	struct mnt3_mount m;

	return mnt3_mount_decode(xdrs, &m, more);
}

static bool walk_exports(XDR *xdrs, bool *more)
{
	struct mnt3_export e;

	return mnt3_export_decode(xdrs, &e, more);
}

bool_t xdr_nfs3_dirlist(XDR *xdrs, nfs3_dirlist *v)
{
	return view_list(xdrs, v, NFS3_DIR_MAX, walk_dir);
}

bool_t xdr_nfs3_dirlistp(XDR *xdrs, nfs3_dirlistp *v)
{
	return view_list(xdrs, v, NFS3_DIR_MAX, walk_dirplus);
}

bool_t xdr_mnt3_mounts(XDR *xdrs, mnt3_mounts *v)
{
	return view_list(xdrs, v, MNT3_LIST_MAX, walk_mounts);
}

bool_t xdr_mnt3_exports(XDR *xdrs, mnt3_exports *v)
{
	return view_list(xdrs, v, MNT3_LIST_MAX, walk_exports);
}
