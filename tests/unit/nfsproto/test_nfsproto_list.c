/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of READDIR, READDIRPLUS, DUMP and EXPORT, link by link. */
#include "unittest.h"
#include "nfsproto/nfs3_list.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/nfsproto_wire.h"

static void put_entry(struct wire *w, uint32_t i, bool plus)
{
	char name[32];

	snprintf(name, sizeof(name), "file-%u", i);
	wire_u32(w, 1);
	wire_u64(w, 1000000007ull * (i + 1));
	wire_opaque(w, name, strlen(name));
	wire_u64(w, i + 3);
	if (plus)
		wire_spell(w, i % 2 ? "a u:1 o:28" : "A u:0");
}

static void put_dir(struct wire *w, uint32_t count, bool plus, uint32_t eof)
{
	wire_spell(w, "u:0 a v:1");
	for (uint32_t i = 0; i < count; i++)
		put_entry(w, i, plus);
	wire_u32(w, 0);
	wire_u32(w, eof);
}

static const struct xdr_view *dir_view(const union nfs_res *res, bool plus)
{
	return plus ? &res->readdirplus.READDIRPLUS3res_u.resok.reply
		    : &res->readdir.READDIR3res_u.resok.reply;
}

static void check_entry(const struct nfs3_dirent *e, uint32_t i, bool plus)
{
	char name[32];

	snprintf(name, sizeof(name), "file-%u", i);
	assert_int_equal(e->fileid, 1000000007ull * (i + 1));
	assert_int_equal(e->name.len, strlen(name));
	assert_memory_equal(e->name.data, name, strlen(name));
	assert_int_equal(e->cookie, i + 3);
	if (!plus)
		return;
	assert_int_equal(e->attributes.attributes_follow, i % 2);
	assert_int_equal(e->handle.handle_follows, i % 2);
	if (i % 2)
		assert_int_equal(e->handle.post_op_fh3_u.handle.len, 28);
}

static void walk_dir(uint32_t count, bool plus, bool eof)
{
	const struct nfs_proc *p = nfs_proc_find(100003, 3, plus ? 17 : 16);
	const struct xdr_view *list;
	struct nfs3_dirent e;
	ENDS_BY(wire_free) struct wire w = {0};
	union nfs_res res;
	uint32_t n = 0;
	bool more;
	FREED void *data;
	XDR xdrs;

	put_dir(&w, count, plus, eof);
	data = wire_copy(w.data, w.len);
	assert_true(nfs_res_decode(p, data, w.len, &res));
	list = dir_view(&res, plus);
	assert_int_equal(nfs3_dirlist_eof(list), eof);
	nfs3_list_open(&xdrs, list);
	while (nfs3_dirent_decode(&xdrs, plus, &e, &more) && more)
		check_entry(&e, n++, plus);
	assert_false(more);
	assert_int_equal(n, count);
	assert_int_equal(xdr_getpos(&xdrs), list->len);
	assert_false(nfs3_dirent_decode(&xdrs, plus, &e, &more));
	assert_int_equal(nfs_res_encode(p, &res, w.data, w.size), w.len);
	assert_memory_equal(w.data, data, w.len);
}

TEST(directories)
{
	static const uint32_t counts[] = {0, 1, 2, 5000};

	for (int i = 0; i < 16; i++)
		walk_dir(counts[i / 4], i & 1, i & 2);
}

TEST(directories_cut_are_refused)
{
	for (uint32_t plus = 0; plus < 2; plus++) {
		const struct nfs_proc *p = nfs_proc_find(100003, 3, 16 + plus);
		ENDS_BY(wire_free) struct wire w = {0};
		union nfs_res res;

		put_dir(&w, 12, plus, 1);
		for (size_t len = 0; len < w.len; len++) {
			FREED void *cut = wire_copy(w.data, len);

			assert_false(nfs_res_decode(p, cut, len, &res));
		}
	}
}

TEST(directory_beyond_a_mebibyte_is_refused)
{
	const struct nfs_proc *p = nfs_proc_find(100003, 3, 16);
	ENDS_BY(wire_free) struct wire w = {0};
	union nfs_res res;
	uint32_t i = 0;

	wire_spell(&w, "u:0 A v:1");
	while (w.len <= NFS3_DIR_MAX + 64)
		put_entry(&w, i++, false);
	wire_u64(&w, 1);
	assert_false(nfs_res_decode(p, w.data, w.len, &res));
}

