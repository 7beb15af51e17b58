/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about places, access trees and traces, and what ends with their
 * connection. */
#include <errno.h>
#include <unistd.h>
#include "unittest.h"
#include "config/exportpath.h"
#include "control/control.h"
#include "control/control_fixture.h"
#include "explain/tracer.h"
#include "predictor/predictor.h"
#include "warm/warm.h"

static Forefetch__Place place(const char *path)
{
	Forefetch__Place p = FOREFETCH__PLACE__INIT;

	p.listen = bytes("127.0.0.1:2050");
	p.export = bytes("/srv");
	p.path = bytes(path);
	return p;
}

static void send_warm(int fd, Forefetch__Place *p, bool metadata)
{
	Forefetch__WarmRequest warm = FOREFETCH__WARM_REQUEST__INIT;

	warm.place = p;
	warm.metadata_only = metadata;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_WARM, &warm);
}

static void expect_warmed(struct fixture *fx, int fd)
{
	Forefetch__Response *res = client_receive(fx, fd);

	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_WARM);
	assert_true(res->warm->done);
	assert_int_equal(res->warm->status, 13);
	assert_int_equal(res->warm->files, 1);
	assert_true(res->warm->left == UINT64_MAX);
}

FIXTURE(struct fixture, set_up, tear_down);

TEST(test_warm, struct fixture *fx)
{
	Forefetch__Place p = place("a/b");
	int fd = client_open(fx);

	send_warm(fd, NULL, false);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	send_warm(fd, &p, false);
	expect_warmed(fx, fd);
	assert_string_equal(fx->place, "127.0.0.1:2050 /srv a/b data");
	send_warm(fd, NULL, false);
	expect_warmed(fx, fd);
	assert_int_equal(fx->walks, 1);
	/* One walk a connection. */
	send_warm(fd, &p, true);
	expect_warmed(fx, fd);
	assert_string_equal(fx->place, "127.0.0.1:2050 /srv a/b metadata");
	assert_int_equal(fx->walks, 1);
	/* It ends even if the next one cannot begin. */
	fx->place_error = ENOENT;
	send_warm(fd, &p, false);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE);
	assert_int_equal(fx->walks, 0);
	send_warm(fd, NULL, false);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	fx->place_error = 0;
	send_warm(fd, &p, false);
	expect_warmed(fx, fd);
	close(fd);
	pass(fx, 10);
	assert_int_equal(fx->walks, 0);
}

TEST(test_bad_places, struct fixture *fx)
{
	static const struct {
		int error;
		Forefetch__ErrorCode code;
	} errors[] = {{ENOENT, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE},
	    {EINVAL, FOREFETCH__ERROR_CODE__BAD_REQUEST},
	    {EPERM, FOREFETCH__ERROR_CODE__NOT_PERMITTED},
	    {EBUSY, FOREFETCH__ERROR_CODE__BUSY},
	    {ENOMEM, FOREFETCH__ERROR_CODE__FAILED}};
	static char text[CONTROL_PATH_MAX + 1];
	Forefetch__Place p = place("");
	int fd = client_open(fx);

	for (size_t i = 0; i < LENGTH(errors); i++) {
		fx->place_error = errors[i].error;
		send_warm(fd, &p, false);
		expect_error(fx, fd, errors[i].code);
	}
	fx->place_error = 0;
	memset(text, 'x', CONTROL_PATH_MAX);
	p.path = bytes(text);
	send_warm(fd, &p, false);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	p.path = (ProtobufCBinaryData){.len = 3, .data = (uint8_t *)"a\0b"};
	send_warm(fd, &p, false);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	assert_int_equal(fx->walks, 0);
	text[CONTROL_PATH_MAX - 1] = '\0';
	p.path = bytes(text);
	send_warm(fd, &p, false);
	expect_warmed(fx, fd);
	close(fd);
	pass(fx, 10);
}

TEST(test_paths)
{
	static char name[257];

	memset(name, 'x', 256);
	assert_true(exportpath_below_ok(""));
	assert_true(exportpath_below_ok("a"));
	assert_true(exportpath_below_ok("a/...b/c d"));
	assert_false(exportpath_below_ok("/a"));
	assert_false(exportpath_below_ok("a/"));
	assert_false(exportpath_below_ok("a//b"));
	assert_false(exportpath_below_ok("."));
	assert_false(exportpath_below_ok("a/../b"));
	assert_false(exportpath_below_ok(name));
	assert_true(exportpath_below_ok(name + 1));
}

