/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machines that ask for the same thing at the same time. */
#include "base/clock.h"
#include "farm/farm_fixture.h"

static enum farm_answer ask(struct farm_machine *m)
{
	return farm_ask_data(
	    m->server, node_of(m->w, "big"), m->w->cred, 0, FIRST, false);
}

/* Each machine knows that the other one is there, and what the server says of
 * the file. */
static void meet(struct pair *p)
{
	p->a.server->others.seen_us = p->b.server->others.seen_us =
	    clock_now_us();
	say_big(&p->a, 5);
	p->a.w->now_us += 1 * S;
	say_big(&p->b, 5);
}

/* Its call goes out. */
static void send_call(
    struct farm_machine *m, uint32_t nr, const union nfs_args *args)
{
	const struct nfs_proc *proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, nr);
	char body[256];
	struct upstream_request req = {.proc = proc,
	    .args = {.data = body,
		.len =
		    (uint32_t)nfs_args_encode(proc, args, body, sizeof(body))}};

	farm_on_send(m->server, &req, m->w->cred, m->w->now_us);
}

static void send_read(struct farm_machine *m)
{
	const union nfs_args args = {
	    .read = {.file = fh_of("big"), .count = FIRST}};

	send_call(m, NFSPROC3_READ, &args);
}

/* It is told that there is nothing, asks the server, and leaves a mark. */
static void mark(struct farm_machine *m)
{
	assert_int_equal(ask(m), FARM_ASKED);
	until_answered(m);
	assert_false(has_big(m, 0, FIRST));
	assert_int_equal(fake_count_of('d'), 0);
	send_read(m);
	assert_int_equal(fake_count_of('d'), 1);
	assert_true(
	    others_is_mark(fake_find('d', 0)->data, fake_find('d', 0)->len));
}

static void until_waiting(struct farm_machine *m)
{
	while (counter(m, METRICS_FARM_WAITED) == 0)
		turn(m);
}

FIXTURE(struct pair, begin_pair, end_pair);

/* The second one waits for what the first one fetches. */
TEST(test_one_fetches, struct pair *p)
{
	meet(p);
	mark(&p->a);
	assert_int_equal(ask(&p->b), FARM_ASKED);
	until_waiting(&p->b);
	say_read(&p->a, 5, 0, FIRST);
	while (others_is_mark(fake_find('d', 0)->data, fake_find('d', 0)->len))
		turn(&p->a);
	until_answered(&p->b);
	assert_true(has_big(&p->b, 0, FIRST));
	assert_int_equal(counter(&p->b, METRICS_FARM_IN_VAIN), 0);
}

/* It does not come: then the server is asked. */
TEST(test_in_vain, struct pair *p)
{
	meet(p);
	mark(&p->a);
	assert_int_equal(ask(&p->b), FARM_ASKED);
	until_answered(&p->b);
	assert_int_equal(counter(&p->b, METRICS_FARM_IN_VAIN), 1);
	assert_int_equal(ask(&p->b), FARM_NO);
}

/* After many waits in vain, only one mark in sixteen is waited for. */
TEST(test_marks_that_lie, struct pair *p)
{
	meet(p);
	mark(&p->a);
	p->b.server->others.vain = 100;
	for (int i = 0; i < 32; i++) {
		memset(p->b.server->absent, 0, sizeof(p->b.server->absent));
		assert_int_equal(ask(&p->b), FARM_ASKED);
		until_answered(&p->b);
	}
	assert_int_equal(counter(&p->b, METRICS_FARM_WAITED), 2);
}

/* Nobody waits for itself. */
TEST(test_own_mark, struct pair *p)
{
	meet(p);
	mark(&p->a);
	memset(p->a.server->absent, 0, sizeof(p->a.server->absent));
	assert_int_equal(ask(&p->a), FARM_ASKED);
	until_answered(&p->a);
	assert_int_equal(counter(&p->a, METRICS_FARM_WAITED), 0);
}

/* Whoever is alone leaves no marks; but the next one hears of it. */
TEST(test_alone, struct pair *p)
{
	say_big(&p->a, 5);
	say_big(&p->b, 5);
	assert_int_equal(ask(&p->a), FARM_ASKED);
	until_answered(&p->a);
	send_read(&p->a);
	assert_int_equal(fake_count_of('d'), 0);
	assert_false(others_are_there(p->a.server, clock_now_us()));
	while (fake_count_of('o') == 0)
		turn(&p->a);
	assert_int_equal(ask(&p->b), FARM_ASKED);
	until_answered(&p->b);
	assert_true(others_are_there(p->b.server, clock_now_us()));
}

/* A mark never stands in the way of what is there. */
TEST(test_value_stays, struct pair *p)
{
	meet(p);
	mark(&p->a);
	say_read(&p->a, 5, 0, FIRST);
	while (others_is_mark(fake_find('d', 0)->data, fake_find('d', 0)->len))
		turn(&p->a);
	send_read(&p->b);
	assert_int_equal(ask(&p->b), FARM_ASKED);
	until_answered(&p->b);
	assert_true(has_big(&p->b, 0, FIRST));
}

/* A machine leaves no mark for data that it will not publish: it has seen the
 * version just now, so the data is not firm. */
TEST(test_not_firm, struct pair *p)
{
	meet(p);
	say_big(&p->a, 6);
	send_read(&p->a);
	assert_int_equal(fake_count_of('d'), 0);
	p->a.w->now_us += 1 * S;
	send_read(&p->a);
	assert_int_equal(fake_count_of('d'), 1);
}

/* No file is longer; the numbers of cells go on behind its end. */
TEST(test_longest_file, struct pair *p)
{
	fattr3 a = big_attr(5);
	const union nfs_args args = {.read = {.file = fh_of("big"),
					 .offset = UINT64_MAX - 100,
					 .count = 1 << 20}};

	meet(p);
	a.size = UINT64_MAX;
	a.ctime.seconds = 7;
	say_access(p->a.w, "big", &a, ACCESS3_READ);
	p->a.w->now_us += 1 * S;
	send_call(&p->a, NFSPROC3_READ, &args);
	assert_int_equal(fake_count_of('d'), 1);
}

/* The beginning of a listing says that the rest will come. */
TEST(test_listing, struct pair *p)
{
	fattr3 dir = attr_of(NF3DIR, 1, 10);
	union nfs_args args = {.readdirplus = {.dir = fh_of("dir"),
				   .cookie = 5,
				   .dircount = 512,
				   .maxcount = 4096}};

	meet(p);
	say_access(p->a.w, "dir", &dir, ACCESS_ALL);
	p->a.w->now_us += 1 * S;
	send_call(&p->a, NFSPROC3_READDIRPLUS, &args);
	assert_int_equal(fake_count_of('l'), 0);
	args.readdirplus.cookie = 0;
	send_call(&p->a, NFSPROC3_READDIRPLUS, &args);
	assert_int_equal(fake_count_of('l'), 1);
	assert_true(
	    others_is_mark(fake_find('l', 0)->data, fake_find('l', 0)->len));
}

/* The server goes, as by a reload. */
TEST(test_ends_while_it_waits, struct pair *p)
{
	meet(p);
	mark(&p->a);
	assert_int_equal(ask(&p->b), FARM_ASKED);
	until_waiting(&p->b);
	farm_data_free(p->b.server);
	assert_true(TAILQ_EMPTY(&p->b.farm->waits));
	turn(&p->b);
}
