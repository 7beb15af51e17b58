/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <cmocka.h>

#include <event2/event.h>

#include "control/control_fixture.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "control/control.h"
#include "explain/explain.h"
#include "explain/objnames.h"
#include "explain/tracer.h"
#include "predictor/predictor.h"
#include "warm/pins.h"
#include "warm/warm.h"

#define STEPS_MAX 60000 /* a minute */

static uint64_t now_ms = 1000000;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(now_ms / 1000);
	ts->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

uint64_t time_now_ms(void)
{
	return now_ms;
}

static void fill_caches(struct control_server *srv)
{
	struct control_override *ov;

	srv->attr_timeout_us = 3000000;
	srv->negative_timeout_us = 2000000;
	srv->grant_timeout_us = UINT64_C(3600000000);
	srv->strict_until_known = true;
	srv->offline_serve = true;
	srv->offline_active = true;
	srv->offline_age_ms = 5;
	srv->served_age_us = UINT64_MAX;
	srv->caches = (struct control_caches){.memory_bytes = 1,
	    .memory_limit_bytes = 2,
	    .disk_bytes = 3,
	    .disk_limit_bytes = UINT64_MAX,
	    .disk_on = true};
	for (int i = 0; i < 3; i++) {
		ov = control_server_add_override(srv);
		assert_non_null(ov);
		control_set(&ov->path, "/src%d", i);
		ov->consistency = "frozen";
		ov->attr_timeout_us = 1;
		ov->grant_timeout_us = 7;
		ov->known = i == 1;
	}
}

static void fill_server(struct fixture *fx, struct control_server *srv)
{
	struct control_upstream *up;
	struct control_conn *conn;
	size_t i;

	control_set(&srv->name, "nas");
	control_set(&srv->address, "nas.example.org");
	control_set(&srv->resolved, "192.0.2.%d:%d", 1, 2049);
	control_set(&srv->last_error, "old");
	control_set(&srv->last_error, "connection refused");
	control_set(&srv->consistency, "bounded");
	srv->state = CONTROL_CONNECTING;
	srv->state_age_ms = 1234;
	srv->srtt_us = 40200;
	control_server_add_listen(srv, "127.0.0.1:2050");
	control_server_add_listen(srv, "[::1]:2050");
	for (i = 0; i < 5; i++)
		control_server_add_export(srv, i ? "/\xff" : "/home");
	fill_caches(srv);
	for (i = 0; i < 2; i++) {
		up = control_server_add_upstream(srv);
		assert_non_null(up);
		up->state = i ? CONTROL_DOWN : CONTROL_UP;
		up->local_port = (uint16_t)(800 + i);
		up->srtt_us = 40000;
		up->in_flight = 3;
		up->queued = 4;
	}
	for (i = 0; i < fx->conns; i++) {
		conn = control_server_add_conn(srv);
		if (!conn)
			continue;
		control_set(&conn->address, "[2001:db8::%zx]:812", i);
		conn->age_ms = UINT64_MAX;
		conn->in_flight = UINT32_MAX;
		conn->bytes_in_flight = UINT64_MAX;
		conn->bytes_in = 5;
		conn->bytes_out = 6;
	}
}

static void fill_status(void *ctx, struct control_status *out)
{
	struct control_server *srv;
	struct fixture *fx = ctx;
	size_t i;

	fx->served++;
	control_set(&out->version, "1.2.3");
	control_set(&out->config_file, "/etc/forefetch.conf");
	out->pid = 4711;
	out->uptime_ms = 99;
	for (i = 0; i < fx->servers; i++) {
		srv = control_status_add_server(out);
		assert_non_null(srv);
		fill_server(fx, srv);
	}
}

static void each_server(void *ctx,
    void (*cb)(void *arg, const char *name, const struct metrics *m), void *arg)
{
	struct fixture *fx = ctx;

	cb(arg, "nas", fx->metrics);
	cb(arg, "src", fx->metrics);
}

