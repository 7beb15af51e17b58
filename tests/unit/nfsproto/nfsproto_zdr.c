/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libnfs's side of the comparison. No header of libtirpc may come in here. */
#include "nfsproto/nfsproto_zdr.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "nfsproto/nfsproto_wire.h"

#define CODEC(fn) ((zdrproc_t)(void *)(fn))
#define PAIR(name)                                                             \
	{                                                                      \
		CODEC(zdr_##name##args), CODEC(zdr_##name##res)                \
	}

struct pair {
	zdrproc_t args;
	zdrproc_t res;
};

static const struct pair nfs3[] = {{NULL, NULL}, PAIR(GETATTR3), PAIR(SETATTR3),
    PAIR(LOOKUP3), PAIR(ACCESS3), PAIR(READLINK3), PAIR(READ3), PAIR(WRITE3),
    PAIR(CREATE3), PAIR(MKDIR3), PAIR(SYMLINK3), PAIR(MKNOD3), PAIR(REMOVE3),
    PAIR(RMDIR3), PAIR(RENAME3), PAIR(LINK3), PAIR(READDIR3),
    PAIR(READDIRPLUS3), PAIR(FSSTAT3), PAIR(FSINFO3), PAIR(PATHCONF3),
    PAIR(COMMIT3)};
static const struct pair mount3[] = {{NULL, NULL},
    {CODEC(zdr_dirpath), CODEC(zdr_mountres3)}, {NULL, CODEC(zdr_mountlist)},
    {CODEC(zdr_dirpath), NULL}, {NULL, NULL}, {NULL, CODEC(zdr_exports)}};
static const struct pair nfsacl3[] = {
    {NULL, NULL}, PAIR(GETACL3), PAIR(SETACL3)};

/* No result of libnfs is larger; all of it may be zeroed. */
union any {
	READDIRPLUS3res a;
	SETATTR3args b;
	FSSTAT3res c;
	CREATE3args d;
	MKNOD3args e;
	RENAME3res f;
	char bytes[1024];
};

static zdrproc_t find(uint32_t prog, uint32_t proc, bool res)
{
	const struct pair *p = prog == 100003   ? &nfs3[proc]
			       : prog == 100005 ? &mount3[proc]
						: &nfsacl3[proc];

	return res ? p->res : p->args;
}

size_t zdr_recode(uint32_t prog, uint32_t proc, bool res, const void *in,
    size_t len, void *out, size_t size)
{
	zdrproc_t fn = find(prog, proc, res);
	char *copy = wire_copy(in, len);
	size_t n = 0;
	union any any;
	ZDR from, to;

	assert(fn);
	memset(&any, 0, sizeof(any));
	zdrmem_create(&from, copy, (uint32_t)len, ZDR_DECODE);
	zdrmem_create(&to, out, (uint32_t)size, ZDR_ENCODE);
	if (fn(&from, &any) && zdr_getpos(&from) == len && fn(&to, &any))
		n = zdr_getpos(&to);
	zdr_destroy(&to);
	zdr_destroy(&from);
	free(copy);
	return n;
}

static char handle28[28], handle64[64], data7[7];
static const char verf[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static nfs_fh3 fh28(void)
{
	nfs_fh3 fh = {.data = {28, handle28}};

	for (size_t i = 0; i < 28; i++)
		handle28[i] = (char)wire_byte(28, i);
	return fh;
}

static nfs_fh3 fh64(void)
{
	nfs_fh3 fh = {.data = {64, handle64}};

	for (size_t i = 0; i < 64; i++)
		handle64[i] = (char)wire_byte(64, i);
	return fh;
}

static char *payload(void)
{
	for (size_t i = 0; i < 7; i++)
		data7[i] = (char)wire_byte(7, i);
	return data7;
}

static diropargs3 dirop(char *name)
{
	diropargs3 d = {.dir = fh28(), .name = name};

	return d;
}

static post_op_attr post(void)
{
	fattr3 a = {.type = NF3REG,
	    .mode = 0644,
	    .nlink = 2,
	    .uid = 1001,
	    .gid = 1002,
	    .size = 0x100000005,
	    .used = 0x200000006,
	    .rdev = {8, 9},
	    .fsid = 0x300000007,
	    .fileid = 0x400000008,
	    .atime = {11, 12},
	    .mtime = {13, 14},
	    .ctime = {15, 16}};
	post_op_attr p = {
	    .attributes_follow = 1, .post_op_attr_u = {.attributes = a}};

	return p;
}

static wcc_data wcc(void)
{
	wcc_attr a = {
	    .size = 0x500000009, .mtime = {21, 22}, .ctime = {23, 24}};
	wcc_data w = {.before = {1, {.attributes = a}}, .after = post()};

	return w;
}

static sattr3 sattr(void)
{
	sattr3 s = {.mode = {1, {.mode = 0755}},
	    .uid = {1, {.uid = 31}},
	    .gid = {1, {.gid = 32}},
	    .size = {1, {.size = 0x600000033}},
	    .atime = {SET_TO_CLIENT_TIME, {.atime = {41, 42}}},
	    .mtime = {.set_it = SET_TO_SERVER_TIME}};

	return s;
}

static size_t put(void *fn, void *from, void *out, size_t size)
{
	size_t n = 0;
	ZDR z;

	zdrmem_create(&z, out, (uint32_t)size, ZDR_ENCODE);
	if (CODEC(fn)(&z, from))
		n = zdr_getpos(&z);
	zdr_destroy(&z);
	return n;
}

typedef size_t (*make_fn)(void *out, size_t size);

static size_t make_setattr(void *out, size_t size)
{
	SETATTR3args a = {.object = fh28(),
	    .new_attributes = sattr(),
	    .guard = {1, {.obj_ctime = {51, 52}}}};

	return put(zdr_SETATTR3args, &a, out, size);
}

static size_t make_setattr_times(void *out, size_t size)
{
	SETATTR3args a = {.object = fh28()};

	a.new_attributes.atime.set_it = SET_TO_SERVER_TIME;
	a.new_attributes.mtime.set_it = SET_TO_CLIENT_TIME;
	a.new_attributes.mtime.set_mtime_u.mtime = (nfstime3){43, 44};
	return put(zdr_SETATTR3args, &a, out, size);
}

static size_t make_lookup(void *out, size_t size)
{
	LOOKUP3args a = {.what = dirop("name.c")};

	return put(zdr_LOOKUP3args, &a, out, size);
}

static size_t make_lookup_res(void *out, size_t size)
{
	LOOKUP3res r = {.LOOKUP3res_u = {.resok = {.object = fh28(),
					     .obj_attributes = post(),
					     .dir_attributes = post()}}};

	return put(zdr_LOOKUP3res, &r, out, size);
}

static size_t make_lookup_fail(void *out, size_t size)
{
	LOOKUP3res r = {.status = NFS3ERR_NOENT,
	    .LOOKUP3res_u = {.resfail = {.dir_attributes = post()}}};

	return put(zdr_LOOKUP3res, &r, out, size);
}

static size_t make_read(void *out, size_t size)
{
	READ3args a = {.file = fh28(), .offset = 1ull << 32, .count = 16384};

	return put(zdr_READ3args, &a, out, size);
}

static size_t make_read_res(void *out, size_t size)
{
	READ3res r = {.READ3res_u = {.resok = {.file_attributes = post(),
					 .count = 7,
					 .eof = 1,
					 .data = {7, payload()}}}};

	return put(zdr_READ3res, &r, out, size);
}

static size_t make_write(void *out, size_t size)
{
	WRITE3args a = {.file = fh28(),
	    .offset = 1ull << 32,
	    .count = 7,
	    .stable = FILE_SYNC,
	    .data = {7, payload()}};

	return put(zdr_WRITE3args, &a, out, size);
}

static size_t make_write_res(void *out, size_t size)
{
	WRITE3res r = {.WRITE3res_u = {.resok = {.file_wcc = wcc(),
					   .count = 7,
					   .committed = FILE_SYNC}}};

	memcpy(r.WRITE3res_u.resok.verf, verf, 8);
	return put(zdr_WRITE3res, &r, out, size);
}

static size_t make_create(void *out, size_t size)
{
	CREATE3args a = {.where = dirop("new"), .how = {.mode = UNCHECKED}};

	a.how.createhow3_u.obj_attributes = sattr();
	return put(zdr_CREATE3args, &a, out, size);
}

static size_t make_create_guarded(void *out, size_t size)
{
	CREATE3args a = {.where = dirop("new"), .how = {.mode = GUARDED}};

	return put(zdr_CREATE3args, &a, out, size);
}

static size_t make_create_exclusive(void *out, size_t size)
{
	CREATE3args a = {.where = dirop("new"), .how = {.mode = EXCLUSIVE}};

	memcpy(a.how.createhow3_u.verf, verf, 8);
	return put(zdr_CREATE3args, &a, out, size);
}

static size_t make_create_res(void *out, size_t size)
{
	CREATE3res r = {.status = NFS3_OK};

	r.CREATE3res_u.resok.obj.handle_follows = 1;
	r.CREATE3res_u.resok.obj.post_op_fh3_u.handle = fh28();
	r.CREATE3res_u.resok.obj_attributes = post();
	r.CREATE3res_u.resok.dir_wcc = wcc();
	return put(zdr_CREATE3res, &r, out, size);
}

static size_t make_mknod_chr(void *out, size_t size)
{
	MKNOD3args a = {.where = dirop("null"), .what = {.type = NF3CHR}};

	a.what.mknoddata3_u.chr_device.dev_attributes = sattr();
	a.what.mknoddata3_u.chr_device.spec = (specdata3){1, 3};
	return put(zdr_MKNOD3args, &a, out, size);
}

static size_t make_mknod_fifo(void *out, size_t size)
{
	MKNOD3args a = {.where = dirop("pipe"), .what = {.type = NF3FIFO}};

	a.what.mknoddata3_u.pipe_attributes = sattr();
	return put(zdr_MKNOD3args, &a, out, size);
}

static size_t make_rename(void *out, size_t size)
{
	RENAME3args a = {
	    .from = dirop("from"), .to = {.dir = fh64(), .name = "to"}};

	return put(zdr_RENAME3args, &a, out, size);
}

static size_t make_readdirplus(void *out, size_t size)
{
	READDIRPLUS3args a = {.dir = fh28(),
	    .cookie = 0x100000001,
	    .dircount = 4096,
	    .maxcount = 32768};

	memcpy(a.cookieverf, verf, 8);
	return put(zdr_READDIRPLUS3args, &a, out, size);
}

static size_t make_readdirplus_res(void *out, size_t size)
{
	entryplus3 second = {.fileid = 73, .name = "bcdef", .cookie = 74};
	entryplus3 first = {.fileid = 71,
	    .name = "a",
	    .cookie = 72,
	    .name_attributes = post(),
	    .name_handle = {1, {.handle = fh28()}},
	    .nextentry = &second};
	READDIRPLUS3res r = {
	    .READDIRPLUS3res_u = {
		.resok = {.dir_attributes = post(), .reply = {&first, 1}}}};

	memcpy(r.READDIRPLUS3res_u.resok.cookieverf, verf, 8);
	return put(zdr_READDIRPLUS3res, &r, out, size);
}

static nfsacl_ace entries[] = {{NFSACL_TYPE_USER, 1000, 0},
    {NFSACL_TYPE_USER, 1001, 1}, {NFSACL_TYPE_USER, 1002, 2}};

static size_t make_getacl(void *out, size_t size)
{
	GETACL3args a = {.dir = fh28(), .mask = 15};

	return put(zdr_GETACL3args, &a, out, size);
}

static size_t make_getacl_res(void *out, size_t size)
{
	GETACL3res r = {.GETACL3res_u = {.resok = {.attr = post(),
					     .mask = 15,
					     .ace_count = 3,
					     .ace = {3, entries},
					     .default_ace_count = 2,
					     .default_ace = {2, entries}}}};

	return put(zdr_GETACL3res, &r, out, size);
}

static size_t make_setacl(void *out, size_t size)
{
	SETACL3args a = {.dir = fh28(),
	    .mask = 15,
	    .ace_count = 3,
	    .ace = {3, entries},
	    .default_ace_count = 2,
	    .default_ace = {2, entries}};

	return put(zdr_SETACL3args, &a, out, size);
}

static size_t make_setacl_res(void *out, size_t size)
{
	SETACL3res r = {.SETACL3res_u = {.resok = {.attr = post()}}};

	return put(zdr_SETACL3res, &r, out, size);
}

static size_t make_mnt(void *out, size_t size)
{
	dirpath path = "/home";

	return put(zdr_dirpath, &path, out, size);
}

static size_t make_mnt_res(void *out, size_t size)
{
	int flavors[] = {1, 390003, 0};
	nfs_fh3 fh = fh28();
	mountres3 r = {.fhs_status = MNT3_OK};

	r.mountres3_u.mountinfo.fhandle.fhandle3_len = fh.data.data_len;
	r.mountres3_u.mountinfo.fhandle.fhandle3_val = fh.data.data_val;
	r.mountres3_u.mountinfo.auth_flavors.auth_flavors_len = 3;
	r.mountres3_u.mountinfo.auth_flavors.auth_flavors_val = flavors;
	return put(zdr_mountres3, &r, out, size);
}

static const struct {
	const char *name;
	make_fn make;
} makers[] = {
    {"SETATTR.args", make_setattr},
    {"SETATTR-times.args", make_setattr_times},
    {"LOOKUP.args", make_lookup},
    {"LOOKUP.res", make_lookup_res},
    {"LOOKUP.fail", make_lookup_fail},
    {"READ.args", make_read},
    {"READ.res", make_read_res},
    {"WRITE.args", make_write},
    {"WRITE.res", make_write_res},
    {"CREATE.args", make_create},
    {"CREATE-guarded.args", make_create_guarded},
    {"CREATE-exclusive.args", make_create_exclusive},
    {"CREATE.res", make_create_res},
    {"MKNOD-chr.args", make_mknod_chr},
    {"MKNOD-fifo.args", make_mknod_fifo},
    {"RENAME.args", make_rename},
    {"READDIRPLUS.args", make_readdirplus},
    {"READDIRPLUS.res", make_readdirplus_res},
    {"GETACL.args", make_getacl},
    {"GETACL.res", make_getacl_res},
    {"SETACL.args", make_setacl},
    {"SETACL.res", make_setacl_res},
    {"MNT.args", make_mnt},
    {"MNT.res", make_mnt_res},
};

size_t zdr_make(const char *name, void *out, size_t size)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (!strcmp(makers[i].name, name))
			return makers[i].make(out, size);
	return 0;
}
