/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about access trees, carried in files and cleared, and what becomes
 * of them where their client goes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "control/control.h"
#include "control/control_fixture.h"

static ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = strlen(text), .data = (uint8_t *)text};
}

static Forefetch__Response *ask_trees(
    struct fixture *fx, int fd, const Forefetch__TreesRequest *what)
{
	Forefetch__TreesRequest trees = *what;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;

	trees.server = bytes("nas");
	request.command_case = FOREFETCH__REQUEST__COMMAND_TREES;
	request.trees = &trees;
	send_request(fd, &request);
	return client_receive(fx, fd);
}

static void expect_code(Forefetch__Response *res, Forefetch__ErrorCode code)
{
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
	response_free(res);
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
	response_free(res);
	return id;
}

static void test_trees(void **state)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	struct fixture *fx = *state;
	Forefetch__Response *res;
	int fd = client_open(fx);

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
	response_free(res);
	what.action = FOREFETCH__TREES_ACTION__CLEAR;
	what.id = 0;
	response_free(ask_trees(fx, fd, &what));
	assert_int_equal(fx->changed, 1);
	assert_true(first_tree(fx, fd) == 0);
	what.action = (Forefetch__TreesAction)99;
	expect_code(
	    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND);
	close(fd);
}

/* Half of what the daemon knew is neither shown, changed nor given out. */
static void test_trees_while_they_are_loaded(void **state)
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
	struct fixture *fx = *state;
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
static void test_clear_tree(void **state)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	struct fixture *fx = *state;
	Forefetch__Response *res;
	int fd = client_open(fx);

	learn_runs(fx, 300);
	what.action = FOREFETCH__TREES_ACTION__CLEAR;
	what.server = bytes("nas");
	what.id = 1;
	expect_code(
	    ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__NO_SUCH_TREE);
	assert_int_equal(fx->changed, 0);
	what.id = first_tree(fx, fd);
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	response_free(res);
	assert_true(fx->changed > 0);
	assert_true(first_tree(fx, fd) != what.id);
	close(fd);
	learn_runs(fx, 300);
	request.command_case = FOREFETCH__REQUEST__COMMAND_TREES;
	request.trees = &what;
	for (unsigned ms = 0; ms < 5; ms++) {
		fd = client_open(fx);
		send_request(fd, &request);
		pass(fx, ms);
		close(fd);
		pass(fx, 10);
	}
}

static void test_carry(void **state)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	struct fixture *fx = *state;
	Forefetch__Response *res;
	uint8_t file[4096];
	size_t len;
	int fd = client_open(fx);

	learn_runs(fx, 3);
	what.action = FOREFETCH__TREES_ACTION__EXPORT;
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	len = res->trees->data.len;
	assert_in_range(len, 1, sizeof(file));
	memcpy(file, res->trees->data.data, len);
	response_free(res);

	what.action = FOREFETCH__TREES_ACTION__IMPORT;
	what.data = (ProtobufCBinaryData){.len = len, .data = file};
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	assert_int_equal(fx->changed, 0);
	/* In two parts; the second one must follow the first. */
	what.action = FOREFETCH__TREES_ACTION__MERGE;
	what.data.len = 10;
	what.more = true;
	response_free(ask_trees(fx, fd, &what));
	what.offset = 11;
	expect_code(ask_trees(fx, fd, &what), FOREFETCH__ERROR_CODE__FAILED);
	what.offset = 0;
	response_free(ask_trees(fx, fd, &what));
	what.offset = 10;
	what.more = false;
	what.data = (ProtobufCBinaryData){.len = len - 10, .data = file + 10};
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	response_free(res);
	assert_int_equal(fx->changed, 1);
	close(fd);
}

static void test_bad_imports(void **state)
{
	static uint8_t part[60000];
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	struct fixture *fx = *state;
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
		response_free(res);
		what.offset += sizeof(part);
	}
	assert_in_range(what.offset, 1, 8 << 20);
	expect_code(res, FOREFETCH__ERROR_CODE__TOO_LARGE);
	/* And one that goes away in between. */
	what.offset = 0;
	response_free(ask_trees(fx, fd, &what));
	close(fd);
	pass(fx, 10);
	assert_int_equal(fx->changed, 0);
}

/* A client goes away at any moment of its import. */
static void test_import_abandoned(void **state)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	struct fixture *fx = *state;
	Forefetch__Response *res;
	int fd = client_open(fx);
	uint8_t *file;

	learn_runs(fx, 200);
	what.action = FOREFETCH__TREES_ACTION__EXPORT;
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	what.data.len = res->trees->data.len;
	what.data.data = file = malloc(what.data.len);
	memcpy(file, res->trees->data.data, what.data.len);
	response_free(res);
	close(fd);
	what.action = FOREFETCH__TREES_ACTION__MERGE;
	what.server = bytes("nas");
	request.command_case = FOREFETCH__REQUEST__COMMAND_TREES;
	request.trees = &what;
	for (unsigned ms = 0; ms < 10; ms++) {
		fd = client_open(fx);
		send_request(fd, &request);
		pass(fx, ms);
		close(fd);
		pass(fx, 10);
	}
	free(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_trees),
	    TEST(test_trees_while_they_are_loaded),
	    TEST(test_clear_tree),
	    TEST(test_carry),
	    TEST(test_bad_imports),
	    TEST(test_import_abandoned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