static int compact(void *ctx, const char *server, bool begin, bool *busy)
{
	struct fixture *fx = ctx;

	if (begin) {
		strcat(fx->flushed, "compact ");
		strcat(fx->flushed, server);
		strcat(fx->flushed, " ");
	}
	*busy = fx->compact_busy;
	return begin ? fx->flush_error : 0;
}

static int flush(void *ctx, const char *server)
{
	struct fixture *fx = ctx;

	strcat(fx->flushed, server);
	strcat(fx->flushed, " ");
	return fx->flush_error;
}

/* A walk is the fixture itself. */
static struct warm_walk *begin_warm(void *ctx, const struct control_peer *peer,
    const struct control_place *at, bool data)
{
	struct fixture *fx = ctx;

	assert_int_equal(peer->uid, geteuid());
	errno = fx->place_error;
	if (errno)
		return NULL;
	snprintf(fx->place, sizeof(fx->place), "%s %s %s %s", at->listen,
	    at->export, at->path, data ? "data" : "metadata");
	fx->walks++;
	return ctx;
}

static void warm_progress(
    void *ctx, const struct warm_walk *walk, struct warm_progress *out)
{
	assert_ptr_equal(ctx, walk);
	out->state = WARM_FAILED;
	out->status = 13;
	out->files = 1;
	out->left = UINT64_MAX;
}

static void end_warm(void *ctx, struct warm_walk *walk)
{
	struct fixture *fx = ctx;

	assert_ptr_equal(ctx, walk);
	fx->walks--;
}

/* None begins: tests/unit/test_hint.c and tests/hostile/test_hint.py have what
 * comes of one. */
static struct hint_stream *begin_hints(
    void *ctx, const struct control_peer *peer, const struct control_place *at)
{
	struct fixture *fx = ctx;

	assert_int_equal(peer->uid, geteuid());
	snprintf(fx->place, sizeof(fx->place), "%s %s %s", at->listen,
	    at->export, at->path);
	errno = fx->place_error;
	return NULL;
}

static int explain_place(void *ctx, const struct control_peer *peer,
    const struct control_place *at, struct explain *out)
{
	struct fixture *fx = ctx;

	(void)peer;
	snprintf(fx->place, sizeof(fx->place), "%s %s %s", at->listen,
	    at->export, at->path);
	out->found = EXPLAIN_ABSENT;
	out->consistency = "frozen";
	out->attr_age_us = UINT64_MAX;
	out->told = (struct prefetch_told){
	    .predicted = true, .state = "used", .source = "tree", .p = 0.5};
	return -fx->place_error;
}

static struct predictor *predictor_of(void *ctx, const char *server)
{
	struct fixture *fx = ctx;

	assert_string_equal(server, "nas");
	return fx->predictor;
}

static struct tracer *tracer_of(void *ctx, const char *server)
{
	struct fixture *fx = ctx;

	assert_string_equal(server, "nas");
	return fx->tracer;
}

static struct pins *pins_of(void *ctx, const char *server)
{
	struct fixture *fx = ctx;

	assert_true(strcmp(server, "nas") == 0 || strcmp(server, "src") == 0);
	return fx->pins;
}

static struct pins *pins_at(
    void *ctx, const struct control_place *at, const char **server)
{
	struct fixture *fx = ctx;

	snprintf(fx->place, sizeof(fx->place), "%s %s %s", at->listen,
	    at->export, at->path);
	*server = "nas";
	return fx->place_error ? NULL : fx->pins;
}

static void trees_changed(void *ctx, const char *server)
{
	struct fixture *fx = ctx;

	(void)server;
	fx->changed++;
}

static void submit(void *ctx, struct iopool_job *job)
{
	(void)ctx;
	job->run(job);
	job->done(job);
}

