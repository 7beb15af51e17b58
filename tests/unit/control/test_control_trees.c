/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about access trees, carried in files and cleared, and what becomes
 * of them where their client goes away. */
#include <unistd.h>
#include "unittest.h"
#include "control/control.h"
#include "control/control_fixture.h"

FIXTURE(struct fixture, set_up, tear_down);

static Forefetch__Response *ask_trees(
    struct fixture *fx, int fd, const Forefetch__TreesRequest *what)
{
	Forefetch__TreesRequest trees = *what;

	trees.server = bytes("nas");
	send_command(fd, FOREFETCH__REQUEST__COMMAND_TREES, &trees);
	return client_receive(fx, fd);
}

static void expect_code(Forefetch__Response *res, Forefetch__ErrorCode code)
{
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
}

/* Clients ask and go away: `times` of them, each a millisecond later. */
static void hang_up(
    struct fixture *fx, Forefetch__TreesRequest *what, unsigned times)
{
	for (unsigned ms = 0; ms < times; ms++) {
		int fd = client_open(fx);

		send_command(fd, FOREFETCH__REQUEST__COMMAND_TREES, what);
		pass(fx, ms);
		close(fd);
		pass(fx, 10);
	}
}

static uint64_t first_tree(struct fixture *fx, int fd)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res = ask_trees(fx, fd, &what);
	uint64_t id = 0;

	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	assert_int_equal(res->trees->list->n_trees, res->trees->list->total);
	if (res->trees->list->n_trees > 0) {
		id = res->trees->list->trees[0]->id;
		assert_bytes(&res->trees->list->trees[0]->name, "name\n");
	}
	return id;
}

TEST(test_trees, struct fixture *fx)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	int fd = client(fx);

	assert_true(first_tree(fx, fd) == 0);
	learn_runs(fx, 3);
	what.action = FOREFETCH__TREES_ACTION__SHOW;
	what.id = 1;
	expect_code(
	    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__NO_SUCH_TREE);
	what.id = first_tree(fx, fd);
	assert_true(what.id != 0);
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	/* A name of two lines is one object. */
	assert_memory_equal(res->trees->shown->text.data, "name\\x0a\n", 9);
	assert_false(res->trees->shown->more);
	what.action = FOREFETCH__TREES_ACTION__CLEAR;
	what.id = 0;
	(void)ask_trees(fx, fd, &what);
	assert_int_equal(fx->changed, 1);
	assert_true(first_tree(fx, fd) == 0);
	what.action = (Forefetch__TreesAction)99;
	expect_code(
	    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND);
}

/* Half of what the daemon knew is neither shown, changed nor given out. */
TEST(test_trees_while_they_are_loaded, struct fixture *fx)
{
	static const Forefetch__TreesAction actions[] = {
	    FOREFETCH__TREES_ACTION__LIST,
	    FOREFETCH__TREES_ACTION__SHOW,
	    FOREFETCH__TREES_ACTION__EXPORT,
	    FOREFETCH__TREES_ACTION__IMPORT,
	    FOREFETCH__TREES_ACTION__MERGE,
	    FOREFETCH__TREES_ACTION__CLEAR,
	};
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	int fd = client_open(fx);

	learn_runs(fx, 3);
	fx->loads = true;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		what.action = actions[i];
		expect_code(
		    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__BUSY);
	}
	assert_int_equal(fx->changed, 0);
	fx->loads = false;
	assert_true(first_tree(fx, fd) != 0);
	close(fd);
}

/* One tree, over several turns; and somebody who goes away in between. */
TEST(test_clear_tree, struct fixture *fx)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	int fd = client_open(fx);

	learn_runs(fx, 300);
	what.action = FOREFETCH__TREES_ACTION__CLEAR;
	what.server = bytes("nas");
	what.id = 1;
	expect_code(
	    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__NO_SUCH_TREE);
	fx->changed = 0;
	what.id = first_tree(fx, fd);
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	assert_true(fx->changed > 0);
	assert_true(first_tree(fx, fd) != what.id);
	close(fd);
	learn_runs(fx, 300);
	hang_up(fx, &what, 5);
}

TEST(test_carry, struct fixture *fx)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	uint8_t file[4096];
	size_t len;
	int fd = client(fx);

	learn_runs(fx, 3);
	what.action = FOREFETCH__TREES_ACTION__EXPORT;
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	len = res->trees->data.len;
	assert_in_range(len, 1, sizeof(file));
	memcpy(file, res->trees->data.data, len);

	what.action = FOREFETCH__TREES_ACTION__IMPORT;
	what.data = (ProtobufCBinaryData){.len = len, .data = file};
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	assert_int_equal(fx->changed, 0);
	/* In two parts; the second one must follow the first. */
	what.action = FOREFETCH__TREES_ACTION__MERGE;
	what.data.len = 10;
	what.more = true;
	(void)ask_trees(fx, fd, &what);
	what.offset = 11;
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	what.offset = 0;
	(void)ask_trees(fx, fd, &what);
	what.offset = 10;
	what.more = false;
	what.data = (ProtobufCBinaryData){.len = len - 10, .data = file + 10};
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	assert_int_equal(fx->changed, 1);
}

TEST(test_bad_imports, struct fixture *fx)
{
	static uint8_t part[60000];
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	int fd = client_open(fx);

	what.action = FOREFETCH__TREES_ACTION__MERGE;
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	what.data = (ProtobufCBinaryData){.len = 100, .data = part};
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	/* Without an end. */
	what.data.len = sizeof(part);
	what.more = true;
	for (;;) {
		res = ask_trees(fx, fd, &what);
		if (res->result_case == FOREFETCH__RESPONSE__RESULT_ERROR)
			break;
		what.offset += sizeof(part);
	}
	assert_in_range(what.offset, 1, 8 << 20);
	expect_code(res, FOREFETCH__ERROR_CODE__TOO_LARGE);
	/* And one that goes away in between. */
	what.offset = 0;
	(void)ask_trees(fx, fd, &what);
	close(fd);
	pass(fx, 10);
	assert_int_equal(fx->changed, 0);
}

/* A client goes away at any moment of its import. */
TEST(test_import_abandoned, struct fixture *fx)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	int fd = client_open(fx);
	FREED uint8_t *file;

	learn_runs(fx, 200);
	what.action = FOREFETCH__TREES_ACTION__EXPORT;
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	what.data.len = res->trees->data.len;
	what.data.data = file = malloc(what.data.len);
	memcpy(file, res->trees->data.data, what.data.len);
	close(fd);
	what.action = FOREFETCH__TREES_ACTION__MERGE;
	what.server = bytes("nas");
	hang_up(fx, &what, 10);
}
