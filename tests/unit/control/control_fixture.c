/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A control socket and its clients in virtual time; see the header. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "unittest.h"

#include <event2/event.h>

#include "control/control_fixture.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "control/control.h"
#include "datacache/compact.h"
#include "explain/explain.h"
#include "explain/objnames.h"
#include "explain/tracer.h"
#include "hint/hint.h"
#include "predictor/predictor.h"
#include "prefetch/prefetch.h"
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

static void fill_caches(struct arena *a, Forefetch__ServerStatus *srv)
{
	srv->attr_timeout_us = 3000000;
	srv->negative_timeout_us = 2000000;
	srv->grant_timeout_us = UINT64_C(3600000000);
	srv->strict_until_known = true;
	srv->offline = "serve";
	srv->offline_active = true;
	srv->offline_age_us = 5;
	srv->served_age_us = UINT64_MAX;
	srv->caches = arena_message(a, &forefetch__cache_status__descriptor);
	assert_non_null(srv->caches);
	srv->caches->memory_bytes = 1;
	srv->caches->memory_limit_bytes = 2;
	srv->caches->disk_bytes = 3;
	srv->caches->disk_limit_bytes = UINT64_MAX;
	srv->caches->disk_on = true;
	srv->n_overrides = 3;
	srv->overrides =
	    arena_messages(a, &forefetch__export_status__descriptor, 3);
	assert_non_null(srv->overrides);
	for (int i = 0; i < 3; i++) {
		Forefetch__ExportStatus *ov = srv->overrides[i];

		ov->export_path = arena_bytes(a, "/src%d", i);
		ov->consistency = "frozen";
		ov->attr_timeout_us = 1;
		ov->grant_timeout_us = 7;
		ov->known = i == 1;
	}
}

static void fill_upstreams(struct arena *a, Forefetch__ServerStatus *srv)
{
	srv->n_upstreams = 2;
	srv->upstreams =
	    arena_messages(a, &forefetch__upstream_status__descriptor, 2);
	assert_non_null(srv->upstreams);
	for (unsigned i = 0; i < 2; i++) {
		Forefetch__UpstreamStatus *up = srv->upstreams[i];

		up->state = i ? FOREFETCH__STATE__DOWN : FOREFETCH__STATE__UP;
		up->local_port = 800 + i;
		up->srtt_us = 40000;
		up->in_flight = 3;
		up->queued = 4;
	}
}

static void fill_server(
    struct fixture *fx, struct arena *a, Forefetch__ServerStatus *srv)
{
	srv->name = arena_bytes(a, "nas");
	srv->address = arena_bytes(a, "nas.example.org");
	srv->resolved = arena_bytes(a, "192.0.2.%d:%d", 1, 2049);
	srv->last_error = arena_bytes(a, "connection refused");
	srv->consistency = "bounded";
	srv->state = FOREFETCH__STATE__CONNECTING;
	srv->state_age_us = 1234;
	srv->srtt_us = 40200;
	srv->n_listen = 2;
	srv->listen = arena_alloc(a, 2, sizeof(*srv->listen));
	srv->listen[0] = arena_bytes(a, "127.0.0.1:2050");
	srv->listen[1] = arena_bytes(a, "[::1]:2050");
	srv->n_exports = 5;
	srv->exports = arena_alloc(a, 5, sizeof(*srv->exports));
	for (size_t i = 0; i < 5; i++)
		srv->exports[i] = arena_bytes(a, i ? "/\xff" : "/home");
	fill_caches(a, srv);
	fill_upstreams(a, srv);
	srv->clients_omitted =
	    fx->conns > CONTROL_LIST_MAX ? fx->conns - CONTROL_LIST_MAX : 0;
	srv->n_clients = fx->conns - srv->clients_omitted;
	srv->clients = arena_messages(
	    a, &forefetch__client_status__descriptor, srv->n_clients);
	assert_non_null(srv->clients);
	for (size_t i = 0; i < srv->n_clients; i++) {
		Forefetch__ClientStatus *conn = srv->clients[i];

		conn->address = arena_bytes(a, "[2001:db8::%zx]:812", i);
		conn->age_us = UINT64_MAX;
		conn->in_flight = UINT32_MAX;
		conn->bytes_in_flight = UINT64_MAX;
		conn->bytes_in = 5;
		conn->bytes_out = 6;
	}
}

