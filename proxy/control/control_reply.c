/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and responses of the control socket: control_reply*.c are the only
 * files of the daemon that know protobuf. A response is a tree of messages that
 * point into the status and metrics they tell about; the messages live in an
 * arena, so that the whole is freed at once and a failed allocation is looked
 * at once.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/control_reply.h"
#include "base/histogram.h"
#include "base/metrics.h"
#include "control/control.h"
#include "control/control.pb-c.h"
#include "control/control_reply_private.h"

#define PROTOCOL_VERSION 1

struct chunk {
	struct chunk *next;
	max_align_t data[];
};

void *reply_alloc(struct reply *r, size_t n, size_t size)
{
	struct chunk *chunk;

	assert(size == 0 || n <= SIZE_MAX / 2 / size);
	chunk = calloc(1, sizeof(*chunk) + n * size);
	if (!chunk) {
		r->failed = true;
		return NULL;
	}
	chunk->next = r->chunks;
	r->chunks = chunk;
	return chunk->data;
}

static void reply_clear(struct reply *r)
{
	struct chunk *next;

	for (; r->chunks; r->chunks = next) {
		next = r->chunks->next;
		free(r->chunks);
	}
	control_status_clear(&r->status);
}

struct control_work *reply_work(struct reply *r)
{
	struct control_session *s = r->session;

	r->later = !s->work && !s->may_work;
	return s->work;
}

void reply_work_end(struct reply *r)
{
	struct control_session *s = r->session;

	if (s && s->work) {
		s->work->free(s->work);
		s->work = NULL;
	}
}

bool reply_may_carry(struct reply *r)
{
	if (r->session->blob || r->session->may_carry)
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__BUSY,
	    "too much is exported or imported at a time; try again");
	return false;
}

void control_reply_forget(struct control_session *session)
{
	if (session->work)
		session->work->free(session->work);
	session->work = NULL;
	free(session->blob);
	session->blob = NULL;
	session->blob_len = 0;
}

void reply_error(struct reply *r, Forefetch__ErrorCode code, const char *text)
{
	forefetch__error__init(&r->error);
	r->error.code = code;
	r->error.text = (char *)text;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_ERROR;
	r->res.error = &r->error;
}

ProtobufCBinaryData reply_bytes(const char *text)
{
	return (ProtobufCBinaryData){
	    .len = text ? strlen(text) : 0,
	    .data = (uint8_t *)text,
	};
}

bool reply_wants(const ProtobufCBinaryData *filter, const char *name)
{
	if (filter->len == 0)
		return true;
	return name && strlen(name) == filter->len &&
	       memcmp(name, filter->data, filter->len) == 0;
}

static void reply_buckets(
    struct reply *r, const struct histogram *h, Forefetch__CallStats *out)
{
	size_t i, n = 0;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += h->bucket[i] > 0;
	out->bucket_low = reply_alloc(r, n, sizeof(*out->bucket_low));
	out->bucket_high = reply_alloc(r, n, sizeof(*out->bucket_high));
	out->bucket_count = reply_alloc(r, n, sizeof(*out->bucket_count));
	if (r->failed)
		return;
	n = 0;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		out->bucket_low[n] = histogram_bucket_low(i);
		out->bucket_high[n] = histogram_bucket_high(i);
		out->bucket_count[n] = h->bucket[i];
		n++;
	}
	out->n_bucket_low = n;
	out->n_bucket_high = n;
	out->n_bucket_count = n;
}

static Forefetch__CallStats *reply_calls(
    struct reply *r, enum metrics_side side, const struct metrics_row *row)
{
	Forefetch__CallStats *out = reply_alloc(r, 1, sizeof(*out));

	if (!out)
		return NULL;
	forefetch__call_stats__init(out);
	out->side = side == METRICS_CLIENT ? FOREFETCH__SIDE__CLIENT
					   : FOREFETCH__SIDE__UPSTREAM;
	out->program = (char *)row->program;
	out->procedure = (char *)row->procedure;
	out->calls = row->calls;
	out->errors = row->errors;
	out->bytes_in = row->bytes_in;
	out->bytes_out = row->bytes_out;
	out->p50_us = histogram_percentile(row->latency, 500);
	out->p90_us = histogram_percentile(row->latency, 900);
	out->p99_us = histogram_percentile(row->latency, 990);
	out->max_us = row->latency->max;
	out->sum_us = row->latency->sum;
	reply_buckets(r, row->latency, out);
	return out;
}

