/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The balance says what a server was worth to its clients, and outlives
 * restarts. */
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "base/statedir.h"
#include "base/statefile.h"
#include "control/balance.h"
#include "control/history.h"
#include "explain/mountuse.h"

static struct balance_sums sums(uint64_t day, uint64_t n)
{
	return (struct balance_sums){
	    .day = day, n, n * 2, n * 3, n * 4, n * 5, n * 6};
}

static void assert_sums(
    const struct balance_sums *s, uint64_t day, uint64_t calls)
{
	struct balance_sums want = sums(day, calls);

	assert_memory_equal(s, &want, sizeof(want));
}

/* ---- the line ----------------------------------------------------------- */

TEST(test_days)
{
	struct balance_kept kept = {0};

	for (uint64_t i = 0; i < 40; i++) {
		struct balance_sums news = sums(20270101 + i, i + 1);

		balance_add(&kept, &news);
		balance_add(&kept, &news);
	}
	assert_int_equal(kept.n, BALANCE_DAYS);
	assert_sums(&kept.days[0], 20270110, 20);
	assert_sums(&kept.days[BALANCE_DAYS - 1], 20270140, 80);
	assert_sums(&kept.all, 20270101, 40 * 41);
}

/* A clock that was wrong takes nothing away. */
TEST(test_clock_set_back)
{
	static const uint64_t days[] = {20270105, 20990101, 20270106, 20270104};
	static const uint64_t sorted[] = {
	    20270104, 20270105, 20270106, 20990101};
	struct balance_kept kept = {0};

	for (size_t i = 0; i < 4; i++) {
		struct balance_sums news = sums(days[i], 1);

		balance_add(&kept, &news);
	}
	assert_int_equal(kept.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_sums(&kept.days[i], sorted[i], 1);
	assert_sums(&kept.all, 20270104, 4);
	for (uint64_t i = 0; i < BALANCE_DAYS; i++) {
		struct balance_sums news = sums(20300101 + i, 1);

		balance_add(&kept, &news);
	}
	/* Older than all that there is room for. */
	balance_add(&kept, &(struct balance_sums){.day = 20200101, .calls = 5});
	assert_int_equal(kept.n, BALANCE_DAYS);
	assert_int_equal(kept.all.calls, 4 + BALANCE_DAYS + 5);
	assert_int_equal(kept.days[0].calls, 6);
}

TEST(test_line)
{
	struct balance_kept kept = {0}, again;
	char text[BALANCE_TEXT_MAX], bad[BALANCE_TEXT_MAX];

	for (uint64_t i = 0; i < BALANCE_DAYS; i++) {
		struct balance_sums news =
		    sums(UINT32_MAX - 99 + i, UINT64_MAX / 200);

		balance_add(&kept, &news);
	}
	balance_format(&kept, text);
	assert_true(balance_parse(text, &again));
	assert_memory_equal(&again, &kept, sizeof(kept));
	for (size_t i = 0; i < strlen(text); i++) {
		memcpy(bad, text, sizeof(bad));
		bad[i] ^= 1;
		assert_false(balance_parse(bad, &again));
		bad[i] = '\0';
		assert_false(balance_parse(bad, &again));
	}
	assert_false(balance_parse("1 99999999999", &again));
	assert_false(balance_parse("2 0 0 0 0 0 0 0 0", &again));
}

TEST(test_rows_of_mounts)
{
	struct balance_mounts kept = {0};
	char path[16];

	for (unsigned i = 0; i < BALANCE_MOUNTS; i++) {
		snprintf(path, sizeof(path), "/m%u", i);
		balance_mounts_note(&kept, i + 1, path, 20270102);
	}
	/* Another export on a file system, and one that has moved. */
	balance_mounts_note(&kept, 1, "/other", 20270103);
	balance_mounts_note(&kept, 99, "/m1", 20270103);
	assert_int_equal(kept.n, BALANCE_MOUNTS);
	assert_string_equal(kept.rows[0].path, "/m0");
	assert_int_equal(kept.rows[1].fsid, 99);
	/* Two that have changed places. */
	balance_mounts_note(&kept, 4, "/m2", 20270103);
	balance_mounts_note(&kept, 3, "/m3", 20270103);
	assert_int_equal(kept.rows[2].fsid, 4);
	assert_int_equal(kept.rows[3].fsid, 3);
	/* There is room for one that nobody uses on the same day. */
	for (unsigned i = 0; i < BALANCE_MOUNTS; i++)
		kept.rows[i].last_day = 20270104;
	balance_mounts_note(&kept, 100, "/new", 20270104);
	for (unsigned i = 0; i < BALANCE_MOUNTS; i++)
		assert_int_not_equal(kept.rows[i].fsid, 100);
	kept.rows[7].last_day = 20270103;
	balance_mounts_note(&kept, 100, "/new", 20270104);
	assert_string_equal(kept.rows[7].path, "/new");
	assert_int_equal(kept.rows[7].calls, 0);
}

TEST(test_line_of_mounts)
{
	struct balance_mounts kept = {0}, again;
	char text[BALANCE_MOUNTS_TEXT_MAX], bad[BALANCE_MOUNTS_TEXT_MAX];
	char path[BALANCE_MOUNT_PATH + 1];

	memset(path, 0xff, sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (unsigned i = 0; i < BALANCE_MOUNTS; i++) {
		path[0] = (char)(i + 1);
		balance_mounts_note(
		    &kept, UINT64_MAX - i, path, UINT64_MAX - 100);
		kept.rows[i].calls = kept.rows[i].spared =
		    kept.rows[i].returned_bytes = UINT64_MAX;
	}
	balance_mounts_format(&kept, text);
	assert_true(balance_mounts_parse(text, &again));
	assert_memory_equal(&again, &kept, sizeof(kept));
	for (size_t i = 0; i < strlen(text); i += i < 100 ? 1 : 97) {
		memcpy(bad, text, sizeof(bad));
		bad[i] ^= 1;
		assert_false(balance_mounts_parse(bad, &again));
		bad[i] = '\0';
		assert_false(balance_mounts_parse(bad, &again));
	}
	assert_false(balance_mounts_parse("1 99999999999", &again));
	assert_false(balance_mounts_parse("1 1 1 1 1 1 1 1 2f 0", &again));
	assert_false(balance_mounts_parse("1 1 1 1 1 1 1 1 2", &again));
}

/* ---- what is mounted ----------------------------------------------------- */

static struct mountuse mounted[2];
static size_t nmounted;
static uint64_t new_calls[3]; /* by file system */

size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX]);
size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX])
{
	(void)c;
	memcpy(rows, mounted, nmounted * sizeof(rows[0]));
	return nmounted;
}

