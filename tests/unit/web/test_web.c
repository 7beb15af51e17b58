/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon tells its figures over HTTP, on a socket: requests, and who may
 * make them. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "unittest.h"

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/metrics.h"
#include "control/control.h"
#include "text/json.h"
#include "text/text.h"
#include "web/request.h"
#include "web/web.h"

/* The page for Prometheus, over a socket. */

struct page {
	struct metrics *m;
	bool shuts; /* the client, its side of the connection, after asking */
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

static void page_fill_daemon(void *ctx, struct arena *a, Forefetch__Status *out)
{
	(void)ctx;
	out->reload_error = arena_bytes(a, "line 3: no such key");
	out->uptime_us = 61000000;
}

/* The one with the odd name is away. */
static void page_fill_server(
    void *ctx, size_t i, struct arena *a, Forefetch__ServerStatus *out)
{
	(void)ctx;
	out->state = i == 0 ? FOREFETCH__STATE__UP : FOREFETCH__STATE__DOWN;
	out->state_age_us = 61500000;
	out->reason = arena_bytes(a, "%s", i == 0 ? "" : "a <b> \"c\"");
	out->consistency = "bounded";
	out->prefetch = "on";
}

static const struct control_ops page_ops = {.server = page_server,
    .fill_daemon = page_fill_daemon,
    .fill_server = page_fill_server};

/* There is no memory for a connection's buffers. */
static bool no_buffers;

struct bufferevent *__real_bufferevent_socket_new(
    struct event_base *base, evutil_socket_t fd, int options);
struct bufferevent *__wrap_bufferevent_socket_new(
    struct event_base *base, evutil_socket_t fd, int options);

struct bufferevent *__wrap_bufferevent_socket_new(
    struct event_base *base, evutil_socket_t fd, int options)
{
	return no_buffers ? NULL
			  : __real_bufferevent_socket_new(base, fd, options);
}

static int client_connect(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)addr, sizeof(*addr)))
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

/* Send `request`, at most `piece` bytes at a time, and read until the server
 * closes. */
static void page_get(struct page *page, struct event_base *base,
    struct sockaddr_in *addr, const char *request, size_t piece)
{
	size_t sent = 0, len = 0, left = strlen(request);
	ssize_t n;
	int fd = client_connect(addr);

