/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches may answer some calls, and only to some users: the decisions of
 * cached.h alone, in virtual time, without a client, a server or a link. All
 * that is known comes in through learn_reply(), as in the daemon.
 */
#include "svc/cached.h"

#include "cache/caches_fixture.h"
#include "datacache/datacache_fixture.h"
#include "nfsproto/nfs3_list.h"

enum { BIG = 64 << 10, HOUR = 3600 };

typedef enum cached_verdict decide(
    const struct cached_call *call, struct cached_answer *a);

/* Whoever asks now, how, and the last answer, which is there until the test is
 * over. */
struct asking {
	struct world *w;
	uint64_t received_us; /* 0: now */
	bool offline, nobody, confirmed, rest_asked;
	struct datacache_waiter disk;
	struct cached_answer a;
};

static enum cached_verdict ask(
    struct asking *q, uint32_t proc, const union nfs_args *args, decide *row)
{
	struct world *w = q->w;
	struct cached_call call = {
	    .who = asker_now(w->caches, q->nobody ? 0 : w->cred, w->now_us),
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .args = args,
	    .confirmed = q->confirmed,
	    .rest_asked = q->rest_asked,
	    .disk = &q->disk};
	enum cached_verdict verdict;

	call.who.offline = q->offline;
	if (q->received_us)
		call.who.received_us = q->received_us;
	q->a.list = NULL;
	verdict = row(&call, &q->a);
	AFTER(free, q->a.list);
	return verdict;
}

static enum cached_verdict ask_getattr(struct asking *q, const char *fh)
{
	union nfs_args args = {.object = fh_of(fh)};

	return ask(q, NFSPROC3_GETATTR, &args, cached_getattr);
}

static enum cached_verdict ask_access(
    struct asking *q, const char *fh, uint32_t bits)
{
	union nfs_args args = {.access = {.object = fh_of(fh), .access = bits}};

	return ask(q, NFSPROC3_ACCESS, &args, cached_access);
}

static enum cached_verdict ask_lookup(struct asking *q, const char *name)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of(name)}};

	return ask(q, NFSPROC3_LOOKUP, &args, cached_lookup);
}

static enum cached_verdict ask_read(
    struct asking *q, uint64_t offset, uint32_t count)
{
	union nfs_args args = {
	    .read = {.file = fh_of("big"), .offset = offset, .count = count}};

	return ask(q, NFSPROC3_READ, &args, cached_read);
}

static enum cached_verdict ask_readdir(
    struct asking *q, uint64_t cookie, char verf, uint32_t count)
{
	union nfs_args args = {
	    .readdir = {.dir = fh_of("dir"), .cookie = cookie, .count = count}};

	args.readdir.cookieverf[0] = verf;
	return ask(q, NFSPROC3_READDIR, &args, cached_readdir);
}

static enum cached_verdict ask_readdirplus(struct asking *q, uint32_t maxcount)
{
	union nfs_args args = {.readdirplus = {.dir = fh_of("dir"),
				   .dircount = maxcount,
				   .maxcount = maxcount}};

	return ask(q, NFSPROC3_READDIRPLUS, &args, cached_readdirplus);
}

/* ---- a server's words -------------------------------------------------- */

static void say_access(
    struct world *w, const char *fh, const fattr3 *a, uint32_t given)
{
	union nfs_args args = {
	    .access = {.object = fh_of(fh), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};
	ACCESS3resok *r = &res.access.ACCESS3res_u.resok;

	r->obj_attributes.attributes_follow = TRUE;
	r->obj_attributes.post_op_attr_u.attributes = *a;
	r->access = given;
	say(w, NFSPROC3_ACCESS, &args, &res, round_trip(w));
}

static void say_dir_access(struct world *w, uint32_t given)
{
	fattr3 a = attr_of(NF3DIR, 1, 10);

	say_access(w, "dir", &a, given);
}

static fattr3 big_attr(void)
{
	fattr3 a = attr_of(NF3REG, 30, 5);

	a.size = BIG;
	return a;
}

static void say_read(
    struct world *w, struct fixture *fx, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = fh_of("big"), .offset = offset, .count = len}};
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;
	struct rbuf *b = rbuf_get(fx->bufs, len);

	memset(b->data, 'x', len);
	r->file_attributes.attributes_follow = TRUE;
	r->file_attributes.post_op_attr_u.attributes = big_attr();
	r->count = len;
	r->data.len = len;
	r->data.data = (const char *)b->data;
	r->eof = offset + len == BIG;
	say(w, NFSPROC3_READ, &args, &res, round_trip(w));
	rbuf_unref(b);
}

