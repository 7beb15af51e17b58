/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listings that are asked for anew in pages, and what such pages leave. */
#include "unittest.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "nfsproto/nfs3_list.h"
#include "link/linkest.h"
#include "prefetch/prefetch_fixture.h"
#include "prefetch/sources/dirs.h"
#include "prefetch/steps/turn_private.h"

enum {
	SMALL = 12,
	LARGE = 1000,
	ROOM = 8192,
	RESOK_HEAD = 88 + 8, /* of READDIRPLUS: post_op_attr, cookieverf */
	TINY = 1,            /* room for less than one entry */
};

/* "." and "..", and then files; handles are as long as that of "dir". */
static struct entry entries[LARGE];
static char texts[LARGE][2][24];

static void set_up_entries(struct world *w)
{
	for (int i = 0; i < LARGE; i++) {
		snprintf(texts[i][0], sizeof(texts[i][0]), "file-%d.c", i);
		snprintf(texts[i][1], sizeof(texts[i][1]), "%03d", i);
		entries[i] = (struct entry){texts[i][0], texts[i][1], NF3REG};
	}
	entries[0] = (struct entry){".", "dir", NF3DIR};
	entries[1] = (struct entry){"..", "top", NF3DIR};
	set_up(w);
}

static struct listing *listing_of(struct world *w)
{
	return listcache_find(
	    w->caches->lists, node_of(w, "dir"), w->cred, true);
}

/* The entries from `from` on, `n` of `all`. */
static void say_some(struct world *w, size_t from, size_t n, size_t all)
{
	say_page(w, entries + from, n, from, from + n == all);
}

/* A whole listing, some time after its directory was first seen. */
static struct listing *list_all(struct world *w, size_t all)
{
	struct listing *l;

	say_dir(w);
	w->now_us += GRAIN_US;
	for (size_t i = 0; i < all; i += 100)
		say_some(w, i, all - i < 100 ? all - i : 100, all);
	l = listing_of(w);
	assert_non_null(l);
	assert_true(listing_complete(l));
	assert_true(listing_binding(l).firm);
	assert_int_equal(listing_count(l), all);
	return l;
}

static uint64_t sent_us(struct world *w, size_t i)
{
	return attrcache_sent(w->caches->attr, node_of(w, entries[i].fh));
}

/* ---- pages of what is known whole ------------------------------------- */

static void assert_whole(struct world *w, struct listing *l)
{
	assert_ptr_equal(listing_of(w), l);
	assert_true(listing_complete(l));
	assert_true(listing_binding(l).firm);
	assert_int_equal(listing_count(l), SMALL);
}

FIXTURE(struct world, set_up_entries, tear_down);

TEST(test_page_again, struct world *w)
{
	struct listing *l = list_all(w, SMALL);
	uint64_t before = sent_us(w, 9), now = w->now_us;

	say_some(w, 4, 3, SMALL);
	assert_whole(w, l);
	for (size_t i = 4; i < 7; i++)
		assert_int_equal(sent_us(w, i), now);
	assert_int_equal(sent_us(w, 3), before);
	assert_int_equal(sent_us(w, 7), before);
	assert_int_equal(sent_us(w, 9), before);
	/* A page that fits nothing that is known, and the last one. */
	say_some(w, SMALL, 0, SMALL);
	say_some(w, 9, 3, SMALL);
	assert_whole(w, l);
}

TEST(test_first_page_again, struct world *w)
{
	struct listing *l = list_all(w, SMALL);
	uint64_t now = w->now_us;

	say_some(w, 0, 5, SMALL);
	assert_whole(w, l);
	assert_int_equal(sent_us(w, 4), now);
	assert_true(sent_us(w, 5) < now);
}

