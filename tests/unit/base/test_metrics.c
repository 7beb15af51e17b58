/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histogram, metrics table, and the page for Prometheus. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cmocka.h>

#include <event2/event.h>

#include "base/histogram.h"
#include "base/metrics.h"
#include "control/control.h"
#include "control/metrics_http.h"

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_buckets_tile(void **state)
{
	uint64_t next = 0;
	size_t i;

	(void)state;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_bucket_low(i);
		uint64_t high = histogram_bucket_high(i);

		assert_int_equal(low, next);
		assert_true(high >= low);
		assert_true((high - low + 1) * 16 <= low || high == low);
		next = high + 1;
	}
	assert_int_equal(next, UINT64_C(1) << 32);
}

static void test_bucket_of_value(void **state)
{
	static struct histogram h;
	uint64_t seed = 88172645463325252u, v;
	int n;
	size_t i;

	(void)state;
	for (n = 0; n < 20000; n++) {
		v = random_next(&seed) >> (32 + n % 32);
		memset(&h, 0, sizeof(h));
		histogram_add(&h, v);
		for (i = 0; h.bucket[i] == 0; i++)
			;
		assert_true(histogram_bucket_low(i) <= v);
		assert_true(histogram_bucket_high(i) >= v);
		assert_int_equal(histogram_percentile(&h, 500), v);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Against sorted values: never below, at most 6.25 % above. */
static void test_percentiles(void **state)
{
	static const unsigned permille[] = {0, 1, 500, 900, 990, 999, 1000};
	static uint64_t values[10007];
	static struct histogram h;
	const size_t n = sizeof(values) / sizeof(values[0]);
	uint64_t seed = 12345, exact, got;
	size_t i, rank;

	(void)state;
	memset(&h, 0, sizeof(h));
	for (i = 0; i < n; i++) {
		values[i] = random_next(&seed) % 1000 + 1;
		values[i] <<= random_next(&seed) % 22;
		histogram_add(&h, values[i]);
	}
	qsort(values, n, sizeof(values[0]), compare);
	for (i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		rank = (n * permille[i] + 999) / 1000;
		exact = values[rank > 0 ? rank - 1 : 0];
		got = histogram_percentile(&h, permille[i]);
		assert_true(got >= exact);
		assert_true((got - exact) * 16 <= exact);
	}
	assert_int_equal(histogram_percentile(&h, 1000), values[n - 1]);
	assert_int_equal(h.count, n);
	assert_int_equal(h.max, values[n - 1]);
}

static void test_histogram_ends(void **state)
{
	static struct histogram h;

	(void)state;
	memset(&h, 0, sizeof(h));
	assert_int_equal(histogram_percentile(&h, 990), 0);
	assert_int_equal(histogram_count_upto(&h, 0), 0);
	histogram_add(&h, 0);
	histogram_add(&h, UINT32_MAX);
	histogram_add(&h, UINT64_C(1) << 40);
	assert_int_equal(h.bucket[0], 1);
	assert_int_equal(h.bucket[HISTOGRAM_BUCKETS - 1], 2);
	assert_int_equal(h.max, UINT64_C(1) << 40);
	assert_int_equal(histogram_percentile(&h, 330), 0);
	assert_int_equal(histogram_percentile(&h, 990), UINT64_C(1) << 40);
	assert_int_equal(histogram_count_upto(&h, 0), 1);
	assert_int_equal(histogram_count_upto(&h, UINT32_MAX), 1);
	assert_int_equal(histogram_count_upto(&h, UINT64_MAX), 3);
}

static void test_count_upto(void **state)
{
	static struct histogram h;
	uint64_t v, upto;

	(void)state;
	memset(&h, 0, sizeof(h));
	for (v = 1; v <= 100000; v++)
		histogram_add(&h, v);
	for (v = 1; v < 100000; v += 37) {
		upto = histogram_count_upto(&h, v);
		assert_true(upto <= v);
		assert_true((v - upto) * 16 <= v + 16);
	}
	assert_int_equal(histogram_count_upto(&h, 100000), 100000);
}

/* Every (program, procedure) has its row, all else the last one. */
static void test_rows(void **state)
{
	static const struct {
		uint32_t prog, proc;
		const char *program, *procedure;
	} want[] = {
	    {100003, 0, "nfs", "NULL"},
	    {100003, 3, "nfs", "LOOKUP"},
	    {100003, 6, "nfs", "READ"},
	    {100003, 17, "nfs", "READDIRPLUS"},
	    {100003, 21, "nfs", "COMMIT"},
	    {100003, 22, "other", "other"},
	    {100005, 1, "mount", "MNT"},
	    {100005, 5, "mount", "EXPORT"},
	    {100005, 6, "other", "other"},
	    {100227, 1, "nfsacl", "GETACL"},
	    {100227, 2, "nfsacl", "SETACL"},
	    {100227, 3, "other", "other"},
	    {100021, 0, "other", "other"},
	    {UINT32_MAX, UINT32_MAX, "other", "other"},
	};
	const struct metrics_call call = {
	    .bytes_in = 7, .bytes_out = 9, .latency_us = 40200, .error = true};
	size_t i, k, found;
	struct metrics_row row;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct metrics *m = metrics_new();

		assert_non_null(m);
		metrics_add_call(
		    m, METRICS_UPSTREAM, want[i].prog, want[i].proc, &call);
		for (found = 0, k = 0; k < metrics_row_count(); k++) {
			metrics_get_row(m, METRICS_CLIENT, k, &row);
			assert_int_equal(row.calls, 0);
			metrics_get_row(m, METRICS_UPSTREAM, k, &row);
			if (row.calls == 0)
				continue;
			found++;
			assert_string_equal(row.program, want[i].program);
			assert_string_equal(row.procedure, want[i].procedure);
			assert_int_equal(row.calls, 1);
			assert_int_equal(row.errors, 1);
			assert_int_equal(row.bytes_in, 7);
			assert_int_equal(row.bytes_out, 9);
			assert_int_equal(row.latency->max, 40200);
		}
		assert_int_equal(found, 1);
		metrics_free(m);
	}
	assert_int_equal(metrics_row_count(), 22 + 6 + 3 + 1);
}

static unsigned clock_reads;

static uint64_t clock_of_test(void)
{
	return 1000 + clock_reads++;
}

/* One in so many of the calls that are answered at once is timed; all count,
 * and what waited stands for itself only. */
static void test_samples_stand_for_all(void **state)
{
	struct metrics *m = metrics_new();
	const struct metrics_call at_once = {
	    .clock = clock_of_test, .since_us = 990};
	const struct metrics_call waited = {.latency_us = 100000};
	struct metrics_row row = {0};
	unsigned n;

	(void)state;
	assert_non_null(m);
	for (n = 0; n < 18; n++) {
		metrics_add_call(m, METRICS_CLIENT, 100003, 6, &at_once);
		if (n % 8 == 0)
			metrics_add_call(m, METRICS_CLIENT, 100003, 6, &waited);
	}
	metrics_settle(m);
	for (n = 0; n < metrics_row_count() && row.calls == 0; n++)
		metrics_get_row(m, METRICS_CLIENT, n, &row);
	assert_int_equal(clock_reads, 3);
	assert_int_equal(row.calls, 21);
	assert_int_equal(row.latency->count, 21);
	assert_int_equal(
	    row.latency->sum, 8 * 10 + 8 * 11 + 2 * 12 + 3 * 100000);
	metrics_free(m);
}

/* Names are unique and fit for Prometheus; each counter counts for itself. */
static void test_counters(void **state)
{
	struct metrics *m = metrics_new();
	const char *name;
	int i, k;

	(void)state;
	assert_non_null(m);
	for (i = 0; i < METRICS_COUNTER_COUNT; i++) {
		name = metrics_counter_name((enum metrics_counter)i);
		assert_true(strlen(name) > 0);
		assert_int_equal(
		    strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
		assert_true(
		    strlen(metrics_counter_help((enum metrics_counter)i)) > 0);
		assert_null(strchr(
		    metrics_counter_help((enum metrics_counter)i), '\n'));
		for (k = 0; k < i; k++)
			assert_string_not_equal(name,
			    metrics_counter_name((enum metrics_counter)k));
		metrics_add(m, (enum metrics_counter)i, (uint64_t)i + 1);
	}
	for (i = 0; i < METRICS_COUNTER_COUNT; i++)
		assert_int_equal(
		    metrics_get(m, (enum metrics_counter)i), i + 1);
	metrics_free(m);
}

/* The page for Prometheus, over a socket. */

struct page {
	struct metrics *m;
	char text[200000];
};

static bool page_server(void *ctx, size_t i, struct control_server *out)
{
	static const char *const names[] = {"nas", "a\"b\\c\nd"};
	struct page *page = ctx;

	if (i < 2)
		*out = (struct control_server){
		    .name = names[i], .metrics = page->m};
	return i < 2;
}

static void page_fill_status(void *ctx, struct arena *a, Forefetch__Status *out)
{
	(void)ctx;
	out->reload_error = arena_bytes(a, "line 3: no such key");
	out->uptime_ms = 61000;
}

static const struct control_ops page_ops = {
    .server = page_server, .fill_status = page_fill_status};

static int client_connect(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)addr, sizeof(*addr)))
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

