/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: what is asked is answered; the socket file. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "unittest.h"
#include "base/metrics.h"
#include "control/arena.h"
#include "control/control.h"
#include "control/control_fixture.h"

/* It is all that the daemon has told. */
static void check_status(struct fixture *fx, const Forefetch__Status *got)
{
	ENDS_BY(arena_clear) struct arena a = {0};
	Forefetch__Status want = FOREFETCH__STATUS__INIT;
	size_t len;
	FREED uint8_t *wanted, *packed;

	fill_status(fx, &a, &want);
	len = forefetch__status__get_packed_size(&want);
	assert_int_equal(forefetch__status__get_packed_size(got), len);
	wanted = malloc(len);
	packed = malloc(len);
	forefetch__status__pack(&want, wanted);
	forefetch__status__pack(got, packed);
	assert_memory_equal(packed, wanted, len);
}

FIXTURE(struct fixture, set_up, tear_down);

TEST(test_status, struct fixture *fx)
{
	Forefetch__Response *res;
	int fd = client(fx);

	send_status(fd);
	res = client_receive(fx, fd);
	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_STATUS);
	assert_int_equal(res->status->n_servers, 1);
	assert_int_equal(res->status->servers[0]->n_clients, 2);
	check_status(fx, res->status);
}

static void check_calls(const Forefetch__CallStats *call)
{
	assert_int_equal(call->side, FOREFETCH__SIDE__UPSTREAM);
	assert_string_equal(call->program, "nfs");
	assert_string_equal(call->procedure, "LOOKUP");
	assert_int_equal(call->calls, 100);
	assert_int_equal(call->errors, 0);
	assert_int_equal(call->bytes_in, 12000);
	assert_int_equal(call->bytes_out, 13000);
	assert_int_equal(call->p50_us, 51); /* bucket 50 to 51 */
	assert_in_range(call->p90_us, 90, 96);
	assert_in_range(call->p99_us, 99, 100);
	assert_int_equal(call->max_us, 100);
	assert_int_equal(call->sum_us, 5050);
	assert_true(call->n_histogram > 0 && call->n_histogram % 3 == 0);
	assert_int_equal(call->histogram[0], 1);
	assert_int_equal(call->histogram[1], 1);
	assert_int_equal(call->histogram[2], 1);
	/* Three bytes for each of these small buckets, and all else. */
	assert_true(forefetch__call_stats__get_packed_size(call) <
		    call->n_histogram + 64);
}

TEST(test_stats, struct fixture *fx)
{
	struct metrics_call call = {.bytes_in = 120, .bytes_out = 130};
	const Forefetch__ServerStats *srv;
	Forefetch__Response *res;
	int fd = client(fx);

	for (call.latency_us = 1; call.latency_us <= 100; call.latency_us++)
		metrics_add_call(
		    fx->metrics, METRICS_UPSTREAM, 100003, 3, &call);
	metrics_add(fx->metrics, METRICS_DRC_HITS, UINT64_MAX);
	metrics_set(fx->metrics, METRICS_DATA_BAD, 17);
	metrics_set_gauge(fx->metrics, METRICS_GAUGE_LIST_BYTES, UINT64_MAX);
	send_stats(fd, "src");
	res = client_receive(fx, fd);
	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_STATS);
	assert_int_equal(res->stats->n_servers, 1);
	srv = res->stats->servers[0];
	assert_bytes(&srv->name, "src");
	assert_int_equal(srv->n_calls, 1);
	check_calls(srv->calls[0]);
	assert_int_equal(srv->n_counters, METRICS_COUNTER_COUNT);
	assert_string_equal(srv->counters[METRICS_DRC_HITS]->key, "drc_hits");
	assert_true(srv->counters[METRICS_DRC_HITS]->value == UINT64_MAX);
	assert_int_equal(srv->counters[METRICS_DATA_BAD]->value, 17);
	assert_int_equal(srv->n_gauges, METRICS_GAUGE_COUNT);
	assert_string_equal(
	    srv->gauges[METRICS_GAUGE_LIST_BYTES]->key, "list_bytes");
	assert_true(srv->gauges[METRICS_GAUGE_LIST_BYTES]->value == UINT64_MAX);

	send_stats(fd, "");
	res = client_receive(fx, fd);
	assert_int_equal(res->stats->n_servers, 2);
}

/* It is answered when the daemon says that it is over; others are served
 * meanwhile. */
