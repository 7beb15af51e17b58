/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * READs in pieces. Of upstream there is but what fetch asks of it: the test is
 * the server, and answers calls in the order it likes. The link is a wireless
 * one as the configuration has it, which nothing is measured of: three pieces
 * of 16 KiB are under way at most.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "cache/caches.h"
#include "link/linkest.h"
#include "prefetch/observe.h"
#include "prefetch/prefetch.h"
#include "svc/svc.h"
#include "svc/svc_pieces.h"

enum {
	KIB = 1024,
	UNIT = 16 * KIB,
	UNDER_WAY = 3,
	ROOM = 2 << 20, /* for a reply */
};

/* ---- upstream --------------------------------------------------------- */

TAILQ_HEAD(calls, upstream_call);

struct upstream {
	struct calls calls; /* not answered, the oldest first */
	unsigned n;
};

struct upstream_call {
	TAILQ_ENTRY(upstream_call) link;
	struct upstream *up;
	const struct upstream_call_ops *ops;
	void *arg;
	const struct nfs_proc *proc;
	struct rpc_cred cred;
	struct xdr_view bytes; /* as they were given */
	union nfs_args args;
};

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

/* ---- clients ---------------------------------------------------------- */

struct client {
	struct svc_client svc;
	unsigned replies;
	unsigned char bytes[ROOM]; /* of the last reply, from its XID on */
	size_t len;
	size_t copied; /* of its payload */
	union nfs_res res;
};

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

/* ---- the world -------------------------------------------------------- */

enum { CLIENTS = 3 };

struct world {
	struct upstream up;
	struct rbuf_pool *pool;
	struct metrics *metrics;
	struct config_server config;
	struct caches *caches;
	struct linkest *link;
	struct fetch *fetch;
	struct svc *svc;
	struct client clients[CLIENTS];
	uint32_t xid;
	/* What the server has. */
	uint64_t size;
	uint32_t ctime;
	bool bare; /* it sends no attributes */
};

static void svc_open(struct world *w)
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

static nfs3_fh fh_of(const char *text)
{
	return (nfs3_fh){.len = (uint32_t)strlen(text), .data = text};
}

/* The present version of a file has been known since the machine started. */
static void know(struct world *w, const char *file)
{
	nfs3_fh fh = fh_of(file);
	post_op_attr p = attr_now(w);

	attrcache_apply(w->caches->attr, attrcache_get(w->caches->attr, &fh),
	    &p.post_op_attr_u.attributes, 1, 1);
}

/* The file has had this length all the time. */
static void set_size(struct world *w, uint64_t size)
{
	w->size = size;
	know(w, "file");
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

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
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

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
	free(w);
	return 0;
}

static uint64_t counted(const struct world *w, enum metrics_counter counter)
{
	return metrics_get(w->metrics, counter);
}

/* ---- what clients ask ------------------------------------------------- */