void fill_status(void *ctx, struct arena *a, Forefetch__Status *out)
{
	struct fixture *fx = ctx;

	fx->served++;
	out->version = "1.2.3";
	out->config_file = arena_bytes(a, "/etc/forefetch.conf");
	out->pid = 4711;
	out->uptime_us = 99;
	out->n_servers = fx->servers;
	out->servers = arena_messages(
	    a, &forefetch__server_status__descriptor, fx->servers);
	assert_non_null(out->servers);
	for (size_t i = 0; i < fx->servers; i++)
		fill_server(fx, a, out->servers[i]);
}

static const char *const names[] = {"nas", "src"};

/* Its modules but tracer and pins are the fixture itself, and their functions
 * those below, which the linker puts in the place of the real ones. */
static bool find_server(void *ctx, size_t i, struct control_server *out)
{
	struct fixture *fx = ctx;

	if (i >= 2)
		return false;
	fx->server = names[i];
	*out = (struct control_server){.name = names[i],
	    .metrics = fx->metrics,
	    .caches = ctx,
	    .compact = ctx,
	    .hints = ctx,
	    .pins = fx->pins,
	    .prefetch = ctx,
	    .tracer = fx->tracer,
	    .warm = ctx};
	return true;
}

static bool find_server_at(
    void *ctx, const struct control_place *at, struct control_server *out)
{
	struct fixture *fx = ctx;

	snprintf(fx->place, sizeof(fx->place), "%s %s %s", at->listen,
	    at->export, at->path);
	return fx->place_error != ENOENT && find_server(ctx, 0, out);
}

static int flush(void *ctx, size_t i)
{
	struct fixture *fx = ctx;

	strcat(fx->flushed, names[i]);
	strcat(fx->flushed, " ");
	return fx->flush_error;
}

static bool reload(
    void *ctx, uint64_t *ticket, struct arena *a, Forefetch__Reloaded *out)
{
	struct fixture *fx = ctx;

	fx->reload_asked++;
	if (++*ticket < 3)
		return false;
	out->changes = arena_messages(a, &forefetch__change__descriptor, 1);
	assert_non_null(out->changes);
	out->n_changes = 1;
	out->changes[0]->server = arena_bytes(a, "nas");
	out->changes[0]->setting = "listen";
	out->changes[0]->kind = FOREFETCH__CHANGE__CHANGE_KIND__FAILED;
	out->changes[0]->why = arena_bytes(a, "taken");
	return true;
}

static void pause_all(void *ctx, uint64_t until_us)
{
	(void)ctx;
	(void)until_us;
}

static struct farm *find_farm(void *ctx)
{
	(void)ctx;
	return NULL;
}

static void submit(void *ctx, struct iopool_job *job)
{
	(void)ctx;
	job->run(job);
	job->done(job);
}

static const struct control_ops ops = {
    .fill_status = fill_status,
    .server = find_server,
    .server_at = find_server_at,
    .flush = flush,
    .reload = reload,
    .pause = pause_all,
    .farm = find_farm,
    .submit = submit,
};

/* ---- the fixture ------------------------------------------------------ */

struct control *open_control(struct fixture *fx)
{
	return control_new(
	    fx->base, fx->path, &ops, fx, fx->err, sizeof(fx->err));
}

static struct pins *new_pins(void)
{
	static struct caches none;
	const struct pins_params p = {
	    .caches = &none, .path = "", .server = "nas"};

	return pins_new(&p);
}

void set_up(struct fixture *fx)
{
	const struct predictor_options po = {.budget_bytes = 2 << 20};

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
}

