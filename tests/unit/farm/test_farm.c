/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two machines with a farm between them: caches, data and all, without a
 * server or an engine of their own. What one learns from a server's replies,
 * the other asks for; what the engine does in between is the test's.
 */
#include "farm/farm.h"

#include "cache/caches_fixture.h"
#include "datacache/datacache_fixture.h"
#include "farm/engine_fake.h"
#include "farm/farm_private.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_list.h"
#include "svc/cached.h"
#include "upstream/fetch.h"

enum { BIG = 200 << 10, FIRST = 16 << 10, CELL = 60 << 10 };

struct machine {
	struct world *w;
	struct fixture fx;
	struct linkest *link;
	struct fetch *fetch;
	struct farm *farm;
	struct farm_server *server;
};

struct pair {
	char key_file[64];
	struct machine a, b;
};

/* ---- two machines -------------------------------------------------------- */

static void write_key(const char *path, unsigned char first)
{
	unsigned char key[SEAL_KEY_FILE_BYTES];
	FILE *f = fopen(path, "w");

	for (unsigned i = 0; i < sizeof(key); i++)
		key[i] = (unsigned char)(first + i);
	assert_non_null(f);
	assert_int_equal(fwrite(key, sizeof(key), 1, f), 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void begin_farm(struct machine *m, char *key_file, const char *address)
{
	char *url = (char *)"redis://127.0.0.1:6379", err[256];
	struct config_farm c = {.engine = {&url, 1},
	    .key_file = key_file,
	    .share = CONFIG_SHARE_DATA | CONFIG_SHARE_LISTINGS,
	    .publish_cap = 50 << 20};
	struct farm_server_params p = {.caches = m->w->caches,
	    .fetch = m->fetch,
	    .link = m->link,
	    .metrics = m->w->metrics,
	    .address = address};

	m->farm = farm_new(m->fx.base, &c, err, sizeof(err));
	if (!m->farm)
		fail_msg("%s", err);
	p.farm = m->farm;
	m->server = farm_server_new(&p);
	assert_non_null(m->server);
}

static void end_farm(struct machine *m)
{
	farm_server_free(m->server);
	farm_free(m->farm);
}

static void begin_machine(struct machine *m, char *key_file)
{
	void *state;

	assert_int_equal(setup(&state), 0);
	m->w = state;
	fixture_begin(&m->fx, 64 * MIB);
	caches_set_data(m->w->caches, m->fx.dc);
	m->link = linkest_new();
	m->fetch = fetch_new(NULL, NULL, m->w->metrics, m->link);
	begin_farm(m, key_file, "nas.example.org");
}

static void end_machine(struct machine *m)
{
	void *state = m->w;

	end_farm(m);
	fetch_free(m->fetch);
	linkest_free(m->link);
	m->w->caches->data = NULL;
	fixture_end(&m->fx);
	assert_int_equal(teardown(&state), 0);
}

static int begin_pair(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	int fd;

	snprintf(p->key_file, sizeof(p->key_file), "/tmp/ff-farm-XXXXXX");
	fd = mkstemp(p->key_file);
	assert_true(fd >= 0);
	close(fd);
	write_key(p->key_file, 1);
	begin_machine(&p->a, p->key_file);
	begin_machine(&p->b, p->key_file);
	*state = p;
	return 0;
}

static int end_pair(void **state)
{
	struct pair *p = *state;

	end_machine(&p->a);
	end_machine(&p->b);
	fake_clear();
	unlink(p->key_file);
	free(p);
	return 0;
}

static void turn(struct machine *m)
{
	event_base_loop(m->fx.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* Until so many values of the kind are in the engine. */
static void until_published(struct machine *m, char kind, unsigned n)
{
	while (fake_count_of(kind) < n)
		event_base_loop(m->fx.base, EVLOOP_ONCE);
}

/* Until all that waits was published, or left out. */
static void until_quiet(struct machine *m)
{
	while (
	    event_base_get_num_events(m->fx.base, EVENT_BASE_COUNT_ADDED) > 0 &&
	    publish_waiting(m->farm->publish) > 0)
		event_base_loop(m->fx.base, EVLOOP_ONCE);
}

/* ---- what a server says ----------------------------------------------------
 */

static fattr3 big_attr(uint32_t ctime)
{
	fattr3 a = attr_of(NF3REG, 30, ctime);

	a.size = BIG;
	return a;
}

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

static void say_big(struct machine *m, uint32_t ctime)
{
	fattr3 a = big_attr(ctime);

	say_access(m->w, "big", &a, ACCESS3_READ);
}

/* The bytes of version `ctime`. */
static void say_read(
    struct machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = fh_of("big"), .offset = offset, .count = len}};
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;
	struct rbuf *b = rbuf_get(m->fx.bufs, len);

	pattern_fill(b->data, 30, ctime, offset, len);
	r->file_attributes.attributes_follow = TRUE;
	r->file_attributes.post_op_attr_u.attributes = big_attr(ctime);
	r->count = len;
	r->data.len = len;
	r->data.data = (const char *)b->data;
	r->eof = offset + len == BIG;
	say(m->w, NFSPROC3_READ, &args, &res, round_trip(m->w));
	rbuf_unref(b);
}

/* Its reply is firm: a second passes after the version was seen. */
static void say_firm(
    struct machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
{
	say_big(m, ctime);
	m->w->now_us += 1 * S;
	say_read(m, ctime, offset, len);
}

/* ---- questions -------------------------------------------------------------
 */

static enum farm_answer ask(struct machine *m, uint64_t offset, uint32_t len)
{
	return farm_ask_data(
	    m->server, node_of(m->w, "big"), m->w->cred, offset, len, false);
}

/* Whether the farm brings it: asked, and answered. */
static bool brings(struct machine *m, uint64_t offset, uint32_t len)
{
	struct data_version v;
	struct datacache_read rd;
	struct asker who = asker_now(m->w->caches, m->w->cred, m->w->now_us);
	struct known k;

	if (ask(m, offset, len) != FARM_ASKED)
		return false;
	while (!LIST_EMPTY(&m->server->data))
		turn(m);
	known_node(&k, &who, node_of(m->w, "big"));
	rd = known_data(&k, &v, offset, len);
	return datacache_have(m->fx.dc, &rd) == len;
}

/* What a client would be answered, and whether these are the bytes of that
 * version. */
static enum cached_verdict read_big(
    struct machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
{
	union nfs_args args = {
	    .read = {.file = fh_of("big"), .offset = offset, .count = len}};
	struct datacache_waiter disk = {0};
	struct cached_call call = {
	    .who = asker_now(m->w->caches, m->w->cred, m->w->now_us),
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READ),
	    .args = &args,
	    .disk = &disk};
	struct cached_answer a;
	enum cached_verdict v = cached_read(&call, &a);
	uint64_t at = offset;

	for (unsigned i = 0; v == CACHED_HIT && i < a.npieces; i++)
		for (uint32_t n = 0; n < a.pieces[i].len; n++, at++)
			assert_int_equal(
			    ((const unsigned char *)a.pieces[i].data)[n],
			    pattern_byte(30, ctime, at));
	return v;
}

static uint64_t counter(struct machine *m, enum metrics_counter c)
{
	return metrics_get(m->w->metrics, c);
}

/* ---- data ------------------------------------------------------------------
 */

static void test_data(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	assert_int_equal(fake_count_of('d'), 5);
	say_big(&p->b, 5);
	assert_int_equal(read_big(&p->b, 5, 0, BIG), CACHED_MISS);
	assert_true(brings(&p->b, 0, BIG));
	assert_int_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
	assert_int_equal(counter(&p->b, METRICS_FARM_HITS), 5);
	assert_int_equal(counter(&p->b, METRICS_FARM_BYTES), BIG);
	/* It does not publish what it got. */
	assert_int_equal(publish_waiting(p->b.farm->publish), 0);
}

/* Pieces that came one after the other are one value. */
static void test_pieces(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, CELL, 20000);
	say_read(&p->a, 5, CELL + 20000, 20000);
	until_published(&p->a, 'd', 1);
	assert_int_equal(fake_count_of('d'), 1);
	say_big(&p->b, 5);
	assert_true(brings(&p->b, CELL + 5000, 30000));
	assert_int_equal(read_big(&p->b, 5, CELL + 5000, 30000), CACHED_HIT);
}

/* What is not firm may be of another moment: nobody else may have it. */
static void test_not_firm(void **state)
{
	struct pair *p = *state;

	say_big(&p->a, 5);
	say_read(&p->a, 5, 0, BIG);
	until_quiet(&p->a);
	assert_int_equal(fake_count, 0);
}

static void test_other_version(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	say_big(&p->b, 6);
	assert_false(brings(&p->b, 0, BIG));
	assert_int_equal(read_big(&p->b, 6, 0, BIG), CACHED_MISS);
}

/* The file changes while the engine is being asked. */
static void test_changes_meanwhile(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	say_big(&p->b, 5);
	assert_int_equal(ask(&p->b, 0, BIG), FARM_ASKED);
	say_big(&p->b, 6);
	while (!LIST_EMPTY(&p->b.server->data))
		turn(&p->b);
	assert_int_equal(read_big(&p->b, 6, 0, BIG), CACHED_MISS);
	assert_int_equal(stats_of(&p->b.fx).extents, 0);
}

/* All is forgotten while the engine is being asked. */
static void test_flushed_meanwhile(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	say_big(&p->b, 5);
	assert_int_equal(ask(&p->b, 0, BIG), FARM_ASKED);
	caches_flush(p->b.w->caches);
	while (!LIST_EMPTY(&p->b.server->data))
		turn(&p->b);
	assert_int_equal(stats_of(&p->b.fx).extents, 0);
}

static void test_unknown_version(void **state)
{
	struct pair *p = *state;
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("big")}};
	union nfs_res res = {.status = NFS3_OK};

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	/* A name without attributes. */
	say_dir(p->b.w, "dir", 10);
	res.lookup.LOOKUP3res_u.resok.object = fh_of("big");
	say(p->b.w, NFSPROC3_LOOKUP, &args, &res, round_trip(p->b.w));
	assert_int_equal(ask(&p->b, 0, BIG), FARM_NO);
	assert_int_equal(fake_gets, 0);
}

