/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iterators over the lists of READDIR, READDIRPLUS, DUMP and EXPORT.
 *
 * A list in XDR is a chain: TRUE, entry, TRUE, entry, … FALSE. Each decoder
 * reads one link: `*more` is false at the end of the chain, and then the
 * entry is not filled. All of them return false on malformed input.
 *
 *	nfs3_list_open(&xdrs, &res.reply);
 *	while (nfs3_dirent_decode(&xdrs, true, &e, &more) && more)
 *		use(&e);
 */
#ifndef FOREFETCH_NFS3_LIST_H
#define FOREFETCH_NFS3_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "nfsproto/nfs3.h"

/* An aclent of NFSACL: type, id and permissions, a word each. */
enum { NFSACL3_ENTRY_BYTES = 12 };

/* entry3 and entryplus3, RFC 1813 sections 3.3.16 and 3.3.17. */
struct nfs3_dirent {
	uint64_t fileid;
	nfs3_name name;
	uint64_t cookie;
	post_op_attr attributes; /* READDIRPLUS only */
	post_op_fh3 handle;      /* READDIRPLUS only */
};

/* mountbody, section 5.2.2. */
struct mnt3_mount {
	struct xdr_view hostname;
	mnt3_path directory;
};

/* exportnode, section 5.2.5; the groups are left as they are. */
struct mnt3_export {
	mnt3_path dir;
	struct xdr_view raw; /* the whole link, from its TRUE on */
};

/* Opens a decoding stream over a list's view. */
void nfs3_list_open(XDR *xdrs, const struct xdr_view *list);

/*
 * The link behind the last entry of a READDIR(PLUS) carries `eof`: when
 * `*more` turns false, nfs3_dirlist_eof() tells it from the list's view.
 */
bool nfs3_dirent_decode(
    XDR *xdrs, bool plus, struct nfs3_dirent *e, bool *more);
/* Whether the list goes to the end of the directory, by its last word. */
bool nfs3_dirlist_eof(const struct xdr_view *list);

/* Encode one link of a list, and what ends it; false where there is no room. */
bool nfs3_dirent_encode(XDR *xdrs, bool plus, struct nfs3_dirent *e);
bool nfs3_dirlist_end(XDR *xdrs, bool eof);
/* Returns the bytes that such a link takes, so that a reply can be filled up to
 * its bound without trying. */
size_t nfs3_dirent_size(bool plus, const struct nfs3_dirent *e);
enum { NFS3_DIRLIST_END_SIZE = 8 };

/* Decode one link of the list of DUMP, and of EXPORT. */
bool mnt3_mount_decode(XDR *xdrs, struct mnt3_mount *m, bool *more);
bool mnt3_export_decode(XDR *xdrs, struct mnt3_export *e, bool *more);

#endif