	for (;;) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		if (left > 0) {
			n = send(fd, request + sent,
			    left < piece ? left : piece, MSG_NOSIGNAL);
			sent += n > 0 ? (size_t)n : 0;
			left -= n > 0 ? (size_t)n : 0;
		} else if (page->shuts) {
			shutdown(fd, SHUT_WR);
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
	metrics_add(m, METRICS_NAME_HITS, 7);
	metrics_set_gauge(m, METRICS_GAUGE_LINK_SRTT_US, 40200);
	metrics_set_gauge(m, METRICS_GAUGE_LAYOUT_END, 2);
}

#define LOOKUP_NAS                                                             \
	"{server=\"nas\",side=\"client\",program=\"nfs\",procedure=\"LOOKUP\""

static const char *const metrics_want[] = {
    "HTTP/1.1 200 OK",
    "Content-Type: text/plain; version=0.0.4; charset=utf-8",
    "# TYPE forefetch_calls_total counter\n",
    "\nforefetch_calls_total" LOOKUP_NAS "} 2\n",
    "\nforefetch_call_errors_total" LOOKUP_NAS "} 1\n",
    "\nforefetch_call_received_bytes_total" LOOKUP_NAS "} 200\n",
    "\nforefetch_call_sent_bytes_total" LOOKUP_NAS "} 400\n",
    "# TYPE forefetch_call_duration_seconds histogram\n",
    "\nforefetch_call_duration_seconds_bucket" LOOKUP_NAS ",le=\"0.0001\"} 1\n",
    "\nforefetch_call_duration_seconds_bucket" LOOKUP_NAS ",le=\"0.025\"} 1\n",
    "\nforefetch_call_duration_seconds_bucket" LOOKUP_NAS ",le=\"0.05\"} 2\n",
    "\nforefetch_call_duration_seconds_bucket" LOOKUP_NAS ",le=\"+Inf\"} 2\n",
    "\nforefetch_call_duration_seconds_sum" LOOKUP_NAS "} 0.04028\n",
    "\nforefetch_call_duration_seconds_count" LOOKUP_NAS "} 2\n",
    "\nforefetch_drc_hits_total{server=\"nas\"} 42\n",
    "\nforefetch_drc_hits_total{server=\"a\\\"b\\\\c\\nd\"} 42\n",
    "\nforefetch_cache_hits_total{server=\"nas\",cache=\"names\"} 7\n",
    "\nforefetch_reads_stopped_total{server=\"nas\"} 0\n",
    "\nforefetch_up{server=\"nas\"} 0\n",
    "\nforefetch_server_state{server=\"nas\",state=\"up\"} 1\n",
    "\nforefetch_server_state{server=\"nas\",state=\"down\"} 0\n",
    "\nforefetch_server_outage_seconds{server=\"nas\"} 0\n",
    "\n# TYPE forefetch_saved_seconds_total counter\n",
    "\nforefetch_saved_seconds_total{server=\"nas\"} 0\n",
    "\nforefetch_added_seconds_total{server=\"nas\"} 0\n",
    ("\nforefetch_server_outage_seconds{server=\"a\\\"b\\\\c\\nd\"} "
     "61.5\n"),
    "\nforefetch_link_round_trip_seconds{server=\"nas\"} 0.0402\n",
    "\nforefetch_layout_end{server=\"nas\",end=\"no_room\"} 1\n",
    "\nforefetch_layout_end{server=\"nas\",end=\"done\"} 0\n",
    "\nforefetch_loop_long_turns_total 0\n",
    "\nforefetch_build_info{version=\"",
    "\nforefetch_config_last_reload_successful 0\n",
    "\nforefetch_servers 2\n",
    "\nprocess_resident_memory_bytes ",
    "\nprocess_start_time_seconds 1",
};

static void check_page(const char *text)
{
	for (size_t i = 0; i < LENGTH(metrics_want); i++) {
		if (!strstr(text, metrics_want[i]))
			fail_msg("not on the page: %s", metrics_want[i]);
	}
	assert_null(strstr(text, "GETATTR"));
	/* The lines of one metric stand together. */
	text = strstr(text, "# TYPE forefetch_cache_hits_total ");
	assert_non_null(text);
	assert_null(strstr(text + 1, "# TYPE forefetch_cache_hits_total "));
}

struct listener {
	struct event_base *base;
	struct sockaddr_in addr;
	struct web *web;
	struct page page;
};

static int setup(void **state)
{
	static const char *const names[] = {"nas.example.org"};
	static struct listener l;
	char err[256] = "";

	l.addr = free_address();
	l.base = event_base_new();
	l.page.m = metrics_new();
	if (!l.base || !l.page.m)
		return -1;
	fill_metrics(l.page.m);
	l.web = web_new(l.base, (struct sockaddr *)&l.addr, names, 1, &page_ops,
	    &l.page, err, sizeof(err));
	*state = &l;
	return l.web ? 0 : -1;
}

static int teardown(void **state)
{
	struct listener *l = *state;

	web_free(l->web);
	event_base_free(l->base);
	metrics_free(l->page.m);
	return 0;
}

/* "GET /metrics", and further headers. */
static const char *ask(
    struct listener *l, const char *what, const char *headers)
{
	char request[1024];

