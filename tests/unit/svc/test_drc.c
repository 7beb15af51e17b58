/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The duplicate request cache: what it knows, for how long, and over kills. */
#include <fcntl.h>
#include <unistd.h>
#include "unittest.h"
#include "svc/drc.h"

#define SECOND_US UINT64_C(1000000)
#define MINUTE_US (60 * SECOND_US)

enum { SLOTS = 8 };

/* The machine has been up for a while. */
static const uint64_t now_us = 1000 * SECOND_US;
static const char reply[] = "accepted, OK";
/* On a tmpfs: elsewhere there is no file. */
static char path[] = "/dev/shm/ff-drc-XXXXXX";
static struct drc *drc;

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	drc = drc_open(path, SLOTS);
	assert_non_null(drc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drc_close(drc);
	unlink(path);
	return 0;
}

/* kill -9 and a new start: what is in the file is all that is left. */
static void killed(void)
{
	drc_close(drc);
	drc = drc_open(path, SLOTS);
	assert_non_null(drc);
}

static struct drc_key key_of(uint32_t xid)
{
	return (struct drc_key){.client = 1,
	    .args = 2,
	    .args_len = 3,
	    .xid = xid,
	    .prog = 100003,
	    .vers = 3,
	    .proc = 9};
}

static enum drc_state begin(uint32_t xid, uint64_t t, struct drc_entry **e)
{
	struct drc_key key = key_of(xid);

	return drc_begin(drc, &key, t, e);
}

static void answered(uint32_t xid, uint64_t t)
{
	struct drc_entry *e;

	assert_int_equal(begin(xid, t, &e), DRC_NEW);
	drc_finish(drc, e, reply, sizeof(reply), t);
}

static void sent(uint32_t xid, uint64_t t)
{
	struct upstream_sent s = {
	    .xid = xid + 500, .conn = 3, .source = 777, .first_us = t};
	struct drc_object object = {.key = 5, .nlink = 6};
	struct drc_entry *e;

	assert_int_equal(begin(xid, t, &e), DRC_NEW);
	drc_set_object(e, &object);
	drc_set_sent(e, &s);
}

FIXTURE_OF_STATE(setup, teardown);

TEST(test_reply_is_kept)
{
	struct drc_entry *e;
	size_t len;

	answered(1, now_us);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(begin(1, now_us + MINUTE_US, &e), DRC_DONE);
		assert_memory_equal(drc_reply(e, &len), reply, sizeof(reply));
		assert_int_equal(len, sizeof(reply));
		killed();
	}
	assert_int_equal(drc_recovered(drc), 1);
}

TEST(test_reply_grows_old)
{
	struct drc_entry *e;

	answered(1, now_us);
	assert_int_equal(begin(1, now_us + 5 * MINUTE_US, &e), DRC_DONE);
	assert_int_equal(begin(1, now_us + 5 * MINUTE_US + 1, &e), DRC_NEW);
	/* And the new call's reply has its own age. */
	drc_finish(drc, e, reply, sizeof(reply), now_us + 6 * MINUTE_US);
	assert_int_equal(begin(1, now_us + 10 * MINUTE_US, &e), DRC_DONE);
}

TEST(test_reply_grows_old_over_a_kill)
{
	struct drc_entry *e;

	answered(1, now_us);
	killed();
	assert_int_equal(begin(1, now_us + 6 * MINUTE_US, &e), DRC_NEW);
}

/* The clock began anew: the entry is of before the machine was booted. */
TEST(test_reply_of_before_a_boot)
{
	struct drc_entry *e;

	answered(1, now_us);
	killed();
	assert_int_equal(begin(1, now_us - SECOND_US, &e), DRC_NEW);
}

/* A server may be away for hours. */
TEST(test_call_in_progress_does_not_grow_old)
{
	struct drc_entry *e, *again;

	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	drc_set_owner(drc, e, path);
	assert_int_equal(
	    begin(1, now_us + 600 * MINUTE_US, &again), DRC_IN_PROGRESS);
	assert_ptr_equal(again, e);
	assert_ptr_equal(drc_owner(drc, again), path);
}