/* Send `request` and read until the server closes. */
static void page_get(struct page *page, struct event_base *base,
    struct sockaddr_in *addr, const char *request)
{
	size_t sent = 0, len = 0;
	ssize_t n;
	int fd = client_connect(addr);

	for (;;) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		if (sent < strlen(request)) {
			n = send(fd, request + sent, strlen(request) - sent,
			    MSG_NOSIGNAL);
			sent += n > 0 ? (size_t)n : 0;
		}
		n = recv(fd, page->text + len, sizeof(page->text) - 1 - len, 0);
		if (n == 0)
			break;
		if (n > 0)
			len += (size_t)n;
		assert_true(len < sizeof(page->text) - 1);
	}
	page->text[len] = '\0';
	close(fd);
}

/* A port that is free just now. */
static struct sockaddr_in free_address(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	close(fd);
	return addr;
}

static void fill_metrics(struct metrics *m)
{
	struct metrics_call call = {.bytes_in = 100, .bytes_out = 200};

	call.latency_us = 80;
	metrics_add_call(m, METRICS_CLIENT, 100003, 3, &call);
	call.latency_us = 40200;
	call.error = true;
	metrics_add_call(m, METRICS_CLIENT, 100003, 3, &call);
	metrics_add(m, METRICS_DRC_HITS, 42);
}

