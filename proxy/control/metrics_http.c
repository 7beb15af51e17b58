/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prometheus wants the lines of one metric together, so the servers are gone
 * through once for each metric. The buckets of a histogram are sums of those
 * of histogram.h that end at or below `le`, which may leave out values up to
 * 6.25 % smaller than `le`; count and sum are exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "control/metrics_http.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/control.h"

#define HEADERS_MAX 8192 /* bytes of a request's headers */
#define TIMEOUT_S   10
#define BACKLOG     16

struct metrics_http {
	struct evhttp *http;
	const struct control_ops *ops;
	void *ctx;
};

/* Bounds of the histogram: text for `le` in seconds, and microseconds. */
static const struct {
	const char *le;
	uint64_t us;
} bounds[] = {
    {"0.0001", 100},
    {"0.00025", 250},
    {"0.0005", 500},
    {"0.001", 1000},
    {"0.0025", 2500},
    {"0.005", 5000},
    {"0.01", 10000},
    {"0.025", 25000},
    {"0.05", 50000},
    {"0.1", 100000},
    {"0.25", 250000},
    {"0.5", 500000},
    {"1", 1000000},
    {"2.5", 2500000},
    {"5", 5000000},
    {"10", 10000000},
    {"30", 30000000},
    {"60", 60000000},
    {"300", 300000000},
};

/* What is told about a row: one metric each. */
enum call_metric { CALLS, ERRORS, BYTES_IN, BYTES_OUT, LATENCY, CALL_METRICS };

static const struct {
	const char *name;
	const char *type;
	const char *help;
} call_metrics[CALL_METRICS] = {
    [CALLS] = {"calls_total", "counter", "Calls answered"},
    [ERRORS] = {"call_errors_total", "counter",
	"Calls answered with an error, RPC or NFS"},
    [BYTES_IN] = {"call_received_bytes_total", "counter",
	"Bytes received in calls of clients, or replies of the server"},
    [BYTES_OUT] = {"call_sent_bytes_total", "counter",
	"Bytes sent in replies to clients, or calls to the server"},
    [LATENCY] = {"call_seconds", "histogram", "Time from call to reply"},
};

/* One round through the servers. */
struct round {
	struct evbuffer *out;
	enum call_metric metric;
	enum metrics_counter counter;
	enum metrics_gauge gauge;
};

/* What the labels of a sample are made of. */
struct labels {
	const char *server;
	const char *side;
	const struct metrics_row *row;
};

/* A label value: backslash, quote and newline are escaped. */
static void value_add(struct evbuffer *out, const char *value)
{
	size_t plain;

	for (;;) {
		plain = strcspn(value, "\\\"\n");
		evbuffer_add(out, value, plain);
		value += plain;
		if (!*value)
			return;
		evbuffer_add_printf(out, "\\%c", *value == '\n' ? 'n' : *value);
		value++;
	}
}

/* The name and the labels; the brace is left open. */
static void sample_begin(struct evbuffer *out, const char *name,
    const char *suffix, const struct labels *labels)
{
	evbuffer_add_printf(out, "forefetch_%s%s{server=\"", name, suffix);
	value_add(out, labels->server);
	evbuffer_add_printf(out,
	    "\",side=\"%s\",program=\"%s\",procedure=\"%s\"", labels->side,
	    labels->row->program, labels->row->procedure);
}

static void latency_add(struct evbuffer *out, const struct labels *labels)
{
	const struct histogram *h = labels->row->latency;
	const char *name = call_metrics[LATENCY].name;
	size_t i;

	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		sample_begin(out, name, "_bucket", labels);
		evbuffer_add_printf(out, ",le=\"%s\"} %" PRIu64 "\n",
		    bounds[i].le, histogram_count_upto(h, bounds[i].us));
	}
	sample_begin(out, name, "_bucket", labels);
	evbuffer_add_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n", h->count);
	sample_begin(out, name, "_sum", labels);
	evbuffer_add_printf(out, "} %" PRIu64 ".%06" PRIu64 "\n",
	    h->sum / 1000000, h->sum % 1000000);
	sample_begin(out, name, "_count", labels);
	evbuffer_add_printf(out, "} %" PRIu64 "\n", h->count);
}

