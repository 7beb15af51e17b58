/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections to a server: how often it is tried to connect, what is sent again
 * and over which connection, and what is made of records that are no replies.
 */
#include "unittest.h"
#include "base/clock.h"
#include "upstream/upstream_fixture.h"

/* ---- how often it is tried to connect ---------------------------------- */

FIXTURE(struct world, world_setup, world_teardown);

/* 100 ms at first, twice as long each time, five seconds at most; and each of
 * them between a half and one and a half of that. */
TEST(test_backoff, struct world *w)
{
	uint64_t wait_us = 100 * MS, us;

	world_open(w, 1, false);
	vclock_pass(120 * S);
	assert_true(w->ntries > 15 && w->ntries < TRIES);
	for (unsigned i = 1; i < w->ntries; i++) {
		us = w->tries_us[i] - w->tries_us[i - 1];
		assert_in_range(us, wait_us / 2, wait_us * 3 / 2 + 5 * MS);
		wait_us = wait_us * 2 < 5 * S ? wait_us * 2 : 5 * S;
	}
	assert_int_equal(
	    world_counter(w, METRICS_UPSTREAM_CONNECT_FAILURES), w->ntries);
}

/* An answer shows that the server is well: from then on it waits little. */
TEST(test_backoff_ends_with_an_answer, struct world *w)
{
	struct call c = {0};

	world_open(w, 1, false);
	vclock_pass(60 * S);
	server_listen(w);
	call_send(w, &c, NFSPROC3_GETATTR);
	vclock_pass(10 * S);
	server_answer(w, 0);
	server_refuse(w);
	server_break_all(w);
	w->ntries = 0;
	vclock_pass(1 * S);
	assert_true(w->ntries >= 3);
}

/* A server that answers and closes is called again at once; one that only ever
 * closes is not. */
TEST(test_closed_by_the_server, struct world *w)
{
	struct call c = {0};

	call_send_look(w, &c, 1);
	server_answer(w, 0);
	server_break_all(w);
	assert_int_equal(w->nconns, 2);
	server_break_all(w);
	assert_int_equal(w->nconns, 2);
	vclock_pass(1 * S);
	assert_int_equal(w->nconns, 3);
}

TEST(test_lazy, struct world *w)
{
	struct upstream_status st;
	struct call c = {0};

	server_listen(w);
	world_open(w, 1, true);
	assert_int_equal(w->nconns, 0);
	call_send(w, &c, NFSPROC3_GETATTR);
	assert_int_equal(w->nconns, 1);
	server_answer(w, 0);
	assert_int_equal(c.replies, 1);
	vclock_pass(65 * S);
	upstream_get_status(w->up, &st);
	assert_int_equal(st.state, UPSTREAM_IDLE);
}

/* ---- what is sent again ------------------------------------------------ */

TEST(test_change_keeps_xid_and_port, struct world *w)
{
	struct call c = {0};

	call_send_change(w, &c);
	server_reconnect(w);
	assert_int_equal(w->ngot, 2);
	assert_int_equal(w->got[1].xid, w->got[0].xid);
	assert_int_equal(w->conns[1].port, w->conns[0].port);
	server_answer(w, 1);
	assert_int_equal(c.replies, 1);
	assert_int_equal(c.sent, 2);
	assert_true(c.resent && !c.doubtful);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_RESENT), 1);
}

/* A call that changes nothing does not wait for its connection, a change does.
 */
TEST(test_which_connection, struct world *w)
{
	struct call change = {0}, other = {0};

	server_listen(w);
	world_open(w, 2, false);
	call_send(w, &change, NFSPROC3_REMOVE);
	call_send(w, &other, NFSPROC3_GETATTR);
	assert_int_equal(w->got[0].conn, w->got[1].conn);
	peer_free(w->conns[w->got[0].conn].peer);
	w->conns[w->got[0].conn].peer = NULL;
	vclock_settle();
	assert_int_equal(w->ngot, 3);
	assert_int_equal(w->got[2].xid, w->got[1].xid);
	assert_int_not_equal(w->got[2].conn, w->got[0].conn);
	vclock_pass(1 * S);
	assert_int_equal(w->ngot, 4);
	assert_int_equal(w->got[3].xid, w->got[0].xid);
	assert_int_equal(
	    w->conns[w->got[3].conn].port, w->conns[w->got[0].conn].port);
}

/* A minute for the first time; then 5 s, 10 s, … since a server may drop what
 * it takes for a copy. Other calls are answered meanwhile. */
TEST(test_not_answered, struct world *w)
{
	static const uint64_t waits_s[] = {60, 5, 10, 20, 40, 60};
	struct call c = {0};
	uint64_t us;

	call_send_change(w, &c);
	while (c.sent < 7) {
		vclock_pass(3 * S);
		server_show_life(w);
	}
	for (unsigned i = 0; i < 6; i++) {
		us = c.sent_us[i + 1] - c.sent_us[i];
		assert_in_range(us, waits_s[i] * S, (waits_s[i] + 2) * S);
	}
	assert_int_equal(c.doubts, 0);
	assert_int_equal(w->nconns, 1);
}

