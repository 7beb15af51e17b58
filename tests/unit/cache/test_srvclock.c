/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Later ctimes of a file system prove which bindings are firm at once, until a
 * clock that was set back ends the belief in them.
 */
#include "base/srvclock.h"
#include "cache/caches_fixture.h"

enum { GRAINS_S = 3 }; /* more than grain and slack, in any grain */

/* ---- the clock by itself ----------------------------------------------- */

static const uint64_t NS = 1000000000;
#define OLD       (100 * NS)
#define NEWER     ((100 + GRAINS_S) * NS)
#define YEAR_2100 (4102444800 * NS)

TEST(test_nothing_shown_proves_nothing)
{
	struct srvclock sc = {.n = 0};

	assert_false(srvclock_past(&sc, OLD, GRAIN_US, T0));
	assert_false(srvclock_went_back(&sc, NEWER, OLD, T0));
}

TEST(test_only_what_was_shown_before_sending_counts)
{
	struct srvclock sc = {.n = 0};

	srvclock_show(&sc, NEWER, T0);
	assert_true(srvclock_past(&sc, OLD, GRAIN_US, T0));
	assert_false(srvclock_past(&sc, OLD, GRAIN_US, T0 - 1));
	/* The newest itself may be changed within this tick. */
	assert_false(srvclock_past(&sc, NEWER, GRAIN_US, T0 + S));
}

TEST(test_slack_and_grain)
{
	struct srvclock sc = {.n = 0};
	uint64_t enough = 101 * NS + GRAIN_US * 1000;

	srvclock_show(&sc, enough - 1, T0);
	assert_false(srvclock_past(&sc, OLD, GRAIN_US, T0));
	srvclock_show(&sc, enough, T0);
	assert_true(srvclock_past(&sc, OLD, GRAIN_US, T0));
	assert_false(srvclock_past(&sc, OLD, GRAIN_COARSE_US, T0));
}

/* Our own clock is as good an estimate as any until a change contradicts it. */
TEST(test_estimate)
{
	struct srvclock sc = {.n = 0};
	const uint64_t wall_us = UINT64_C(1000000) * S;

	assert_int_equal(
	    srvclock_estimate_ns(&sc, T0, wall_us), (T0 + wall_us) * 1000);
	/* A change after T0 that is stamped within the slack. */
	srvclock_compare(&sc, (T0 + wall_us - S / 2) * 1000, T0, wall_us);
	assert_int_equal(
	    srvclock_estimate_ns(&sc, T0, wall_us), (T0 + wall_us) * 1000);
}

TEST(test_estimate_without_our_clock)
{
	struct srvclock sc = {.n = 0};
	const uint64_t wall_us = UINT64_C(1000000) * S;

	srvclock_show(&sc, OLD, T0);
	srvclock_compare(&sc, OLD, T0, wall_us);
	assert_int_equal(
	    srvclock_estimate_ns(&sc, T0 + 10 * S, wall_us), OLD + 10 * NS);
	/* Only a time stamp that puts the server's clock further ahead changes
	 * the estimate. */
	srvclock_show(&sc, OLD + 5 * NS, T0 + 10 * S);
	assert_int_equal(
	    srvclock_estimate_ns(&sc, T0 + 20 * S, wall_us), OLD + 20 * NS);
	srvclock_show(&sc, OLD + 30 * NS, T0 + 20 * S);
	assert_int_equal(
	    srvclock_estimate_ns(&sc, T0 + 21 * S, wall_us), OLD + 31 * NS);
}

/* However often it changes, something is known from before a call. */
TEST(test_busy_file_system)
{
	struct srvclock sc = {.n = 0};
	uint64_t now_us = T0;

	for (uint64_t i = 0; i < 10000; i++, now_us += MS)
		srvclock_show(&sc, 1000 * NS + i * 1000000, now_us);
	assert_true(sc.n <= SRVCLOCK_MOMENTS);
	assert_true(srvclock_past(&sc, OLD, GRAIN_US, now_us - 2 * S));
	for (uint32_t i = 1; i < sc.n; i++) {
		assert_true(sc.shown[i].us > sc.shown[i - 1].us);
		assert_true(sc.shown[i].stamp_ns > sc.shown[i - 1].stamp_ns);
	}
}

TEST(test_times_of_the_future_prove_nothing)
{
	struct srvclock sc = {.n = 0};

	srvclock_show(&sc, YEAR_2100, T0);
	/* 1969, as a server may write it. */
	srvclock_show(&sc, UINT32_MAX * NS, T0);
	assert_int_equal(sc.n, 0);
}

/* Its own ctime counts, but not if it was one of the future. */
TEST(test_own_ctime_that_goes_back)
{
	struct srvclock sc = {.n = 0};

	srvclock_show(&sc, NEWER, T0);
	assert_true(srvclock_went_back(&sc, NEWER, OLD, T0 - 1));
	srvclock_show(&sc, YEAR_2100, T0);
	assert_false(srvclock_went_back(&sc, YEAR_2100, OLD, T0 - 1));
	assert_false(srvclock_went_back(&sc, YEAR_2100, NEWER, T0 + 1));
}

/* ---- what is bound ----------------------------------------------------- */

/* An object of the file system beside "dir" shows this ctime. */
static void say_other(struct world *w, const char *fh, uint32_t ctime)
{
	fattr3 a = attr_of(NF3REG, 90, ctime);

	say_getattr(w, fh, &a);
}

/* Whether what LOOKUP brings of a directory that was never seen before is
 * still there when it is old. */
static bool first_lookup_is_firm(struct world *w, uint32_t ctime)
{
	say_lookup(w, "name", "f", ctime, round_trip(w));
	w->now_us += 20 * S;
	say_dir(w, "dir", ctime);
	return holds(w, "name");
}

