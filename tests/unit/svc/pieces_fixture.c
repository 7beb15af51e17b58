/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The upstream, the clients and the caches of a svc under test; see the header.
 */
#include "svc/pieces_fixture.h"

#include "prefetch/ground/observe.h"
#include "prefetch/prefetch.h"

struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg)
{
	struct upstream_call *call = calloc(1, sizeof(*call));

	*call = (struct upstream_call){.up = up,
	    .ops = ops,
	    .arg = arg,
	    .proc = req->proc,
	    .cred = *req->cred,
	    .bytes = req->args};
	assert_true(nfs_args_decode(
	    req->proc, req->args.data, req->args.len, &call->args));
	TAILQ_INSERT_TAIL(&up->calls, call, link);
	up->n++;
	return call;
}

static void call_free(struct upstream_call *call)
{
	TAILQ_REMOVE(&call->up->calls, call, link);
	call->up->n--;
	free(call);
}

bool upstream_call_sent(const struct upstream_call *call)
{
	(void)call;
	return true;
}

bool upstream_drop(struct upstream_call *call)
{
	call_free(call);
	return true;
}

bool upstream_call_is_moving(const struct upstream_call *call, uint64_t now_us)
{
	(void)call;
	(void)now_us;
	return true;
}

uint64_t upstream_call_waited_us(
    const struct upstream_call *call, uint64_t now_us)
{
	(void)call;
	(void)now_us;
	return 0;
}

void upstream_abandon(struct upstream_call *call)
{
	(void)call;
}

void upstream_resume(struct upstream_call *call)
{
	(void)call;
}

void upstream_release(struct upstream_call *call)
{
	(void)call;
}

void prefetch_observe(struct prefetch *pf, const struct observe_call *call)
{
	(void)pf;
	(void)call;
}

void prefetch_begins(struct prefetch *pf, const struct observe_call *call)
{
	(void)pf;
	(void)call;
}

static void client_send(struct svc_client *svc_client, const void *head,
    size_t head_len, const struct rbuf_piece *pieces, unsigned n)
{
	struct client *c = (void *)svc_client;

	memcpy(c->bytes, head, head_len);
	c->len = head_len;
	c->copied = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct rbuf_piece *p = &pieces[i];
		const unsigned char *data = p->data;

		if (p->len == 0)
			continue;
		assert_true(c->len + p->len <= sizeof(c->bytes));
		memcpy(c->bytes + c->len, data, p->len);
		c->len += p->len;
		if (!p->hold)
			c->copied += p->len;
		else
			assert_in_range(data, p->hold->data,
			    p->hold->data + p->hold->size - p->len);
	}
	c->replies++;
}

static void client_done(struct svc_client *c)
{
	(void)c;
}

static void client_reject(struct svc_client *c, const char *why)
{
	(void)c;
	fail_msg("%s", why);
}

static const struct svc_client_ops client_ops = {
    .send = client_send, .done = client_done, .reject = client_reject};

void svc_open(struct world *w)
{
	struct svc_params p = {.config = &w->config,
	    .metrics = w->metrics,
	    .fetch = w->fetch,
	    .caches = w->caches,
	    .link = w->link};

	w->svc = svc_new(&p);
	for (unsigned i = 0; i < CLIENTS; i++)
		w->clients[i].svc =
		    (struct svc_client){.ops = &client_ops, .name = "test"};
}

static post_op_attr attr_now(const struct world *w)
{
	post_op_attr p = {.attributes_follow = !w->bare};

	p.post_op_attr_u.attributes = (fattr3){.type = NF3REG,
	    .mode = 0644,
	    .nlink = 1,
	    .size = w->size,
	    .fsid = 7,
	    .fileid = 20,
	    .mtime = {w->ctime, 1},
	    .ctime = {w->ctime, 1}};
	return p;
}

/* The present version of a file has been known since the machine started. */
static void know(struct world *w, const char *file)
{
	nfs3_fh fh = fh_of(file);
	post_op_attr p = attr_now(w);

	attrcache_apply(w->caches->attr, attrcache_get(w->caches->attr, &fh),
	    &p.post_op_attr_u.attributes, 1, 1);
}

