/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches with a million names, and with a million blocks: what one of them
 * takes, that memory_size holds, and that what is used stays.
 */
#include "datacache/datacache_fixture.h"

#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_said.h"

enum {
	MILLION = 1000000,
	BUDGET = 64 * MIB,
	HOT = 10000,      /* names that are asked for again and again, */
	HOT_EACH = 50000, /* after so many new ones */
	NAME_BYTES = 160, /* a name with its handle and attributes, at most */
	BLOCK = 64,       /* bytes: what an extent holds does not matter */
};

static const uint64_t T0 = UINT64_C(1) << 40;

/* ---- names ------------------------------------------------------------ */

struct names {
	struct config_server config;
	struct metrics *metrics;
	struct caches *caches;
	size_t most_bytes; /* that was seen */
};

static void names_begin(struct names *n, size_t memory_bytes)
{
	memset(n, 0, sizeof(*n));
	n->config.policy.consistency = CONFIG_CONSISTENCY_FROZEN;
	n->metrics = metrics_new();
	n->caches = caches_new(&n->config, n->metrics, memory_bytes, NULL);
	assert_non_null(n->caches);
}

static void names_end(struct names *n)
{
	caches_free(n->caches);
	metrics_free(n->metrics);
}

static const char *handle_of(unsigned i, char fh[32])
{
	snprintf(fh, 32, "handle-of-28-bytes--%08u", i % 100000000);
	return fh;
}

static post_op_attr attr_of(ftype3 type, unsigned i)
{
	post_op_attr p = {.attributes_follow = TRUE};
	fattr3 *a = &p.post_op_attr_u.attributes;

	*a = (fattr3){.type = type,
	    .mode = 0644,
	    .nlink = 1,
	    .size = i,
	    .used = 4096,
	    .fsid = 7,
	    .fileid = i + 10,
	    .mtime = {1000, i},
	    .ctime = {1000, i}};
	return p;
}

/* The reply to a LOOKUP of name `i`; caches_trim() runs behind it. */
static void say_lookup(struct names *n, unsigned i)
{
	char name[32], fh[32], dir[32];
	union nfs_args args = {0};
	union nfs_res res = {.status = NFS3_OK};
	LOOKUP3resok *r = &res.lookup.LOOKUP3res_u.resok;
	struct learn l = {.caches = n->caches,
	    .args = &args,
	    .res = &res,
	    .sent_us = T0 + i,
	    .now_us = T0 + i + 1};

	snprintf(name, sizeof(name), "name-%07u", i);
	args.dirop.dir = (nfs3_fh){28, handle_of(99999999, dir)};
	args.dirop.name = (nfs3_name){(uint32_t)strlen(name), name};
	r->object = (nfs3_fh){28, handle_of(i, fh)};
	r->obj_attributes = attr_of(NF3REG, i);
	r->dir_attributes = attr_of(NF3DIR, 0);
	learn_said(l, NFSPROC3_LOOKUP);
	if (caches_bytes(n->caches) > n->most_bytes)
		n->most_bytes = caches_bytes(n->caches);
}

/* As a client would ask: the name, then what it leads to. */
static bool knows(struct names *n, unsigned i)
{
	char name[32], fh[32];
	nfs3_fh dir_fh = {28, handle_of(99999999, fh)};
	struct node *dir = attrcache_find(n->caches->attr, &dir_fh);
	nfs3_name view = {0, name};
	struct dentry *d;
	nfs3_fh child = {28, fh};

	snprintf(name, sizeof(name), "name-%07u", i);
	view.len = (uint32_t)strlen(name);
	d = dir ? namecache_find(n->caches->names, dir, &view) : NULL;
	handle_of(i, fh);
	return d && dentry_child(n->caches->names, d) &&
	       attrcache_find(n->caches->attr, &child);
}

static unsigned count_known(struct names *n, unsigned from, unsigned to)
{
	unsigned known = 0;

	for (unsigned i = from; i < to; i++)
		known += knows(n, i);
	return known;
}

TEST(test_name_bytes)
{
	struct names n;

	names_begin(&n, (size_t)1024 * MIB);
	for (unsigned i = 0; i < MILLION; i++)
		say_lookup(&n, i);
	assert_int_equal(namecache_count(n.caches->names), MILLION);
	assert_int_equal(attrcache_count(n.caches->attr), MILLION + 1);
	print_message("a name with its handle and attributes: %.1f bytes\n",
	    (double)caches_bytes(n.caches) / MILLION);
	assert_true(caches_bytes(n.caches) <= (size_t)NAME_BYTES * MILLION);
	assert_int_equal(count_known(&n, 0, 1000), 1000);
	names_end(&n);
}

/* Names that are used stay, of the others the oldest go. */
TEST(test_names_hold)
{
	struct names n;
	unsigned fits = BUDGET / NAME_BYTES;

	names_begin(&n, BUDGET);
	for (unsigned i = 0; i < MILLION; i++) {
		say_lookup(&n, i);
		if (i > HOT && i % HOT_EACH == 0)
			assert_int_equal(count_known(&n, 0, HOT), HOT);
	}
	print_message("%zu names in %d MiB, at most %.1f MiB\n",
	    namecache_count(n.caches->names), BUDGET / MIB,
	    (double)n.most_bytes / MIB);
	assert_true(n.most_bytes <= BUDGET);
	assert_true(namecache_count(n.caches->names) > fits / 10 * 9);
	assert_int_equal(count_known(&n, 0, HOT), HOT);
	/* The last ones; what the clock spared is a few. */
	assert_true(
	    count_known(&n, MILLION - fits / 4, MILLION) > fits / 4 / 10 * 9);
	assert_true(count_known(&n, HOT, MILLION / 2) < MILLION / 2 / 20);
	names_end(&n);
}

