/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a request of the control socket: the response must decode and
 * must be a result or an error.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "control/control.h"
#include "control/control.pb-c.h"
#include "control/control_reply.h"
#include "explain/explain.h"
#include "explain/objnames.h"
#include "explain/tracer.h"
#include "hint/hint.h"
#include "hint/hint_fixture.h"
#include "predictor/predictor.h"
#include "warm/pins.h"
#include "warm/warm.h"

static int flush(void *ctx, const char *server)
{
	(void)ctx;
	(void)server;
	return 0;
}

static int compact(void *ctx, const char *server, bool begin, bool *busy)
{
	(void)ctx;
	(void)server;
	*busy = begin;
	return begin ? 0 : -ENODATA;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct warm_walk *begin_warm(void *ctx, const struct control_peer *peer,
    const struct control_place *at, bool data)
{
	(void)peer;
	(void)data;
	assert(strlen(at->path) < CONTROL_PATH_MAX);
	errno = ENOENT;
	return *at->path ? NULL : ctx;
}

static void warm_progress(
    void *ctx, const struct warm_walk *walk, struct warm_progress *out)
{
	assert(ctx == walk);
	out->files = 1;
}

static void end_warm(void *ctx, struct warm_walk *walk)
{
	assert(ctx == walk);
}

/* Without a data cache nothing can be pinned. */
static struct pins *pins_of(void *ctx, const char *server)
{
	static struct caches none;
	static struct pins *pins;
	const struct pins_params p = {
	    .caches = &none, .path = "/nowhere/pins", .server = "nas"};

	(void)ctx;
	(void)server;
	if (!pins)
		pins = pins_new(&p);
	return pins;
}

static struct pins *pins_at(
    void *ctx, const struct control_place *at, const char **server)
{
	*server = "nas";
	return *at->path ? NULL : pins_of(ctx, "nas");
}

/* A stream in which hints are taken; all are wanted, and nobody is asked. */
static struct hint_world *hint_world(void)
{
	static struct hint_world world, *w;

	if (!w) {
		w = &world;
		hint_world_open(w);
	}
	return w;
}

static struct hint_stream *begin_hints(
    void *ctx, const struct control_peer *peer, const struct control_place *at)
{
	(void)ctx;
	(void)peer;
	return hint_world_stream(hint_world(), at->path);
}

static int explain_place(void *ctx, const struct control_peer *peer,
    const struct control_place *at, struct explain *out)
{
	(void)ctx;
	(void)peer;
	out->consistency = "strict";
	return *at->path ? -ENOENT : 0;
}

static struct predictor *predictor_of(void *ctx, const char *server)
{
	static struct predictor *p;
	static const struct predictor_options po = {.budget_bytes = 2 << 20};

	(void)ctx;
	(void)server;
	if (!p)
		p = predictor_new(&po);
	assert(p);
	return p;
}

static struct tracer *tracer_of(void *ctx, const char *server)
{
	static struct tracer *t;

	(void)ctx;
	(void)server;
	if (!t)
		t = tracer_new();
	assert(t);
	return t;
}

static void trees_changed(void *ctx, const char *server)
{
	(void)ctx;
	(void)server;
}

static void submit(void *ctx, struct iopool_job *job)
{
	(void)ctx;
	job->run(job);
	job->done(job);
}

static bool name_objects(void *ctx, const char *server,
    const struct control_peer *peer, struct objnames *names, size_t steps)
{
	(void)ctx;
	(void)server;
	(void)peer;
	(void)names;
	(void)steps;
	return true;
}

static void fill_status(void *ctx, struct control_status *out)
{
	struct control_server *srv;
	struct control_conn *conn;

	(void)ctx;
	control_set(&out->version, "1");
	srv = control_status_add_server(out);
	assert(srv);
	control_set(&srv->name, "nas");
	control_server_add_export(srv, "/\xff");
	control_server_add_listen(srv, "127.0.0.1:2050");
	control_server_add_upstream(srv);
	conn = control_server_add_conn(srv);
	assert(conn);
	control_set(&conn->address, "127.0.0.1:812");
}

static void each_server(void *ctx,
    void (*cb)(void *arg, const char *name, const struct metrics *m), void *arg)
{
	cb(arg, "nas", ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
	static const struct metrics_call call = {.latency_us = 40200};
	static struct metrics *metrics;
	const struct control_peer peer = {.pid = 1};
	struct control_session session = {.may_work = true, .may_carry = true};
	Forefetch__Response *res;
	uint8_t *out;
	size_t len;
	int rc;

	if (!metrics) {
		metrics = metrics_new();
		assert(metrics);
		metrics_add_call(metrics, METRICS_CLIENT, 100003, 3, &call);
	}
	if (size > CONTROL_REQUEST_MAX)
		return -1;
	do
		rc = control_reply_build(
		    data, size, &peer, &session, &ops, metrics, &out, &len);
	while (rc == -EAGAIN);
	if (rc)
		abort();
	assert(len <= CONTROL_RESPONSE_MAX);
	res = forefetch__response__unpack(NULL, len, out);
	assert(res);
	assert(res->version == 1);
	assert(res->result_case != FOREFETCH__RESPONSE__RESULT__NOT_SET);
	forefetch__response__free_unpacked(res, NULL);
	free(out);
	control_reply_forget(&session);
	if (session.hints)
		event_base_loop(hint_world()->base, EVLOOP_NONBLOCK);
	hint_end(session.hints);
	tracer_end(session.trace);
	return 0;
}