void set_size(struct world *w, uint64_t size)
{
	w->size = size;
	know(w, "file");
}

void setup(struct world *w)
{
	TAILQ_INIT(&w->up.calls);
	w->config.policy =
	    (struct config_policy){.consistency = CONFIG_CONSISTENCY_BOUNDED,
		.attr_timeout_us = 3600000000,
		.negative_timeout_us = 3600000000,
		.grant_timeout_us = 3600000000};
	w->pool = rbuf_pool_new(0, 4);
	w->metrics = metrics_new();
	w->caches = caches_new(&w->config, w->metrics, 64 << 20, NULL);
	w->link = linkest_new();
	linkest_set_kind(w->link, CONFIG_LINK_WIRELESS);
	w->fetch = fetch_new(&w->up, NULL, w->metrics, NULL);
	w->size = 1 << 30;
	w->ctime = 5;
	know(w, "file");
	know(w, "other");
	svc_open(w);
}

void teardown(struct world *w)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		svc_client_gone(w->svc, &w->clients[i].svc);
	svc_free(w->svc);
	fetch_free(w->fetch);
	while (!TAILQ_EMPTY(&w->up.calls))
		call_free(TAILQ_FIRST(&w->up.calls));
	linkest_free(w->link);
	caches_free(w->caches);
	metrics_free(w->metrics);
	rbuf_pool_free(w->pool);
}

uint64_t counted(const struct world *w, enum metrics_counter counter)
{
	return metrics_get(w->metrics, counter);
}

/* ---- what clients ask ------------------------------------------------- */

void ask(
    struct world *w, unsigned client, uint32_t proc, const union nfs_args *args)
{
	_Alignas(8) unsigned char bytes[1024];
	const struct nfs_proc *p = nfs_proc_find(NFS_PROGRAM, NFS_V3, proc);
	struct rpc_auth_sys auth = {.uid = 1000, .gid = 1000};
	_Alignas(8) unsigned char body[RPC_AUTH_BODY_MAX];
	struct rpc_call call = {.xid = ++w->xid,
	    .prog = NFS_PROGRAM,
	    .vers = NFS_V3,
	    .proc = proc,
	    .cred = {.flavor = AUTH_SYS, .body = {.data = (char *)body}}};
	struct record rec = {.data = bytes, .received_us = clock_now_us()};

	call.cred.body.len =
	    (uint32_t)rpc_auth_sys_encode(&auth, body, sizeof(body));
	rec.len = rpc_call_encode(&call, bytes, sizeof(bytes));
	rec.len +=
	    nfs_args_encode(p, args, bytes + rec.len, sizeof(bytes) - rec.len);
	svc_receive(w->svc, &w->clients[client].svc, &rec);
	/* Whoever still needs them has a copy. */
	memset(bytes, 0xee, sizeof(bytes));
}

void ask_read(struct world *w, unsigned client, const char *fh, uint64_t offset,
    uint32_t count)
{
	union nfs_args args = {.read = {fh_of(fh), offset, count}};

	ask(w, client, NFSPROC3_READ, &args);
}

/* ---- what the server answers ------------------------------------------ */

struct upstream_call *call_at(struct world *w, unsigned i)
{
	struct upstream_call *call = TAILQ_FIRST(&w->up.calls);

	while (call && i-- > 0)
		call = TAILQ_NEXT(call, link);
	assert_non_null(call);
	return call;
}

static unsigned char pattern(uint64_t offset)
{
	return (
	    unsigned char)(offset * 7 + (offset >> 8) * 13 + (offset >> 16));
}