void tear_down(struct fixture *fx)
{
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
}

/* A program that uses nine files, `runs` times. */
void learn_runs(struct fixture *fx, unsigned runs)
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

static void client_close(void *fd)
{
	close((int)(intptr_t)fd);
}

int client(struct fixture *fx)
{
	int fd = client_open(fx);

	AFTER(client_close, (void *)(intptr_t)fd);
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

static void response_free(Forefetch__Response *res)
{
	forefetch__response__free_unpacked(res, NULL);
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
	assert_int_equal(res->version, CONTROL_VERSION);
	free(buf);
	return AFTER(response_free, res);
}

bool is_closed(struct fixture *fx, int fd)
{
	uint8_t byte;

	return !client_read(fx, fd, &byte, 1);
}

ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = strlen(text), .data = (uint8_t *)text};
}

size_t message_status(uint8_t buf[REQUEST_SIZE], const char *server)
{
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	Forefetch__StatusRequest status = FOREFETCH__STATUS_REQUEST__INIT;
	size_t len;

	request.version = CONTROL_VERSION;
	request.command_case = FOREFETCH__REQUEST__COMMAND_STATUS;
	request.status = &status;
	status.server = bytes(server);
	len = forefetch__request__get_packed_size(&request);
	assert_true(len + 4 <= REQUEST_SIZE);
	buf[0] = buf[1] = buf[2] = 0;
	buf[3] = (uint8_t)len;
	forefetch__request__pack(&request, buf + 4);
	return len + 4;
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
	assert_string_equal(res->status->version, "1.2.3");
}

void expect_error(struct fixture *fx, int fd, Forefetch__ErrorCode code)
{
	Forefetch__Response *res = client_receive(fx, fd);

	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_ERROR);
	assert_int_equal(res->error->code, code);
	assert_true(strlen(res->error->text) > 0);
}

void assert_bytes(const ProtobufCBinaryData *got, const char *text)
{
	assert_int_equal(got->len, strlen(text));
	assert_memory_equal(got->data, text, got->len);
}

bool is_closed_now(int fd)
{
	uint8_t byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

void send_command(int fd, Forefetch__Request__CommandCase command, void *what)
{
	static uint8_t buf[CONTROL_REQUEST_MAX + 4];
	Forefetch__Request request = FOREFETCH__REQUEST__INIT;
	size_t len;

	request.version = CONTROL_VERSION;
	request.command_case = command;
	/* Those of all commands stand in one union. */
	request.status = what;
	len = forefetch__request__get_packed_size(&request);
	assert_true(len <= CONTROL_REQUEST_MAX);
	buf[0] = 0;
	buf[1] = (uint8_t)(len >> 16);
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	forefetch__request__pack(&request, buf + 4);
	client_send(fd, buf, len + 4);
}

void send_compact(int fd, const char *server, bool begin)
{
	Forefetch__CompactRequest what = FOREFETCH__COMPACT_REQUEST__INIT;

	what.server = bytes(server);
	what.begin = begin;
	send_command(fd, FOREFETCH__REQUEST__COMMAND_COMPACT, &what);
}

void send_flush(int fd, const char *server)
{
	Forefetch__FlushRequest what = FOREFETCH__FLUSH_REQUEST__INIT;

	what.server = bytes(server);
	send_command(fd, FOREFETCH__REQUEST__COMMAND_FLUSH, &what);
}

void send_reload(int fd)
{
	Forefetch__ReloadRequest what = FOREFETCH__RELOAD_REQUEST__INIT;

	send_command(fd, FOREFETCH__REQUEST__COMMAND_RELOAD, &what);
}

void send_stats(int fd, const char *server)
{
	Forefetch__StatsRequest what = FOREFETCH__STATS_REQUEST__INIT;

	what.server = bytes(server);
	send_command(fd, FOREFETCH__REQUEST__COMMAND_STATS, &what);
}