static void reply_counters(
    struct reply *r, const struct metrics *m, Forefetch__ServerStats *out)
{
	Forefetch__Counter *msg;
	size_t i, n = METRICS_COUNTER_COUNT;

	msg = reply_alloc(r, n, sizeof(*msg));
	out->counters = reply_alloc(r, n, sizeof(*out->counters));
	if (r->failed)
		return;
	for (i = 0; i < n; i++, msg++) {
		forefetch__counter__init(msg);
		msg->name =
		    (char *)metrics_counter_name((enum metrics_counter)i);
		msg->value = metrics_get(m, (enum metrics_counter)i);
		out->counters[i] = msg;
	}
	out->n_counters = n;
}

static void reply_gauges(
    struct reply *r, const struct metrics *m, Forefetch__ServerStats *out)
{
	Forefetch__Counter *msg;
	size_t i, n = METRICS_GAUGE_COUNT;

	msg = reply_alloc(r, n, sizeof(*msg));
	out->gauges = reply_alloc(r, n, sizeof(*out->gauges));
	if (r->failed)
		return;
	for (i = 0; i < n; i++, msg++) {
		forefetch__counter__init(msg);
		msg->name = (char *)metrics_gauge_name((enum metrics_gauge)i);
		msg->value = metrics_get_gauge(m, (enum metrics_gauge)i);
		out->gauges[i] = msg;
	}
	out->n_gauges = n;
}

static Forefetch__ServerStats *reply_server_stats(
    struct reply *r, const char *name, const struct metrics *m)
{
	Forefetch__ServerStats *out = reply_alloc(r, 1, sizeof(*out));
	size_t i, n = metrics_row_count();
	struct metrics_row row;
	int side;

	if (!out)
		return NULL;
	forefetch__server_stats__init(out);
	out->name = reply_bytes(name);
	out->calls = reply_alloc(r, METRICS_SIDES * n, sizeof(*out->calls));
	for (side = 0; side < METRICS_SIDES; side++) {
		for (i = 0; i < n && !r->failed; i++) {
			metrics_get_row(m, (enum metrics_side)side, i, &row);
			if (row.calls == 0)
				continue;
			out->calls[out->n_calls++] =
			    reply_calls(r, (enum metrics_side)side, &row);
		}
	}
	reply_counters(r, m, out);
	reply_gauges(r, m, out);
	return out;
}

/* Servers are counted in a first round and told about in a second. */
struct walk {
	struct reply *reply;
	const ProtobufCBinaryData *filter;
	size_t n;
	Forefetch__ServerStats **stats;     /* of the second round: to be */
	Forefetch__FlushedServer **flushed; /* filled in */
	bool failed;                        /* to flush */
};

static void count_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct walk *walk = arg;

	(void)m;
	walk->n += reply_wants(walk->filter, name);
}

bool reply_count_servers(
    struct reply *r, const ProtobufCBinaryData *filter, size_t *n)
{
	struct walk walk = {.reply = r, .filter = filter};

	r->ops->each_server(r->ctx, count_on_server, &walk);
	*n = walk.n;
	if (filter->len == 0 || *n > 0)
		return true;
	reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER,
	    "no server of that name is configured");
	return false;
}

struct one {
	const ProtobufCBinaryData *filter;
	const char *name;
	size_t n;
};

static void one_on_server(void *arg, const char *name, const struct metrics *m)
{
	struct one *one = arg;

	(void)m;
	if (!reply_wants(one->filter, name))
		return;
	one->name = name;
	one->n++;
}