/* ---- an engine that lies
 * ----------------------------------------------------- */

/* B asks for the first cell of a file that A has published. */
static bool brings_changed(struct pair *p)
{
	say_big(&p->b, 5);
	return brings(&p->b, 0, FIRST) ||
	       read_big(&p->b, 5, 0, FIRST) != CACHED_MISS;
}

static void test_flipped(void **state)
{
	struct pair *p = *state;
	struct fake_value *v;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	v = fake_find('d', 0);
	v->data[v->len / 2] ^= 1;
	assert_false(brings_changed(p));
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 1);
}

static void test_cut(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	fake_find('d', 0)->len /= 2;
	assert_false(brings_changed(p));
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 1);
}

static void test_empty(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	fake_find('d', 0)->len = 0;
	assert_false(brings_changed(p));
}

/* Values under each other's keys. */
static void test_swapped(void **state)
{
	struct pair *p = *state;
	struct fake_value *x, *y, z;

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	x = fake_find('d', 2);
	y = fake_find('d', 3);
	z = *x;
	x->data = y->data;
	x->len = y->len;
	y->data = z.data;
	y->len = z.len;
	say_big(&p->b, 5);
	assert_false(brings(&p->b, 0, BIG));
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 2);
	/* What is not damaged is of use. */
	assert_int_equal(read_big(&p->b, 5, 0, CELL), CACHED_HIT);
	assert_int_not_equal(read_big(&p->b, 5, CELL, CELL), CACHED_HIT);
}

