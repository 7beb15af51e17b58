/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe of a file system: its limits, the rights that are given in its root,
 * and how fast one of its files is read. It lists the root, and some
 * directories in it, to find a file that is large enough; it reads at most
 * about a MiB, and changes nothing. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/probe_private.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs3_object.h"

/* Bounds of what is asked of a server that people work on. */
enum {
	/* Bytes of the reply to a READDIRPLUS. */
	LIST_BYTES = 32 << 10,
	/* Files that are tried, the largest ones. */
	FILES_MAX = 8,
	/* Directories of the root that are looked into for a larger file. */
	DIRS_MAX = 4,
	/* Bytes of the first READs, from which the rate is guessed. */
	SMALL = 64 << 10,
	/* Bytes of the READs that the rate is measured by, and how long they
	 * may take: what a second brings, but no more than that. */
	RATE_MAX = 1 << 20,
	RATE_US = 1000000,
};

/* A file or a directory of a listing. */
struct candidate {
	unsigned char fh[NFS3_FHSIZE_MAX];
	uint32_t fh_len;
	uint64_t size;
	char name[NFS3_NAME_MAX + 1];
};

/* The entries that may be of use later. */
struct probe_listing {
	struct candidate files[FILES_MAX]; /* by size, the largest first */
	unsigned nfiles;
	struct candidate dirs[DIRS_MAX];
	unsigned ndirs;
	/* A directory that only a uid other than root's may use, by its mode;
	 * its fh_len is 0 where there is none. */
	struct candidate closed;
};

/* Asks a procedure about the root of the export, and notes error and status.
 * True where there are results. */
static bool ask_root(struct probe_facts *f, struct ask *a, uint32_t proc,
    int *err, uint32_t *status, union nfs_res *res)
{
	const union nfs_args args = {
	    .object = {.len = f->fh_len, .data = (char *)f->fh}};

	*err = ask_proc(a, NFS_PROGRAM, proc, &args, res);
	if (!*err)
		*status = res->status;
	return !*err && res->status == NFS3_OK;
}

/* FSINFO, FSSTAT and PATHCONF: how much a call carries, how much room there is,
 * and whether case matters. */
static void ask_limits(struct probe_facts *f, struct ask *a)
{
	union nfs_res res;

	if (ask_root(
		f, a, NFSPROC3_FSINFO, &f->fsinfo_err, &f->fsinfo_status, &res))
		f->fsinfo = res.fsinfo.FSINFO3res_u.resok;
	if (ask_root(
		f, a, NFSPROC3_FSSTAT, &f->fsstat_err, &f->fsstat_status, &res))
		f->fsstat = res.fsstat.FSSTAT3res_u.resok;
	if (ask_root(f, a, NFSPROC3_PATHCONF, &f->pathconf_err,
		&f->pathconf_status, &res))
		f->pathconf = res.pathconf.PATHCONF3res_u.resok;
}

/* Asks for this user's rights in the root. That root may not write in a
 * directory of its own, which its mode lets it, means that it is squashed, or
 * that the export is read-only. */
static void ask_access(struct probe_facts *f, struct ask *a)
{
	union nfs_args args = {
	    .access = {.object = {f->fh_len, (char *)f->fh},
		.access = ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_MODIFY}};
	const ACCESS3resok *ok;
	union nfs_res res;

	f->access_err = ask_proc(a, NFS_PROGRAM, NFSPROC3_ACCESS, &args, &res);
	if (f->access_err)
		return;
	f->access_status = res.status;
	if (res.status != NFS3_OK)
		return;
	ok = &res.access.ACCESS3res_u.resok;
	f->access = ok->access;
	f->has_root = ok->obj_attributes.attributes_follow;
	if (f->has_root)
		f->root = ok->obj_attributes.post_op_attr_u.attributes;
	if (geteuid() != 0 || !f->has_root || f->root.uid != 0 ||
	    (f->root.mode & 022))
		return;
	f->squash =
	    f->access & ACCESS3_MODIFY ? PROBE_SQUASH_NO : PROBE_SQUASH_MAYBE;
}

/* Asks for root's rights in a directory that is another user's alone, which
 * tells the two apart: a squashed root has none there. */
static void ask_closed(
    struct probe_facts *f, struct ask *a, const struct candidate *dir)
{
	union nfs_args args = {
	    .access = {.object = {dir->fh_len, (char *)dir->fh},
		.access = ACCESS3_READ | ACCESS3_LOOKUP}};
	union nfs_res res;

	if (dir->fh_len == 0 || geteuid() != 0 ||
	    f->squash == PROBE_SQUASH_NO ||
	    ask_proc(a, NFS_PROGRAM, NFSPROC3_ACCESS, &args, &res) != 0)
		return;
	if (res.status == NFS3_OK && res.access.ACCESS3res_u.resok.access)
		f->squash = PROBE_SQUASH_NO;
	else
		f->squash = PROBE_SQUASH_YES;
}