TEST(test_first_page_changed, struct world *w)
{
	struct listing *l;

	(void)list_all(w, SMALL);
	w->version++;
	say_some(w, 0, 5, SMALL);
	l = listing_of(w);
	assert_false(listing_complete(l));
	assert_int_equal(listing_count(l), 5);
	assert_int_equal(listing_binding(l).generation,
	    attrcache_generation(w->caches->attr, node_of(w, "dir")));
	/* It is the later version's that goes on. */
	say_some(w, 5, 6, 11);
	assert_ptr_equal(listing_of(w), l);
	assert_true(listing_complete(l));
	assert_int_equal(listing_count(l), 11);
}

TEST(test_later_page_changed, struct world *w)
{
	struct listing *l = list_all(w, SMALL);
	uint64_t now = w->now_us;

	w->version++;
	say_some(w, 4, 3, SMALL);
	assert_ptr_equal(listing_of(w), l);
	assert_int_equal(listing_count(l), SMALL);
	assert_int_not_equal(listing_binding(l).generation,
	    attrcache_generation(w->caches->attr, node_of(w, "dir")));
	/* The attributes of the page's entries are taken all the same. */
	assert_int_equal(sent_us(w, 5), now);
}

TEST(test_other_verifier, struct world *w)
{
	struct listing *l = list_all(w, SMALL);

	w->verf = 1;
	say_some(w, 4, 3, SMALL);
	assert_whole(w, l);
	assert_int_equal(listing_verf(l)[0], 0);
	say_some(w, 0, 5, SMALL);
	l = listing_of(w);
	assert_false(listing_complete(l));
	assert_int_equal(listing_count(l), 5);
	assert_int_equal(listing_verf(l)[0], 1);
}

/* It holds for a time only: the next one may hold for good. */
TEST(test_provisional, struct world *w)
{
	struct listing *l;

	say_dir(w);
	say_some(w, 0, SMALL, SMALL);
	l = listing_of(w);
	assert_true(listing_complete(l));
	assert_false(listing_binding(l).firm);
	w->now_us += GRAIN_US;
	say_some(w, 0, 5, SMALL);
	l = listing_of(w);
	assert_false(listing_complete(l));
	assert_int_equal(listing_count(l), 5);
	say_some(w, 5, 7, SMALL);
	assert_whole(w, l);
}

/* "top/dir" gets another name. What is said of attributes is nothing. */
static void say_renamed(struct world *w)
{
	union nfs_args lookup = {
	    .dirop = {.dir = fh_of("top"), .name = name_of("dir")}};
	union nfs_args rename = {
	    .rename = {.from = lookup.dirop,
		.to = {.dir = fh_of("top"), .name = name_of("other")}}};
	union nfs_res found = {.status = NFS3_OK},
		      renamed = {.status = NFS3_OK};

	found.lookup.LOOKUP3res_u.resok.object = fh_of("dir");
	say(w, NFSPROC3_LOOKUP, &lookup, &found);
	say(w, NFSPROC3_RENAME, &rename, &renamed);
}

static bool holds(struct world *w)
{
	struct binding b = listing_binding(listing_of(w));
	struct contract k;

	contract_init(&k, &w->config.policy, false, w->now_us, w->now_us);
	return contract_bound(&k, w->caches->attr, node_of(w, "dir"), &b);
}

/* A listing that was firm before a change of our own holds for a time only
 * after it, too; the next listing may hold for good. */
TEST(test_own_change, struct world *w)
{
	(void)list_all(w, SMALL);
	say_renamed(w);
	say_dir(w);
	assert_true(holds(w));
	w->now_us += w->config.policy.attr_timeout_us;
	assert_false(holds(w));
	say_some(w, 0, SMALL, SMALL);
	assert_true(listing_complete(listing_of(w)));
	assert_true(holds(w));
}

/* ---- what is not fresh ------------------------------------------------ */

/* The server says it again of this entry only. */
static void refresh(struct world *w, size_t i)
{
	say_attr(w, entries[i].fh, entries[i].type, 30 + i);
}