/* The value of an older version in the place of the present one. */
static void test_replayed(void **state)
{
	struct pair *p = *state;
	struct fake_value *old, *now;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	say_firm(&p->a, 6, 0, FIRST);
	until_published(&p->a, 'd', 2);
	old = fake_find('d', 0);
	now = fake_find('d', 1);
	assert_int_equal(old->len, now->len);
	memcpy(now->data, old->data, old->len);
	say_big(&p->b, 6);
	assert_false(brings(&p->b, 0, FIRST));
	assert_int_equal(read_big(&p->b, 6, 0, FIRST), CACHED_MISS);
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 1);
}

/* Another key file is another farm. */
static void test_wrong_key(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	end_farm(&p->b);
	write_key(p->key_file, 99);
	begin_farm(&p->b, p->key_file, "nas.example.org");
	assert_false(brings_changed(p));
}

static void test_other_server(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	end_farm(&p->b);
	begin_farm(&p->b, p->key_file, "other.example.org");
	assert_false(brings_changed(p));
}

/* ---- rights
 * ------------------------------------------------------------------ */

/* The bytes are there, and go to nobody whom the server has not let in. */
static void test_denied(void **state)
{
	struct pair *p = *state;
	fattr3 a = big_attr(5);

	say_firm(&p->a, 5, 0, BIG);
	until_published(&p->a, 'd', 5);
	say_access(p->b.w, "big", &a, 0);
	assert_true(brings(&p->b, 0, BIG));
	assert_int_not_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
	say_access(p->b.w, "big", &a, ACCESS3_READ);
	assert_int_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
	/* The right is taken away on the server. */
	say_access(p->b.w, "big", &a, 0);
	assert_int_not_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
}

static void be_somebody_else(struct world *w)
{
	struct rpc_auth_sys auth = {.uid = 2000, .gid = 2000};
	struct rpc_cred cred = {.flavor = AUTH_SYS};

	w->cred = caches_cred(w->caches, &cred, &auth);
}