/* A listing of "dir" up to its end, or a part of it: these names; READDIRPLUS
 * with attributes of the first `nattr`. */
static void say_page(struct world *w, const char *const names[], unsigned n,
    bool plus, unsigned nattr, bool eof)
{
	union nfs_args args = {.readdirplus = {.dir = fh_of("dir")}};
	union nfs_res res = {.status = NFS3_OK};
	READDIR3resok *r = &res.readdir.READDIR3res_u.resok;
	READDIRPLUS3resok *rp = &res.readdirplus.READDIRPLUS3res_u.resok;
	char list[4096];
	XDR xdrs;

	xdrmem_create(&xdrs, list, sizeof(list), XDR_ENCODE);
	for (unsigned i = 0; i < n; i++) {
		struct nfs3_dirent d = {
		    .fileid = 20 + i, .name = fh_of(names[i]), .cookie = 1 + i};

		if (i < nattr) {
			d.attributes = post(NF3REG, 20 + i, 5);
			d.handle.handle_follows = TRUE;
			d.handle.post_op_fh3_u.handle = fh_of(names[i]);
		}
		assert_true(nfs3_dirent_encode(&xdrs, plus, &d));
	}
	assert_true(nfs3_dirlist_end(&xdrs, eof));
	if (plus) {
		rp->dir_attributes = post(NF3DIR, 1, 10);
		rp->cookieverf[0] = 'v';
		rp->reply.data = list;
		rp->reply.len = xdr_getpos(&xdrs);
	} else {
		r->dir_attributes = post(NF3DIR, 1, 10);
		r->cookieverf[0] = 'v';
		r->reply.data = list;
		r->reply.len = xdr_getpos(&xdrs);
	}
	say(w, plus ? NFSPROC3_READDIRPLUS : NFSPROC3_READDIR, &args, &res,
	    round_trip(w));
}

static void say_list(struct world *w, const char *const names[], unsigned n,
    bool plus, unsigned nattr)
{
	say_page(w, names, n, plus, nattr, true);
}

/* As if the daemon's user were another one from now on. */
static void be_somebody_else(struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 2000, .gid = 2000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->cred = caches_cred(w->caches, &cred, &auth);
}

FIXTURE(struct world, setup, teardown);

/* ---- attributes -------------------------------------------------------- */

TEST(test_bounded, struct world *w)
{
	uint64_t sent_us = w->now_us;
	struct asking q = {.w = w};

	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
	say_dir(w, "dir", 10);
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	assert_int_equal(q.a.sent_us, sent_us);
	assert_int_equal(
	    q.a.res.getattr.GETATTR3res_u.resok.obj_attributes.ctime.seconds,
	    10);
	/* A confirmation has the age of the call that brought it. */
	w->now_us = sent_us + 3 * S;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	w->now_us++;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
}

TEST(test_strict, struct world *w)
{
	struct asking q = {.w = w};
	uint64_t sent_us = w->now_us;

	set_mode(w, CONFIG_CONSISTENCY_STRICT);
	say_dir(w, "dir", 10);
	/* It was asked for on behalf of this very request. */
	q.received_us = sent_us;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	q.received_us++;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
}

TEST(test_frozen, struct world *w)
{
	struct asking q = {.w = w};

	set_mode(w, CONFIG_CONSISTENCY_FROZEN);
	say_dir(w, "dir", 10);
	w->now_us = T0 + UINT64_C(1) * HOUR * S;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	/* Attributes hold for ever, the right to them for grant_timeout. */
	w->now_us++;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
}

TEST(test_offline, struct world *w)
{
	struct asking q = {.w = w};

	say_dir(w, "dir", 10);
	say_lookup(w, "file", "f", 10, round_trip(w));
	w->now_us = T0 + UINT64_C(1800) * S;
	assert_int_equal(ask_lookup(&q, "file"), CACHED_MISS);
	q.offline = true;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_HIT);
	assert_int_equal(ask_lookup(&q, "other"), CACHED_MISS);
	w->now_us = T0 + UINT64_C(2) * HOUR * S;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
}

