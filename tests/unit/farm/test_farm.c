/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File data that one machine has from the server, and another from the farm;
 * what the engine does in between is the test's.
 */
#include "farm/farm_fixture.h"
#include "svc/cached.h"

/* ---- questions --------------------------------------------------------- */

static enum farm_answer ask(
    struct farm_machine *m, uint64_t offset, uint32_t len)
{
	return farm_ask_data(
	    m->server, node_of(m->w, "big"), m->w->cred, offset, len, false);
}

/* Whether the farm brings it: asked, and answered. */
static bool brings(struct farm_machine *m, uint64_t offset, uint32_t len)
{
	if (ask(m, offset, len) != FARM_ASKED)
		return false;
	until_answered(m);
	return has_big(m, offset, len);
}

/* Returns the verdict that a client's READ would get, and fails where the bytes
 * of a hit are not those of that version. */
static enum cached_verdict read_big(
    struct farm_machine *m, uint32_t ctime, uint64_t offset, uint32_t len)
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

/* Version 5, of the beginning of the file or of all, is in the engine. */
static void publish(struct pair *p, uint32_t len)
{
	say_firm(&p->a, 5, 0, len);
	until_published(&p->a, 'd', len == BIG ? 5 : 1);
}

FIXTURE(struct pair, begin_pair, end_pair);

/* ---- data -------------------------------------------------------------- */

TEST(test_data, struct pair *p)
{
	publish(p, BIG);
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
TEST(test_pieces, struct pair *p)
{
	say_firm(&p->a, 5, CELL, 20000);
	say_read(&p->a, 5, CELL + 20000, 20000);
	until_published(&p->a, 'd', 1);
	assert_int_equal(fake_count_of('d'), 1);
	say_big(&p->b, 5);
	assert_true(brings(&p->b, CELL + 5000, 30000));
	assert_int_equal(read_big(&p->b, 5, CELL + 5000, 30000), CACHED_HIT);
}

/* Pieces with a gap between them are one value, too, as of a file that is
 * mapped into memory; a piece that comes later is joined with the value that
 * the engine has. */
TEST(test_gaps, struct pair *p)
{
	say_firm(&p->a, 5, CELL, 8192);
	say_read(&p->a, 5, CELL + 20480, 4096);
	until_published(&p->a, 'd', 1);
	until_quiet(&p->a);
	say_read(&p->a, 5, CELL + 40960, 4096);
	until_quiet(&p->a);
	assert_int_equal(fake_count_of('d'), 1);
	say_big(&p->b, 5);
	assert_true(brings(&p->b, CELL + 20480, 4096));
	assert_int_equal(read_big(&p->b, 5, CELL, 8192), CACHED_HIT);
	assert_int_equal(read_big(&p->b, 5, CELL + 40960, 4096), CACHED_HIT);
	assert_int_not_equal(read_big(&p->b, 5, CELL, CELL), CACHED_HIT);
	/* Where something is missing, it does not bring what was wanted. */
	assert_false(brings(&p->b, CELL, CELL));
}

/* A value that its key fits, and whose pieces make no sense. */
TEST(test_bad_pieces, struct pair *p)
{
	static const uint64_t bad[][4] = {{CELL, 100, CELL + 50, 100},
	    {CELL + 200, 100, CELL, 100}, {0, 100, CELL, 100},
	    {CELL, 100, 2 * CELL - 50, 100}, {CELL, 0, CELL, 100},
	    {CELL, 100, CELL + 100, UINT64_MAX},
	    {UINT64_MAX - 50, 100, CELL, 100}};
	enum { LEN = PIECE_HEAD + 100 };
	nfs3_fh fh = fh_of("big");
	struct data_version v;
	struct farm_key key;

	say_big(&p->a, 5);
	say_big(&p->b, 5);
	v = caches_data_version(p->a.w->caches, node_of(p->a.w, "big"));
	farm_data_key(p->a.server, &fh, &v, cell_at(CELL), &key);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		unsigned char *to = p->a.farm->plain;

		memset(to, 0, 2 * LEN);
		for (int k = 0; k < 4; k++)
			farm_put_number(
			    to + k / 2 * LEN + k % 2 * FARM_NUMBER_BYTES,
			    bad[i][k]);
		assert_true(farm_put(p->a.server, &key, 2 * LEN));
		assert_false(brings(&p->b, CELL, 100));
		assert_int_equal(counter(&p->b, METRICS_FARM_BAD), i + 1);
		assert_int_equal(stats_of(&p->b.fx).extents, 0);
		/* It may be asked for again. */
		memset(p->b.server->absent, 0, sizeof(p->b.server->absent));
	}
}

/* The engine has lost all that it had: it is given what comes anew. */
TEST(test_engine_begins_anew, struct pair *p)
{
	publish(p, FIRST);
	fake_clear();
	datacache_flush(p->a.fx.dc);
	assert_false(brings(&p->a, 0, FIRST));
	say_read(&p->a, 5, 0, FIRST);
	until_published(&p->a, 'd', 1);
}

/* Pieces that are not firm may be of different moments, so nobody else may have
 * them. */
TEST(test_not_firm, struct pair *p)
{
	say_big(&p->a, 5);
	say_read(&p->a, 5, 0, BIG);
	until_quiet(&p->a);
	assert_int_equal(fake_count_of('d'), 0);
}

TEST(test_other_version, struct pair *p)
{
	publish(p, BIG);
	say_big(&p->b, 6);
	assert_false(brings(&p->b, 0, BIG));
	assert_int_equal(read_big(&p->b, 6, 0, BIG), CACHED_MISS);
}