TEST(test_reload, struct fixture *fx)
{
	Forefetch__Response *res;
	int fd = client(fx);

	send_reload(fd);
	res = client_receive(fx, fd);
	assert_non_null(res);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_RELOAD);
	assert_int_equal(fx->reload_asked, 3);
	assert_int_equal(res->reload->n_changes, 1);
	assert_bytes(&res->reload->changes[0]->server, "nas");
	assert_string_equal(res->reload->changes[0]->setting, "listen");
	assert_int_equal(res->reload->changes[0]->kind,
	    FOREFETCH__CHANGE__CHANGE_KIND__FAILED);
	assert_bytes(&res->reload->changes[0]->why, "taken");
}

TEST(test_flush, struct fixture *fx)
{
	Forefetch__Response *res;
	int fd = client(fx);

	metrics_set_gauge(fx->metrics, METRICS_GAUGE_NAME_ENTRIES, 5);
	metrics_set_gauge(fx->metrics, METRICS_GAUGE_DATA_LIVE_BYTES, 6);
	send_flush(fd, "src");
	res = client_receive(fx, fd);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_FLUSH);
	assert_int_equal(res->flush->n_servers, 1);
	assert_bytes(&res->flush->servers[0]->name, "src");
	assert_int_equal(res->flush->servers[0]->names, 5);
	assert_int_equal(res->flush->servers[0]->objects, 0);
	assert_int_equal(res->flush->servers[0]->data_bytes, 6);
	assert_string_equal(fx->flushed, "src ");

	send_flush(fd, "sr");
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	assert_string_equal(fx->flushed, "src ");
	send_flush(fd, "");
	res = client_receive(fx, fd);
	assert_int_equal(res->flush->n_servers, 2);
	assert_string_equal(fx->flushed, "src nas src ");

	fx->flush_error = -ENOMEM;
	send_flush(fd, "nas");
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__FAILED);
}

TEST(test_compact, struct fixture *fx)
{
	const Forefetch__CompactedServer *srv;
	Forefetch__Response *res;
	int fd = client(fx);

	metrics_set_gauge(fx->metrics, METRICS_GAUGE_LAYOUT_BEFORE_BYTES, 10);
	metrics_set_gauge(
	    fx->metrics, METRICS_GAUGE_LAYOUT_SEQUENTIAL_BYTES, 9);
	metrics_set_gauge(fx->metrics, METRICS_GAUGE_LAYOUT_END, 2);
	metrics_set(fx->metrics, METRICS_LAYOUT_MOVED_BYTES, 7);
	fx->compact_busy = true;
	send_compact(fd, "src", true);
	res = client_receive(fx, fd);
	assert_int_equal(res->result_case, FOREFETCH__RESPONSE__RESULT_COMPACT);
	assert_int_equal(res->compact->n_servers, 1);
	srv = res->compact->servers[0];
	assert_bytes(&srv->name, "src");
	assert_true(srv->busy);
	assert_int_equal(srv->before->bytes, 10);
	assert_int_equal(srv->after->sequential_bytes, 9);
	assert_int_equal(srv->moved_bytes, 7);
	assert_string_equal(fx->flushed, "compact src ");

	fx->compact_busy = false;
	send_compact(fd, "", false);
	res = client_receive(fx, fd);
	assert_int_equal(res->compact->n_servers, 2);
	assert_false(res->compact->servers[1]->busy);
	assert_int_equal(
	    res->compact->servers[1]->end, FOREFETCH__COMPACT_END__NO_ROOM);
	assert_string_equal(fx->flushed, "compact src ");

	send_compact(fd, "sr", true);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	fx->flush_error = -ENODATA;
	send_compact(fd, "nas", true);
	res = client_receive(fx, fd);
	assert_int_equal(
	    res->compact->servers[0]->end, FOREFETCH__COMPACT_END__NOT_USED);
}

TEST(test_filter, struct fixture *fx)
{
	uint8_t buf[REQUEST_SIZE];
	int fd = client(fx);

	client_send(fd, buf, message_status(buf, "nas"));
	expect_status(fx, fd);
	client_send(fd, buf, message_status(buf, "na"));
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
	send_stats(fd, "nasa");
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER);
}

