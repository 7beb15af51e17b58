/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * READs in pieces: when a READ is asked for in pieces and of what size, how the
 * answer is put together, and who gets it when a file changes or a client goes.
 */
#include "svc/pieces_fixture.h"
#include "svc/svc_pieces.h"

/* ---- whether and how -------------------------------------------------- */

TEST(test_unit)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());

	assert_int_equal(svc_pieces_unit(le, 1 << 20), 0);
	linkest_set_kind(le, CONFIG_LINK_WIRELESS);
	assert_int_equal(svc_pieces_unit(le, 4 * KIB), 0);
	assert_int_equal(svc_pieces_unit(le, UNIT), 0);
	assert_int_equal(svc_pieces_unit(le, UNIT + 1), 12 * KIB);
	assert_int_equal(svc_pieces_unit(le, 128 * KIB), UNIT);
	assert_int_equal(svc_pieces_unit(le, 1 << 20), UNIT);
	linkest_set_kind(le, CONFIG_LINK_WIRED);
	assert_int_equal(svc_pieces_unit(le, UNIT), 0);
	assert_int_equal(svc_pieces_unit(le, 128 * KIB), 24 * KIB);
	assert_int_equal(svc_pieces_unit(le, 1 << 20), 24 * KIB);
}

TEST(test_window)
{
	struct linkest *le = AFTER(linkest_free, linkest_new());
	uint64_t wire = linkest_wire_bytes(132 + UNIT);

	assert_int_equal(svc_pieces_window(le, UNIT), 4 * wire);
	/* The pipe and 20 ms of jitter, twice, and one more. */
	linkest_set_kind(le, CONFIG_LINK_WIRELESS);
	assert_int_equal(svc_pieces_window(le, UNIT), 20000 + wire);
	/* 1 ms, and 10 for the server. */
	linkest_set_kind(le, CONFIG_LINK_WIRED);
	assert_int_equal(svc_pieces_window(le, UNIT), 13750 + wire);
}

FIXTURE(struct world, setup, teardown);