/* One in a turn. */
static bool name_objects(void *ctx, const char *server,
    const struct control_peer *peer, struct objnames *names, size_t steps)
{
	uint64_t object;

	(void)ctx;
	(void)server;
	(void)peer;
	(void)steps;
	for (size_t i = 0; objnames_at(names, i, &object); i++) {
		if (objnames_find(names, object))
			continue;
		objnames_set(names, object, "name\n", 5);
		return false;
	}
	return true;
}

static const struct control_ops ops = {
    .fill_status = fill_status,
    .each_server = each_server,
    .flush = flush,
    .compact = compact,
    .warm_begin = begin_warm,
    .warm_progress = warm_progress,
    .warm_end = end_warm,
    .explain = explain_place,
    .hint_begin = begin_hints,
    .predictor = predictor_of,
    .tracer = tracer_of,
    .pins = pins_of,
    .pins_at = pins_at,
    .trees_changed = trees_changed,
    .name_objects = name_objects,
    .submit = submit,
};

struct control *open_control(struct fixture *fx)
{
	return control_new(
	    fx->base, fx->path, &ops, fx, fx->err, sizeof(fx->err));
}

static struct pins *new_pins(void)
{
	static struct caches none;
	const struct pins_params p = {
	    .caches = &none, .path = "/nowhere/pins", .server = "nas"};

	return pins_new(&p);
}

int set_up(void **state)
{
	const struct predictor_options po = {.budget_bytes = 2 << 20};
	struct fixture *fx = calloc(1, sizeof(*fx));

	strcpy(fx->dir, "/tmp/forefetch-test-XXXXXX");
	signal(SIGPIPE, SIG_IGN);
	assert_non_null(mkdtemp(fx->dir));
	assert_int_equal(chmod(fx->dir, 0755), 0);
	snprintf(fx->path, sizeof(fx->path), "%s/run/control.sock", fx->dir);
	fx->base = event_base_new();
	assert_int_equal(event_base_priority_init(fx->base, 3), 0);
	fx->metrics = metrics_new();
	fx->predictor = predictor_new(&po);
	fx->tracer = tracer_new();
	fx->pins = new_pins();
	assert_non_null(fx->predictor);
	assert_non_null(fx->tracer);
	assert_non_null(fx->pins);
	fx->servers = 1;
	fx->conns = 2;
	fx->control = open_control(fx);
	assert_non_null(fx->control);
	*state = fx;
	return 0;
}

int tear_down(void **state)
{
	struct fixture *fx = *state;
	char dir[64];

	control_free(fx->control);
	assert_int_equal(access(fx->path, F_OK), -1);
	event_base_free(fx->base);
	metrics_free(fx->metrics);
	predictor_free(fx->predictor);
	tracer_free(fx->tracer);
	pins_free(fx->pins);
	assert_int_equal(fx->walks, 0);
	unlink(fx->path);
	snprintf(dir, sizeof(dir), "%s/run", fx->dir);
	rmdir(dir);
	assert_int_equal(rmdir(fx->dir), 0);
	free(fx);
	return 0;
}

/* The client's side. */

void step(struct fixture *fx)
{
	now_ms++;
	event_base_loop(fx->base, EVLOOP_NONBLOCK);
}

void pass(struct fixture *fx, unsigned ms)
{
	while (ms-- > 0)
		step(fx);
}

int client_open(struct fixture *fx)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, fx->path);
	assert_true(fd >= 0);
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	pass(fx, 7); /* one is accepted in 5 ms */
	return fd;
}