TEST(test_explain, struct fixture *fx)
{
	Forefetch__ExplainRequest explain = FOREFETCH__EXPLAIN_REQUEST__INIT;
	Forefetch__Place p = place("x");
	Forefetch__Response *res;
	int fd = client(fx);

	send_command(fd, FOREFETCH__REQUEST__COMMAND_EXPLAIN, &explain);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	explain.place = &p;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_EXPLAIN, &explain);
	res = client_receive(fx, fd);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_EXPLAIN);
	assert_string_equal(fx->place, "127.0.0.1:2050 /srv x");
	assert_int_equal(res->explain->found, FOREFETCH__FOUND__ABSENT);
	assert_string_equal(res->explain->consistency, "frozen");
	assert_true(res->explain->attr_age_us == UINT64_MAX);
	assert_string_equal(res->explain->prefetch->state, "used");
	fx->place_error = ENOENT;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_EXPLAIN, &explain);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE);
}

/* ---- trees and traces ------------------------------------------------- */

/* A program that uses nine files, `runs` times. */
static void learn(struct fixture *fx, unsigned runs)
{
	struct predictor_obs obs = {.kind = PREDICTOR_READ,
	    .actor = 1,
	    .uid = geteuid(),
	    .parent = 100,
	    .now_ns = 1000000000,
	    .count_bytes = 4096};

	for (unsigned i = 0; i < runs * 10; i++) {
		obs.object = 200 + i % 10;
		obs.name_hash = 300 + i % 10;
		obs.exec = i % 10 == 0;
		obs.now_ns += i % 10 == 0 ? UINT64_C(60000000000) : 1000000;
		predictor_observe(fx->predictor, &obs);
		tracer_observe(fx->tracer, &obs);
	}
}

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
	learn(fx, 3);
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

TEST(test_carry, struct fixture *fx)
{
	Forefetch__TreesRequest what = FOREFETCH__TREES_REQUEST__INIT;
	Forefetch__Response *res;
	uint8_t file[4096];
	size_t len;
	int fd = client(fx);

	learn(fx, 3);
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

	learn(fx, 200);
	what.action = FOREFETCH__TREES_ACTION__EXPORT;
	res = ask_trees(fx, fd, &what);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_TREES);
	what.data.len = res->trees->data.len;
	what.data.data = file = malloc(what.data.len);
	memcpy(file, res->trees->data.data, what.data.len);
	close(fd);
	what.action = FOREFETCH__TREES_ACTION__MERGE;
	what.server = bytes("nas");
	for (unsigned ms = 0; ms < 10; ms++) {
		fd = client_open(fx);
		send_command(fd, FOREFETCH__REQUEST__COMMAND_TREES, &what);
		pass(fx, ms);
		close(fd);
		pass(fx, 10);
	}
}

static Forefetch__Response *ask_trace(
    struct fixture *fx, int fd, Forefetch__TraceAction action)
{
	Forefetch__TraceRequest trace = FOREFETCH__TRACE_REQUEST__INIT;

	trace.server = bytes("nas");
	trace.action = action;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_TRACE, &trace);
	return client_receive(fx, fd);
}

static void send_pin(int fd, Forefetch__PinAction action, Forefetch__Place *p,
    const char *server, uint32_t id)
{
	Forefetch__PinRequest pin = FOREFETCH__PIN_REQUEST__INIT;

	pin.action = action;
	pin.place = p;
	pin.server = bytes(server);
	pin.id = id;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_PIN, &pin);
}

/* What the list is made of: tests/hostile/test_pin.py. */
TEST(test_pin, struct fixture *fx)
{
	Forefetch__Place p = place("a/b");
	Forefetch__Response *res;
	int fd = client_open(fx);

	for (uint32_t id = 0; id < 40; id += 39) {
		send_pin(fd, FOREFETCH__PIN_ACTION__PIN_LIST, NULL, "", id);
		res = client_receive(fx, fd);
		assert_int_equal(
		    res->result_case, FOREFETCH__RESPONSE__RESULT_PINS);
		assert_int_equal(res->pins->n_pins, 0);
	}
	send_pin(fd, FOREFETCH__PIN_ACTION__PIN_LIST, NULL, "none", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	send_pin(fd, FOREFETCH__PIN_ACTION__PIN_ADD, NULL, "", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	/* Without a data cache there is nothing to keep. */
	send_pin(fd, FOREFETCH__PIN_ACTION__PIN_ADD, &p, "", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__FAILED);
	assert_string_equal(fx->place, "127.0.0.1:2050 /srv a/b");
	send_pin(fd, FOREFETCH__PIN_ACTION__PIN_REMOVE, &p, "", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE);
	fx->place_error = ENOENT;
	send_pin(fd, FOREFETCH__PIN_ACTION__PIN_ADD, &p, "", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE);
	fx->place_error = 0;
	send_pin(fd, (Forefetch__PinAction)77, &p, "", 0);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND);
	close(fd);
	pass(fx, 10);
}

static void send_hint(int fd, Forefetch__Place *p, size_t n)
{
	Forefetch__HintRequest hint = FOREFETCH__HINT_REQUEST__INIT;
	Forefetch__Hint one = FOREFETCH__HINT__INIT, *list[2] = {&one, &one};

	one.seq = 1;
	one.path = bytes("a");
	hint.place = p;
	hint.hints = list;
	hint.n_hints = n;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_HINT, &hint);
}

