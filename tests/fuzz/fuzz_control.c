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
#include "control/control_activity.h"
#include "control/control_modules.h"
#include "datacache/compact.h"
#include "explain/explain.h"
#include "explain/objnames.h"
#include "explain/tracer.h"
#include "hint/hint.h"
#include "hint/hint_fixture.h"
#include "predictor/predictor.h"
#include "prefetch/ground/hold.h"
#include "prefetch/prefetch.h"
#include "warm/pins.h"
#include "warm/warm.h"

static struct farm *find_farm(void *ctx)
{
	(void)ctx;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Without a data cache nothing can be pinned. */
static struct pins *pins_of_all(void)
{
	static struct caches none;
	static struct pins *pins;
	const struct pins_params p = {
	    .caches = &none, .path = "", .server = "nas"};

	if (!pins)
		pins = pins_new(&p);
	return pins;
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

static struct tracer *tracer_of_all(void)
{
	static struct tracer *t;

	if (!t)
		t = tracer_new();
	assert(t);
	return t;
}

static void fill_status(void *ctx, struct arena *a, Forefetch__Status *out)
{
	Forefetch__ServerStatus *srv;

	(void)ctx;
	out->version = "1";
	out->n_servers = 1;
	out->servers =
	    arena_messages(a, &forefetch__server_status__descriptor, 1);
	srv = out->servers[0];
	srv->name = arena_bytes(a, "nas");
	srv->n_exports = 1;
	srv->exports = arena_alloc(a, 1, sizeof(*srv->exports));
	srv->exports[0] = arena_bytes(a, "/\xff");
	srv->n_clients = 1;
	srv->clients =
	    arena_messages(a, &forefetch__client_status__descriptor, 1);
	srv->clients[0]->address = arena_bytes(a, "127.0.0.1:812");
}

static bool find_server(void *ctx, size_t i, struct control_server *out)
{
	*out = (struct control_server){.name = "nas",
	    .metrics = ctx,
	    .hints = hint_world()->hints,
	    .pins = pins_of_all(),
	    .tracer = tracer_of_all()};
	return i == 0;
}

static bool find_server_at(
    void *ctx, const struct control_place *at, struct control_server *out)
{
	assert(strlen(at->path) < CONTROL_PATH_MAX);
	return !*at->path && find_server(ctx, 0, out);
}

static int flush(void *ctx, size_t i)
{
	(void)ctx;
	assert(i == 0);
	return 0;
}

static bool reload(
    void *ctx, uint64_t *ticket, struct arena *a, Forefetch__Reloaded *out)
{
	(void)ctx;
	(void)a;
	(void)out;
	return ++*ticket > 1;
}

static void fill_activity(void *ctx, size_t i, uint32_t uid, struct arena *a,
    Forefetch__ServerActivity *out)
{
	(void)ctx;
	assert(i == 0 && uid == 0);
	out->calls = arena_messages(a, &forefetch__client_call__descriptor, 1);
	out->n_calls = 1;
	out->calls[0]->entry = arena_bytes(a, "\xff");
}

static void pause_all(void *ctx, uint64_t until_us)
{
	(void)ctx;
	(void)until_us;
}

static void submit(void *ctx, struct iopool_job *job)
{
	(void)ctx;
	job->run(job);
	job->done(job);
}

/* ---- modules ---------------------------------------------------------- */

int __wrap_compact_begin(struct compact *c)
{
	(void)c;
	return 0;
}

bool __wrap_compact_busy(const struct compact *c)
{
	(void)c;
	return true;
}

struct warm_walk *__wrap_warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data)
{
	static char walk;

	(void)wm;
	(void)who;
	(void)export;
	(void)path;
	errno = ENOENT;
	return data ? (struct warm_walk *)&walk : NULL;
}

void __wrap_warm_get_progress(
    const struct warm_walk *walk, struct warm_progress *out)
{
	assert(walk);
	out->files = 1;
}

void __wrap_warm_end(struct warm_walk *walk)
{
	assert(walk);
}

struct hint_stream *__real_hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path);

struct hint_stream *__wrap_hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path)
{
	const struct user user = {.uid = 1000, .gid = 1000};

	(void)who;
	(void)export;
	return __real_hint_begin(h, &user, "/srv", path);
}