TEST(test_call_that_was_sent_is_known_after_a_kill)
{
	struct upstream_sent s;
	struct drc_entry *e;

	sent(1, now_us);
	killed();
	assert_int_equal(begin(1, now_us + SECOND_US, &e), DRC_RECOVERED);
	drc_get_sent(e, &s);
	assert_int_equal(s.xid, 501);
	assert_int_equal(s.conn, 3);
	assert_int_equal(s.source, 777);
	assert_int_equal(s.first_us, now_us);
	assert_int_equal(drc_object(e).key, 5);
	assert_int_equal(drc_object(e).nlink, 6);
	/* It is in progress again. */
	assert_int_equal(begin(1, now_us + 2 * SECOND_US, &e), DRC_IN_PROGRESS);
}

TEST(test_call_that_was_not_sent_is_new_after_a_kill)
{
	struct drc_entry *e;

	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	killed();
	assert_int_equal(drc_recovered(drc), 0);
	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
}

TEST(test_whatever_differs_is_another_call)
{
	struct drc_key keys[7];
	struct drc_entry *e;

	answered(1, now_us);
	for (int i = 0; i < 7; i++)
		keys[i] = key_of(1);
	keys[0].client++;
	keys[1].args++;
	keys[2].args_len++;
	keys[3].xid++;
	keys[4].prog++;
	keys[5].vers++;
	keys[6].proc++;
	for (int i = 0; i < 7; i++)
		assert_int_equal(drc_begin(drc, &keys[i], now_us, &e), DRC_NEW);
	assert_int_equal(begin(1, now_us, &e), DRC_DONE);
}

TEST(test_oldest_makes_room)
{
	struct drc_entry *e;

	for (uint32_t xid = 1; xid <= SLOTS + 2; xid++)
		answered(xid, now_us);
	assert_int_equal(begin(3, now_us, &e), DRC_DONE);
	assert_int_equal(begin(SLOTS + 2, now_us, &e), DRC_DONE);
	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
}

TEST(test_calls_in_progress_keep_their_place)
{
	struct drc_entry *e;

	for (uint32_t xid = 1; xid <= SLOTS; xid++)
		assert_int_equal(begin(xid, now_us, &e), DRC_NEW);
	assert_int_equal(begin(SLOTS + 1, now_us, &e), DRC_NEW);
	assert_null(e);
	assert_int_equal(begin(1, now_us, &e), DRC_IN_PROGRESS);
}

/* However many changes came since, those that a restart interrupted are known
 * when their clients repeat them. */
TEST(test_recovered_ones_are_given_up_last)
{
	struct drc_entry *e;

	sent(1, now_us);
	sent(2, now_us);
	killed();
	for (uint32_t xid = 10; xid < 10 + 3 * SLOTS; xid++)
		answered(xid, now_us);
	assert_int_equal(begin(2, now_us, &e), DRC_RECOVERED);
	drc_drop(drc, e);
	killed();
	answered(5, now_us);
	assert_int_equal(begin(1, now_us, &e), DRC_RECOVERED);
}

TEST(test_recovered_ones_make_room)
{
	struct drc_entry *e;

	for (uint32_t xid = 1; xid <= SLOTS; xid++)
		sent(xid, now_us);
	killed();
	/* One of them goes, and its place is that of all who come. */
	for (uint32_t xid = 100; xid < 100 + SLOTS; xid++)
		answered(xid, now_us);
	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	assert_non_null(e);
	for (uint32_t xid = 2; xid <= SLOTS; xid++)
		assert_int_equal(begin(xid, now_us, &e), DRC_RECOVERED);
}

TEST(test_what_is_not_kept)
{
	char large[DRC_REPLY_MAX + 1] = "";
	struct drc_entry *e;

	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	drc_finish(drc, e, large, sizeof(large), now_us);
	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	drc_drop(drc, e);
	assert_int_equal(begin(1, now_us, &e), DRC_NEW);
	drc_finish(drc, e, large, DRC_REPLY_MAX, now_us);
	assert_int_equal(begin(1, now_us, &e), DRC_DONE);
}

/* A bit is flipped anywhere: that entry is unknown, or all are. */
TEST(test_damaged_file)
{
	struct drc_entry *e;
	unsigned char byte;
	size_t len;
	off_t size;
	int fd;

	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	size = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < size; at += 13) {
		answered((uint32_t)at + 1, now_us);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		killed();
		if (begin((uint32_t)at + 1, now_us, &e) == DRC_DONE)
			assert_memory_equal(
			    drc_reply(e, &len), reply, sizeof(reply));
		else
			drc_drop(drc, e);
	}
	close(fd);
}