TEST(test_whole_where_the_rate_is_unknown, struct world *w)
{
	linkest_set_kind(w->link, CONFIG_LINK_AUTO);
	ask_read(w, 0, "file", 0, 1 << 20);
	assert_int_equal(w->up.n, 1);
	expect_call(w, 0, "file", 0, 1 << 20);
	serve(w, 0);
	expect_data(w, 0, 0, 1 << 20, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
	expect_idle(w);
}

TEST(test_small_ones_are_whole, struct world *w)
{
	ask_read(w, 0, "file", 100, UNIT);
	expect_call(w, 0, "file", 100, UNIT);
	serve(w, 0);
	expect_data(w, 0, 100, UNIT, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
}

/* ---- answers ---------------------------------------------------------- */

TEST(test_put_together_by_reference, struct world *w)
{
	ask_read(w, 0, "file", 4096, 1 << 20);
	for (uint64_t i = 0; i < 64; i++) {
		expect_call(w, 0, "file", 4096 + i * UNIT, UNIT);
		assert_int_equal(w->clients[0].replies, 0);
		serve(w, 0);
	}
	expect_data(w, 0, 4096, 1 << 20, false);
	assert_int_equal(w->clients[0].copied, 0);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 1);
	assert_int_equal(counted(w, METRICS_READ_PIECES), 64);
	assert_int_equal(counted(w, METRICS_BYTES_RETURNED), 1 << 20);
	assert_int_equal(counted(w, METRICS_BYTES_COPIED), 0);
	expect_idle(w);
}

TEST(test_odd_lengths, struct world *w)
{
	ask_read(w, 0, "file", 3, 40001);
	expect_call(w, 0, "file", 3, UNIT);
	serve(w, 0);
	serve(w, 0);
	expect_call(w, 0, "file", 3 + 2 * UNIT, 40001 - 2 * UNIT);
	serve(w, 0);
	expect_data(w, 0, 3, 40001, false);
	expect_idle(w);
}

TEST(test_any_order, struct world *w)
{
	ask_read(w, 0, "file", 0, 4 * UNIT);
	serve(w, 1);
	serve(w, 1);
	serve(w, 1);
	assert_int_equal(w->clients[0].replies, 0);
	expect_call(w, 0, "file", 0, UNIT);
	serve(w, 0);
	expect_data(w, 0, 0, 4 * UNIT, false);
	expect_idle(w);
}

TEST(test_end_of_file, struct world *w)
{
	set_size(w, UNIT + 100);
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	/* The next ones are under way already. */
	serve(w, 0);
	expect_data(w, 0, 0, UNIT + 100, true);
	assert_int_equal(w->up.n, UNDER_WAY - 1);
	serve_all(w);
	assert_int_equal(counted(w, METRICS_READ_PIECES), UNDER_WAY + 1);
	expect_idle(w);
}

TEST(test_file_ends_with_a_piece, struct world *w)
{
	set_size(w, 2 * UNIT);
	ask_read(w, 0, "file", 0, 2 * UNIT);
	serve_all(w);
	expect_data(w, 0, 0, 2 * UNIT, true);
	ask_read(w, 0, "file", 4 * UNIT, 4 * UNIT);
	serve_all(w);
	expect_data(w, 0, 4 * UNIT, 0, true);
	expect_idle(w);
}

TEST(test_short_piece, struct world *w)
{
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	serve_short(w, call_at(w, 0), 1000);
	expect_data(w, 0, 0, UNIT + 1000, false);
	serve_all(w);
	expect_idle(w);
}

/* ---- pieces that do not fit ------------------------------------------- */

/* The rest is not asked for; the READ is, as it came. */
static void expect_whole(struct world *w, uint32_t count)
{
	unsigned last = w->up.n - 1;

	assert_int_equal(counted(w, METRICS_READS_WHOLE), 1);
	assert_int_equal(w->clients[0].replies, 0);
	expect_call(w, last, "file", 0, count);
	serve_all(w);
	expect_data(w, 0, 0, count, false);
	expect_idle(w);
}

TEST(test_changed_in_between, struct world *w)
{
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	w->ctime++;
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
	/* For a while, since it may go on; other files are as ever. */
	ask_read(w, 1, "file", 8 * UNIT, 8 * UNIT);
	expect_call(w, 0, "file", 8 * UNIT, 8 * UNIT);
	ask_read(w, 2, "other", 0, 8 * UNIT);
	expect_call(w, 1, "other", 0, UNIT);
}

/* Before the first piece: that one is too early to tell. */
TEST(test_changed_before, struct world *w)
{
	w->ctime++;
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
}

/* It might change again within the same tick of the server's clock. */
TEST(test_new_files_are_whole, struct world *w)
{
	ask_read(w, 0, "new", 0, 8 * UNIT);
	expect_call(w, 0, "new", 0, 8 * UNIT);
	serve(w, 0);
	expect_data(w, 0, 0, 8 * UNIT, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
}

TEST(test_no_attributes, struct world *w)
{
	w->bare = true;
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
	ask_read(w, 0, "other", 0, 8 * UNIT);
	expect_call(w, 0, "other", 0, 8 * UNIT);
}

TEST(test_first_error_is_the_answer, struct world *w)
{
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve_error(w, 0, NFS3ERR_ACCES);
	expect_status(w, 0, NFS3ERR_ACCES);
	assert_int_equal(w->up.n, UNDER_WAY - 1);
	serve_all(w);
	assert_int_equal(counted(w, METRICS_READS_WHOLE), 0);
	expect_idle(w);
}

TEST(test_later_error, struct world *w)
{
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	serve_error(w, 1, NFS3ERR_IO);
	expect_whole(w, 8 * UNIT);
}

/* More than was asked for. */
TEST(test_malformed_piece, struct world *w)
{
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	call_at(w, 0)->args.read.count++;
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
}

/* ---- the link --------------------------------------------------------- */

TEST(test_window_is_of_all, struct world *w)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		ask_read(w, i, "file", i << 20, 1 << 20);
		ask_read(w, i, "other", i << 20, 8 * UNIT);
		assert_int_equal(w->up.n, UNDER_WAY);
	}
	for (unsigned i = 0; i < 3 * (64 + 8) - UNDER_WAY; i++) {
		serve(w, i % UNDER_WAY);
		assert_int_equal(w->up.n, UNDER_WAY);
	}
	serve_all(w);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(w->clients[i].replies, 2);
	expect_idle(w);
}