/* ---- listings
 * ------------------------------------------------------------------ */

static void say_list(struct machine *m)
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

static void say_dir_rights(struct machine *m, uint32_t ctime, uint32_t given)
{
	fattr3 a = attr_of(NF3DIR, 1, ctime);

	say_access(m->w, "dir", &a, given);
}

static void publish_list(struct machine *m)
{
	say_dir_rights(m, 10, ACCESS_ALL);
	m->w->now_us += 1 * S;
	say_list(m);
	until_published(m, 'l', 1);
}

static bool brings_list(struct machine *m)
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

static enum cached_verdict look_up(struct machine *m, const char *name)
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

static void test_listing(void **state)
{
	struct pair *p = *state;

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

static void test_listing_of_others(void **state)
{
	struct pair *p = *state;

	publish_list(&p->a);
	be_somebody_else(p->b.w);
	say_dir_rights(&p->b, 10, ACCESS_ALL);
	say_pathconf(p->b.w, true);
	assert_false(brings_list(&p->b));
	assert_int_equal(look_up(&p->b, "four"), CACHED_MISS);
}

static void test_listing_changed(void **state)
{
	struct pair *p = *state;

	publish_list(&p->a);
	say_dir_rights(&p->b, 11, ACCESS_ALL);
	assert_false(brings_list(&p->b));
}

/* A change of our own came after what confirmed the version. */
static void test_listing_after_change(void **state)
{
	struct pair *p = *state;

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

/* ---- an engine that is of no use
 * --------------------------------------------- */

static void test_asked_once(void **state)
{
	struct pair *p = *state;

	say_big(&p->b, 5);
	assert_false(brings(&p->b, 0, FIRST));
	assert_int_equal(fake_gets, 1);
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_NO);
	assert_int_equal(fake_gets, 1);
}

static void test_hangs(void **state)
{
	struct pair *p = *state;

	say_firm(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
	fake_hangs = true;
	assert_false(brings_changed(p));
	fake_down = true;
	assert_int_equal(ask(&p->b, CELL, CELL), FARM_NO);
}

static void on_done(struct fetch_watch *watch)
{
	*(bool *)watch->ctx = true;
}

/* Others find the claim, and hear of its end. */
static void test_claim(void **state)
{
	struct pair *p = *state;
	bool told = false;
	struct fetch_watch watch = {.on_done = on_done, .ctx = &told};
	nfs3_fh fh = fh_of("big");
	struct fetch_about about = {.object = fh_key(&fh),
	    .proc = NFSPROC3_READ,
	    .cred = p->b.w->cred,
	    .from = 100,
	    .to = 200};

	say_big(&p->b, 5);
	assert_false(fetch_watch(p->b.fetch, &about, &watch));
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_ASKED);
	assert_true(fetch_watch(p->b.fetch, &about, &watch));
	assert_false(told);
	while (!told)
		turn(&p->b);
	assert_false(fetch_under_way(p->b.fetch, &about));
}

/* What nobody waits for leaves room on the way from the engine. */
static void test_busy(void **state)
{
	struct pair *p = *state;
	struct node *big;
	unsigned asked = 0;

	say_big(&p->b, 5);
	big = node_of(p->b.w, "big");
	while (farm_ask_data(p->b.server, big, p->b.w->cred, CELL, CELL,
		   true) == FARM_ASKED)
		asked++;
	assert_int_equal(asked, (AHEAD_BYTES_MAX + CELL - 1) / CELL);
	assert_int_equal(
	    farm_ask_data(p->b.server, big, p->b.w->cred, CELL, CELL, true),
	    FARM_BUSY);
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_ASKED);
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, begin_pair, end_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    PAIR(test_data),
	    PAIR(test_pieces),
	    PAIR(test_not_firm),
	    PAIR(test_other_version),
	    PAIR(test_changes_meanwhile),
	    PAIR(test_flushed_meanwhile),
	    PAIR(test_unknown_version),
	    PAIR(test_flipped),
	    PAIR(test_cut),
	    PAIR(test_empty),
	    PAIR(test_swapped),
	    PAIR(test_replayed),
	    PAIR(test_wrong_key),
	    PAIR(test_other_server),
	    PAIR(test_denied),
	    PAIR(test_listing),
	    PAIR(test_listing_of_others),
	    PAIR(test_listing_changed),
	    PAIR(test_listing_after_change),
	    PAIR(test_asked_once),
	    PAIR(test_hangs),
	    PAIR(test_claim),
	    PAIR(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