TEST(test_bad_hints, struct fixture *fx)
{
	static const struct {
		int error;
		Forefetch__ErrorCode code;
	} errors[] = {{ENOENT, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE},
	    {EINVAL, FOREFETCH__ERROR_CODE__BAD_REQUEST},
	    {EPERM, FOREFETCH__ERROR_CODE__NOT_PERMITTED},
	    {EOPNOTSUPP, FOREFETCH__ERROR_CODE__NOT_PERMITTED},
	    {EBUSY, FOREFETCH__ERROR_CODE__BUSY},
	    {ENOMEM, FOREFETCH__ERROR_CODE__FAILED}};
	Forefetch__Place p = place("a/b");
	int fd = client_open(fx);

	for (size_t n = 0; n <= 2; n++) {
		send_hint(fd, NULL, n);
		expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	}
	for (size_t i = 0; i < LENGTH(errors); i++) {
		fx->place_error = errors[i].error;
		send_hint(fd, &p, 1);
		expect_error(fx, fd, errors[i].code);
	}
	assert_string_equal(fx->place, "127.0.0.1:2050 /srv a/b");
	p.export = (ProtobufCBinaryData){.len = 3, .data = (uint8_t *)"a\0b"};
	send_hint(fd, &p, 1);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	close(fd);
	pass(fx, 10);
}

TEST(test_trace, struct fixture *fx)
{
	Forefetch__Response *res;
	int fd = client_open(fx), other = client(fx);
	size_t head;

	expect_code(ask_trace(fx, fd, FOREFETCH__TRACE_ACTION__TAKE),
	    FOREFETCH__ERROR_CODE__BAD_REQUEST);
	(void)ask_trace(fx, fd, FOREFETCH__TRACE_ACTION__BEGIN);
	res = ask_trace(fx, fd, FOREFETCH__TRACE_ACTION__TAKE);
	head = res->trace->data.len;
	assert_string_equal(res->trace->why, "");
	learn(fx, 100);
	res = ask_trace(fx, other, FOREFETCH__TRACE_ACTION__STOP);
	assert_int_equal(res->trace->going, 1);
	learn(fx, 1);
	res = ask_trace(fx, fd, FOREFETCH__TRACE_ACTION__TAKE);
	assert_true(res->trace->data.len > head);
	assert_string_equal(res->trace->why, "stopped");
	close(fd);
	pass(fx, 10);
	res = ask_trace(fx, other, FOREFETCH__TRACE_ACTION__STOP);
	assert_int_equal(res->trace->going, 0);
}

/* What nobody takes is bounded, and so is the number of traces. */
TEST(test_trace_bounds, struct fixture *fx)
{
	struct tracer_trace *traces[TRACER_TRACES_MAX];
	enum tracer_state how;
	char byte;

	for (int i = 0; i < TRACER_TRACES_MAX; i++) {
		traces[i] = tracer_begin(fx->tracer, i == 0 ? 77 : 0, i != 0);
		assert_non_null(traces[i]);
	}
	assert_null(tracer_begin(fx->tracer, 0, true));
	assert_int_equal(errno, EBUSY);
	for (int i = 0; i < 40; i++)
		learn(fx, 1000);
	(void)tracer_take(traces[1], &byte, 1, &how);
	assert_int_equal(how, TRACER_SLOW);
	/* Another's uid: the head of the file alone. */
	(void)tracer_take(traces[0], &byte, 1, &how);
	assert_int_equal(how, TRACER_GOES_ON);
	assert_int_equal(tracer_stop(fx->tracer, 77, false), 1);
	(void)tracer_take(traces[0], &byte, 1, &how);
	assert_int_equal(how, TRACER_STOPPED);
	for (int i = 0; i < TRACER_TRACES_MAX; i++)
		tracer_end(traces[i]);
}