void __wrap_explain(struct caches *c, struct prefetch *pf,
    const struct user *user, const char *export, const char *path,
    uint64_t now_us, struct explain *out)
{
	(void)c;
	(void)pf;
	(void)user;
	(void)export;
	(void)path;
	(void)now_us;
	out->consistency = "strict";
}

enum forget_found __wrap_forget_begin(struct forget *f, struct caches *c,
    const char *export, const char *path, uint64_t now_us)
{
	(void)c;
	(void)export;
	(void)path;
	(void)now_us;
	f->objects = 1;
	return FORGET_OBJECT;
}

bool __wrap_forget_step(struct forget *f, uint64_t now_us)
{
	(void)now_us;
	return ++f->passes < 3;
}

struct predictor *__wrap_prefetch_predictor(struct prefetch *pf)
{
	static struct predictor *p;
	static const struct predictor_options po = {.budget_bytes = 2 << 20};

	(void)pf;
	if (!p)
		p = predictor_new(&po);
	assert(p);
	return p;
}

struct hold *__wrap_prefetch_hold(struct prefetch *pf);

struct hold *__wrap_prefetch_hold(struct prefetch *pf)
{
	static struct hold *h;

	(void)pf;
	if (!h)
		h = hold_new();
	assert(h);
	return h;
}

void __wrap_prefetch_edited(struct prefetch *pf)
{
	(void)pf;
}

bool __wrap_prefetch_loads(const struct prefetch *pf)
{
	(void)pf;
	return false;
}

int __wrap_prefetch_clear(struct prefetch *pf)
{
	return predictor_clear(__wrap_prefetch_predictor(pf));
}

size_t __wrap_prefetch_list_ahead(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_ahead rows[PREFETCH_SHOW_MAX],
    uint64_t *omitted)
{
	(void)pf;
	(void)uid;
	(void)now_us;
	*omitted = 0;
	rows[0] = (struct prefetch_ahead){.source = "tree", .object = 1};
	return 1;
}

size_t __wrap_prefetch_list_outcomes(const struct prefetch *pf, uint32_t uid,
    uint64_t now_us, struct prefetch_outcome rows[PREFETCH_SHOW_MAX])
{
	(void)pf;
	(void)uid;
	(void)now_us;
	(void)rows;
	return 0;
}

size_t __wrap_mountuse_list(
    struct caches *c, struct mountuse rows[MOUNTUSE_MAX])
{
	(void)c;
	(void)rows;
	return 0;
}

bool __wrap_objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps)
{
	(void)on;
	(void)c;
	(void)user;
	(void)now_us;
	(void)steps;
	return true;
}

static struct metrics *metrics_of_one_call(void)
{
	static const struct metrics_call call = {.latency_us = 40200};
	struct metrics *m = metrics_new();

	assert(m);
	metrics_add_call(m, METRICS_CLIENT, 100003, 3, &call);
	return m;
}

/* Whatever was asked, what comes back is a response with a result. */
static void judge_response(const uint8_t *bytes, size_t len)
{
	Forefetch__Response *res;

	assert(len <= CONTROL_RESPONSE_MAX);
	res = forefetch__response__unpack(NULL, len, bytes);
	assert(res);
	assert(res->version == CONTROL_VERSION);
	assert(res->result_case != FOREFETCH__RESPONSE__RESULT__NOT_SET);
	forefetch__response__free_unpacked(res, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct control_ops ops = {
	    .fill_status = fill_status,
	    .server = find_server,
	    .server_at = find_server_at,
	    .flush = flush,
	    .reload = reload,
	    .fill_activity = fill_activity,
	    .pause = pause_all,
	    .farm = find_farm,
	    .submit = submit,
	};
	static struct metrics *metrics;
	const struct control_peer peer = {.pid = 1};
	struct control_session session = {.may_work = true, .may_carry = true};
	uint8_t *out;
	size_t len;
	int rc;

	if (!metrics)
		metrics = metrics_of_one_call();
	if (size > CONTROL_REQUEST_MAX)
		return -1;
	do
		rc = control_reply_build(
		    data, size, &peer, &session, &ops, metrics, &out, &len);
	while (rc == -EAGAIN);
	if (rc)
		abort();
	judge_response(out, len);
	free(out);
	control_reply_forget(&session);
	if (session.hints)
		event_base_loop(hint_world()->base, EVLOOP_NONBLOCK);
	hint_end(session.hints);
	tracer_end(session.trace);
	return 0;
}