/* Answer a call with these results and, behind them, bytes of a file. */
static void reply(struct world *w, struct upstream_call *call,
    const union nfs_res *res, uint64_t offset, uint32_t len)
{
	struct upstream_call was = *call;
	struct rbuf *buf = rbuf_get(w->pool, 1024 + len);
	struct rpc_reply rpc;
	struct record rec = {.buf = buf, .data = buf->data};
	struct upstream_result up = {
	    .rec = &rec, .rpc = &rpc, .sent_us = clock_now_us()};

	rec.len = rpc_reply_encode_accepted(9, SUCCESS, 0, 0, buf->data, 512);
	rec.len += nfs_res_encode(call->proc, res, buf->data + rec.len, 512);
	for (uint32_t i = 0; i < len; i++)
		buf->data[rec.len++] = pattern(offset + i);
	while (rec.len % 4 != 0)
		buf->data[rec.len++] = 0;
	assert_true(rpc_reply_decode(rec.data, rec.len, &rpc));
	call_free(call);
	was.ops->on_reply(was.arg, &up);
	rbuf_unref(buf);
}

void serve_short(struct world *w, struct upstream_call *call, uint32_t most)
{
	const READ3args *a = &call->args.read;
	union nfs_res res = {.status = NFS3_OK};
	READ3resok *r = &res.read.READ3res_u.resok;
	uint64_t left = a->offset < w->size ? w->size - a->offset : 0;
	uint64_t offset = a->offset;

	assert_int_equal(call->proc->proc, NFSPROC3_READ);
	r->count = left < a->count ? (uint32_t)left : a->count;
	if (r->count > most)
		r->count = most;
	r->data.len = r->count;
	r->eof = offset + r->count >= w->size;
	r->file_attributes = attr_now(w);
	reply(w, call, &res, offset, r->count);
}

void serve(struct world *w, unsigned i)
{
	serve_short(w, call_at(w, i), UINT32_MAX);
}

void serve_error(struct world *w, unsigned i, nfsstat3 status)
{
	union nfs_res res = {.status = status};

	reply(w, call_at(w, i), &res, 0, 0);
}

void serve_all(struct world *w)
{
	while (w->up.n > 0)
		serve(w, 0);
}

/* ---- what is to be ---------------------------------------------------- */

void expect_call(struct world *w, unsigned i, const char *fh, uint64_t offset,
    uint32_t count)
{
	const READ3args *a = &call_at(w, i)->args.read;

	assert_int_equal(call_at(w, i)->proc->proc, NFSPROC3_READ);
	assert_int_equal(a->file.len, strlen(fh));
	assert_memory_equal(a->file.data, fh, a->file.len);
	assert_int_equal(a->offset, offset);
	assert_int_equal(a->count, count);
}

static void decode_reply(struct client *c)
{
	struct rpc_reply rpc;

	assert_int_equal(c->replies, 1);
	c->replies = 0;
	while (c->len % 4 != 0)
		c->bytes[c->len++] = 0;
	assert_true(rpc_reply_decode(c->bytes, c->len, &rpc));
	assert_true(rpc.accepted);
	assert_int_equal(rpc.status, SUCCESS);
	assert_true(
	    nfs_res_decode(nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_READ),
		rpc.body.data, rpc.body.len, &c->res));
}

void expect_data(
    struct world *w, unsigned client, uint64_t offset, uint32_t count, bool eof)
{
	struct client *c = &w->clients[client];
	const READ3resok *r = &c->res.read.READ3res_u.resok;

	decode_reply(c);
	assert_int_equal(c->res.status, NFS3_OK);
	assert_int_equal(r->count, count);
	assert_int_equal(r->data.len, count);
	assert_int_equal(r->eof, eof);
	for (uint32_t i = 0; i < count; i++)
		if ((unsigned char)r->data.data[i] != pattern(offset + i))
			fail_msg("byte %u is wrong", i);
}

void expect_status(struct world *w, unsigned client, nfsstat3 status)
{
	decode_reply(&w->clients[client]);
	assert_int_equal(w->clients[client].res.status, status);
}

void expect_idle(struct world *w)
{
	assert_int_equal(w->up.n, 0);
	assert_int_equal(fetch_in_flight(w->fetch), 0);
	assert_int_equal(svc_orphans(w->svc), 0);
	assert_int_equal(svc_waiting_us(w->svc), 0);
}
