/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subjects of calls, by which others find them in the table (fetch.h). */
#include <xxhash.h>

#include "nfsproto/nfs3_object.h"
#include "upstream/fetch.h"

/* A listing is expected to have no more bytes than this. */
enum { LISTING_BYTES = 4096 };

/* Clients leave room for much more than most directories have. */
static uint32_t list_bytes(uint32_t room)
{
	return room < LISTING_BYTES ? room : LISTING_BYTES;
}

struct fetch_about fetch_about_call(
    const struct nfs_proc *proc, const union nfs_args *args, uint32_t cred)
{
	struct fetch_about a = {
	    .proc = proc->proc, .cred = cred, .reply_bytes = FETCH_REPLY_BYTES};

	if (proc->prog == NFSACL_PROGRAM && proc->proc == NFSACLPROC3_GETACL) {
		a.object = fh_key(&args->getacl.object);
		a.proc = FETCH_GETACL;
		a.from = a.to = args->getacl.mask;
		return a;
	}
	if (proc->prog != NFS_PROGRAM || proc->proc == NFSPROC3_NULL)
		return a;
	/* Of changes, only those of a file's contents are looked for. */
	if ((proc->flags & NFS_PROC_DRC) && proc->proc != NFSPROC3_WRITE &&
	    proc->proc != NFSPROC3_SETATTR)
		return a;
	/* The handle stands first in all of them. */
	a.object = fh_key(&args->object);
	if (proc->proc == NFSPROC3_READ) {
		a.from = args->read.offset;
		a.to = args->read.offset + args->read.count;
		a.reply_bytes += args->read.count;
	} else if (proc->proc == NFSPROC3_LOOKUP) {
		a.from = a.to =
		    XXH3_64bits(args->dirop.name.data, args->dirop.name.len);
	} else if (proc->proc == NFSPROC3_READDIR) {
		a.from = a.to = args->readdir.cookie;
		a.reply_bytes += list_bytes(args->readdir.count);
	} else if (proc->proc == NFSPROC3_READDIRPLUS) {
		a.from = a.to = args->readdirplus.cookie;
		a.reply_bytes += list_bytes(args->readdirplus.maxcount);
	}
	return a;
}