/* ---- rights ------------------------------------------------------------ */

TEST(test_access, struct world *w)
{
	struct asking q = {.w = w};

	say_dir(w, "dir", 10);
	/* GETATTR proves no right. */
	assert_int_equal(ask_access(&q, "dir", ACCESS3_READ), CACHED_MISS);
	say_dir_access(w, ACCESS3_READ);
	assert_int_equal(
	    ask_access(&q, "dir", ACCESS3_READ | ACCESS3_MODIFY), CACHED_HIT);
	assert_int_equal(
	    q.a.res.access.ACCESS3res_u.resok.access, ACCESS3_READ);
	/* One that the server was not asked about. */
	assert_int_equal(ask_access(&q, "dir", 0x40), CACHED_MISS);
}

TEST(test_another_user, struct world *w)
{
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	say_lookup(w, "file", "f", 10, round_trip(w));
	assert_int_equal(ask_lookup(&q, "file"), CACHED_HIT);
	be_somebody_else(w);
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
	assert_int_equal(ask_access(&q, "dir", ACCESS3_READ), CACHED_MISS);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_MISS);
	/* It may know what it was told, and nothing beyond. */
	say_dir(w, "dir", 10);
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_HIT);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_MISS);
	say_dir_access(w, ACCESS3_LOOKUP);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_HIT);
	/* Nobody: there is no room for more credentials. */
	q.nobody = true;
	assert_int_equal(ask_getattr(&q, "dir"), CACHED_MISS);
}

/* ---- names ------------------------------------------------------------- */

TEST(test_name, struct world *w)
{
	const LOOKUP3resok *r;
	struct asking q = {.w = w};

	say_dir(w, "dir", 10);
	say_lookup_later(w, "file", "f", 10);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_HIT);
	r = &q.a.res.lookup.LOOKUP3res_u.resok;
	assert_int_equal(q.a.res.status, NFS3_OK);
	assert_memory_equal(r->object.data, "f", 1);
	assert_true(r->obj_attributes.attributes_follow);
	assert_true(r->dir_attributes.attributes_follow);
	/* Somebody changed the directory: the name may lead elsewhere. */
	say_dir(w, "dir", 11);
	assert_int_equal(ask_lookup(&q, "file"), CACHED_MISS);
}

TEST(test_absence, struct world *w)
{
	struct asking q = {.w = w};
	uint64_t sent_us;

	say_dir(w, "dir", 10);
	sent_us = w->now_us;
	say_lookup(w, "none", NULL, 10, round_trip(w));
	assert_int_equal(ask_lookup(&q, "none"), CACHED_HIT);
	assert_int_equal(q.a.res.status, NFS3ERR_NOENT);
	assert_int_equal(ask_lookup(&q, "nothing"), CACHED_MISS);
	/* negative_timeout is the shorter one. */
	w->now_us = sent_us + 2 * S + 1;
	assert_int_equal(ask_lookup(&q, "none"), CACHED_MISS);
}

TEST(test_absent_from_listing, struct world *w)
{
	static const char *const names[] = {"a", "b"};
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	w->now_us += 1 * S;
	say_list(w, names, 2, true, 2);
	/* Whether names have one spelling there is not known yet. */
	assert_int_equal(ask_lookup(&q, "none"), CACHED_MISS);
	say_sensitive(w);
	assert_int_equal(ask_lookup(&q, "none"), CACHED_HIT);
	assert_int_equal(q.a.res.status, NFS3ERR_NOENT);
	assert_int_equal(ask_lookup(&q, "a"), CACHED_HIT);
	assert_int_equal(q.a.res.status, NFS3_OK);
	/* Some servers have directories that they do not list. */
	assert_int_equal(ask_lookup(&q, ".snapshot"), CACHED_MISS);
}

/* ---- listings ---------------------------------------------------------- */