void client_send(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

bool client_read(struct fixture *fx, int fd, void *data, size_t len)
{
	uint8_t *at = data;
	unsigned steps;
	ssize_t n;

	for (steps = 0; len > 0 && steps < STEPS_MAX; steps++) {
		n = recv(fd, at, len, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return false;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else {
			step(fx);
		}
	}
	assert_int_equal(len, 0);
	return true;
}

Forefetch__Response *client_receive(struct fixture *fx, int fd)
{
	Forefetch__Response *res;
	uint8_t head[4], *buf;
	size_t len;

	if (!client_read(fx, fd, head, sizeof(head)))
		return NULL;
	len = (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	assert_int_equal(head[0], 0);
	assert_true(len <= CONTROL_RESPONSE_MAX);
	buf = malloc(len);
	assert_true(client_read(fx, fd, buf, len));
	res = forefetch__response__unpack(NULL, len, buf);
	assert_non_null(res);
	assert_int_equal(res->version, 1);
	free(buf);
	return res;
}

void response_free(Forefetch__Response *res)
{
	forefetch__response__free_unpacked(res, NULL);
}

bool is_closed(struct fixture *fx, int fd)
{
	uint8_t byte;

	return !client_read(fx, fd, &byte, 1);
}

static size_t message(uint8_t buf[REQUEST_SIZE], Forefetch__Request *request)
{
	size_t len = forefetch__request__get_packed_size(request);

	assert_true(len + 4 <= REQUEST_SIZE);
	buf[0] = buf[1] = buf[2] = 0;
	buf[3] = (uint8_t)len;
	forefetch__request__pack(request, buf + 4);
	return len + 4;
}

size_t message_status(uint8_t buf[REQUEST_SIZE], const char *server)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;

	request.version = 1;
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATUS;
	request.status = &status;
	status.server.data = (uint8_t *)server;
	status.server.len = strlen(server);
	return message(buf, &request);
}

size_t message_stats(uint8_t buf[REQUEST_SIZE], const char *server)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__StatsRequest stats = FOREFETCH__STATS_REQUEST__INIT;

	request.version = 1;
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATS;
	request.stats = &stats;
	stats.server.data = (uint8_t *)server;
	stats.server.len = strlen(server);
	return message(buf, &request);
}

size_t message_compact(
    uint8_t buf[REQUEST_SIZE], const char *server, bool begin)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__CompactRequest compact_all =
	    FOREFETCH__COMPACT_REQUEST__INIT;

	request.version = 1;
	request.command_case = FOREFETCH__REQUEST__COMMAND_COMPACT;
	request.compact = &compact_all;
	compact_all.server.data = (uint8_t *)server;
	compact_all.server.len = strlen(server);
	compact_all.begin = begin;
	return message(buf, &request);
}

size_t message_flush(uint8_t buf[REQUEST_SIZE], const char *server)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__FlushRequest flush_all = FOREFETCH__FLUSH_REQUEST__INIT;

	request.version = 1;
	request.command_case = FOREFETCH__REQUEST__COMMAND_FLUSH;
	request.flush = &flush_all;
	flush_all.server.data = (uint8_t *)server;
	flush_all.server.len = strlen(server);
	return message(buf, &request);
}

void send_status(int fd)
{
	uint8_t buf[REQUEST_SIZE];

	client_send(fd, buf, message_status(buf, ""));
}

void expect_status(struct fixture *fx, int fd)
{
	Forefetch__Response *res = client_receive(fx, fd);

	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_STATUS);
	assert_string_equal(res->status->daemon_version, "1.2.3");
	response_free(res);
}

void expect_error(struct fixture *fx, int fd, Forefetch__ErrorCode code)
{
	Forefetch__Response *res = client_receive(fx, fd);

	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
	assert_true(strlen(res->error->text) > 0);
	response_free(res);
}

void assert_bytes(const ProtobufCBinaryData *bytes, const char *text)
{
	assert_int_equal(bytes->len, strlen(text));
	assert_memory_equal(bytes->data, text, bytes->len);
}

bool is_closed_now(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

void send_request(int fd, Forefetch__Request *request)
{
	static uint8_t buf[CONTROL_REQUEST_MAX + 4];
	size_t len;

	request->version = 1;
	len = forefetch__request__get_packed_size(request);
	assert_true(len <= CONTROL_REQUEST_MAX);
	buf[0] = 0;
	buf[1] = (uint8_t)(len >> 16);
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	forefetch__request__pack(request, buf + 4);
	client_send(fd, buf, len + 4);
}
