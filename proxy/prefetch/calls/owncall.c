/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the proxy's own, from their arguments to what came of them. */
#include "prefetch/calls/owncall.h"

#include "cache/learn.h"

static void on_reply(struct fetch_waiter *w, const struct upstream_result *up)
{
	struct owncall *c =
	    (void *)((char *)w - offsetof(struct owncall, waiter));
	union nfs_res res;
	enum reply_kind kind = reply_decode(up, c->proc, &c->args, &res);

	c->on_reply(c, kind, kind == REPLY_RESULTS ? &res : NULL, up);
}

static const struct fetch_ops ops = {.on_reply = on_reply};

bool owncall_send(struct owncall *c, struct fetch *f,
    const struct rpc_cred *cred, const struct fetch_about *about, void *buf,
    size_t size)
{
	size_t len = nfs_args_encode(c->proc, &c->args, buf, size);
	struct upstream_request req = {.proc = c->proc,
	    .cred = cred,
	    .args = {.data = buf, .len = (uint32_t)len},
	    .alone = c->alone};

	c->waiter.ops = &ops;
	return len > 0 && fetch_start(f, &req, about, &c->waiter) == 0;
}

void owncall_learn(const struct owncall *c, struct caches *caches,
    const union nfs_res *res, const struct upstream_result *up, uint64_t now_us,
    bool ahead)
{
	struct learn l = {.caches = caches,
	    .proc = c->proc,
	    .args = &c->args,
	    .res = res,
	    .cred = c->cred_id,
	    .body = &up->rpc->body,
	    .hold = up->rec->buf,
	    .sent_us = up->sent_us,
	    .now_us = now_us,
	    .ahead = ahead};

	learn_reply(&l);
}