static unsigned stale(struct world *w, uint64_t fresh_us, unsigned look)
{
	return known_stale_entries(
	    w->caches, node_of(w, "dir"), listing_of(w), fresh_us, look);
}

static uint32_t page(
    struct world *w, uint64_t fresh_us, size_t room, struct list_span *span)
{
	return turn_page(
	    w->caches, node_of(w, "dir"), listing_of(w), fresh_us, room, span);
}

static void assert_page(struct world *w, uint64_t fresh_us, size_t room,
    struct list_span *span, uint64_t from, uint64_t to)
{
	assert_int_not_equal(page(w, fresh_us, room, span), 0);
	assert_int_equal(span->from, from);
	assert_int_equal(span->to, to);
}

/* "." and ".." are nothing to ask for. */
TEST(test_stale, struct world *w)
{
	uint64_t fresh_us;

	(void)list_all(w, SMALL);
	assert_int_equal(stale(w, 1, LARGE), 0);
	fresh_us = w->now_us;
	assert_int_equal(stale(w, fresh_us, LARGE), SMALL - 2);
	assert_int_equal(stale(w, fresh_us, 5), 3);
	assert_int_equal(stale(w, fresh_us, 2), 0);
	assert_int_equal(stale(w, fresh_us, 0), 0);
	refresh(w, 3);
	refresh(w, 8);
	assert_int_equal(stale(w, fresh_us, LARGE), SMALL - 4);
	assert_int_equal(stale(w, fresh_us, 4), 1);
}

/* Entries that came without a handle are not known, and never fresh. */
TEST(test_stale_unknown, struct world *w)
{
	static const struct entry bare[] = {
	    {"a", "aaa", NF3REG}, {"b", NULL, NF3REG}, {"c", "ccc", NF3REG}};
	struct list_span span = {0, 0};

	say_dir(w);
	say_page(w, bare, 3, 0, true);
	assert_int_equal(stale(w, 1, LARGE), 1);
	assert_page(w, 1, TINY, &span, 1, 2);
	assert_int_equal(page(w, 1, TINY, &span), 0);
}

/* Pages of one entry each: those that are not fresh, in order. */
TEST(test_one_by_one, struct world *w)
{
	static const size_t fresh[] = {2, 3, 4, 7, 8, 10};
	struct list_span span = {0, 0};
	uint64_t fresh_us;

	(void)list_all(w, SMALL);
	fresh_us = w->now_us;
	for (size_t i = 0; i < 6; i++)
		refresh(w, fresh[i]);
	/* Behind the cookie of the one before. */
	assert_page(w, fresh_us, TINY, &span, 5, 6);
	assert_page(w, fresh_us, TINY, &span, 6, 7);
	assert_page(w, fresh_us, TINY, &span, 9, 10);
	assert_page(w, fresh_us, TINY, &span, 11, 12);
	assert_int_equal(page(w, fresh_us, TINY, &span), 0);
	assert_int_equal(span.to, 12);
}

TEST(test_fresh_at_start, struct world *w)
{
	struct list_span span = {0, 0};
	uint64_t fresh_us;

	(void)list_all(w, SMALL);
	fresh_us = w->now_us;
	assert_page(w, fresh_us, ROOM, &span, 2, 12);
	refresh(w, 2);
	refresh(w, 3);
	refresh(w, 6);
	span.to = 0;
	assert_page(w, fresh_us, ROOM, &span, 4, 12);
	assert_int_equal(page(w, fresh_us, ROOM, &span), 0);
	for (size_t i = 4; i < SMALL; i++)
		refresh(w, i);
	span.to = 0;
	assert_int_equal(page(w, fresh_us, ROOM, &span), 0);
}

TEST(test_unknown_cookie, struct world *w)
{
	struct list_span span = {.to = SMALL + 7};

	(void)list_all(w, SMALL);
	assert_int_equal(page(w, w->now_us, ROOM, &span), 0);
	assert_int_equal(span.to, SMALL + 7);
	/* The last one's leads to the end. */
	span.to = SMALL;
	assert_int_equal(page(w, w->now_us, ROOM, &span), 0);
}