/* Copies what outlives the listing. The decoder has checked both lengths. */
static void fill(struct candidate *c, const struct nfs3_dirent *e)
{
	const nfs3_fh *fh = &e->handle.post_op_fh3_u.handle;

	c->fh_len = fh->len;
	memcpy(c->fh, fh->data, fh->len);
	c->size = e->attributes.post_op_attr_u.attributes.size;
	memcpy(c->name, e->name.data, e->name.len);
	c->name[e->name.len] = '\0';
}

/* Keeps the file if it is among the largest; an empty one tells nothing. */
static void note_file(struct probe_listing *l, const struct nfs3_dirent *e)
{
	uint64_t size = e->attributes.post_op_attr_u.attributes.size;
	unsigned at = l->nfiles;

	while (at > 0 && l->files[at - 1].size < size)
		at--;
	if (at == FILES_MAX || size == 0)
		return;
	if (l->nfiles < FILES_MAX)
		l->nfiles++;
	memmove(&l->files[at + 1], &l->files[at],
	    (l->nfiles - at - 1) * sizeof(l->files[0]));
	fill(&l->files[at], e);
}

/* Notes a change at a time that has not come here yet: the clocks differ, or
 * somebody has set the time of a file. The largest such difference is kept.
 * f->fine says that times finer than a second were seen. */
static void note_time(struct probe_facts *f, const nfstime3 *t)
{
	struct timespec now;
	int64_t ahead_us;

	f->fine |= t->nseconds != 0;
	clock_gettime(CLOCK_REALTIME, &now);
	ahead_us = ((int64_t)t->seconds - (int64_t)now.tv_sec) * 1000000 +
		   ((int64_t)t->nseconds - now.tv_nsec) / 1000;
	if (ahead_us > 0 && ahead_us > f->future_us) {
		f->future = true;
		f->future_us = ahead_us;
	}
}

/* Takes account of an entry. Without attributes and a handle, which a server
 * need not send (RFC 1813 section 3.3.17), it is only counted. */
static void note_entry(
    struct probe_facts *f, struct probe_listing *l, const struct nfs3_dirent *e)
{
	const fattr3 *attr = &e->attributes.post_op_attr_u.attributes;

	f->entries++;
	if (!e->attributes.attributes_follow || !e->handle.handle_follows ||
	    e->handle.post_op_fh3_u.handle.len == 0)
		return;
	note_time(f, &attr->ctime);
	if (attr->type == NF3REG)
		note_file(l, e);
	if (attr->type != NF3DIR || nfs3_name_is_dots(&e->name))
		return;
	if (attr->uid != 0 && (attr->mode & 077) == 0 && !l->closed.fh_len)
		fill(&l->closed, e);
	else if (l->ndirs < DIRS_MAX)
		fill(&l->dirs[l->ndirs++], e);
}

/* Lists the first entries of a directory: 0 or an errno, and `*status`. The
 * entries are decoded as they are in the reply, so nothing of them is kept but
 * the candidates. */
static int list_dir(struct probe_facts *f, struct ask *a,
    struct probe_listing *l, const void *fh, uint32_t fh_len, uint32_t *status)
{
	union nfs_args args = {.readdirplus = {.dir = {fh_len, fh},
				   .dircount = LIST_BYTES / 4,
				   .maxcount = LIST_BYTES}};
	struct nfs3_dirent e;
	union nfs_res res;
	bool more;
	XDR xdrs;
	int err;

	err = ask_proc(a, NFS_PROGRAM, NFSPROC3_READDIRPLUS, &args, &res);
	*status = err ? 0 : res.status;
	if (err || res.status != NFS3_OK)
		return err;
	nfs3_list_open(&xdrs, &res.readdirplus.READDIRPLUS3res_u.resok.reply);
	while (memset(&e, 0, sizeof(e)),
	    nfs3_dirent_decode(&xdrs, true, &e, &more) && more)
		note_entry(f, l, &e);
	return 0;
}

/* A READ of `count` bytes: 0 or an errno; the status is in `res`. */
static int read_at(struct ask *a, const struct candidate *c, uint64_t offset,
    uint32_t count, union nfs_res *res)
{
	union nfs_args args = {.read = {.file = {c->fh_len, (char *)c->fh},
				   .offset = offset,
				   .count = count}};

	return ask_proc(a, NFS_PROGRAM, NFSPROC3_READ, &args, res);
}

/* Reads the first bytes of a file, which compare_read() in check_server.c
 * compares later. False: another file is to be tried. */
static bool read_file(
    struct probe_facts *f, struct ask *a, const struct candidate *c)
{
	const READ3resok *ok;
	union nfs_res res;