/* The file changes while the engine is being asked. */
TEST(test_changes_meanwhile, struct pair *p)
{
	publish(p, BIG);
	say_big(&p->b, 5);
	assert_int_equal(ask(&p->b, 0, BIG), FARM_ASKED);
	say_big(&p->b, 6);
	until_answered(&p->b);
	assert_int_equal(read_big(&p->b, 6, 0, BIG), CACHED_MISS);
	assert_int_equal(stats_of(&p->b.fx).extents, 0);
}

/* All is forgotten while the engine is being asked. */
TEST(test_flushed_meanwhile, struct pair *p)
{
	publish(p, BIG);
	say_big(&p->b, 5);
	assert_int_equal(ask(&p->b, 0, BIG), FARM_ASKED);
	caches_flush(p->b.w->caches);
	until_answered(&p->b);
	assert_int_equal(stats_of(&p->b.fx).extents, 0);
}

TEST(test_unknown_version, struct pair *p)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("big")}};
	union nfs_res res = {.status = NFS3_OK};
	unsigned before;

	publish(p, BIG);
	before = fake_gets;
	/* A name without attributes. */
	say_dir(p->b.w, "dir", 10);
	res.lookup.LOOKUP3res_u.resok.object = fh_of("big");
	say(p->b.w, NFSPROC3_LOOKUP, &args, &res, round_trip(p->b.w));
	assert_int_equal(ask(&p->b, 0, BIG), FARM_NO);
	assert_int_equal(fake_gets, before);
}

/* ---- an engine that lies ----------------------------------------------- */

/* B asks for the first cell of a file that A has published. */
static bool brings_changed(struct pair *p)
{
	say_big(&p->b, 5);
	return brings(&p->b, 0, FIRST) ||
	       read_big(&p->b, 5, 0, FIRST) != CACHED_MISS;
}

TEST(test_flipped, struct pair *p)
{
	struct fake_value *v;

	publish(p, FIRST);
	v = fake_find('d', 0);
	v->data[v->len / 2] ^= 1;
	assert_false(brings_changed(p));
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 1);
}

TEST(test_cut, struct pair *p)
{
	publish(p, FIRST);
	fake_find('d', 0)->len /= 2;
	assert_false(brings_changed(p));
	assert_int_equal(counter(&p->b, METRICS_FARM_BAD), 1);
}

TEST(test_empty, struct pair *p)
{
	publish(p, FIRST);
	fake_find('d', 0)->len = 0;
	assert_false(brings_changed(p));
}

/* Values under each other's keys. */
TEST(test_swapped, struct pair *p)
{
	struct fake_value *x, *y, z;

	publish(p, BIG);
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
	/* The cells that were not swapped are still of use. */
	assert_int_equal(read_big(&p->b, 5, 0, CELL), CACHED_HIT);
	assert_int_not_equal(read_big(&p->b, 5, CELL, CELL), CACHED_HIT);
}

/* The value of an older version in the place of the present one. */
TEST(test_replayed, struct pair *p)
{
	struct fake_value *old, *now;

	publish(p, FIRST);
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
TEST(test_wrong_key, struct pair *p)
{
	publish(p, FIRST);
	end_farm(&p->b);
	write_key(p->key_file, 99);
	begin_farm(&p->b, p->key_file, "nas.example.org");
	assert_false(brings_changed(p));
}

TEST(test_other_server, struct pair *p)
{
	publish(p, FIRST);
	end_farm(&p->b);
	begin_farm(&p->b, p->key_file, "other.example.org");
	assert_false(brings_changed(p));
}

/* ---- rights ------------------------------------------------------------ */

/* The bytes are there, and go to nobody whom the server has not let in. */
TEST(test_denied, struct pair *p)
{
	fattr3 a = big_attr(5);

	publish(p, BIG);
	say_access(p->b.w, "big", &a, 0);
	assert_true(brings(&p->b, 0, BIG));
	assert_int_not_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
	say_access(p->b.w, "big", &a, ACCESS3_READ);
	assert_int_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
	/* The right is taken away on the server. */
	say_access(p->b.w, "big", &a, 0);
	assert_int_not_equal(read_big(&p->b, 5, 0, BIG), CACHED_HIT);
}

/* ---- an engine that is of no use --------------------------------------- */

TEST(test_asked_once, struct pair *p)
{
	say_big(&p->b, 5);
	assert_false(brings(&p->b, 0, FIRST));
	/* The other question is who else is there. */
	assert_int_equal(fake_gets, 2);
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_NO);
	assert_int_equal(fake_gets, 2);
}

/* Where the farm has had nothing for long, nobody waits for it; but now and
 * then it is asked beside the server, which tells when it has something. */
TEST(test_barren, struct pair *p)
{
	uint64_t before;

	publish(p, FIRST);
	say_big(&p->b, 5);
	be_alone(&p->b);
	p->b.server->barren[FARM_DATA].misses = BARREN_MISSES;
	before = counter(&p->b, METRICS_FARM_ASKED);
	for (unsigned i = 0; i < BARREN_PART; i++)
		assert_int_equal(ask(&p->b, 2 * CELL, 100), FARM_NO);
	until_answered(&p->b);
	assert_int_equal(counter(&p->b, METRICS_FARM_ASKED), before + 1);
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_NO);
	until_answered(&p->b);
	assert_int_equal(counter(&p->b, METRICS_FARM_ASKED), before + 2);
	assert_int_equal(ask(&p->b, 0, FIRST), FARM_ASKED);
}

TEST(test_hangs, struct pair *p)
{
	publish(p, FIRST);
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
TEST(test_claim, struct pair *p)
{
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

/* Asks for which no client waits leave room for the others on the way from the
 * engine. */
TEST(test_busy, struct pair *p)
{
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