static void row_add(
    struct evbuffer *out, enum call_metric metric, const struct labels *labels)
{
	const uint64_t values[CALL_METRICS] = {
	    [CALLS] = labels->row->calls,
	    [ERRORS] = labels->row->errors,
	    [BYTES_IN] = labels->row->bytes_in,
	    [BYTES_OUT] = labels->row->bytes_out,
	};

	if (metric == LATENCY) {
		latency_add(out, labels);
		return;
	}
	sample_begin(out, call_metrics[metric].name, "", labels);
	evbuffer_add_printf(out, "} %" PRIu64 "\n", values[metric]);
}

static void calls_add(
    const struct round *round, const char *name, const struct metrics *m)
{
	size_t i, n = metrics_row_count();
	struct metrics_row row;
	struct labels labels = {.server = name, .row = &row};
	int side;

	for (side = 0; side < METRICS_SIDES; side++) {
		labels.side = metrics_side_name((enum metrics_side)side);
		for (i = 0; i < n; i++) {
			metrics_get_row(m, (enum metrics_side)side, i, &row);
			if (row.calls > 0)
				row_add(round->out, round->metric, &labels);
		}
	}
}

static void counter_add(
    const struct round *round, const char *name, const struct metrics *m)
{

	evbuffer_add_printf(round->out, "forefetch_%s_total{server=\"",
	    metrics_counter_name(round->counter));
	value_add(round->out, name);
	evbuffer_add_printf(
	    round->out, "\"} %" PRIu64 "\n", metrics_get(m, round->counter));
}

static void gauge_add(
    const struct round *round, const char *name, const struct metrics *m)
{

	evbuffer_add_printf(round->out, "forefetch_%s{server=\"",
	    metrics_gauge_name(round->gauge));
	value_add(round->out, name);
	evbuffer_add_printf(round->out, "\"} %" PRIu64 "\n",
	    metrics_get_gauge(m, round->gauge));
}

static void for_all(const struct metrics_http *mh,
    void (*add)(
	const struct round *round, const char *name, const struct metrics *m),
    const struct round *round)
{
	struct control_server srv;

	for (size_t i = 0; mh->ops->server(mh->ctx, i, &srv); i++)
		add(round, srv.name, srv.metrics);
}

static void gauges_add(const struct metrics_http *mh, struct evbuffer *out)
{
	struct round round = {.out = out};
	const char *name;
	int i;

	for (i = 0; i < METRICS_GAUGE_COUNT; i++) {
		round.gauge = (enum metrics_gauge)i;
		name = metrics_gauge_name(round.gauge);
		evbuffer_add_printf(out,
		    "# HELP forefetch_%s %s\n# TYPE forefetch_%s gauge\n", name,
		    metrics_gauge_help(round.gauge), name);
		for_all(mh, gauge_add, &round);
	}
}

/* Resident memory; 0 where that cannot be told. */
static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void number_add(struct evbuffer *out, const char *name, const char *help,
    const char *labels, uint64_t value)
{
	evbuffer_add_printf(out,
	    "# HELP %s %s\n# TYPE %s gauge\n%s%s %" PRIu64 "\n", name, help,
	    name, name, labels, value);
}

/* What is not of one server. */
static void daemon_add(const struct metrics_http *mh, struct evbuffer *out)
{
	Forefetch__Status st = FOREFETCH__STATUS__INIT;
	struct arena arena = {0};

	mh->ops->fill_status(mh->ctx, &arena, &st);
	number_add(out, "forefetch_build_info", "The version, as a label",
	    "{version=\"" FF_VERSION "\"}", 1);
	number_add(out, "forefetch_config_last_reload_successful",
	    "Whether the last reload of the configuration was", "",
	    st.reload_error.len == 0);
	number_add(out, "forefetch_uptime_seconds", "Since the daemon started",
	    "", st.uptime_ms / 1000);
	number_add(out, "process_resident_memory_bytes", "Resident memory", "",
	    resident_bytes());
	arena_clear(&arena);
}