	snprintf(
	    request, sizeof(request), "%s HTTP/1.1\r\n%s\r\n", what, headers);
	page_get(&l->page, l->base, &l->addr, request, SIZE_MAX);
	return l->page.text;
}

#define HOST "Host: 127.0.0.1:9\r\n"

FIXTURE_OF_STATE(setup, teardown);

TEST(test_metrics, struct listener *l)
{
	check_page(ask(l, "GET /metrics", HOST));
	check_page(ask(l, "GET /metrics?x=y", HOST));
	ask(l, "HEAD /metrics", HOST);
	assert_non_null(strstr(l->page.text, " 200 OK"));
	assert_null(strstr(l->page.text, "Content-Length: 0"));
	assert_null(strstr(l->page.text, "forefetch_"));
}

static const struct {
	const char *what, *headers, *want;
} cases[] = {
    {"GET /../etc/passwd", HOST, " 404 "},
    {"GET /metrics/", HOST, " 404 "},
    {"GET /api/history/", HOST, " 404 "},
    {"GET /api/history/none", HOST, " 404 "},
    {"PUT /metrics", HOST "Content-Length: 0\r\n", " 405 "},
    {"POST /", HOST "Content-Length: 5\r\n\r\nhello", " 405 "},
    {"OPTIONS /metrics", HOST, "Allow: GET, HEAD\r\n"},
    {"\x01\x02garbage", "", " 400 "},
    {"GET metrics", HOST, " 400 "},
    {"GET /metrics", "nonsense\r\n", " 400 "},
    {"GET /metrics", HOST HOST, " 400 "},
    {"GET /metrics", "", " 403 "},
    {"GET /metrics", "Host: rebound.example\r\n", " 403 "},
    {"GET /", "Host: 127.0.0.1.example\r\n", " 403 "},
    {"GET /metrics", "Host: nas.example.org:9\r\n", " 200 "},
    {"GET /metrics", "Host: localhost:x.example\r\n", " 403 "},
    {"GET /metrics", "Host: [::1]:x.example\r\n", " 403 "},
    {"GET /metrics", "Host: LOCALHOST\r\n", " 200 "},
    {"GET /metrics", "Host: [::1]:9\r\n", " 200 "},
    {"GET /api/servers", HOST "Origin: http://evil.example\r\n", " 403 "},
    {"GET /api/servers", HOST "Origin: null\r\n", " 403 "},
    {"GET /api/servers", HOST "Sec-Fetch-Site: cross-site\r\n", " 403 "},
    {"GET /api/servers", HOST "Sec-Fetch-Site: same-site\r\n", " 403 "},
    {"GET /api/servers", HOST "Sec-Fetch-Site: same-origin\r\n", " 200 "},
    {"GET /",
	HOST "Sec-Fetch-Site: cross-site\r\n"
	     "Sec-Fetch-Mode: navigate\r\n",
	" 200 "},
};

TEST(test_other_requests, struct listener *l)
{
	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *text = ask(l, cases[i].what, cases[i].headers);

		if (!strstr(text, cases[i].want))
			fail_msg("%s %s: not %s but %.40s", cases[i].what,
			    cases[i].headers, cases[i].want, text);
		assert_null(strstr(text, "Access-Control-Allow"));
	}
}

TEST(test_the_page_keeps_others_out, struct listener *l)
{
	static const char *const want[] = {
	    "\r\nContent-Security-Policy: default-src 'none'; ",
	    "frame-ancestors 'none'", "\r\nX-Frame-Options: DENY\r\n",
	    "\r\nX-Content-Type-Options: nosniff\r\n",
	    "\r\nReferrer-Policy: no-referrer\r\n", "<!doctype html>"};
	const char *text = ask(l, "GET /", HOST);

	for (size_t i = 0; i < LENGTH(want); i++)
		if (!strstr(text, want[i]))
			fail_msg("not there: %s", want[i]);
}