TEST(test_turns, struct world *w)
{
	ask_read(w, 0, "file", 0, 4 * UNIT);
	ask_read(w, 0, "file", 4 * UNIT, 4 * UNIT);
	ask_read(w, 1, "other", 0, 4 * UNIT);
	for (uint64_t i = 0; i < UNDER_WAY; i++)
		expect_call(w, (unsigned)i, "file", i * UNIT, UNIT);
	for (unsigned i = 0; i < UNDER_WAY; i++)
		serve(w, 0);
	/* Of a file in the order of the READs, since a reader waits for the
	 * first one. */
	for (uint64_t i = 0; i < 4; i++) {
		expect_call(w, 0, "file", (i + UNDER_WAY) * UNIT, UNIT);
		serve(w, 0);
		expect_call(w, 0, "other", i * UNIT, UNIT);
		serve(w, 0);
	}
	serve_all(w);
	expect_idle(w);
}

TEST(test_small_calls_pass, struct world *w)
{
	union nfs_args args = {.object = fh_of("dir")};

	ask_read(w, 0, "file", 0, 1 << 20);
	ask(w, 1, NFSPROC3_GETATTR, &args);
	ask_read(w, 1, "small", 0, 4096);
	assert_int_equal(w->up.n, UNDER_WAY + 2);
	assert_int_equal(call_at(w, UNDER_WAY)->proc->proc, NFSPROC3_GETATTR);
	expect_call(w, UNDER_WAY + 1, "small", 0, 4096);
}

/* ---- who goes away ---------------------------------------------------- */

TEST(test_client_gone, struct world *w)
{
	ask_read(w, 0, "file", 0, 1 << 20);
	serve(w, 0);
	svc_client_gone(w->svc, &w->clients[0].svc);
	assert_int_equal(svc_waiting_us(w->svc), 0);
	serve_all(w);
	assert_int_equal(w->clients[0].replies, 0);
	assert_int_equal(counted(w, METRICS_READ_PIECES), UNDER_WAY + 1);
	expect_idle(w);
	/* The link is free again. */
	ask_read(w, 1, "file", 0, 8 * UNIT);
	serve_all(w);
	expect_data(w, 1, 0, 8 * UNIT, false);
}

/* A piece that others wait for is asked for all the same. */
TEST(test_client_gone_and_others_watch, struct world *w)
{
	ask_read(w, 0, "file", 0, 4 * UNIT);
	serve(w, 0);
	ask_read(w, 1, "file", 3 * UNIT, 4096);
	assert_int_equal(counted(w, METRICS_CALLS_JOINED), 1);
	assert_int_equal(w->up.n, UNDER_WAY);
	svc_client_gone(w->svc, &w->clients[0].svc);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(w->clients[1].replies, 0);
		expect_call(w, 0, "file", (i + 1) * UNIT, UNIT);
		serve(w, 0);
	}
	/* There is no cache for data here. */
	assert_int_equal(w->up.n, 1);
	expect_call(w, 0, "file", 3 * UNIT, 4096);
	serve(w, 0);
	expect_data(w, 1, 3 * UNIT, 4096, false);
	expect_idle(w);
}

TEST(test_offline, struct world *w)
{
	ask_read(w, 0, "file", 0, 1 << 20);
	svc_set_offline(w->svc, true);
	expect_status(w, 0, NFS3ERR_IO);
	assert_int_equal(w->up.n, UNDER_WAY);
	svc_set_offline(w->svc, false);
	serve_all(w);
	expect_idle(w);
}

/* All is freed, and calls under way hear no more. */
TEST(test_shutdown, struct world *w)
{
	ask_read(w, 0, "file", 0, 1 << 20);
	ask_read(w, 1, "file", 1 << 20, 1 << 20);
	serve(w, 0);
	svc_client_gone(w->svc, &w->clients[0].svc);
	svc_client_gone(w->svc, &w->clients[1].svc);
	svc_free(w->svc);
	assert_int_equal(fetch_in_flight(w->fetch), 0);
	svc_open(w);
}