static size_t size_of(size_t i)
{
	struct nfs3_dirent e = {.name = name_of(entries[i].name),
	    .attributes = {.attributes_follow = TRUE},
	    .handle = {.handle_follows = TRUE}};

	e.handle.post_op_fh3_u.handle = fh_of(entries[i].fh);
	return nfs3_dirent_size(true, &e);
}

/* READDIRPLUS from `from` on, as a server fills it; the entries. */
static size_t serve(struct world *w, uint64_t from, size_t maxcount)
{
	size_t size = RESOK_HEAD + NFS3_DIRLIST_END_SIZE, n = 0;

	while (from + n < LARGE && size + size_of(from + n) <= maxcount)
		size += size_of(from + n++);
	assert_true(n > 0);
	say_some(w, from, n, LARGE);
	return n;
}

/* No page is larger than the room, nor so small that one more would do. */
TEST(test_room, struct world *w)
{
	struct list_span span = {0, 0};
	size_t all = 0;

	(void)list_all(w, LARGE);
	for (size_t i = 2; i < LARGE; i++)
		all += size_of(i);
	for (size_t room = 512; room <= 32768; room *= 2) {
		uint32_t bytes;

		span.to = 0;
		bytes = page(w, w->now_us, room, &span);
		assert_true(bytes <= room);
		assert_true(bytes + size_of(LARGE - 1) > room);
		assert_int_equal(span.from, 2);
	}
	/* Room for all. */
	span.to = 0;
	assert_true(page(w, w->now_us, all * 2, &span) < all + 512);
	assert_int_equal(span.to, LARGE);
}

/* A page asks for fresh entries at its end as little as for those at its start.
 */
TEST(test_fresh_at_end, struct world *w)
{
	struct list_span span = {0, 0};
	uint64_t fresh_us;

	(void)list_all(w, SMALL);
	fresh_us = w->now_us;
	for (size_t i = 2; i < SMALL; i++)
		if (i != 4 && i != 6)
			refresh(w, i);
	assert_page(w, fresh_us, ROOM, &span, 4, 7);
	assert_int_equal(page(w, fresh_us, ROOM, &span), 0);
}

/* As they are asked for: side by side, before any reply has come. */
static void all_pages(struct world *w)
{
	struct list_span spans[LARGE], span = {0, 2};
	struct listing *l = list_all(w, LARGE);
	uint64_t fresh_us = w->now_us;
	uint32_t bytes[LARGE];
	size_t n = 0;

	for (; (bytes[n] = page(w, fresh_us, ROOM, &span)) > 0; n++) {
		assert_true(bytes[n] <= ROOM);
		assert_int_equal(span.from, n > 0 ? spans[n - 1].to : 2);
		assert_true(span.to > span.from);
		spans[n] = span;
	}
	assert_true(n > 10 && n < 40);
	assert_int_equal(spans[n - 1].to, LARGE);
	/* Replies come in any order. */
	while (n-- > 0) {
		size_t got = serve(w, spans[n].from, bytes[n]);

		assert_true(spans[n].from + got >= spans[n].to);
	}
	assert_int_equal(stale(w, fresh_us, LARGE), 0);
	assert_ptr_equal(listing_of(w), l);
	assert_true(listing_complete(l));
	assert_int_equal(listing_count(l), LARGE);
	span.to = 0;
	assert_int_equal(page(w, fresh_us, ROOM, &span), 0);
}

TEST(test_all_pages, struct world *w)
{
	all_pages(w);
}

/* The root of an export has a short handle, since it needs no file number:
 * knfsd gives 8 bytes less than to what is in it. */
TEST(test_long_handles, struct world *w)
{
	for (int i = 2; i < LARGE; i++)
		snprintf(texts[i][1], sizeof(texts[i][1]), "%03d12345678", i);
	all_pages(w);
}