TEST(test_listing, struct world *w)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	w->now_us += 1 * S;
	say_list(w, names, 4, false, 0);
	assert_int_equal(ask_readdir(&q, 0, 0, 4096), CACHED_HIT);
	assert_non_null(q.a.list);
	assert_int_equal(
	    q.a.res.readdir.READDIR3res_u.resok.cookieverf[0], 'v');
	/* From any cookie, but only under the verifier that it came with. */
	assert_int_equal(ask_readdir(&q, 2, 'v', 4096), CACHED_HIT);
	assert_int_equal(ask_readdir(&q, 2, 'w', 4096), CACHED_MISS);
	assert_null(q.a.list);
	/* No room for one entry. */
	assert_int_equal(ask_readdir(&q, 0, 0, 100), CACHED_MISS);
	/* Its attributes are too old: a small reply may spare a large one. */
	w->now_us += 4 * S;
	assert_int_equal(ask_readdir(&q, 0, 0, 4096), CACHED_CONFIRM);
	assert_int_equal(ask_readdir(&q, 2, 'v', 4096), CACHED_MISS);
	q.confirmed = true;
	assert_int_equal(ask_readdir(&q, 0, 0, 4096), CACHED_MISS);
	q.confirmed = false;
	be_somebody_else(w);
	assert_int_equal(ask_readdir(&q, 0, 0, 4096), CACHED_MISS);
}

/* A client may begin with READDIRPLUS and go on with READDIR. */
TEST(test_listing_goes_on, struct world *w)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	w->now_us += 1 * S;
	say_list(w, names, 4, true, 4);
	assert_int_equal(ask_readdir(&q, 2, 'v', 4096), CACHED_HIT);
	assert_int_equal(ask_readdir(&q, 2, 'w', 4096), CACHED_MISS);
	assert_int_equal(ask_readdir(&q, 9, 'v', 4096), CACHED_MISS);
	/* It may count otherwise from the beginning on. */
	assert_int_equal(ask_readdir(&q, 0, 0, 4096), CACHED_MISS);
	say_list(w, names, 2, false, 0);
	assert_int_equal(ask_readdir(&q, 1, 'v', 4096), CACHED_HIT);
	assert_int_equal(ask_readdir(&q, 3, 'v', 4096), CACHED_HIT);
	be_somebody_else(w);
	assert_int_equal(ask_readdir(&q, 2, 'v', 4096), CACHED_MISS);
}

/* Of a listing that has come in part, the server is asked for as much more as
 * the client left room for. */
TEST(test_listing_begun, struct world *w)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	enum { HEAD = 96, LISTED = 4 * 200 };
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	w->now_us += 1 * S;
	say_page(w, names, 4, true, 4, false);
	assert_int_equal(ask_readdirplus(&q, 8192), CACHED_REST);
	assert_int_equal(q.a.rest.cookie, 4);
	assert_int_equal(q.a.rest.cookieverf[0], 'v');
	assert_in_range(q.a.rest.maxcount, 8192 - LISTED + HEAD, 8192);
	assert_in_range(q.a.rest.dircount, 8192 - LISTED, 8191);
	/* Little is left; or the server has no more, or cannot be asked. */
	assert_int_equal(ask_readdirplus(&q, 2048), CACHED_HIT);
	q.rest_asked = true;
	assert_int_equal(ask_readdirplus(&q, 8192), CACHED_HIT);
	q.rest_asked = false;
	/* The names alone come faster from the server. */
	assert_int_equal(ask_readdir(&q, 2, 'v', 8192), CACHED_MISS);
	assert_int_equal(ask_readdir(&q, 2, 'v', 1024), CACHED_HIT);
	q.offline = true;
	assert_int_equal(ask_readdirplus(&q, 8192), CACHED_HIT);
	assert_int_equal(ask_readdir(&q, 2, 'v', 8192), CACHED_HIT);
}

