/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See step_fixture.h. */
#include "prefetch/step_fixture.h"

#include "unittest.h"
#include "base/metrics.h"
#include "cache/accesscache.h"
#include "cache/caches.h"

/* ---- a server that is silent ------------------------------------------- */

struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg)
{
	struct upstream_call *call = &up->calls[up->n++];

	call->ops = ops;
	call->arg = arg;
	assert_true(up->n <= CALLS && req->args.len <= sizeof(call->bytes));
	memcpy(call->bytes, req->args.data, req->args.len);
	call->proc = req->proc;
	assert_true(nfs_args_decode(
	    req->proc, call->bytes, req->args.len, &call->args));
	return call;
}

bool upstream_drop(struct upstream_call *call)
{
	(void)call;
	return true;
}

/* ---- wants ------------------------------------------------------------- */

void step_setup(struct step_world *s)
{
	struct config_rate cap = {.percent = 80};

	s->w = calloc(1, sizeof(*s->w));
	set_up(s->w);
	s->w->config.policy.prefetch = CONFIG_PREFETCH_ON;
	s->w->config.policy.prefetch_block_size = 16 << 10;
	s->w->config.policy.prefetch_block_count = 1;
	s->pf.g.caches = s->w->caches;
	s->pf.g.config = &s->w->config;
	rooms_open(&s->pf, &s->cred, 1);
	s->cred->id = s->w->cred;
	s->pf.g.fetch = fetch_new(&s->up, NULL, s->pf.g.metrics, s->pf.g.link);
	s->pf.g.budget = budget_new(s->pf.g.link, &cap);
	s->calls = calls_new(&s->pf.g);
	s->steps = steps_new(&(struct steps_params){.ground = &s->pf.g,
	    .notes = s->pf.notes,
	    .queue = s->pf.queue,
	    .calls = s->calls,
	    .sources = s->pf.sources});
}

void step_teardown(struct step_world *s)
{
	queue_free(s->pf.queue);
	s->pf.queue = NULL;
	steps_free(s->steps);
	calls_free(s->calls);
	fetch_free(s->pf.g.fetch);
	budget_free(s->pf.g.budget);
	rooms_close(&s->pf, &s->cred, 1);
	tear_down(s->w);
	free(s->w);
}

struct want *want_key(
    struct step_world *s, uint64_t object, const char *dir, uint8_t needs)
{
	struct prediction pred = {.object = object,
	    .parent = dir ? key_of(dir) : 0,
	    .p = 0.9f,
	    .lead = 1,
	    .needs = needs};
	struct want *w = want_add(s->pf.queue, s->cred, &pred, 1, s->w->now_us);

	assert_non_null(w);
	assert_ptr_equal(queue_next(s->pf.queue), w);
	return w;
}

struct want *want(
    struct step_world *s, const char *object, const char *dir, uint8_t needs)
{
	return want_key(s, key_of(object), dir, needs);
}

enum step step(struct step_world *s, struct want *w)
{
	uint64_t wait_us;

	s->pf.g.now_us = s->w->now_us;
	return turn_take(s->steps, w, s->w->now_us, &wait_us);
}

void assert_call(struct step_world *s, const char *proc, const char *object)
{
	nfs3_fh fh;

	if (!proc) {
		assert_int_equal(s->up.n, s->seen);
		return;
	}
	assert_true(s->seen < s->up.n);
	assert_string_equal(s->up.calls[s->seen].proc->name, proc);
	fh = s->up.calls[s->seen++].args.object;
	assert_int_equal(fh.len, strlen(object));
	assert_memory_equal(fh.data, object, fh.len);
}

void assert_step(
    struct step_world *s, struct want *w, enum step is, const char *calls)
{
	char text[512] = "";

	assert_int_equal(step(s, w), is);
	for (; s->seen < s->up.n; s->seen++) {
		const struct upstream_call *c = &s->up.calls[s->seen];
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s %.*s",
		    len ? ", " : "", c->proc->name, (int)c->args.object.len,
		    (const char *)c->args.object.data);
	}
	assert_string_equal(text, calls);
}

void say_access(struct step_world *s, const char *fh)
{
	say_access_of(s, fh, ACCESS_ALL);
}

void say_access_of(struct step_world *s, const char *fh, uint32_t given)
{
	union nfs_args args = {
	    .access = {.object = fh_of(fh), .access = ACCESS_ALL}};
	union nfs_res res = {.status = NFS3_OK};

	res.access.ACCESS3res_u.resok.access = given;
	say(s->w, NFSPROC3_ACCESS, &args, &res);
}

void know_all(struct step_world *s)
{
	say_dir(s->w);
	say_name(s->w, "file", "file", NF3REG);
	say_access(s, "dir");
	say_access(s, "file");
}