	f->read_err = read_at(a, c, 0, PROBE_DATA_MAX, &res);
	if (f->read_err)
		return false;
	f->read_status = res.status;
	if (res.status != NFS3_OK)
		return false;
	ok = &res.read.READ3res_u.resok;
	f->data_len = ok->data.len;
	if (f->data_len > 0)
		memcpy(f->data, ok->data.data, f->data_len);
	f->file_fh_len = c->fh_len;
	memcpy(f->file_fh, c->fh, c->fh_len);
	memcpy(f->file, c->name, sizeof(f->file));
	f->file_size = c->size;
	return true;
}

/* Reads `total` bytes with all calls under way at once, as a client does that
 * reads ahead, and notes how many bytes came and how long it took, in
 * microseconds. 0 or an errno. */
static int read_many(struct ask *a, const struct candidate *c, uint64_t offset,
    uint32_t chunk, uint64_t total, uint64_t *bytes, uint64_t *us)
{
	uint64_t start = clock_now_us();
	unsigned calls = 0;
	union nfs_args args = {
	    .read = {.file = {c->fh_len, (char *)c->fh}, .count = chunk}};
	struct rpc_reply reply;
	union nfs_res res;
	int err = 0;

	*bytes = 0;
	for (; calls * (uint64_t)chunk < total && !err; calls++) {
		args.read.offset = offset + calls * (uint64_t)chunk;
		err = ask_proc_send(a, NFS_PROGRAM, NFSPROC3_READ, &args);
	}
	for (; calls > 0 && !err; calls--) {
		err = ask_receive(a, &reply);
		if (!err)
			err = ask_proc_results(
			    NFS_PROGRAM, NFSPROC3_READ, &args, &reply, &res);
		if (!err && res.status == NFS3_OK)
			*bytes += res.read.READ3res_u.resok.count;
	}
	*us = clock_now_us() - start;
	return err;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Takes the rate of bytes that came within `us`, of which a round trip was
 * waiting. Where the waiting is most of it, all that is known is a lower
 * bound. */
static void note_rate(struct probe_facts *f, uint64_t bytes, uint64_t us)
{
	uint64_t rtt = f->rtt_min_us;

	f->rate_bytes = bytes;
	f->rate_bound = us < rtt + us / 4 + 1;
	f->rate_us = f->rate_bound ? us + 1 : us - rtt;
}

/* Measures twice: a little first, and then as much as comes within about a
 * second at that rate, so that a slow link is not busy for long, and a fast one
 * is measured long enough. */
static void measure_rate(
    struct probe_facts *f, struct ask *a, const struct candidate *c)
{
	uint64_t bytes, us, total;
	uint32_t chunk = SMALL;

	if (f->fsinfo.rtmax >= 4096 && f->fsinfo.rtmax < chunk)
		chunk = f->fsinfo.rtmax;
	if (c->size < 2 * SMALL ||
	    read_many(a, c, 0, chunk, SMALL, &bytes, &us) || bytes == 0)
		return;
	note_rate(f, bytes, us);
	/* Now it asks for as much more as a second may bring. */
	total = least(
	    least(RATE_MAX, c->size - SMALL), bytes * RATE_US / f->rate_us);
	if (total < chunk ||
	    read_many(a, c, SMALL, chunk, total, &bytes, &us) || bytes == 0)
		return;
	note_rate(f, bytes, us);
}

/* Looks into directories of the root only where the root has no large file. */
static void find_file(
    struct probe_facts *f, struct ask *a, struct probe_listing *l)
{
	uint32_t status;

	f->list_err = list_dir(f, a, l, f->fh, f->fh_len, &f->list_status);
	if (f->list_err)
		return;
	for (unsigned i = 0; i < l->ndirs; i++) {
		if (l->nfiles > 0 && l->files[0].size >= 2 * SMALL)
			break;
		(void)list_dir(
		    f, a, l, l->dirs[i].fh, l->dirs[i].fh_len, &status);
	}
	ask_closed(f, a, &l->closed);
	for (unsigned i = 0; i < l->nfiles; i++) {
		if (!read_file(f, a, &l->files[i]))
			continue;
		measure_rate(f, a, &l->files[i]);
		return;
	}
}

/* Errors are in the facts; without memory or a connection there are none. */
void probe_files(struct probe_facts *f)
{
	struct probe_listing *l;
	struct ask *a;
	int err;

	if (f->fh_len == 0)
		return;
	l = calloc(1, sizeof(*l));
	a = l ? probe_open_nfs(f, &err) : NULL;
	if (a) {
		ask_limits(f, a);
		ask_access(f, a);
		find_file(f, a, l);
	}
	ask_close(a);
	free(l);
}
