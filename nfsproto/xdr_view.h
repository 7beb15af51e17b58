/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variable-length XDR items as views into the record they came from.
 *
 * xdr_bytes() and xdr_string() allocate what a peer claims before they look
 * at what is there, and copy it. A view is a pointer and a length inside the
 * record instead: bounded, never allocated, never copied, and valid for as
 * long as the record is. The types below stand in nfs3.x, mount3.x and
 * nfsacl3.x where RFC 1813 writes `opaque name<N>` or `string name<N>`.
 *
 * Decoding wants a record that starts on a four-byte boundary, since
 * libtirpc's xdrmem gives pointers only into aligned buffers.
 */
#ifndef FOREFETCH_XDR_VIEW_H
#define FOREFETCH_XDR_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <rpc/rpc.h>

struct xdr_view {
	uint32_t len; /* bytes, without the padding */
	/* Into the record. Where `len` is 0 it is anywhere, and after decoding
	 * not NULL, since memcpy() and memchr() take no NULL. */
	const char *data;
};

/* The longest item of each kind that is decoded. Handles and the items of MOUNT
 * have their bounds from RFC 1813, sections 2.4 and 5.1.4. All others are the
 * proxy's: the RFC leaves names, paths, payloads and lists unbounded. */
enum {
	NFS3_FHSIZE_MAX = 64,
	NFS3_NAME_MAX = 255,
	NFS3_PATH_MAX = 4096, /* Linux takes 4095 */
	MNT3_PATH_MAX = 1024,
	MNT3_NAME_MAX = 255,
	NFS3_DATA_MAX = 1 << 20, /* the largest READ or WRITE carried */
	NFS3_DIR_MAX = 1 << 20,  /* the largest READDIR(PLUS) reply carried */
	NFSACL3_ENTRIES_MAX = 1024,
	MNT3_LIST_MAX = 1 << 20,
	MNT3_FLAVORS_MAX = 32,
};

typedef struct xdr_view nfs3_fh;       /* opaque<NFS3_FHSIZE> */
typedef struct xdr_view nfs3_name;     /* string<255> */
typedef struct xdr_view nfs3_path;     /* string<1024> */
typedef struct xdr_view nfs3_data;     /* the payload of READ and WRITE */
typedef struct xdr_view nfs3_dirlist;  /* entries of READDIR, undecoded */
typedef struct xdr_view nfs3_dirlistp; /* entries of READDIRPLUS, undecoded */
typedef struct xdr_view nfsacl3_list;  /* access control list, undecoded */
typedef struct xdr_view mnt3_path;
typedef struct xdr_view mnt3_flavors; /* words in wire order */
typedef struct xdr_view mnt3_mounts;  /* list of DUMP, undecoded */
typedef struct xdr_view mnt3_exports; /* list of EXPORT, undecoded */

/* Opaque items and strings. Decoding leaves a view, and is FALSE where the item
 * is longer than the bound of its type, or than the record; it costs constant
 * time. Encoding copies the bytes and their padding. */
bool_t xdr_nfs3_fh(XDR *xdrs, nfs3_fh *v);
bool_t xdr_nfs3_name(XDR *xdrs, nfs3_name *v);
bool_t xdr_nfs3_path(XDR *xdrs, nfs3_path *v);
bool_t xdr_mnt3_path(XDR *xdrs, mnt3_path *v);

/*
 * The payload of READ and WRITE. Encoding writes the length alone: the
 * caller sends the bytes and their padding by reference, behind the header.
 */
bool_t xdr_nfs3_data(XDR *xdrs, nfs3_data *v);

/*
 * Lists. Decoding walks the entries in a loop (rpcgen's would recurse, one
 * stack frame an entry), checks every length, and leaves a view of the bytes
 * for the iterators of nfs3_list.h. Encoding copies the bytes.
 */
bool_t xdr_nfs3_dirlist(XDR *xdrs, nfs3_dirlist *v);
bool_t xdr_nfs3_dirlistp(XDR *xdrs, nfs3_dirlistp *v);
bool_t xdr_nfsacl3_list(XDR *xdrs, nfsacl3_list *v);
bool_t xdr_mnt3_flavors(XDR *xdrs, mnt3_flavors *v);
bool_t xdr_mnt3_mounts(XDR *xdrs, mnt3_mounts *v);
bool_t xdr_mnt3_exports(XDR *xdrs, mnt3_exports *v);

/* Bytes of zero padding behind `len` bytes of opaque data (RFC 4506, 4.10). */
static inline uint32_t xdr_pad(uint32_t len)
{
	return (4u - (len & 3u)) & 3u;
}

#endif