TEST(test_servers, struct listener *l)
{
	const char *text = ask(l, "GET /api/servers", HOST);

	assert_non_null(strstr(text, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(text, "\"name\":\"nas\","));
	assert_non_null(strstr(text, "\"state\":\"down\",\"state_age\":61.5,"));
	assert_non_null(strstr(text, "\"reason\":\"a \\u003cb> \\u0022c"));
	assert_non_null(strstr(text, "\"round_trip\":0.0402,"));
	assert_non_null(strstr(text, "\"idle_round_trip\":null,"));
}

TEST(test_a_port_that_is_taken, struct listener *l)
{
	char err[256] = "";

	assert_null(web_new(l->base, (struct sockaddr *)&l->addr, NULL, 0,
	    &page_ops, &l->page, err, sizeof(err)));
	assert_int_equal(errno, EADDRINUSE);
	assert_non_null(strstr(err, "cannot listen for metrics"));
}

/* Who says nothing gives way to who does. */
TEST(test_many_connections, struct listener *l)
{
	int fds[3 * WEB_CONNECTIONS_MAX];

	for (size_t i = 0; i < 3 * WEB_CONNECTIONS_MAX; i++)
		fds[i] = client_connect(&l->addr);
	assert_non_null(strstr(ask(l, "GET /metrics", HOST), " 200 OK"));
	for (size_t i = 0; i < 3 * WEB_CONNECTIONS_MAX; i++)
		close(fds[i]);
}

/* Whom there is no memory for is let go, and the next one is answered. */
TEST(test_no_buffers, struct listener *l)
{
	no_buffers = true;
	assert_string_equal(ask(l, "GET /metrics", HOST), "");
	no_buffers = false;
	check_page(ask(l, "GET /metrics", HOST));
}

TEST(test_half_requests, struct listener *l)
{
	static const char whole[] =
	    "GET /metrics?b=c HTTP/1.1\r\nHost: localhost:1\r\n\r\n";
	static char line[2 * REQUEST_MAX];
	struct page *page = &l->page;

	page_get(page, l->base, &l->addr, whole, 1);
	assert_non_null(strstr(page->text, " 200 "));
	memset(line, 'a', REQUEST_MAX + 100);
	page_get(page, l->base, &l->addr, line, 1000);
	assert_non_null(strstr(page->text, " 400 "));
	memcpy(line, "GET /", 5);
	strcpy(line + 4000, " HTTP/1.1\nHost: [::1]\n\n");
	page_get(page, l->base, &l->addr, line, 1000);
	assert_non_null(strstr(page->text, " 404 "));
	strcpy(line, "GET / HTTP/1.1\n");
	while (strlen(line) < sizeof(line) - 100)
		strcat(line, "a: b\r\n");
	page_get(page, l->base, &l->addr, line, 1000);
	assert_non_null(strstr(page->text, " 400 "));
}

/* One connection carries one request, and more bytes lose no answer. */
TEST(test_what_follows_a_request, struct listener *l)
{
	static const char *const next[] = {"GET /metrics HTTP/1.1\r\n" HOST,
	    "GET /metrics HTTP/1.0\r\n" HOST "\r\n", "\1\2garbage\r\n\r\n"};
	char headers[300];
	const char *text;

	for (size_t i = 0; i < LENGTH(next); i++) {
		snprintf(headers, sizeof(headers),
		    HOST "Connection: keep-alive\r\n\r\n%s", next[i]);
		text = ask(l, "GET /script.js", headers);
		assert_non_null(strstr(text, " 200 "));
		assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
		assert_null(strstr(text, "keep-alive"));
		assert_null(strstr(text + 1, "HTTP/1."));
		text = strstr(text, "Content-Length: ");
		assert_int_equal(strtoul(text + 16, NULL, 10),
		    strlen(strstr(text, "\r\n\r\n") + 4));
	}
}

/* A proxy is asked to CONNECT, and then for more over the same connection. */
TEST(test_nobody_is_connected, struct listener *l)
{
	char request[600] = "";
	const char *at;
	size_t n = 0;

	assert_string_equal(ask(l, "CONNECT nas:80", HOST), "");
	for (int i = 0; i < 20; i++)
		strcat(request, "CONNECT [ HTTP/1.1\r\n\r\n");
	page_get(&l->page, l->base, &l->addr, request, SIZE_MAX);
	for (at = l->page.text; (at = strstr(at, " 400 ")); at++)
		n++;
	assert_in_range(n, 1, 2);
}

/* As nc(1) does. */
TEST(test_who_has_said_all_is_answered, struct listener *l)
{
	l->page.shuts = true;
	check_page(ask(l, "GET /metrics", HOST));
	assert_non_null(strstr(ask(l, "GET /none", HOST), " 404 "));
	l->page.shuts = false;
}

TEST(test_text)
{
	ENDS_BY(text_free) struct text t = {0};
	struct json j = {.page = true};

	text_seconds(&t, 0);
	text_string(&t, " ");
	text_seconds(&t, 1500000);
	text_string(&t, " ");
	text_seconds(&t, 7);
	text_string(&t, " ");
	text_number(&t, UINT64_MAX);
	j.out = text_open(&t);
	json_bytes(&j, NULL, (const uint8_t *)"\xc3\xa4\xff\n\xe2\x82", 6);
	json_seconds_known(&j, "a_<", 0);
	fclose(j.out);
	text_add(&t, "", 1);
	assert_string_equal(t.data,
	    "0 1.5 0.000007 18446744073709551615\"\xc3\xa4\\udcff\\u000a"
	    "\\udce2\\udc82\",\"a_\\u003c\":null");
}

/* promtool wants a help of each; it has to be understood without the others. */
TEST(test_helps, struct listener *l)
{
	char name[100], help[600], type[20];
	const char *at = ask(l, "GET /metrics", HOST);
	size_t n = 0;

	while ((at = strstr(at, "# HELP "))) {
		assert_int_equal(
		    sscanf(at, "# HELP %99s %599[^\n]\n# TYPE %*s %19s", name,
			help, type),
		    3);
		assert_true(strlen(help) >= 12);
		assert_null(strstr(help, "these"));
		if (strcmp(type, "counter") == 0)
			assert_non_null(strstr(name, "_total"));
		else
			assert_null(strstr(name, "_us"));
		at += 6;
		n++;
	}
	assert_true(n > 60);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return unittest_run(NULL, NULL);
}