/* Of entries without attributes there may be few. */
TEST(test_listing_with_attributes, struct world *w)
{
	static const char *const names[] = {
	    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
	struct asking q = {.w = w};

	say_dir_access(w, ACCESS_ALL);
	w->now_us += 1 * S;
	say_list(w, names, 10, true, 9);
	assert_int_equal(ask_readdirplus(&q, 4096), CACHED_HIT);
	w->now_us += 1 * S;
	say_list(w, names, 10, true, 8);
	/* The ninth is as old as the first listing, and too old. */
	w->now_us += 2 * S;
	assert_int_equal(ask_readdirplus(&q, 4096), CACHED_MISS);
	/* Its age does not matter where nobody else can be asked. */
	q.offline = true;
	assert_int_equal(ask_readdirplus(&q, 4096), CACHED_HIT);
}

/* ---- data -------------------------------------------------------------- */

static void begin_data(struct world *w, struct fixture *fx)
{
	fattr3 a = big_attr();

	fixture_begin(fx, 64 * MIB);
	caches_set_data(w->caches, fx->dc);
	say_access(w, "big", &a, ACCESS3_READ);
	w->now_us += 1 * S;
}

static void end_data(struct world *w, struct fixture *fx)
{
	w->caches->data = NULL;
	fixture_end(fx);
}

TEST(test_read, struct world *w)
{
	const READ3resok *r;
	struct fixture fx;
	struct asking q = {.w = w};

	begin_data(w, &fx);
	assert_int_equal(ask_read(&q, 0, BIG), CACHED_MISS);
	say_read(w, &fx, 0, 32 * KIB);
	assert_int_equal(ask_read(&q, 1000, 4096), CACHED_HIT);
	r = &q.a.res.read.READ3res_u.resok;
	assert_int_equal(r->count, 4096);
	assert_false(r->eof);
	assert_true(q.a.npieces > 0);
	/* Behind the end there is nothing to be fetched. */
	assert_int_equal(ask_read(&q, BIG, 10), CACHED_HIT);
	assert_int_equal(q.a.npieces, 0);
	assert_true(q.a.res.read.READ3res_u.resok.eof);
	/* The first half need not come again, a crumb may. */
	assert_int_equal(ask_read(&q, 0, BIG), CACHED_REST);
	assert_int_equal(q.a.have, 32 * KIB);
	assert_int_equal(ask_read(&q, 32 * KIB - 100, BIG), CACHED_MISS);
	q.rest_asked = true;
	assert_int_equal(ask_read(&q, 0, BIG), CACHED_MISS);
	end_data(w, &fx);
}

TEST(test_read_confirms, struct world *w)
{
	struct fixture fx;
	struct asking q = {.w = w};

	begin_data(w, &fx);
	say_read(w, &fx, 0, 32 * KIB);
	w->now_us += 4 * S;
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_CONFIRM);
	/* Not all of it is there: the READ itself confirms as well. */
	assert_int_equal(ask_read(&q, 0, BIG), CACHED_MISS);
	q.confirmed = true;
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_MISS);
	/* Somebody who was not seen to be let in: the server is asked. */
	be_somebody_else(w);
	q.confirmed = false;
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_CONFIRM);
	q.confirmed = true;
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_MISS);
	end_data(w, &fx);
}

TEST(test_read_waits, struct world *w)
{
	struct fixture fx;
	struct asking q = {.w = w};

	begin_data(w, &fx);
	say_read(w, &fx, 0, 32 * KIB);
	/* Data on disk is compared with its checksum first. */
	fixture_reopen(&fx);
	w->caches->data = fx.dc;
	q.disk.on_ready = on_ready;
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_WAIT);
	while (q.disk.on_ready)
		event_base_loop(fx.base, EVLOOP_ONCE);
	assert_int_equal(ask_read(&q, 0, 32 * KIB), CACHED_HIT);
	end_data(w, &fx);
}

/* ---- answers kept whole ------------------------------------------------ */

TEST(test_whole, struct world *w)
{
	union nfs_args args = {.object = fh_of("dir")};
	struct asking q = {.w = w};

	assert_int_equal(
	    ask(&q, NFSPROC3_PATHCONF, &args, cached_whole), CACHED_MISS);
	say_dir(w, "dir", 10);
	say_sensitive(w);
	assert_int_equal(
	    ask(&q, NFSPROC3_PATHCONF, &args, cached_whole), CACHED_HIT);
	assert_true(q.a.res.pathconf.PATHCONF3res_u.resok.case_preserving);
	assert_int_equal(
	    ask(&q, NFSPROC3_FSSTAT, &args, cached_whole), CACHED_MISS);
	w->now_us += 4 * S;
	assert_int_equal(
	    ask(&q, NFSPROC3_PATHCONF, &args, cached_whole), CACHED_MISS);
}