static void ask(
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

static void ask_read(struct world *w, unsigned client, const char *fh,
    uint64_t offset, uint32_t count)
{
	union nfs_args args = {.read = {fh_of(fh), offset, count}};

	ask(w, client, NFSPROC3_READ, &args);
}

/* ---- what the server answers ------------------------------------------ */

static struct upstream_call *call_at(struct world *w, unsigned i)
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

/* Not more than `most` bytes. */
static void serve_short(
    struct world *w, struct upstream_call *call, uint32_t most)
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

static void serve(struct world *w, unsigned i)
{
	serve_short(w, call_at(w, i), UINT32_MAX);
}

static void serve_error(struct world *w, unsigned i, nfsstat3 status)
{
	union nfs_res res = {.status = status};

	reply(w, call_at(w, i), &res, 0, 0);
}

static void serve_all(struct world *w)
{
	while (w->up.n > 0)
		serve(w, 0);
}

/* ---- what is to be ---------------------------------------------------- */

static void expect_call(struct world *w, unsigned i, const char *fh,
    uint64_t offset, uint32_t count)
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

static void expect_data(
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

static void expect_status(struct world *w, unsigned client, nfsstat3 status)
{
	decode_reply(&w->clients[client]);
	assert_int_equal(w->clients[client].res.status, status);
}

static void expect_idle(struct world *w)
{
	assert_int_equal(w->up.n, 0);
	assert_int_equal(fetch_in_flight(w->fetch), 0);
	assert_int_equal(svc_orphans(w->svc), 0);
	assert_int_equal(svc_waiting_us(w->svc), 0);
}

/* ---- whether and how -------------------------------------------------- */

static void test_unit(void **state)
{
	struct linkest *le = linkest_new();

	(void)state;
	assert_int_equal(svc_pieces_unit(le, 1 << 20), 0);
	linkest_set_kind(le, CONFIG_LINK_WIRELESS);
	assert_int_equal(svc_pieces_unit(le, 4 * KIB), 0);
	assert_int_equal(svc_pieces_unit(le, UNIT), 0);
	assert_int_equal(svc_pieces_unit(le, UNIT + 1), 12 * KIB);
	assert_int_equal(svc_pieces_unit(le, 128 * KIB), UNIT);
	assert_int_equal(svc_pieces_unit(le, 1 << 20), UNIT);
	linkest_set_kind(le, CONFIG_LINK_WIRED);
	assert_int_equal(svc_pieces_unit(le, UNIT), 0);
	assert_int_equal(svc_pieces_unit(le, 128 * KIB), 24 * KIB);
	assert_int_equal(svc_pieces_unit(le, 1 << 20), 24 * KIB);
	linkest_free(le);
}

static void test_window(void **state)
{
	struct linkest *le = linkest_new();
	uint64_t wire = linkest_wire_bytes(132 + UNIT);

	(void)state;
	assert_int_equal(svc_pieces_window(le, UNIT), 4 * wire);
	/* The pipe and 20 ms of jitter, twice, and one more. */
	linkest_set_kind(le, CONFIG_LINK_WIRELESS);
	assert_int_equal(svc_pieces_window(le, UNIT), 20000 + wire);
	/* 1 ms, and 10 for the server. */
	linkest_set_kind(le, CONFIG_LINK_WIRED);
	assert_int_equal(svc_pieces_window(le, UNIT), 13750 + wire);
	linkest_free(le);
}

static void test_whole_where_the_rate_is_unknown(void **state)
{
	struct world *w = *state;

	linkest_set_kind(w->link, CONFIG_LINK_AUTO);
	ask_read(w, 0, "file", 0, 1 << 20);
	assert_int_equal(w->up.n, 1);
	expect_call(w, 0, "file", 0, 1 << 20);
	serve(w, 0);
	expect_data(w, 0, 0, 1 << 20, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
	expect_idle(w);
}

static void test_small_ones_are_whole(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 100, UNIT);
	expect_call(w, 0, "file", 100, UNIT);
	serve(w, 0);
	expect_data(w, 0, 100, UNIT, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
}

/* ---- answers ---------------------------------------------------------- */

static void test_put_together_by_reference(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 4096, 1 << 20);
	for (uint64_t i = 0; i < 64; i++) {
		expect_call(w, 0, "file", 4096 + i * UNIT, UNIT);
		assert_int_equal(w->clients[0].replies, 0);
		serve(w, 0);
	}
	expect_data(w, 0, 4096, 1 << 20, false);
	assert_int_equal(w->clients[0].copied, 0);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 1);
	assert_int_equal(counted(w, METRICS_READ_PIECES), 64);
	assert_int_equal(counted(w, METRICS_BYTES_RETURNED), 1 << 20);
	assert_int_equal(counted(w, METRICS_BYTES_COPIED), 0);
	expect_idle(w);
}

static void test_odd_lengths(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 3, 40001);
	expect_call(w, 0, "file", 3, UNIT);
	serve(w, 0);
	serve(w, 0);
	expect_call(w, 0, "file", 3 + 2 * UNIT, 40001 - 2 * UNIT);
	serve(w, 0);
	expect_data(w, 0, 3, 40001, false);
	expect_idle(w);
}

static void test_any_order(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 4 * UNIT);
	serve(w, 1);
	serve(w, 1);
	serve(w, 1);
	assert_int_equal(w->clients[0].replies, 0);
	expect_call(w, 0, "file", 0, UNIT);
	serve(w, 0);
	expect_data(w, 0, 0, 4 * UNIT, false);
	expect_idle(w);
}

static void test_end_of_file(void **state)
{
	struct world *w = *state;

	set_size(w, UNIT + 100);
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	/* The next ones are under way already. */
	serve(w, 0);
	expect_data(w, 0, 0, UNIT + 100, true);
	assert_int_equal(w->up.n, UNDER_WAY - 1);
	serve_all(w);
	assert_int_equal(counted(w, METRICS_READ_PIECES), UNDER_WAY + 1);
	expect_idle(w);
}