const char *reply_one_server(struct reply *r, const ProtobufCBinaryData *filter)
{
	struct one one = {.filter = filter};

	r->ops->each_server(r->ctx, one_on_server, &one);
	if (one.n == 1)
		return one.name;
	reply_error(r, FOREFETCH__ERROR_CODE__NO_SUCH_SERVER,
	    one.n == 0 ? "no server of that name is configured"
		       : "there are several servers: name one with --server");
	return NULL;
}

static void stats_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct walk *walk = arg;

	if (reply_wants(walk->filter, name) && !walk->reply->failed)
		walk->stats[walk->n++] =
		    reply_server_stats(walk->reply, name, m);
}

static void reply_stats(struct reply *r, const Forefetch__StatsRequest *request)
{
	struct walk walk = {.reply = r, .filter = &request->server};
	Forefetch__Stats *out;
	size_t n;

	if (!reply_count_servers(r, walk.filter, &n))
		return;
	out = reply_alloc(r, 1, sizeof(*out));
	walk.stats = reply_alloc(r, n, sizeof(*walk.stats));
	if (r->failed)
		return;
	forefetch__stats__init(out);
	r->ops->each_server(r->ctx, stats_on_server, &walk);
	out->servers = walk.stats;
	out->n_servers = walk.n;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_STATS;
	r->res.stats = out;
}

static Forefetch__FlushedServer *reply_flushed(
    struct reply *r, const char *name, const struct metrics *m)
{
	Forefetch__FlushedServer *out = reply_alloc(r, 1, sizeof(*out));

	if (!out)
		return NULL;
	forefetch__flushed_server__init(out);
	out->name = reply_bytes(name);
	out->objects = metrics_get_gauge(m, METRICS_GAUGE_ATTR_ENTRIES);
	out->names = metrics_get_gauge(m, METRICS_GAUGE_NAME_ENTRIES);
	out->rights = metrics_get_gauge(m, METRICS_GAUGE_ACCESS_ENTRIES);
	out->listings = metrics_get_gauge(m, METRICS_GAUGE_LIST_ENTRIES);
	out->answers = metrics_get_gauge(m, METRICS_GAUGE_ANSWER_ENTRIES);
	out->files = metrics_get_gauge(m, METRICS_GAUGE_DATA_FILES);
	out->memory_bytes = metrics_get_gauge(m, METRICS_GAUGE_MEMORY_BYTES);
	out->data_bytes = metrics_get_gauge(m, METRICS_GAUGE_DATA_LIVE_BYTES);
	return out;
}

static void flush_on_server(
    void *arg, const char *name, const struct metrics *m)
{
	struct walk *walk = arg;
	struct reply *r = walk->reply;

	if (!reply_wants(walk->filter, name) || r->failed)
		return;
	walk->flushed[walk->n++] = reply_flushed(r, name, m);
	if (!r->failed && r->ops->flush(r->ctx, name) < 0)
		walk->failed = true;
}

static void reply_flush(struct reply *r, const Forefetch__FlushRequest *request)
{
	struct walk walk = {.reply = r, .filter = &request->server};
	Forefetch__Flushed *out;
	size_t n;

	if (r->peer->uid != 0 && r->peer->uid != geteuid()) {
		reply_error(r, FOREFETCH__ERROR_CODE__NOT_PERMITTED,
		    "only root and the user that forefetchd runs as may "
		    "empty its caches");
		return;
	}
	if (!reply_count_servers(r, walk.filter, &n))
		return;
	out = reply_alloc(r, 1, sizeof(*out));
	walk.flushed = reply_alloc(r, n, sizeof(*walk.flushed));
	if (r->failed)
		return;
	forefetch__flushed__init(out);
	r->ops->each_server(r->ctx, flush_on_server, &walk);
	if (walk.failed) {
		reply_error(r, FOREFETCH__ERROR_CODE__FAILED,
		    "forefetchd has too little memory to do it; not all "
		    "caches were emptied");
		return;
	}
	out->servers = walk.flushed;
	out->n_servers = walk.n;
	r->res.result_case = FOREFETCH__RESPONSE__RESULT_FLUSH;
	r->res.flush = out;
}

