/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who waited in the last seconds, and for what. */
#include "unittest.h"
#include "svc/waits.h"

#define S     UINT64_C(1000000)
#define START (1000 * S)

static void add(struct waits *w, uint32_t uid, const char *address,
    enum waits_cause cause, uint64_t us, uint64_t now_us)
{
	const struct waits_actor who = {
	    .client = strlen(address), .uid = uid, .address = address};
	uint64_t all[WAITS_CAUSES] = {[0] = 0};

	all[cause] = us;
	waits_add(w, &who, all, now_us);
}

static int open_waits(void **state)
{
	*state = waits_new();
	assert_non_null(*state);
	return 0;
}

static int close_waits(void **state)
{
	waits_free(*state);
	return 0;
}

FIXTURE_OF_STATE(open_waits, close_waits);

TEST(test_actors, struct waits *w)
{
	struct waits_row rows[WAITS_ACTORS];

	add(w, 0, "127.0.0.1:812", WAITS_EXPIRED, 40, START);
	add(w, 1000, "127.0.0.1:812", WAITS_NOT_CACHED, 50, START);
	add(w, 1000, "127.0.0.1:812", WAITS_SLOW, 10, START + S);
	add(w, 1000, "[2001:db8::1]:900", WAITS_AWAY, 7, START + S);
	assert_int_equal(waits_rows(w, START + S, rows), 3);
	assert_int_equal(rows[0].us[WAITS_EXPIRED], 40);
	assert_string_equal(rows[1].address, "127.0.0.1");
	assert_int_equal(rows[1].uid, 1000);
	assert_int_equal(rows[1].calls, 2);
	assert_int_equal(rows[1].us[WAITS_NOT_CACHED], 50);
	assert_int_equal(rows[1].us[WAITS_SLOW], 10);
	assert_int_equal(rows[1].sum_us, 60);
	assert_string_equal(rows[2].address, "[2001:db8::1]");
}

TEST(test_only_the_last_seconds, struct waits *w)
{
	struct waits_row rows[WAITS_ACTORS];

	add(w, 1, "a", WAITS_BUSY, 100, START);
	add(w, 1, "a", WAITS_BUSY, 10, START + 5 * S);
	assert_int_equal(waits_rows(w, START + 9 * S, rows), 1);
	assert_int_equal(rows[0].sum_us, 110);
	assert_int_equal(waits_rows(w, START + 10 * S, rows), 1);
	assert_int_equal(rows[0].sum_us, 10);
	assert_int_equal(waits_rows(w, START + 15 * S, rows), 0);
	/* The bucket of that second is another one by now. */
	add(w, 1, "a", WAITS_DISK, 3, START + 20 * S);
	assert_int_equal(waits_rows(w, START + 20 * S, rows), 1);
	assert_int_equal(rows[0].sum_us, 3);
}

/* A call that hung for an hour waited no more than that in ten seconds. */
TEST(test_long_wait, struct waits *w)
{
	const struct waits_actor who = {.uid = 1, .address = ""};
	uint64_t us[WAITS_CAUSES] = {
	    [WAITS_CHANGE] = 3600 * S, [WAITS_AWAY] = 3600 * S};
	struct waits_row rows[WAITS_ACTORS];

	waits_add(w, &who, us, START);
	assert_int_equal(waits_rows(w, START, rows), 1);
	assert_int_equal(rows[0].us[WAITS_CHANGE], 5 * S);
	assert_int_equal(rows[0].us[WAITS_AWAY], 5 * S);
	/* Nor does a sum of many overflow. */
	for (int i = 0; i < 1000; i++)
		waits_add(w, &who, us, START);
	assert_int_equal(waits_rows(w, START, rows), 1);
	assert_true(rows[0].us[WAITS_AWAY] <= UINT32_MAX);
	assert_true(rows[0].us[WAITS_AWAY] > 4000 * S);
}

/* Who has waited longest ago gives way. */
TEST(test_too_many, struct waits *w)
{
	struct waits_row rows[WAITS_ACTORS];

	for (uint32_t i = 0; i < WAITS_ACTORS; i++)
		add(w, i, "a", WAITS_BUSY, i + 1, i == 7 ? START : START + S);
	add(w, 1000, "a", WAITS_BUSY, 1000, START + S);
	assert_int_equal(waits_rows(w, START + S, rows), WAITS_ACTORS);
	assert_int_equal(rows[7].uid, 1000);
	assert_int_equal(rows[7].sum_us, 1000);
	assert_int_equal(rows[6].sum_us, 7);
}

TEST(test_long_address, struct waits *w)
{
	struct waits_row rows[WAITS_ACTORS];
	char address[100];

	memset(address, 'x', sizeof(address) - 1);
	address[sizeof(address) - 1] = '\0';
	add(w, 1, address, WAITS_BUSY, 1, START);
	assert_int_equal(waits_rows(w, START, rows), 1);
	assert_int_equal(strlen(rows[0].address), WAITS_CLIENT_MAX - 1);
}

TEST(test_share)
{
	struct waits_split s = {
	    .why = WAITS_EXPIRED, .sum_us = 100, .must_us = 40, .busy_us = 25};
	uint64_t us[WAITS_CAUSES];

	waits_share(&s, us);
	assert_int_equal(us[WAITS_EXPIRED], 40);
	assert_int_equal(us[WAITS_BUSY], 25);
	assert_int_equal(us[WAITS_SLOW], 35);
	s.away = true;
	waits_share(&s, us);
	assert_int_equal(us[WAITS_AWAY], 60);
	assert_int_equal(us[WAITS_BUSY] + us[WAITS_SLOW], 0);
	s = (struct waits_split){
	    .why = WAITS_NOT_CACHED, .sum_us = 30, .must_us = 40};
	waits_share(&s, us);
	assert_int_equal(us[WAITS_NOT_CACHED], 30);
	assert_int_equal(us[WAITS_SLOW], 0);
	s.why = WAITS_DISK;
	s.must_us = 0;
	waits_share(&s, us);
	assert_int_equal(us[WAITS_DISK], 30);
}

TEST(test_copy, struct waits *w)
{
	struct waits_row rows[WAITS_ACTORS];
	struct waits *copy;

	add(w, 1, "a", WAITS_BUSY, 1, START);
	copy = AFTER(waits_free, waits_copy(w));
	assert_non_null(copy);
	add(copy, 1, "a", WAITS_BUSY, 1, START);
	assert_int_equal(waits_rows(w, START, rows), 1);
	assert_int_equal(rows[0].sum_us, 1);
}