/* A client reads on; whether what follows is wanted, and nothing else. */
static bool client_reads(
    struct rooms *pf, struct credential *cred, struct world *w)
{
	struct want *want;

	pf->g.now_us = w->now_us;
	source_pages_read(pf->sources, cred, node_of(w, "dir"));
	want = queue_next(pf->queue);
	if (want)
		want_drop(want);
	assert_int_equal(pf->queue->nqueued, 0);
	return want != NULL;
}

/* A client has read so many entries of all: what follows is wanted as long as
 * there is anything. */
TEST(test_read_on, struct world *w)
{
	struct rooms pf = {.g.caches = w->caches};
	struct credential *cred;

	rooms_open(&pf, &cred, 1);
	cred->id = w->cred;
	say_dir(w);
	assert_false(client_reads(&pf, cred, w));
	say_some(w, 0, 5, SMALL);
	assert_true(client_reads(&pf, cred, w));
	say_some(w, 5, SMALL - 5, SMALL);
	assert_false(client_reads(&pf, cred, w));
	/* It has changed, so it does not go on from there. */
	say_some(w, 0, 5, SMALL);
	w->version++;
	say_dir(w);
	assert_false(client_reads(&pf, cred, w));
	rooms_close(&pf, &cred, 1);
}

/* A client misses a name of the directory; whether what follows of the listing
 * is wanted for it. */
static bool client_misses(
    struct rooms *pf, struct credential *cred, struct world *w, uint64_t dir)
{
	struct passed p = {.cred = cred,
	    .missed = true,
	    .now_us = w->now_us,
	    .obs = {.kind = PREDICTOR_LOOKUP, .object = 99, .parent = dir}};
	struct want *want;
	bool found = false;

	sources_passed(pf->sources, &p);
	while ((want = queue_next(pf->queue)) != NULL) {
		found = found || (want->wish.object == dir &&
				     want->wish.calls_spared == 0);
		want_drop(want);
	}
	return found;
}

/* A client asks for more at once than would come ahead, or reads names alone
 * where pages ahead are short: it reads on by itself, until it gives up or
 * looks up a name. */
TEST(test_left_to_the_client, struct world *w)
{
	struct rooms pf = {.g.caches = w->caches};
	struct config_rate cap = {.percent = 80};
	uint64_t dir;
	struct credential *cred;

	rooms_open(&pf, &cred, 1);
	pf.g.budget = budget_new(pf.g.link, &cap);
	assert_true(sources_add(pf.sources, &source_miss));
	cred->id = w->cred;
	say_some(w, 0, 5, SMALL);
	dir = node_key(node_of(w, "dir"));
	dirs_read(pf.sources->dirs, dir, 1 << 20, w->now_us);
	assert_false(client_reads(&pf, cred, w));
	dirs_read(pf.sources->dirs, dir, 512, w->now_us);
	assert_true(client_reads(&pf, cred, w));
	dirs_read(pf.sources->dirs, dir, DIRS_NAMES, w->now_us);
	assert_false(client_reads(&pf, cred, w));
	assert_true(client_misses(&pf, cred, w, dir));
	assert_true(client_reads(&pf, cred, w));
	/* It has given up. */
	dirs_read(pf.sources->dirs, dir, 1 << 20, w->now_us);
	w->now_us += 2000000;
	assert_true(client_reads(&pf, cred, w));
	/* Pages of 33 KiB have as many names as the client gets by itself. */
	linkest_begin(pf.g.link,
	    &(struct linkest_kept){.rate_Bps = 5000000, .base_us = 40000});
	dirs_read(pf.sources->dirs, dir, DIRS_NAMES, w->now_us);
	assert_true(client_reads(&pf, cred, w));
	budget_free(pf.g.budget);
	rooms_close(&pf, &cred, 1);
}