#define LOOKUP_NAS                                                             \
	"{server=\"nas\",side=\"client\",program=\"nfs\",procedure=\"LOOKUP\""

static void check_page(const char *text)
{
	static const char *const want[] = {
	    "HTTP/1.1 200 OK",
	    "Content-Type: text/plain; version=0.0.4; charset=utf-8",
	    "# TYPE forefetch_calls_total counter\n",
	    "\nforefetch_calls_total" LOOKUP_NAS "} 2\n",
	    "\nforefetch_call_errors_total" LOOKUP_NAS "} 1\n",
	    "\nforefetch_call_received_bytes_total" LOOKUP_NAS "} 200\n",
	    "\nforefetch_call_sent_bytes_total" LOOKUP_NAS "} 400\n",
	    "# TYPE forefetch_call_seconds histogram\n",
	    "\nforefetch_call_seconds_bucket" LOOKUP_NAS ",le=\"0.0001\"} 1\n",
	    "\nforefetch_call_seconds_bucket" LOOKUP_NAS ",le=\"0.025\"} 1\n",
	    "\nforefetch_call_seconds_bucket" LOOKUP_NAS ",le=\"0.05\"} 2\n",
	    "\nforefetch_call_seconds_bucket" LOOKUP_NAS ",le=\"+Inf\"} 2\n",
	    "\nforefetch_call_seconds_sum" LOOKUP_NAS "} 0.040280\n",
	    "\nforefetch_call_seconds_count" LOOKUP_NAS "} 2\n",
	    "\nforefetch_drc_hits_total{server=\"nas\"} 42\n",
	    "\nforefetch_drc_hits_total{server=\"a\\\"b\\\\c\\nd\"} 42\n",
	    "\nforefetch_reads_stopped_total{server=\"nas\"} 0\n",
	    "\nforefetch_up{server=\"nas\"} 0\n",
	    "\nforefetch_build_info{version=\"",
	    "\nforefetch_config_last_reload_successful 0\n",
	    "\nforefetch_uptime_seconds 61\n",
	    "\nprocess_resident_memory_bytes ",
	};
	size_t i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (!strstr(text, want[i]))
			fail_msg("not on the page: %s", want[i]);
	}
	assert_null(strstr(text, "GETATTR"));
}

static void test_http(void **state)
{
	static struct page page;
	struct sockaddr_in addr = free_address();
	struct event_base *base = event_base_new();
	struct metrics_http *http;
	char err[256] = "";

	(void)state;
	page.m = metrics_new();
	assert_non_null(page.m);
	fill_metrics(page.m);
	http = metrics_http_new(
	    base, (struct sockaddr *)&addr, &page_ops, &page, err, sizeof(err));
	assert_non_null(http);
	page_get(&page, base, &addr,
	    "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	check_page(page.text);
	page_get(&page, base, &addr,
	    "HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_null(strstr(page.text, "200 OK"));
	assert_null(strstr(page.text, "forefetch_"));
	page_get(&page, base, &addr,
	    "GET /../etc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_non_null(strstr(page.text, " 404 "));
	page_get(&page, base, &addr,
	    "PUT /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	    "Content-Length: 0\r\n\r\n");
	assert_null(strstr(page.text, "forefetch_"));
	page_get(&page, base, &addr, "\x01\x02garbage\r\n\r\n");
	assert_null(metrics_http_new(base, (struct sockaddr *)&addr, &page_ops,
	    &page, err, sizeof(err)));
	assert_non_null(strstr(err, "cannot listen for metrics"));
	metrics_http_free(http);
	event_base_free(base);
	metrics_free(page.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_samples_stand_for_all),
	    cmocka_unit_test(test_buckets_tile),
	    cmocka_unit_test(test_bucket_of_value),
	    cmocka_unit_test(test_percentiles),
	    cmocka_unit_test(test_histogram_ends),
	    cmocka_unit_test(test_count_upto),
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_counters),
	    cmocka_unit_test(test_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