TEST(eof_of_no_list)
{
	struct xdr_view none = {0, NULL};

	assert_false(nfs3_dirlist_eof(&none));
}

static void assert_view(const struct xdr_view *v, const char *text)
{
	assert_int_equal(v->len, strlen(text));
	assert_memory_equal(v->data, text, v->len);
}

TEST(mounts)
{
	const struct nfs_proc *p = nfs_proc_find(100005, 3, 2);
	struct mnt3_mount m;
	ENDS_BY(wire_free) struct wire w = {0};
	union nfs_res res;
	bool more;
	XDR xdrs;

	wire_spell(&w, "u:1 n:host n:/home u:1 n:h2 n:/src/linux u:0");
	assert_true(nfs_res_decode(p, w.data, w.len, &res));
	nfs3_list_open(&xdrs, &res.dump.mounts);
	assert_true(mnt3_mount_decode(&xdrs, &m, &more) && more);
	assert_view(&m.hostname, "host");
	assert_view(&m.directory, "/home");
	assert_true(mnt3_mount_decode(&xdrs, &m, &more) && more);
	assert_view(&m.hostname, "h2");
	assert_view(&m.directory, "/src/linux");
	assert_true(mnt3_mount_decode(&xdrs, &m, &more) && !more);
	assert_false(mnt3_mount_decode(&xdrs, &m, &more));
}

TEST(exports)
{
	const struct nfs_proc *p = nfs_proc_find(100005, 3, 5);
	ENDS_BY(wire_free) struct wire w = {0}, link = {0};
	struct mnt3_export e;
	union nfs_res res;
	bool more;
	XDR xdrs;

	wire_spell(&link, "u:1 n:/home u:1 n:10.0.0.0/8 u:1 n:* u:0");
	wire_spell(&w, "u:1 n:/home u:1 n:10.0.0.0/8 u:1 n:* u:0 "
		       "u:1 n:/src u:0 u:0");
	assert_true(nfs_res_decode(p, w.data, w.len, &res));
	assert_int_equal(res.export_list.exports.len, w.len);
	nfs3_list_open(&xdrs, &res.export_list.exports);
	assert_true(mnt3_export_decode(&xdrs, &e, &more) && more);
	assert_view(&e.dir, "/home");
	assert_int_equal(e.raw.len, link.len);
	assert_memory_equal(e.raw.data, link.data, link.len);
	assert_true(mnt3_export_decode(&xdrs, &e, &more) && more);
	assert_view(&e.dir, "/src");
	assert_int_equal(e.raw.len, 4 + 8 + 4);
	assert_true(mnt3_export_decode(&xdrs, &e, &more) && !more);
}

TEST(empty_mount_lists)
{
	struct mnt3_export e;
	struct mnt3_mount m;
	ENDS_BY(wire_free) struct wire w = {0};
	union nfs_res res;
	bool more;
	XDR xdrs;

	wire_u32(&w, 0);
	assert_true(
	    nfs_res_decode(nfs_proc_find(100005, 3, 2), w.data, w.len, &res));
	nfs3_list_open(&xdrs, &res.dump.mounts);
	assert_true(mnt3_mount_decode(&xdrs, &m, &more) && !more);
	assert_true(
	    nfs_res_decode(nfs_proc_find(100005, 3, 5), w.data, w.len, &res));
	nfs3_list_open(&xdrs, &res.export_list.exports);
	assert_true(mnt3_export_decode(&xdrs, &e, &more) && !more);
}

/* A list of many links must not take a stack frame each. */
TEST(long_lists)
{
	ENDS_BY(wire_free) struct wire w = {0};
	union nfs_res res;

	for (int i = 0; i < 80000; i++)
		wire_spell(&w, "u:1 u:0 u:0");
	wire_u32(&w, 0);
	assert_true(
	    nfs_res_decode(nfs_proc_find(100005, 3, 2), w.data, w.len, &res));
	assert_true(
	    nfs_res_decode(nfs_proc_find(100005, 3, 5), w.data, w.len, &res));
}