static void reply_dispatch(struct reply *r, const Forefetch__Request *request)
{
	if (!request) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_REQUEST,
		    "the request does not decode");
		return;
	}
	if (request->version != PROTOCOL_VERSION) {
		reply_error(r, FOREFETCH__ERROR_CODE__BAD_VERSION,
		    "forefetchd speaks version 1 of the control protocol");
		return;
	}
	switch (request->command_case) {
	case FOREFETCH__REQUEST__COMMAND_STATUS:
		reply_status(r, request->status);
		return;
	case FOREFETCH__REQUEST__COMMAND_STATS:
		reply_stats(r, request->stats);
		return;
	case FOREFETCH__REQUEST__COMMAND_FLUSH:
		reply_flush(r, request->flush);
		return;
	case FOREFETCH__REQUEST__COMMAND_COMPACT:
		reply_compact(r, request->compact);
		return;
	case FOREFETCH__REQUEST__COMMAND_WARM:
		reply_warm(r, request->warm);
		return;
	case FOREFETCH__REQUEST__COMMAND_EXPLAIN:
		reply_explain(r, request->explain);
		return;
	case FOREFETCH__REQUEST__COMMAND_TRACE:
		reply_trace(r, request->trace);
		return;
	case FOREFETCH__REQUEST__COMMAND_PIN:
		reply_pin(r, request->pin);
		return;
	case FOREFETCH__REQUEST__COMMAND_HINT:
		reply_hint(r, request->hint);
		return;
	case FOREFETCH__REQUEST__COMMAND_TREES:
		reply_trees(r, request->trees);
		return;
	default:
		reply_error(r, FOREFETCH__ERROR_CODE__UNKNOWN_COMMAND,
		    "forefetchd does not know this command");
	}
}

/* Leave out what is long until the rest fits. */
static void reply_shrink(struct reply *r)
{
	Forefetch__ServerStatus *srv;
	size_t i;

	if (r->res.result_case == FOREFETCH__RESPONSE__RESULT_STATUS) {
		for (i = 0; i < r->res.status->n_servers; i++) {
			srv = r->res.status->servers[i];
			srv->clients_omitted += srv->n_clients;
			srv->n_clients = 0;
		}
	}
	if (forefetch__response__get_packed_size(&r->res) <=
	    CONTROL_RESPONSE_MAX)
		return;
	reply_error(r, FOREFETCH__ERROR_CODE__TOO_LARGE,
	    "the answer would be too large; ask for one server");
}

static int reply_pack(struct reply *r, uint8_t **out, size_t *out_len)
{
	size_t len;

	if (r->failed)
		return -ENOMEM;
	len = forefetch__response__get_packed_size(&r->res);
	if (len > CONTROL_RESPONSE_MAX) {
		reply_shrink(r);
		len = forefetch__response__get_packed_size(&r->res);
	}
	*out = malloc(len);
	if (!*out)
		return -ENOMEM;
	*out_len = forefetch__response__pack(&r->res, *out);
	assert(*out_len == len);
	return 0;
}

int control_reply_build(const uint8_t *req, size_t req_len,
    const struct control_peer *peer, struct control_session *session,
    const struct control_ops *ops, void *ctx, uint8_t **out, size_t *out_len)
{
	struct reply r = {
	    .ops = ops, .ctx = ctx, .peer = peer, .session = session};
	Forefetch__Request *request;
	int error;

	forefetch__response__init(&r.res);
	r.res.version = PROTOCOL_VERSION;
	request = forefetch__request__unpack(NULL, req_len, req);
	reply_dispatch(&r, request);
	if (request)
		forefetch__request__free_unpacked(request, NULL);
	error = r.later ? -EAGAIN : reply_pack(&r, out, out_len);
	/* After an error it is over, too. */
	if (error != -EAGAIN)
		reply_work_end(&r);
	reply_clear(&r);
	return error;
}

int control_reply_busy(uint8_t **out, size_t *out_len)
{
	struct reply r = {0};

	forefetch__response__init(&r.res);
	r.res.version = PROTOCOL_VERSION;
	reply_error(&r, FOREFETCH__ERROR_CODE__BUSY,
	    "too many programs talk to forefetchd; try again");
	return reply_pack(&r, out, out_len);
}