static void test_file_ends_with_a_piece(void **state)
{
	struct world *w = *state;

	set_size(w, 2 * UNIT);
	ask_read(w, 0, "file", 0, 2 * UNIT);
	serve_all(w);
	expect_data(w, 0, 0, 2 * UNIT, true);
	ask_read(w, 0, "file", 4 * UNIT, 4 * UNIT);
	serve_all(w);
	expect_data(w, 0, 4 * UNIT, 0, true);
	expect_idle(w);
}

static void test_short_piece(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	serve_short(w, call_at(w, 0), 1000);
	expect_data(w, 0, 0, UNIT + 1000, false);
	serve_all(w);
	expect_idle(w);
}

/* ---- pieces that do not fit ------------------------------------------- */

/* The rest is not asked for; the READ is, as it came. */
static void expect_whole(struct world *w, uint32_t count)
{
	unsigned last = w->up.n - 1;

	assert_int_equal(counted(w, METRICS_READS_WHOLE), 1);
	assert_int_equal(w->clients[0].replies, 0);
	expect_call(w, last, "file", 0, count);
	serve_all(w);
	expect_data(w, 0, 0, count, false);
	expect_idle(w);
}

static void test_changed_in_between(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	w->ctime++;
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
	/* For a while, since it may go on; other files are as ever. */
	ask_read(w, 1, "file", 8 * UNIT, 8 * UNIT);
	expect_call(w, 0, "file", 8 * UNIT, 8 * UNIT);
	ask_read(w, 2, "other", 0, 8 * UNIT);
	expect_call(w, 1, "other", 0, UNIT);
}

/* Before the first piece: that one is too early to tell. */
static void test_changed_before(void **state)
{
	struct world *w = *state;

	w->ctime++;
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
}

/* It might change again within the same tick of the server's clock. */
static void test_new_files_are_whole(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "new", 0, 8 * UNIT);
	expect_call(w, 0, "new", 0, 8 * UNIT);
	serve(w, 0);
	expect_data(w, 0, 0, 8 * UNIT, false);
	assert_int_equal(counted(w, METRICS_READS_SPLIT), 0);
}

static void test_no_attributes(void **state)
{
	struct world *w = *state;

	w->bare = true;
	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
	ask_read(w, 0, "other", 0, 8 * UNIT);
	expect_call(w, 0, "other", 0, 8 * UNIT);
}

static void test_first_error_is_the_answer(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve_error(w, 0, NFS3ERR_ACCES);
	expect_status(w, 0, NFS3ERR_ACCES);
	assert_int_equal(w->up.n, UNDER_WAY - 1);
	serve_all(w);
	assert_int_equal(counted(w, METRICS_READS_WHOLE), 0);
	expect_idle(w);
}

static void test_later_error(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	serve_error(w, 1, NFS3ERR_IO);
	expect_whole(w, 8 * UNIT);
}

/* More than was asked for. */
static void test_malformed_piece(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 8 * UNIT);
	serve(w, 0);
	call_at(w, 0)->args.read.count++;
	serve(w, 0);
	expect_whole(w, 8 * UNIT);
}

/* ---- the link --------------------------------------------------------- */

static void test_window_is_of_all(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < CLIENTS; i++) {
		ask_read(w, i, "file", i << 20, 1 << 20);
		ask_read(w, i, "other", i << 20, 8 * UNIT);
		assert_int_equal(w->up.n, UNDER_WAY);
	}
	for (unsigned i = 0; i < 3 * (64 + 8) - UNDER_WAY; i++) {
		serve(w, i % UNDER_WAY);
		assert_int_equal(w->up.n, UNDER_WAY);
	}
	serve_all(w);
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(w->clients[i].replies, 2);
	expect_idle(w);
}

