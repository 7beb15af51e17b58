/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * That each field of the known-good messages (nfsproto_wire.c) ends up
 * where it belongs. Every number in them is there once, so that no two
 * fields can be exchanged unseen.
 */
#include "unittest.h"
#include "nfsproto/nfs_proc.h"
#include "nfsproto/nfsproto_wire.h"

static void is_text(const struct xdr_view *v, const char *text)
{
	assert_int_equal(v->len, strlen(text));
	assert_memory_equal(v->data, text, v->len);
}

static void is_opaque(const struct xdr_view *v, size_t n)
{
	assert_int_equal(v->len, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal((unsigned char)v->data[i], wire_byte(n, i));
}

static void is_verf(const char v[8])
{
	assert_memory_equal(v, "\1\2\3\4\5\6\7\10", 8);
}

static void is_time(const nfstime3 *t, uint32_t seconds, uint32_t nseconds)
{
	assert_int_equal(t->seconds, seconds);
	assert_int_equal(t->nseconds, nseconds);
}

static void is_fattr(const fattr3 *a)
{
	assert_int_equal(a->type, NF3REG);
	assert_int_equal(a->mode, 0644);
	assert_int_equal(a->nlink, 2);
	assert_int_equal(a->uid, 1001);
	assert_int_equal(a->gid, 1002);
	assert_int_equal(a->size, 0x100000005);
	assert_int_equal(a->used, 0x200000006);
	assert_int_equal(a->rdev.specdata1, 8);
	assert_int_equal(a->rdev.specdata2, 9);
	assert_int_equal(a->fsid, 0x300000007);
	assert_int_equal(a->fileid, 0x400000008);
	is_time(&a->atime, 11, 12);
	is_time(&a->mtime, 13, 14);
	is_time(&a->ctime, 15, 16);
}

static void is_post(const post_op_attr *a)
{
	assert_true(a->attributes_follow);
	is_fattr(&a->post_op_attr_u.attributes);
}

static void is_wcc(const wcc_data *w)
{
	const wcc_attr *b = &w->before.pre_op_attr_u.attributes;

	assert_true(w->before.attributes_follow);
	assert_int_equal(b->size, 0x500000009);
	is_time(&b->mtime, 21, 22);
	is_time(&b->ctime, 23, 24);
	is_post(&w->after);
}

static void is_no_wcc(const wcc_data *w)
{
	assert_false(w->before.attributes_follow);
	assert_false(w->after.attributes_follow);
}

static void is_sattr(const sattr3 *s)
{
	assert_true(s->mode.set_it && s->uid.set_it && s->gid.set_it);
	assert_int_equal(s->mode.set_uint32_u.value, 0755);
	assert_int_equal(s->uid.set_uint32_u.value, 31);
	assert_int_equal(s->gid.set_uint32_u.value, 32);
	assert_true(s->size.set_it);
	assert_int_equal(s->size.set_size3_u.size, 0x600000033);
	assert_int_equal(s->atime.set_it, SET_TO_CLIENT_TIME);
	is_time(&s->atime.set_time_u.time, 41, 42);
	assert_int_equal(s->mtime.set_it, SET_TO_SERVER_TIME);
}

static void is_no_sattr(const sattr3 *s)
{
	assert_false(s->mode.set_it || s->uid.set_it || s->gid.set_it);
	assert_false(s->size.set_it);
	assert_int_equal(s->atime.set_it, DONT_CHANGE);
	assert_int_equal(s->mtime.set_it, DONT_CHANGE);
}

static void is_dirop(const diropargs3 *d, const char *name)
{
	is_opaque(&d->dir, 28);
	is_text(&d->name, name);
}

/* The rows of one name, decoded; the views are valid until the next call. */
static const void *decoded(const char *name)
{
	static union nfs_args args;
	static union nfs_res res;
	static struct wire w;

	for (size_t i = 0; i < wire_row_count; i++) {
		const struct wire_row *row = &wire_rows[i];
		const struct nfs_proc *p;

		if (strcmp(row->name, name))
			continue;
		w.len = 0;
		wire_spell(&w, row->spec);
		p = nfs_proc_find(row->prog, 3, row->proc);
		if (row->res) {
			assert_true(nfs_res_decode(p, w.data, w.len, &res));
			return &res;
		}
		assert_true(nfs_args_decode(p, w.data, w.len, &args));
		return &args;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static const union nfs_args *args_of(const char *name)
{
	return decoded(name);
}

static const union nfs_res *res_of(const char *name)
{
	return decoded(name);
}

TEST(handles_alone)
{
	static const char *const names[] = {"GETATTR.args", "READLINK.args",
	    "FSSTAT.args", "FSINFO.args", "PATHCONF.args"};

	for (size_t i = 0; i < 5; i++)
		is_opaque(&args_of(names[i])->object, 28);
}

TEST(setattr_args)
{
	const SETATTR3args *a = &args_of("SETATTR.args")->setattr;

	is_opaque(&a->object, 28);
	is_sattr(&a->new_attributes);
	assert_true(a->guard.check);
	is_time(&a->guard.sattrguard3_u.obj_ctime, 51, 52);
	a = &args_of("SETATTR-times.args")->setattr;
	assert_false(a->guard.check);
	assert_false(a->new_attributes.size.set_it);
	assert_int_equal(a->new_attributes.atime.set_it, SET_TO_SERVER_TIME);
	assert_int_equal(a->new_attributes.mtime.set_it, SET_TO_CLIENT_TIME);
	is_time(&a->new_attributes.mtime.set_time_u.time, 43, 44);
}

TEST(name_args)
{
	const union nfs_args *a;

	is_dirop(&args_of("LOOKUP.args")->dirop, "name.c");
	is_dirop(&args_of("REMOVE.args")->dirop, "gone");
	a = args_of("RMDIR.args");
	is_opaque(&a->dirop.dir, 64);
	is_text(&a->dirop.name, "gone");
	a = args_of("RENAME.args");
	is_dirop(&a->rename.from, "from");
	is_opaque(&a->rename.to.dir, 64);
	is_text(&a->rename.to.name, "to");
	a = args_of("LINK.args");
	is_opaque(&a->link.file, 28);
	is_opaque(&a->link.link.dir, 64);
	is_text(&a->link.link.name, "link");
}

TEST(io_args)
{
	const union nfs_args *a = args_of("ACCESS.args");

	is_opaque(&a->access.object, 28);
	assert_int_equal(a->access.access, 0x2d);
	a = args_of("READ.args");
	is_opaque(&a->read.file, 28);
	assert_int_equal(a->read.offset, 1ull << 32);
	assert_int_equal(a->read.count, 16384);
	a = args_of("WRITE.args");
	is_opaque(&a->write.file, 28);
	assert_int_equal(a->write.offset, 1ull << 32);
	assert_int_equal(a->write.count, 7);
	assert_int_equal(a->write.stable, FILE_SYNC);
	is_opaque(&a->write.data, 7);
	a = args_of("COMMIT.args");
	is_opaque(&a->commit.file, 28);
	assert_int_equal(a->commit.offset, 1ull << 32);
	assert_int_equal(a->commit.count, 8192);
}

TEST(create_args)
{
	const CREATE3args *c = &args_of("CREATE.args")->create;

	is_dirop(&c->where, "new");
	assert_int_equal(c->how.mode, UNCHECKED);
	is_sattr(&c->how.createhow3_u.obj_attributes);
	c = &args_of("CREATE-guarded.args")->create;
	assert_int_equal(c->how.mode, GUARDED);
	is_no_sattr(&c->how.createhow3_u.obj_attributes);
	c = &args_of("CREATE-exclusive.args")->create;
	assert_int_equal(c->how.mode, EXCLUSIVE);
	is_verf(c->how.createhow3_u.verf);
}

TEST(other_object_args)
{
	const union nfs_args *a = args_of("MKDIR.args");

	is_dirop(&a->mkdir.where, "dir");
	is_sattr(&a->mkdir.attributes);
	a = args_of("SYMLINK.args");
	is_dirop(&a->symlink.where, "link");
	is_no_sattr(&a->symlink.symlink.symlink_attributes);
	is_text(&a->symlink.symlink.symlink_data, "../target");
}

TEST(mknod_args)
{
	const MKNOD3args *m = &args_of("MKNOD-chr.args")->mknod;
	const devicedata3 *d = &m->what.mknoddata3_u.device;

	is_dirop(&m->where, "null");
	assert_int_equal(m->what.type, NF3CHR);
	is_sattr(&d->dev_attributes);
	assert_int_equal(d->spec.specdata1, 1);
	assert_int_equal(d->spec.specdata2, 3);
	m = &args_of("MKNOD-blk.args")->mknod;
	assert_int_equal(m->what.type, NF3BLK);
	assert_int_equal(m->what.mknoddata3_u.device.spec.specdata1, 8);
	m = &args_of("MKNOD-fifo.args")->mknod;
	assert_int_equal(m->what.type, NF3FIFO);
	is_sattr(&m->what.mknoddata3_u.pipe_attributes);
	m = &args_of("MKNOD-sock.args")->mknod;
	assert_int_equal(m->what.type, NF3SOCK);
	is_no_sattr(&m->what.mknoddata3_u.pipe_attributes);
	assert_int_equal(args_of("MKNOD-other.args")->mknod.what.type, NF3REG);
}

TEST(directory_args)
{
	const union nfs_args *a = args_of("READDIR.args");

	is_opaque(&a->readdir.dir, 28);
	assert_int_equal(a->readdir.cookie, 0x100000001);
	is_verf(a->readdir.cookieverf);
	assert_int_equal(a->readdir.count, 4096);
	a = args_of("READDIRPLUS.args");
	is_opaque(&a->readdirplus.dir, 28);
	assert_int_equal(a->readdirplus.cookie, 0x100000001);
	is_verf(a->readdirplus.cookieverf);
	assert_int_equal(a->readdirplus.dircount, 4096);
	assert_int_equal(a->readdirplus.maxcount, 32768);
}

static void is_acls(const nfsacl3_acls *a)
{
	static const unsigned char entry[12] = {
	    0, 0, 0, 2, 0, 0, 3, 232 + 1, 0, 0, 0, 1};

	assert_int_equal(a->mask, 15);
	assert_int_equal(a->access_count, 3);
	assert_int_equal(a->access.len, 36);
	assert_memory_equal(a->access.data + 12, entry, 12);
	assert_int_equal(a->default_count, 2);
	assert_int_equal(a->default_acl.len, 24);
	assert_memory_equal(a->default_acl.data + 12, entry, 12);
}

TEST(side_protocol_args)
{
	const union nfs_args *a = args_of("GETACL.args");

	is_opaque(&a->getacl.object, 28);
	assert_int_equal(a->getacl.mask, 15);
	a = args_of("SETACL.args");
	is_opaque(&a->setacl.object, 28);
	is_acls(&a->setacl.acls);
	is_text(&args_of("MNT.args")->mnt.dirpath, "/home");
	is_text(&args_of("UMNT.args")->mnt.dirpath, "/home");
}

TEST(attribute_results)
{
	const union nfs_res *r = res_of("GETATTR.res");

	is_fattr(&r->getattr.GETATTR3res_u.resok.obj_attributes);
	is_wcc(&res_of("SETATTR.res")->wccstat.wcc);
	is_wcc(&res_of("REMOVE.res")->wccstat.wcc);
	is_wcc(&res_of("RMDIR.res")->wccstat.wcc);
	r = res_of("LOOKUP.res");
	is_opaque(&r->lookup.LOOKUP3res_u.resok.object, 28);
	is_post(&r->lookup.LOOKUP3res_u.resok.obj_attributes);
	is_post(&r->lookup.LOOKUP3res_u.resok.dir_attributes);
	r = res_of("ACCESS.res");
	is_post(&r->access.ACCESS3res_u.resok.obj_attributes);
	assert_int_equal(r->access.ACCESS3res_u.resok.access, 13);
	r = res_of("READLINK.res");
	is_post(&r->readlink.READLINK3res_u.resok.symlink_attributes);
	is_text(&r->readlink.READLINK3res_u.resok.data, "../target");
}

TEST(io_results)
{
	const READ3resok *rd = &res_of("READ.res")->read.READ3res_u.resok;
	const WRITE3resok *wr;
	const COMMIT3resok *c;

	is_post(&rd->file_attributes);
	assert_int_equal(rd->count, 7);
	assert_true(rd->eof);
	is_opaque(&rd->data, 7);
	wr = &res_of("WRITE.res")->write.WRITE3res_u.resok;
	is_wcc(&wr->file_wcc);
	assert_int_equal(wr->count, 7);
	assert_int_equal(wr->committed, FILE_SYNC);
	is_verf(wr->verf);
	c = &res_of("COMMIT.res")->commit.COMMIT3res_u.resok;
	is_wcc(&c->file_wcc);
	is_verf(c->verf);
}

static void is_new(const newobj3resok *n, size_t fh)
{
	assert_true(n->obj.handle_follows);
	is_opaque(&n->obj.post_op_fh3_u.handle, fh);
	is_post(&n->obj_attributes);
	is_wcc(&n->dir_wcc);
}

TEST(object_results)
{
	const newobj3resok *n;
	const union nfs_res *r;

	is_new(&res_of("CREATE.res")->newobj.newobj3res_u.resok, 28);
	is_new(&res_of("SYMLINK.res")->newobj.newobj3res_u.resok, 64);
	is_new(&res_of("MKNOD.res")->newobj.newobj3res_u.resok, 28);
	n = &res_of("MKDIR.res")->newobj.newobj3res_u.resok;
	assert_false(n->obj.handle_follows);
	assert_false(n->obj_attributes.attributes_follow);
	is_no_wcc(&n->dir_wcc);
	r = res_of("RENAME.res");
	is_wcc(&r->rename.fromdir_wcc);
	is_no_wcc(&r->rename.todir_wcc);
	r = res_of("LINK.res");
	is_post(&r->link.file_attributes);
	is_wcc(&r->link.linkdir_wcc);
}

TEST(directory_results)
{
	const READDIR3resok *d;
	const READDIRPLUS3resok *p;

	d = &res_of("READDIR.res")->readdir.READDIR3res_u.resok;
	is_post(&d->dir_attributes);
	is_verf(d->cookieverf);
	assert_int_equal(d->reply.len, 4 + 8 + 8 + 8 + 4 + 8 + 12 + 8 + 8);
	p = &res_of("READDIRPLUS.res")->readdirplus.READDIRPLUS3res_u.resok;
	is_post(&p->dir_attributes);
	is_verf(p->cookieverf);
	assert_int_equal(p->reply.len, 152 + 40 + 8);
}

TEST(file_system_results)
{
	const FSSTAT3resok *s =
	    &res_of("FSSTAT.res")->fsstat.FSSTAT3res_u.resok;
	const FSINFO3resok *i;
	const PATHCONF3resok *p;

	is_post(&s->obj_attributes);
	assert_int_equal(s->tbytes, 0x100000001);
	assert_int_equal(s->fbytes, 0x100000002);
	assert_int_equal(s->abytes, 0x100000003);
	assert_int_equal(s->tfiles, 0x100000004);
	assert_int_equal(s->ffiles, 0x100000005);
	assert_int_equal(s->afiles, 0x100000006);
	assert_int_equal(s->invarsec, 7);
	i = &res_of("FSINFO.res")->fsinfo.FSINFO3res_u.resok;
	assert_int_equal(i->rtmax, 1);
	assert_int_equal(i->rtpref, 2);
	assert_int_equal(i->rtmult, 3);
	assert_int_equal(i->wtmax, 4);
	assert_int_equal(i->wtpref, 5);
	assert_int_equal(i->wtmult, 6);
	assert_int_equal(i->dtpref, 7);
	assert_int_equal(i->maxfilesize, 0x100000008);
	is_time(&i->time_delta, 9, 10);
	assert_int_equal(i->properties, 27);
	p = &res_of("PATHCONF.res")->pathconf.PATHCONF3res_u.resok;
	assert_int_equal(p->linkmax, 32000);
	assert_int_equal(p->name_max, 255);
	assert_true(p->no_trunc && p->case_insensitive);
	assert_false(p->chown_restricted || p->case_preserving);
}

TEST(side_protocol_results)
{
	const MNT3resok *m = &res_of("MNT.res")->mnt.MNT3res_u.resok;
	const GETACL3resok *g;

	is_opaque(&m->fhandle, 28);
	/* In bytes: AUTH_SYS, RPCSEC_GSS krb5, AUTH_NONE. */
	assert_int_equal(m->auth_flavors.len, 12);
	assert_memory_equal(
	    m->auth_flavors.data, "\0\0\0\1\0\5\xf3\x73\0\0\0\0", 12);
	g = &res_of("GETACL.res")->getacl.GETACL3res_u.resok;
	is_post(&g->attributes);
	is_acls(&g->acls);
	g = &res_of("GETACL-counts.res")->getacl.GETACL3res_u.resok;
	assert_int_equal(g->acls.mask, 10);
	assert_int_equal(g->acls.access_count, 4);
	assert_int_equal(g->acls.access.len, 0);
	is_post(&res_of("SETACL.res")->setacl.SETACL3res_u.attributes);
}

TEST(failures)
{
	const union nfs_res *r;

	assert_int_equal(res_of("GETATTR.fail")->status, NFS3ERR_STALE);
	assert_int_equal(res_of("MNT.fail")->mnt.status, MNT3ERR_ACCES);
	is_wcc(&res_of("SETATTR.fail")->wccstat.wcc);
	is_post(&res_of("LOOKUP.fail")->lookup.LOOKUP3res_u.dir_attributes);
	is_post(&res_of("ACCESS.fail")->access.ACCESS3res_u.obj_attributes);
	is_post(&res_of("READ.fail")->read.READ3res_u.file_attributes);
	is_wcc(&res_of("WRITE.fail")->write.WRITE3res_u.file_wcc);
	is_wcc(&res_of("CREATE.fail")->newobj.newobj3res_u.dir_wcc);
	is_wcc(&res_of("COMMIT.fail")->commit.COMMIT3res_u.file_wcc);
	r = res_of("RENAME.fail");
	assert_int_equal(r->status, NFS3ERR_XDEV);
	is_wcc(&r->rename.fromdir_wcc);
	is_wcc(&r->rename.todir_wcc);
	r = res_of("LINK.fail");
	is_post(&r->link.file_attributes);
	is_wcc(&r->link.linkdir_wcc);
	assert_int_equal(res_of("GETACL.linux")->status, NFS3ERR_ACCES);
}
