/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the table of mounts to what is counted for their file systems. Clients
 * mount paths, and the caches count by file systems, of which several paths may
 * be. */
#include "explain/mountuse.h"

#include <string.h>

#include "cache/caches.h"
#include "nfsproto/nfs_proc.h"

/* Entries of the table that are looked at; each is compared with those before
 * it. */
enum { LOOKED_MAX = 64 };

/* The file system that the answer to a MNT leads to; NULL: not known. */
static const struct fsys *fsys_of(
    struct caches *c, const struct mounttab_entry *e)
{
	const struct nfs_proc *proc =
	    nfs_proc_find(MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT);
	const struct node *node;
	union nfs_res res;

	if (!nfs_res_decode(proc, e->body.data, e->body.len, &res) ||
	    res.mnt.status != MNT3_OK ||
	    res.mnt.MNT3res_u.resok.fhandle.len > NFS3_FHSIZE_MAX)
		return NULL;
	node = attrcache_find(c->attr, &res.mnt.MNT3res_u.resok.fhandle);
	return node && (node->flags & NODE_ATTRS)
		   ? attrcache_fsys(c->attr, node)
		   : NULL;
}

/* Whether an earlier entry is about the same path: one of each credential is
 * kept. */
static bool seen_before(
    const struct caches *c, unsigned i, const struct mounttab_entry *e)
{
	struct mounttab_entry other;

	while (i-- > 0)
		if (mounttab_at(c->mounts, i, &other) &&
		    other.path_len == e->path_len &&
		    memcmp(other.path, e->path, e->path_len) == 0)
			return true;
	return false;
}

/* The row of the file system, made where it is missing; NULL: there are
 * enough. */
static struct mountuse *row_of(
    struct mountuse *rows, size_t *n, const struct fsys *fs)
{
	for (size_t i = 0; i < *n; i++)
		if (rows[i].fsid == fs->fsid)
			return &rows[i];
	if (*n == MOUNTUSE_MAX)
		return NULL;
	rows[*n] = (struct mountuse){.fsid = fs->fsid,
	    .calls = fs->calls,
	    .changes = fs->changes,
	    .asked = fs->asked,
	    .bytes = fs->bytes};
	return &rows[(*n)++];
}

size_t mountuse_list(struct caches *c, struct mountuse rows[MOUNTUSE_MAX])
{
	struct mounttab_entry e;
	size_t n = 0;

	for (unsigned i = 0; i < LOOKED_MAX && mounttab_at(c->mounts, i, &e);
	     i++) {
		const struct fsys *fs = fsys_of(c, &e);
		struct mountuse *row = fs ? row_of(rows, &n, fs) : NULL;

		if (!row || seen_before(c, i, &e))
			continue;
		row->others += row->path != NULL;
		if (row->path)
			continue;
		row->path = e.path;
		row->path_len = e.path_len;
	}
	return n;
}

bool mountuse_take(struct caches *c, uint64_t fsid, struct mountuse *news)
{
	struct fsys *fs = attrcache_find_fsys(c->attr, fsid);

	if (!fs || fs->calls == fs->told.calls)
		return false;
	*news = (struct mountuse){.fsid = fsid,
	    .calls = fs->calls - fs->told.calls,
	    .changes = fs->changes - fs->told.changes,
	    .asked = fs->asked - fs->told.asked,
	    .bytes = fs->bytes - fs->told.bytes};
	fs->told =
	    (struct fsys_told){fs->calls, fs->changes, fs->asked, fs->bytes};
	return true;
}