TEST(test_byte_by_byte, struct fixture *fx)
{
	uint8_t buf[REQUEST_SIZE];
	size_t i, len = message_status(buf, "");
	int fd = client(fx);

	for (i = 0; i < len; i++) {
		client_send(fd, buf + i, 1);
		pass(fx, 100);
	}
	expect_status(fx, fd);
}

/* The writing end closed: the answer still comes. */
TEST(test_half_closed, struct fixture *fx)
{
	int fd = client(fx);

	send_status(fd);
	send_status(fd);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	expect_status(fx, fd);
	expect_status(fx, fd);
	assert_true(is_closed(fx, fd));
}

/* Two clients that ask without end: one turn in 5 ms, by turns. */
TEST(test_turns, struct fixture *fx)
{
	int fds[2] = {client_open(fx), client_open(fx)};
	uint64_t begin;
	int i;

	for (i = 0; i < 40; i++)
		send_status(fds[i % 2]);
	begin = time_now_ms();
	pass(fx, 50);
	assert_in_range(fx->served, 9, 11);
	for (i = 0; i < 40; i++)
		expect_status(fx, fds[i % 2]);
	assert_in_range(time_now_ms() - begin, 40 * 5 - 10, 40 * 7);
	close(fds[0]);
	close(fds[1]);
}

/* A status leaves out clients that are too many, and is still an answer; with
 * too many servers it is an error. */
TEST(test_long_status, struct fixture *fx)
{
	Forefetch__Response *res;
	int fd = client(fx);

	fx->conns = CONTROL_LIST_MAX + 3;
	send_status(fd);
	res = client_receive(fx, fd);
	assert_int_equal(res->status->servers[0]->n_clients, CONTROL_LIST_MAX);
	assert_int_equal(res->status->servers[0]->clients_omitted, 3);
	fx->servers = 20;
	send_status(fd);
	res = client_receive(fx, fd);
	assert_int_equal(res->status->n_servers, 20);
	assert_int_equal(res->status->servers[19]->n_clients, 0);
	assert_int_equal(
	    res->status->servers[19]->clients_omitted, CONTROL_LIST_MAX + 3);
	fx->servers = 10000;
	fx->conns = 0;
	send_status(fd);
	expect_error(fx, fd, FOREFETCH__ERROR_CODE__TOO_LARGE);
}

/* The socket file. */

TEST(test_file, struct fixture *fx)
{
	struct stat st;
	char dir[64];

	assert_int_equal(stat(fx->path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
	snprintf(dir, sizeof(dir), "%s/run", fx->dir);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
}

TEST(test_living, struct fixture *fx)
{
	int fd;

	assert_null(open_control(fx));
	assert_int_equal(errno, EADDRINUSE);
	assert_non_null(strstr(fx->err, "another forefetchd listens at"));
	fd = client_open(fx);
	send_status(fd);
	expect_status(fx, fd);
	close(fd);
}

TEST(test_stale, struct fixture *fx)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	control_free(fx->control);
	strcpy(addr.sun_path, fx->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	fx->control = open_control(fx);
	assert_non_null(fx->control);
	fd = client_open(fx);
	send_status(fd);
	expect_status(fx, fd);
	close(fd);
}

/* Another daemon has put its socket there meanwhile: it stays. */
TEST(test_replaced, struct fixture *fx)
{
	struct control *first = fx->control;
	int fd;

	assert_int_equal(unlink(fx->path), 0);
	fx->control = open_control(fx);
	assert_non_null(fx->control);
	control_free(first);
	fd = client_open(fx);
	send_status(fd);
	expect_status(fx, fd);
	close(fd);
}

TEST(test_bad_paths, struct fixture *fx)
{
	char saved[sizeof(fx->path)], file[64];
	int fd;

	strcpy(saved, fx->path);
	snprintf(file, sizeof(file), "%s/file", fx->dir);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	strcpy(fx->path, file);
	assert_null(open_control(fx));
	assert_int_equal(errno, EEXIST);
	assert_non_null(strstr(fx->err, "not a socket"));
	assert_int_equal(access(file, F_OK), 0);
	snprintf(fx->path, sizeof(fx->path), "%s/a/b/c", fx->dir);
	assert_null(open_control(fx));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(fx->err, "cannot make the directory"));
	memset(fx->path, 'x', 199);
	fx->path[199] = '\0';
	assert_null(open_control(fx));
	assert_int_equal(errno, ENAMETOOLONG);
	unlink(file);
	strcpy(fx->path, saved);
}
