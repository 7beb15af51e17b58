/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that pass: the reply's path copies them, and the pump counts and
 * foretells, whatever became of the buffers since.
 */
#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "cache/learn_fixture.h"
#include "link/linkest.h"
#include "nfsproto/nfs3_object.h"
#include "prefetch/ground/observe.h"
#include "prefetch/prefetch.h"
#include "upstream/fetch.h"
#include "upstream/upstream.h"

/* ---- a server that is silent ------------------------------------------- */

struct upstream {
	unsigned sent;
};

struct upstream_call {
	int unused;
};

struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg)
{
	static struct upstream_call call;

	(void)req;
	(void)ops;
	(void)arg;
	up->sent++;
	return &call;
}

bool upstream_drop(struct upstream_call *call)
{
	(void)call;
	return true;
}

/* ---- a prefetch --------------------------------------------------------- */

enum { BYTES = 100, MANY = 300, FSID = 7 };

struct heard_world {
	struct world *w;
	struct event_base *base;
	struct iopool *pool;
	struct linkest *link;
	struct upstream up;
	struct fetch *fetch;
	struct prefetch *pf;
	unsigned seen;
	struct predictor_obs last;
};

static bool ready(void *ctx)
{
	(void)ctx;
	return true;
}

static bool on_seen(void *ctx, const struct predictor_obs *obs)
{
	struct heard_world *s = ctx;

	s->seen++;
	s->last = *obs;
	return false;
}

static void setup(struct heard_world *s)
{
	struct prefetch_params p = {
	    .name = "nas", .path = "", .on_seen = on_seen, .ctx = s};
	struct ground *g = &p.ground;

	s->w = calloc(1, sizeof(*s->w));
	set_up(s->w);
	s->w->config.policy.prefetch = CONFIG_PREFETCH_ON;
	s->w->config.prefetch_rate.percent = 80;
	g->ready = ready;
	g->ready_ctx = s;
	g->memory_bytes = 2 << 20;
	g->base = s->base = event_base_new();
	g->iopool = s->pool = iopool_new(s->base, 1);
	g->link = s->link = linkest_new();
	g->metrics = s->w->metrics;
	g->caches = s->w->caches;
	g->config = &s->w->config;
	g->fetch = s->fetch = fetch_new(&s->up, NULL, s->w->metrics, s->link);
	s->pf = prefetch_new(&p);
	assert_non_null(s->pf);
	say_dir(s->w);
}

static void teardown(struct heard_world *s)
{
	prefetch_free(s->pf);
	fetch_free(s->fetch);
	linkest_free(s->link);
	iopool_free(s->pool);
	event_base_free(s->base);
	tear_down(s->w);
	free(s->w);
}

/* A call about "dir", from buffers that are others' once it has been told. */
static void tell(struct heard_world *s, uint32_t proc, const char *name)
{
	char fh[] = "dir", text[64] = "", body[8] = "cred";
	struct rpc_cred cred = {
	    .flavor = AUTH_SYS, .body = {.len = sizeof(body), .data = body}};
	union nfs_args args = {.object = {.len = 3, .data = fh}};
	struct observe_call call = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc),
	    .args = &args,
	    .status = name ? NFS3ERR_NOENT : NFS3_OK,
	    .cred = &cred,
	    .cred_id = s->w->cred,
	    .uid = 1000,
	    .actor = 77,
	    .received_us = s->w->now_us,
	    .bytes = BYTES};

	if (name) {
		args.dirop.name.len = (uint32_t)strlen(name);
		args.dirop.name.data = strcpy(text, name);
	}
	prefetch_observe(s->pf, &call);
	memset(fh, 0xee, sizeof(fh));
	memset(text, 0xee, sizeof(text));
	memset(body, 0xee, sizeof(body));
	memset(&args, 0xee, sizeof(args));
}

static const struct fsys *counts(struct heard_world *s)
{
	return attrcache_get_fsys(s->w->caches->attr, FSID);
}

static void pump(struct heard_world *s)
{
	event_base_loop(s->base, EVLOOP_NONBLOCK);
}

FIXTURE(struct heard_world, setup, teardown);

TEST(test_behind_the_reply, struct heard_world *s)
{
	tell(s, NFSPROC3_GETATTR, NULL);
	assert_int_equal(s->seen, 0);
	assert_int_equal(counts(s)->calls, 0);
	pump(s);
	assert_int_equal(s->seen, 1);
	assert_int_equal(counts(s)->calls, 1);
	assert_int_equal(counts(s)->bytes, BYTES);
	assert_int_equal(s->last.kind, PREDICTOR_GETATTR);
	assert_int_equal(s->last.uid, 1000);
}

TEST(test_names, struct heard_world *s)
{
	nfs3_fh dir = fh_of("dir");
	nfs3_name name = name_of("gone.h");

	tell(s, NFSPROC3_LOOKUP, "gone.h");
	pump(s);
	assert_int_equal(s->last.kind, PREDICTOR_ABSENT);
	assert_true(s->last.object == observe_absent(&dir, &name));
}

/* More in one turn than there is room for: some are not heard, all count. */
TEST(test_flood, struct heard_world *s)
{
	for (int i = 0; i < MANY; i++)
		tell(s, NFSPROC3_GETATTR, NULL);
	pump(s);
	assert_in_range(s->seen, 100, MANY);
	assert_int_equal(counts(s)->calls, MANY);
	assert_int_equal(counts(s)->bytes, MANY * BYTES);
	tell(s, NFSPROC3_GETATTR, NULL);
	pump(s);
	assert_int_equal(counts(s)->calls, MANY + 1);
}

/* Changes count, and foretell nothing. */
TEST(test_changes, struct heard_world *s)
{
	tell(s, NFSPROC3_SETATTR, NULL);
	pump(s);
	assert_int_equal(s->seen, 0);
	assert_int_equal(counts(s)->changes, 1);
}