bool __wrap_mountuse_take(
    struct caches *c, uint64_t fsid, struct mountuse *news);
bool __wrap_mountuse_take(
    struct caches *c, uint64_t fsid, struct mountuse *news)
{
	uint64_t n = new_calls[fsid];

	(void)c;
	*news = (struct mountuse){.fsid = fsid,
	    .calls = n,
	    .changes = n / 10,
	    .asked = n / 10,
	    .bytes = n * 100};
	new_calls[fsid] = 0;
	return n > 0;
}

/* ---- restarts ----------------------------------------------------------- */

struct run {
	struct event_base *base;
	struct iopool *pool;
	struct statedir *sd;
	struct metrics *m;
	struct history *h;
	struct balance *b;
};

static const struct metrics *measure(void *ctx)
{
	return ctx;
}

static void run_begin(struct run *r, const char *dir, bool on_disk)
{
	struct statefile_text text, mounts;
	char err[256], path[64];

	r->base = event_base_new();
	r->pool = iopool_new(r->base, 1);
	r->sd = statedir_new(dir, 0, r->pool);
	assert_int_equal(statedir_take(r->sd, err, sizeof(err)), 0);
	assert_true(statedir_make_server(r->sd, "nas") >= 0);
	r->m = metrics_new();
	metrics_set_gauge(r->m, METRICS_GAUGE_LINK_BASE_US, 40000);
	r->h = history_new(r->base, measure, r->m);
	snprintf(path, sizeof(path), "%s/nas/" BALANCE_FILE, dir);
	statefile_read(path, BALANCE_TEXT_MAX, &text);
	snprintf(path, sizeof(path), "%s/nas/" BALANCE_MOUNTS_FILE, dir);
	statefile_read(path, BALANCE_MOUNTS_TEXT_MAX, &mounts);
	r->b = balance_new(&(struct balance_params){.state = r->sd,
	    .server = "nas",
	    .history = r->h,
	    .caches = (struct caches *)r,
	    .totals = on_disk ? &text : NULL,
	    .mounts = on_disk ? &mounts : NULL});
	assert_non_null(r->b);
	statefile_free_text(&text);
	statefile_free_text(&mounts);
}