/* A directory's page brings thousands of names at once. */
TEST(test_pages_hold)
{
	enum { PAGE = 5000 };
	size_t bytes, most = 0;
	char fh[32], name[32];
	struct names n;

	names_begin(&n, BUDGET);
	for (unsigned i = 0; i < MILLION; i++) {
		nfs3_fh dir = {28, handle_of(99999999, fh)};
		nfs3_name view = {0, name};
		struct node *node = attrcache_get(n.caches->attr, &dir);
		struct node *child;

		dir.data = handle_of(i, fh);
		child = attrcache_get(n.caches->attr, &dir);
		snprintf(name, sizeof(name), "name-%07u", i);
		view.len = (uint32_t)strlen(name);
		namecache_bind(n.caches->names, node, &view, child, T0, true);
		if (i % PAGE < PAGE - 1)
			continue;
		caches_trim(n.caches);
		bytes = caches_bytes(n.caches);
		most = bytes > most ? bytes : most;
	}
	print_message(
	    "pages of %d names: at most %.1f MiB\n", PAGE, (double)most / MIB);
	assert_true(most <= BUDGET);
	assert_true(bytes > BUDGET / 10 * 9);
	names_end(&n);
}

/* ---- blocks ----------------------------------------------------------- */

static void add_block(struct fixture *fx, unsigned file, unsigned at)
{
	unsigned char data[BLOCK] = {0};
	struct data_version v = version_of(1);
	struct datacache_add add = {.key = key_of(file),
	    .version = &v,
	    .offset = (uint64_t)at * BLOCK,
	    .data = data,
	    .len = BLOCK,
	    .flags = FIRM,
	    .sent_us = T0};

	datacache_add(fx->dc, &add);
}

/* The disk is waited for now and then, or most were refused. */
static void add_blocks(struct fixture *fx, unsigned files, unsigned each)
{
	unsigned n = 0;

	for (unsigned f = 0; f < files; f++)
		for (unsigned k = 0; k < each; k++) {
			add_block(fx, f, k);
			if (++n % 10000 == 0)
				iopool_drain(fx->pool);
		}
	iopool_drain(fx->pool);
}

static double block_bytes(unsigned files, unsigned each)
{
	struct fixture fx;
	double bytes;

	fixture_begin(&fx, UINT64_C(4096) * MIB);
	add_blocks(&fx, files, each);
	assert_int_equal(stats_of(&fx).extents, MILLION);
	bytes = (double)datacache_memory_bytes(fx.dc) / MILLION;
	print_message("a block, %u in a file: %.1f bytes\n", each, bytes);
	fixture_end(&fx);
	return bytes;
}

TEST(test_block_bytes)
{
	assert_true(block_bytes(1000, 1000) < 33);
	/* Most of it is the file's. */
	assert_true(block_bytes(MILLION, 1) < 112);
}

/* Where memory is short the system may have dropped pages of a segment: then
 * it is read in first, as for a client. */
static bool uses(struct fixture *fx, unsigned file)
{
	struct data_version v = version_of(1);
	struct datacache_read rd = {
	    .key = key_of(file), .version = &v, .len = BLOCK};
	struct rbuf_piece pieces[DATA_PIECES_MAX];
	enum datacache_found found;
	unsigned n, tries = 0;

	while ((found = datacache_find(fx->dc, &rd, pieces, &n, NULL)) ==
		   DATACACHE_WAIT &&
	       tries++ < 100)
		iopool_drain(fx->pool);
	return found == DATACACHE_HIT;
}

/* Many small files: the index is full before the disk is. */
TEST(test_blocks_hold)
{
	enum { LIMIT = 32 * MIB, OFTEN = 1000 };
	struct fixture *fx = fixture_new(UINT64_C(256) * MIB);
	uint64_t most = 0;
	unsigned known = 0;

	datacache_set_memory(fx->dc, LIMIT);
	for (unsigned f = 0; f < MILLION; f++) {
		add_block(fx, f, 0);
		if (f % 1000 == 0)
			iopool_drain(fx->pool);
		if (f % 10000 == 0 && f > 0)
			for (unsigned k = 0; k < OFTEN; k++)
				uses(fx, k);
		if (datacache_memory_bytes(fx->dc) > most)
			most = datacache_memory_bytes(fx->dc);
	}
	iopool_drain(fx->pool);
	print_message("%llu files in %d MiB, at most %.1f MiB\n",
	    (unsigned long long)stats_of(fx).files, LIMIT / MIB,
	    (double)most / MIB);
	assert_true(most <= LIMIT / 7 * 8);
	assert_true(stats_of(fx).files > LIMIT / 112 / 2);
	for (unsigned k = 0; k < OFTEN; k++)
		known += uses(fx, k);
	assert_int_equal(known, OFTEN);
	assert_true(uses(fx, MILLION - 1));
	assert_false(uses(fx, MILLION / 2));
}
