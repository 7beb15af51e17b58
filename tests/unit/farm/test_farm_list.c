/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listings that one machine has from the server, and another from the farm. */
#include "farm/farm_fixture.h"
#include "nfsproto/nfs3_list.h"
#include "svc/cached.h"

/* ---- listings ---------------------------------------------------------- */

static void say_list(struct farm_machine *m)
{
	static const char *const names[] = {"one", "two", "three"};
	union nfs_args args = {.readdirplus = {.dir = fh_of("dir")}};
	union nfs_res res = {.status = NFS3_OK};
	READDIRPLUS3resok *rp = &res.readdirplus.READDIRPLUS3res_u.resok;
	char list[4096];
	XDR xdrs;

	xdrmem_create(&xdrs, list, sizeof(list), XDR_ENCODE);
	for (unsigned i = 0; i < 3; i++) {
		struct nfs3_dirent d = {.fileid = 20 + i,
		    .name = fh_of(names[i]),
		    .cookie = 1 + i,
		    .attributes = post(NF3REG, 20 + i, 5)};

		d.handle.handle_follows = TRUE;
		d.handle.post_op_fh3_u.handle = fh_of(names[i]);
		assert_true(nfs3_dirent_encode(&xdrs, true, &d));
	}
	assert_true(nfs3_dirlist_end(&xdrs, true));
	rp->dir_attributes = post(NF3DIR, 1, 10);
	rp->cookieverf[0] = 'v';
	rp->reply.data = list;
	rp->reply.len = xdr_getpos(&xdrs);
	say(m->w, NFSPROC3_READDIRPLUS, &args, &res, round_trip(m->w));
}

static void say_dir_rights(
    struct farm_machine *m, uint32_t ctime, uint32_t given)
{
	fattr3 a = attr_of(NF3DIR, 1, ctime);

	say_access(m->w, "dir", &a, given);
}

static void publish_list(struct farm_machine *m)
{
	say_dir_rights(m, 10, ACCESS_ALL);
	m->w->now_us += 1 * S;
	say_list(m);
	until_published(m, 'l', 1);
}

static bool brings_list(struct farm_machine *m)
{
	struct node *dir = node_of(m->w, "dir");
	struct listing *l;

	if (farm_ask_listing(m->server, dir, m->w->cred, true, false) !=
	    FARM_ASKED)
		return false;
	while (!LIST_EMPTY(&m->server->lists))
		turn(m);
	l = listcache_find(m->w->caches->lists, dir, m->w->cred, true);
	return l && listing_complete(l) && listing_count(l) == 3;
}

static enum cached_verdict look_up(struct farm_machine *m, const char *name)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of(name)}};
	struct cached_call call = {
	    .who = asker_now(m->w->caches, m->w->cred, m->w->now_us),
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP),
	    .args = &args};
	struct cached_answer a;

	return cached_lookup(&call, &a);
}

FIXTURE(struct pair, begin_pair, end_pair);

TEST(test_listing, struct pair *p)
{
	publish_list(&p->a);
	say_dir_rights(&p->b, 10, ACCESS_ALL);
	say_pathconf(p->b.w, true);
	assert_int_equal(look_up(&p->b, "four"), CACHED_MISS);
	assert_true(brings_list(&p->b));
	assert_int_equal(look_up(&p->b, "four"), CACHED_HIT);
	/* Where a name leads is known, but nothing of its attributes. */
	assert_non_null(node_of(p->b.w, "two"));
	assert_int_equal(look_up(&p->b, "two"), CACHED_MISS);
	/* Its age is that of the directory's confirmation. */
	p->b.w->now_us += 4 * S;
	assert_int_equal(look_up(&p->b, "four"), CACHED_MISS);
}

TEST(test_listing_of_others, struct pair *p)
{
	publish_list(&p->a);
	be_somebody_else(p->b.w);
	say_dir_rights(&p->b, 10, ACCESS_ALL);
	say_pathconf(p->b.w, true);
	assert_false(brings_list(&p->b));
	assert_int_equal(look_up(&p->b, "four"), CACHED_MISS);
}

/* Where the farm had no listings for long, it is asked for one beside the
 * server; one that it has is asked for as before then. */
TEST(test_listing_barren, struct pair *p)
{
	publish_list(&p->a);
	say_dir_rights(&p->b, 10, ACCESS_ALL);
	be_alone(&p->b);
	p->b.server->barren[FARM_LISTING].misses = BARREN_MISSES;
	assert_false(brings_list(&p->b));
	until_answered(&p->b);
	assert_int_equal(counter(&p->b, METRICS_FARM_ASKED), 1);
	assert_true(brings_list(&p->b));
}

TEST(test_listing_changed, struct pair *p)
{
	publish_list(&p->a);
	say_dir_rights(&p->b, 11, ACCESS_ALL);
	assert_false(brings_list(&p->b));
}

/* A change of our own came after what confirmed the version. */
TEST(test_listing_after_change, struct pair *p)
{
	publish_list(&p->a);
	say_dir_rights(&p->b, 10, ACCESS_ALL);
	assert_int_equal(farm_ask_listing(p->b.server, node_of(p->b.w, "dir"),
			     p->b.w->cred, true, false),
	    FARM_ASKED);
	say_remove(p->b.w, "two", 10, 11);
	while (!LIST_EMPTY(&p->b.server->lists))
		turn(&p->b);
	assert_null(listcache_find(
	    p->b.w->caches->lists, node_of(p->b.w, "dir"), p->b.w->cred, true));
}