/* Nothing came at all: the connection is given up. */
TEST(test_silent, struct world *w)
{
	struct call c = {0};

	call_send_look(w, &c, 2);
	vclock_pass(62 * S);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_TIMEOUTS), 1);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_DISCONNECTS), 1);
	assert_int_equal(w->ngot, 2);
}

/* ---- without their owners ---------------------------------------------- */

TEST(test_dropped, struct world *w)
{
	struct call early = {0}, late = {0}, look = {0};

	world_open(w, 1, false);
	call_send(w, &early, NFSPROC3_REMOVE);
	assert_false(upstream_call_sent(early.call));
	assert_true(upstream_drop(early.call));
	server_listen(w);
	vclock_pass(5 * S);
	call_send(w, &late, NFSPROC3_REMOVE);
	call_send(w, &look, NFSPROC3_GETATTR);
	assert_true(upstream_call_sent(late.call));
	assert_false(upstream_drop(late.call));
	assert_true(upstream_drop(look.call));
	assert_int_equal(w->ngot, 2);
	server_answer(w, 0);
	server_answer(w, 1);
	assert_int_equal(late.replies, 1);
	assert_int_equal(look.replies, 0);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_UNKNOWN_XID), 1);
}

TEST(test_abandoned, struct world *w)
{
	struct call c = {0};

	call_send_change(w, &c);
	upstream_abandon(c.call);
	server_reconnect(w);
	assert_int_equal(w->ngot, 1);
	assert_int_equal(c.replies, 1);
	assert_true(c.lost);
}

/* ---- what is no reply -------------------------------------------------- */

static void babble(struct world *w, const void *bytes, size_t len)
{
	struct call c = {0};

	call_send_look(w, &c, 1);
	peer_send_raw(w->conns[0].peer, bytes, len);
	vclock_pass(1 * S);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_BAD_REPLIES), 1);
	assert_int_equal(w->nconns, 2);
	assert_int_equal(w->ngot, 2);
	server_answer(w, 1);
	assert_int_equal(c.replies, 1);
}

TEST(test_no_reply, struct world *w)
{
	babble(w, "\x80\0\0\x08no reply", 12);
}

TEST(test_odd_record, struct world *w)
{
	babble(w, "\x80\0\0\x05 odd", 9);
}

TEST(test_too_long_record, struct world *w)
{
	babble(w, "\xff\xff\xff\xfc", 4);
}

/* The replies that come are parts of a record that does not end. */
TEST(test_endless_record, struct world *w)
{
	struct call c = {0};

	call_send_look(w, &c, 1);
	peer_send_raw(w->conns[0].peer, "\x80\x08\0\0", 4);
	for (int i = 0; i < 14; i++) {
		server_answer(w, 0);
		vclock_pass(20 * S);
	}
	assert_int_equal(w->nconns, 1);
	server_answer(w, 0);
	vclock_pass(22 * S);
	assert_int_equal(w->nconns, 2);
	server_answer(w, w->ngot - 1);
	assert_int_equal(c.replies, 1);
}

TEST(test_unknown_xid, struct world *w)
{
	struct call c = {0};

	call_send_look(w, &c, 1);
	w->got[0].xid ^= 1;
	server_answer(w, 0);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_UNKNOWN_XID), 1);
	w->got[0].xid ^= 1;
	server_answer(w, 0);
	assert_int_equal(c.replies, 1);
	/* The reply comes a second time, and then nobody waits for it. */
	server_answer(w, 0);
	assert_int_equal(c.replies, 1);
	assert_int_equal(world_counter(w, METRICS_UPSTREAM_UNKNOWN_XID), 2);
}

/* A call that is sent behind another goes over its connection, while that is
 * up. */
TEST(test_behind_another, struct world *w)
{
	struct call change = {0}, list = {0}, behind = {0}, later = {0};

	server_listen(w);
	world_open(w, 3, false);
	call_send(w, &change, NFSPROC3_REMOVE);
	call_send(w, &list, NFSPROC3_READDIR);
	call_send_behind(w, &behind, NFSPROC3_READDIR, &change);
	assert_int_not_equal(w->got[1].conn, w->got[0].conn);
	assert_int_equal(w->got[2].conn, w->got[0].conn);
	assert_true(upstream_call_is_moving(change.call, clock_now_us()));
	vclock_pass(3 * S);
	assert_false(upstream_call_is_moving(change.call, clock_now_us()));
	assert_true(upstream_call_is_moving(change.call, 0));
	/* It is not held up by a call that waits to be repeated. */
	server_refuse(w);
	server_break_all(w);
	assert_false(upstream_call_is_moving(change.call, 0));
	call_send_behind(w, &later, NFSPROC3_READDIR, &change);
	server_listen(w);
	vclock_pass(10 * S);
	assert_true(later.sent > 0 && change.sent > 1);
}
