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
	struct statefile_text text;
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
	r->b = balance_new(r->sd, "nas", r->h, on_disk ? &text : NULL);
	assert_non_null(r->b);
	statefile_free_text(&text);
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