static void test_turns(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 4 * UNIT);
	ask_read(w, 0, "file", 4 * UNIT, 4 * UNIT);
	ask_read(w, 1, "other", 0, 4 * UNIT);
	for (uint64_t i = 0; i < UNDER_WAY; i++)
		expect_call(w, (unsigned)i, "file", i * UNIT, UNIT);
	for (unsigned i = 0; i < UNDER_WAY; i++)
		serve(w, 0);
	/* Of a file in the order of the READs, since a reader waits for the
	 * first one. */
	for (uint64_t i = 0; i < 4; i++) {
		expect_call(w, 0, "file", (i + UNDER_WAY) * UNIT, UNIT);
		serve(w, 0);
		expect_call(w, 0, "other", i * UNIT, UNIT);
		serve(w, 0);
	}
	serve_all(w);
	expect_idle(w);
}

static void test_small_calls_pass(void **state)
{
	struct world *w = *state;
	union nfs_args args = {.object = fh_of("dir")};

	ask_read(w, 0, "file", 0, 1 << 20);
	ask(w, 1, NFSPROC3_GETATTR, &args);
	ask_read(w, 1, "small", 0, 4096);
	assert_int_equal(w->up.n, UNDER_WAY + 2);
	assert_int_equal(call_at(w, UNDER_WAY)->proc->proc, NFSPROC3_GETATTR);
	expect_call(w, UNDER_WAY + 1, "small", 0, 4096);
}

/* ---- who goes away ---------------------------------------------------- */

static void test_client_gone(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 1 << 20);
	serve(w, 0);
	svc_client_gone(w->svc, &w->clients[0].svc);
	assert_int_equal(svc_waiting_us(w->svc), 0);
	serve_all(w);
	assert_int_equal(w->clients[0].replies, 0);
	assert_int_equal(counted(w, METRICS_READ_PIECES), UNDER_WAY + 1);
	expect_idle(w);
	/* The link is free again. */
	ask_read(w, 1, "file", 0, 8 * UNIT);
	serve_all(w);
	expect_data(w, 1, 0, 8 * UNIT, false);
}

/* What others wait for is asked all the same. */
static void test_client_gone_and_others_watch(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 4 * UNIT);
	serve(w, 0);
	ask_read(w, 1, "file", 3 * UNIT, 4096);
	assert_int_equal(counted(w, METRICS_CALLS_JOINED), 1);
	assert_int_equal(w->up.n, UNDER_WAY);
	svc_client_gone(w->svc, &w->clients[0].svc);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(w->clients[1].replies, 0);
		expect_call(w, 0, "file", (i + 1) * UNIT, UNIT);
		serve(w, 0);
	}
	/* There is no cache for data here. */
	assert_int_equal(w->up.n, 1);
	expect_call(w, 0, "file", 3 * UNIT, 4096);
	serve(w, 0);
	expect_data(w, 1, 3 * UNIT, 4096, false);
	expect_idle(w);
}

static void test_offline(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 1 << 20);
	svc_set_offline(w->svc, true);
	expect_status(w, 0, NFS3ERR_IO);
	assert_int_equal(w->up.n, UNDER_WAY);
	svc_set_offline(w->svc, false);
	serve_all(w);
	expect_idle(w);
}

/* All is freed, and calls under way hear no more. */
static void test_shutdown(void **state)
{
	struct world *w = *state;

	ask_read(w, 0, "file", 0, 1 << 20);
	ask_read(w, 1, "file", 1 << 20, 1 << 20);
	serve(w, 0);
	svc_client_gone(w->svc, &w->clients[0].svc);
	svc_client_gone(w->svc, &w->clients[1].svc);
	svc_free(w->svc);
	assert_int_equal(fetch_in_flight(w->fetch), 0);
	svc_open(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unit),
	    cmocka_unit_test(test_window),
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	    WITH(test_whole_where_the_rate_is_unknown),
	    WITH(test_small_ones_are_whole),
	    WITH(test_put_together_by_reference),
	    WITH(test_odd_lengths),
	    WITH(test_any_order),
	    WITH(test_end_of_file),
	    WITH(test_file_ends_with_a_piece),
	    WITH(test_short_piece),
	    WITH(test_changed_in_between),
	    WITH(test_changed_before),
	    WITH(test_new_files_are_whole),
	    WITH(test_no_attributes),
	    WITH(test_first_error_is_the_answer),
	    WITH(test_later_error),
	    WITH(test_malformed_piece),
	    WITH(test_window_is_of_all),
	    WITH(test_turns),
	    WITH(test_small_calls_pass),
	    WITH(test_client_gone),
	    WITH(test_client_gone_and_others_watch),
	    WITH(test_offline),
	    WITH(test_shutdown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
