/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the server's reply cache may not know the repeat of a change any more,
 * and what becomes of the call then (docs/CONTRACT.md, "Changes").
 */
#include "unittest.h"
#include "base/clock.h"
#include "upstream/upstream_fixture.h"

FIXTURE(struct world, world_setup, world_teardown);

/* ---- doubt ------------------------------------------------------------- */

TEST(test_no_doubt, struct world *w)
{
	struct call c = {0};

	call_send_change(w, &c);
	vclock_pass(8 * S);
	server_reconnect(w);
	assert_int_equal(c.doubts, 0);
}

TEST(test_doubt_by_time, struct world *w)
{
	struct call c = {.keep = true};

	call_send_change(w, &c);
	vclock_pass(12 * S);
	server_reconnect(w);
	assert_int_equal(c.doubts, 1);
	assert_int_equal(w->ngot, 1);
}

TEST(test_doubt_by_failure, struct world *w)
{
	struct call c = {.keep = true};

	call_send_change(w, &c);
	server_refuse(w);
	server_break_all(w);
	vclock_pass(1 * S);
	server_listen(w);
	vclock_pass(4 * S);
	assert_int_equal(c.doubts, 1);
	assert_int_equal(w->ngot, 1);
}

/* It is in doubt 100 s after it was first sent, however often it was sent
 * again meanwhile. */
TEST(test_doubt_by_age, struct world *w)
{
	struct call c = {0};

	call_send_change(w, &c);
	for (unsigned i = 0; i < 11; i++) {
		vclock_pass(4 * S);
		server_show_life(w);
		vclock_pass(4 * S);
		server_reconnect(w);
		assert_int_equal(c.doubts, 0);
	}
	vclock_pass(4 * S);
	server_reconnect(w);
	assert_int_equal(c.doubts, 1);
}

TEST(test_what_changes_nothing_is_never_in_doubt, struct world *w)
{
	struct call c = {0};

	call_send_look(w, &c, 1);
	vclock_pass(30 * S);
	server_reconnect(w);
	assert_int_equal(c.doubts, 0);
	assert_int_equal(w->ngot, 2);
}

/* Its owner has it repeated; the reply tells of the doubt. */
TEST(test_resumed, struct world *w)
{
	struct call c = {.keep = true};

	call_send_change(w, &c);
	vclock_pass(12 * S);
	server_reconnect(w);
	upstream_resume(c.call);
	vclock_settle();
	assert_int_equal(w->ngot, 2);
	assert_int_equal(w->got[1].xid, w->got[0].xid);
	server_answer(w, 1);
	assert_true(c.doubtful);
	assert_int_equal(c.doubts, 1);
}

/* By the time that there is a connection, the owner's look may no longer be
 * true: it is asked once more. */
TEST(test_resumed_without_a_connection, struct world *w)
{
	struct call c = {.keep = true};

	call_send_change(w, &c);
	vclock_pass(12 * S);
	server_reconnect(w);
	server_refuse(w);
	server_break_all(w);
	upstream_resume(c.call);
	server_listen(w);
	vclock_pass(4 * S);
	assert_int_equal(c.doubts, 2);
	assert_int_equal(w->ngot, 1);
	upstream_resume(c.call);
	vclock_settle();
	assert_int_equal(w->ngot, 2);
}

TEST(test_released, struct world *w)
{
	struct call c = {.keep = true};

	call_send_change(w, &c);
	vclock_pass(12 * S);
	server_reconnect(w);
	upstream_release(c.call);
	vclock_pass(120 * S);
	assert_int_equal(w->ngot, 1);
	assert_int_equal(c.replies, 0);
}

/* From before a restart: the same XID, and in doubt where the port is not the
 * one that it came from. */
TEST(test_former, struct world *w)
{
	struct upstream_sent former = {
	    .xid = 4711, .source = 1, .first_us = clock_now_us() - 1 * S};
	struct call c = {0};

	server_listen(w);
	world_open(w, 1, false);
	call_send_as(w, &c, NFSPROC3_REMOVE, &former);
	assert_int_equal(w->ngot, 1);
	assert_int_equal(w->got[0].xid, 4711);
	assert_int_equal(c.doubts, 1);
}