FIXTURE(struct world, setup, teardown);

TEST(test_firm_at_once, struct world *w)
{
	say_other(w, "other", 10 + GRAINS_S);
	assert_true(first_lookup_is_firm(w, 10));
}

TEST(test_newest_stays_provisional, struct world *w)
{
	say_other(w, "other", 10);
	assert_false(first_lookup_is_firm(w, 11));
}

/* Anybody may set a file's other times. */
TEST(test_only_ctime_counts, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 90, 10);

	a.mtime.seconds = a.atime.seconds = 100;
	say_getattr(w, "other", &a);
	assert_false(first_lookup_is_firm(w, 10));
}

TEST(test_shown_after_sending_is_too_late, struct world *w)
{
	uint64_t sent_us = w->now_us;

	say_other(w, "other", 10 + GRAINS_S);
	say_lookup(w, "name", "f", 10, sent_us);
	w->now_us += 20 * S;
	say_dir(w, "dir", 10);
	assert_false(holds(w, "name"));
}

TEST(test_another_file_system_proves_nothing, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 90, 100);

	a.fsid = 8;
	say_getattr(w, "other", &a);
	assert_false(first_lookup_is_firm(w, 10));
}

static bool first_lookup_in_whole_seconds(struct world *w, uint32_t other)
{
	union nfs_args args = {
	    .dirop = {.dir = fh_of("dir"), .name = fh_of("name")}};
	union nfs_res res = {.status = NFS3ERR_NOENT};
	fattr3 a = attr_of(NF3REG, 90, other), d = attr_of(NF3DIR, 1, 10);

	a.ctime.nseconds = d.ctime.nseconds = 0;
	say_getattr(w, "other", &a);
	res.lookup.LOOKUP3res_u.dir_attributes.attributes_follow = TRUE;
	res.lookup.LOOKUP3res_u.dir_attributes.post_op_attr_u.attributes = d;
	say(w, NFSPROC3_LOOKUP, &args, &res, round_trip(w));
	w->now_us += 20 * S;
	say_getattr(w, "dir", &d);
	return holds(w, "name");
}

/* One tick later is not enough. */
TEST(test_next_second, struct world *w)
{
	assert_false(first_lookup_in_whole_seconds(w, 11));
}

TEST(test_second_after_next, struct world *w)
{
	assert_true(first_lookup_in_whole_seconds(w, 12));
}

TEST(test_year_2100_of_one_file, struct world *w)
{
	say_other(w, "other", 4102444800);
	assert_false(first_lookup_is_firm(w, 10));
}

/* ---- a clock that was set back ------------------------------------------ */

static bool clock_back(struct world *w)
{
	return attrcache_get_fsys(w->caches->attr, 7)->clock_back;
}

TEST(test_changes_of_before_end_nothing, struct world *w)
{
	/* Its change was before the other one's, but is seen later. */
	say_other(w, "changed", 5);
	say_other(w, "other", 100);
	say_other(w, "changed", 50);
	assert_false(clock_back(w));
	/* Within the slack. */
	say_other(w, "changed", 99);
	assert_false(clock_back(w));
}

TEST(test_a_step_back_ends_the_belief, struct world *w)
{
	say_other(w, "other", 100);
	say_lookup(w, "name", "f", 10, round_trip(w));
	say_other(w, "changed", 5);
	w->now_us += 20 * S;
	say_dir(w, "dir", 10);
	assert_true(holds(w, "name"));
	/* It was changed after 100 had been shown. */
	say_other(w, "changed", 50);
	assert_true(clock_back(w));
	assert_int_equal(metrics_get(w->metrics, METRICS_CLOCKS_BACK), 1);
	assert_false(holds(w, "name"));
	assert_false(first_lookup_is_firm(w, 12));
	/* A grain after the version was seen, as ever. */
	say_lookup(w, "late", "f", 12, round_trip(w));
	w->now_us += 20 * S;
	say_dir(w, "dir", 12);
	assert_true(holds(w, "late"));
}

TEST(test_a_step_back_shows_in_own_changes, struct world *w)
{
	say_dir(w, "dir", 10);
	say_other(w, "other", 100);
	say_remove(w, "gone", 10, 11);
	assert_true(clock_back(w));
}

/* The server did nothing, so it says nothing of its clock. */
TEST(test_own_call_without_effect, struct world *w)
{
	say_dir(w, "dir", 10);
	say_other(w, "other", 100);
	say_remove(w, "gone", 10, 10);
	assert_false(clock_back(w));
}

TEST(test_other_file_systems_are_believed, struct world *w)
{
	fattr3 a = attr_of(NF3REG, 90, 100);

	say_other(w, "other", 10 + GRAINS_S);
	a.fsid = 8;
	say_getattr(w, "far", &a);
	a.fileid = 91;
	a.ctime.seconds = 50;
	say_getattr(w, "far-changed", &a);
	a.ctime.seconds = 51;
	say_getattr(w, "far-changed", &a);
	assert_true(attrcache_get_fsys(w->caches->attr, 8)->clock_back);
	assert_false(clock_back(w));
	assert_true(first_lookup_is_firm(w, 10));
}

/* Data that was kept as firm is of another version then. */
TEST(test_data_of_before, struct world *w)
{
	struct data_version before, after;

	say_other(w, "other", 100);
	say_other(w, "changed", 5);
	before = caches_data_version(w->caches, node_of(w, "other"));
	say_other(w, "changed", 50);
	after = caches_data_version(w->caches, node_of(w, "other"));
	assert_memory_not_equal(&before, &after, sizeof(before));
}