/* The whole page. */
static void page_add(const struct metrics_http *mh, struct evbuffer *out)
{
	struct round round = {.out = out};
	const char *name;
	int i;

	for (i = 0; i < CALL_METRICS; i++) {
		name = call_metrics[i].name;
		evbuffer_add_printf(out,
		    "# HELP forefetch_%s %s\n# TYPE forefetch_%s %s\n", name,
		    call_metrics[i].help, name, call_metrics[i].type);
		round.metric = (enum call_metric)i;
		for_all(mh, calls_add, &round);
	}
	for (i = 0; i < METRICS_COUNTER_COUNT; i++) {
		round.counter = (enum metrics_counter)i;
		name = metrics_counter_name(round.counter);
		evbuffer_add_printf(out,
		    "# HELP forefetch_%s_total %s\n"
		    "# TYPE forefetch_%s_total counter\n",
		    name, metrics_counter_help(round.counter), name);
		for_all(mh, counter_add, &round);
	}
	gauges_add(mh, out);
	daemon_add(mh, out);
}

static void http_on_metrics(struct evhttp_request *req, void *arg)
{
	struct evbuffer *out = evbuffer_new();

	if (!out) {
		evhttp_send_error(req, HTTP_SERVUNAVAIL, NULL);
		return;
	}
	page_add(arg, out);
	evhttp_add_header(evhttp_request_get_output_headers(req),
	    "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	evhttp_send_reply(req, HTTP_OK, "OK", out);
	evbuffer_free(out);
}

static struct evconnlistener *http_listen(
    struct event_base *base, const struct sockaddr *addr)
{
	unsigned flags =
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
	size_t len = sizeof(struct sockaddr_in);

	if (addr->sa_family == AF_INET6) {
		flags |= LEV_OPT_BIND_IPV6ONLY;
		len = sizeof(struct sockaddr_in6);
	}
	return evconnlistener_new_bind(
	    base, NULL, NULL, flags, BACKLOG, addr, (int)len);
}

/* Everything but the address. */
static struct metrics_http *http_prepare(
    struct event_base *base, const struct control_ops *ops, void *ctx)
{
	struct metrics_http *mh = calloc(1, sizeof(*mh));

	if (!mh)
		return NULL;
	mh->ops = ops;
	mh->ctx = ctx;
	mh->http = evhttp_new(base);
	if (!mh->http ||
	    evhttp_set_cb(mh->http, "/metrics", http_on_metrics, mh)) {
		metrics_http_free(mh);
		return NULL;
	}
	evhttp_set_allowed_methods(mh->http, EVHTTP_REQ_GET);
	evhttp_set_max_headers_size(mh->http, HEADERS_MAX);
	evhttp_set_max_body_size(mh->http, 0);
	evhttp_set_timeout(mh->http, TIMEOUT_S);
	return mh;
}

struct metrics_http *metrics_http_new(struct event_base *base,
    const struct sockaddr *addr, const struct control_ops *ops, void *ctx,
    char *err, size_t errlen)
{
	struct metrics_http *mh = http_prepare(base, ops, ctx);
	struct evconnlistener *listener;
	int error;

	if (!mh) {
		snprintf(err, errlen, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	listener = http_listen(base, addr);
	if (!listener) {
		error = errno;
		snprintf(err, errlen, "cannot listen for metrics: %s",
		    strerror(error));
		metrics_http_free(mh);
		errno = error;
		return NULL;
	}
	if (!evhttp_bind_listener(mh->http, listener)) {
		snprintf(err, errlen, "out of memory");
		evconnlistener_free(listener);
		metrics_http_free(mh);
		errno = ENOMEM;
		return NULL;
	}
	return mh;
}

void metrics_http_free(struct metrics_http *mh)
{
	if (!mh)
		return;
	if (mh->http)
		evhttp_free(mh->http);
	free(mh);
}
