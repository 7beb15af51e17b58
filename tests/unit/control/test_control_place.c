/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about places, and traces, and what ends with their connection. */
#include <errno.h>
#include <unistd.h>
#include "unittest.h"
#include "config/exportpath.h"
#include "control/control.h"
#include "control/control_fixture.h"
#include "explain/tracer.h"
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

TEST(test_forget, struct fixture *fx)
{
	Forefetch__ForgetRequest forget = FOREFETCH__FORGET_REQUEST__INIT;
	Forefetch__Place p = place("x");
	Forefetch__Response *res;
	int fd = client(fx);

	send_command(fd, FOREFETCH__REQUEST__COMMAND_FORGET, &forget);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	forget.place = &p;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_FORGET, &forget);
	res = client_receive(fx, fd);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_FORGET);
	assert_int_equal(res->forget->found, FOREFETCH__FOUND__OBJECT);
	assert_int_equal(res->forget->objects, 3);
	p.path = bytes("a/../b");
	send_command(fd, FOREFETCH__REQUEST__COMMAND_FORGET, &forget);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__BAD_REQUEST);
	p.path = bytes("x");
	fx->place_error = ENOENT;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_FORGET, &forget);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_PLACE);
}

/* ---- traces ----------------------------------------------------------- */

static void expect_code(Forefetch__Response *res, Forefetch__ErrorCode code)
{
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
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

/* This test asks for pins as a client does; tests/hostile/test_pin.py looks at
 * the lists that the daemon makes. */
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
	learn_runs(fx, 100);
	res = ask_trace(fx, other, FOREFETCH__TRACE_ACTION__STOP);
	assert_int_equal(res->trace->going, 1);
	learn_runs(fx, 1);
	res = ask_trace(fx, fd, FOREFETCH__TRACE_ACTION__TAKE);
	assert_true(res->trace->data.len > head);
	assert_string_equal(res->trace->why, "stopped");
	close(fd);
	pass(fx, 10);
	res = ask_trace(fx, other, FOREFETCH__TRACE_ACTION__STOP);
	assert_int_equal(res->trace->going, 0);
}

/* Traces that nobody takes are bounded in bytes, and so is the number of
 * traces. */
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
		learn_runs(fx, 1000);
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