static void work(struct run *r, unsigned calls)
{
	struct metrics_call call = {.latency_us = 10, .bytes_out = 100};

	for (unsigned i = 0; i < calls; i++)
		metrics_add_call(r->m, METRICS_CLIENT, 100003, 1, &call);
	metrics_add(r->m, METRICS_ROUND_TRIPS_SAVED, calls);
}

static void run_end(struct run *r)
{
	balance_free(r->b);
	history_free(r->h);
	metrics_free(r->m);
	iopool_drain(r->pool);
	iopool_free(r->pool);
	statedir_free(r->sd);
	event_base_free(r->base);
}

static void assert_all(struct run *r, uint64_t calls)
{
	const struct balance_kept *kept = balance_get(r->b);

	assert_int_equal(kept->all.calls, calls);
	assert_int_equal(kept->all.spared, calls);
	assert_int_equal(kept->all.saved_us, calls * (40000 - HISTORY_HOP_US));
	assert_int_equal(kept->all.returned_bytes, calls * 100);
}

/* Makes a file that no daemon wrote, of at least so many bytes. */
static void spoil(const char *path, size_t bytes)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t n = 0; n < bytes; n += 12)
		assert_true(fputs("1 0 rubbish\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
}

TEST(test_restarts)
{
	const char *dir = unittest_folder();
	char path[64];
	struct run r;

	run_begin(&r, dir, true);
	work(&r, 10);
	assert_all(&r, 10);
	run_end(&r);
	run_begin(&r, dir, true);
	assert_all(&r, 10);
	work(&r, 5);
	run_end(&r);
	/* Its disk came too late: that run is not kept, nor is it in the way.
	 */
	run_begin(&r, dir, false);
	work(&r, 3);
	assert_all(&r, 3);
	run_end(&r);
	run_begin(&r, dir, true);
	assert_all(&r, 15);
	run_end(&r);
	/* A damaged file is set aside, and all begins anew; also one that is
	 * too large to be one. */
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/nas/totals", dir);
		spoil(path, i * 2 * BALANCE_TEXT_MAX + 1);
		run_begin(&r, dir, true);
		assert_int_equal(balance_get(r.b)->n, 0);
		iopool_drain(r.pool);
		assert_int_not_equal(access(path, F_OK), 0);
		snprintf(path, sizeof(path), "%s/nas/totals.damaged", dir);
		assert_int_equal(unlink(path), 0);
		work(&r, 2);
		run_end(&r);
		run_begin(&r, dir, true);
		assert_all(&r, 2);
		run_end(&r);
	}
}

static void assert_mount(
    struct run *r, size_t i, const char *path, uint64_t calls)
{
	const struct balance_mounts *m;

	(void)balance_get(r->b);
	m = balance_get_mounts(r->b);
	assert_true(i < m->n);
	assert_string_equal(m->rows[i].path, path);
	assert_int_equal(m->rows[i].calls, calls);
	assert_int_equal(m->rows[i].spared, calls - calls / 10 * 2);
	assert_int_equal(m->rows[i].returned_bytes, calls * 100);
}

/* A mount's sums go on over a restart, and where the caches have forgotten what
 * was mounted. */
TEST(test_mounts)
{
	const char *dir = unittest_folder();
	char path[64];
	struct run r;

	mounted[0] = (struct mountuse){
	    .path = "/home and more", .path_len = 5, .fsid = 1};
	mounted[1] =
	    (struct mountuse){.path = "/a\0b", .path_len = 4, .fsid = 2};
	nmounted = 2;
	new_calls[1] = new_calls[2] = 20;
	run_begin(&r, dir, true);
	assert_mount(&r, 0, "/home", 20);
	assert_int_equal(balance_get_mounts(r.b)->n, 1);
	nmounted = 0;
	new_calls[1] = 10;
	run_end(&r);
	run_begin(&r, dir, true);
	assert_mount(&r, 0, "/home", 30);
	new_calls[1] = 10;
	assert_mount(&r, 0, "/home", 40);
	run_end(&r);
	snprintf(path, sizeof(path), "%s/nas/" BALANCE_MOUNTS_FILE, dir);
	spoil(path, 1);
	run_begin(&r, dir, true);
	assert_int_equal(balance_get_mounts(r.b)->n, 0);
	iopool_drain(r.pool);
	assert_int_not_equal(access(path, F_OK), 0);
	run_end(&r);
}
