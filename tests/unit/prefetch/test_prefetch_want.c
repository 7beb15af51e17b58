/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A want lives from its first prediction on: more predictions are merged into
 * it, its source takes it back, or it waits for calls that are under way. Of
 * upstream there is but what fetch asks of it: calls go nowhere, and the test
 * answers them by their number.
 */
#include "unittest.h"
#include "base/metrics.h"
#include "cache/attrcache.h"
#include "prefetch/prefetch_fixture.h"

/* ---- a server that is silent ------------------------------------------ */

struct upstream {
	struct upstream_call *last;
};

struct upstream_call {
	const struct upstream_call_ops *ops;
	void *arg;
};

struct upstream_call *upstream_send(struct upstream *up,
    const struct upstream_request *req, const struct upstream_call_ops *ops,
    void *arg)
{
	struct upstream_call *call = calloc(1, sizeof(*call));

	(void)req;
	*call = (struct upstream_call){.ops = ops, .arg = arg};
	up->last = call;
	return call;
}

bool upstream_drop(struct upstream_call *call)
{
	(void)call;
	return false;
}

/* ---- a prefetch with nothing but wants -------------------------------- */

enum { CREDS = 2, FLIGHTS = WANT_WATCHES + 2 };

/* A call under way about object 100 + its index. */
struct call {
	struct fetch_waiter waiter;
	struct upstream_call *call;
};

struct world {
	struct rooms pf;
	struct credential *creds[CREDS];
	struct call calls[FLIGHTS];
	struct upstream up;
};

static void setup(struct world *w)
{
	rooms_open(&w->pf, w->creds, CREDS);
	w->pf.g.fetch = fetch_new(&w->up, NULL, w->pf.g.metrics, NULL);
}

static void teardown(struct world *w)
{
	queue_free(w->pf.queue);
	w->pf.queue = NULL;
	for (int i = 0; i < FLIGHTS; i++)
		free(w->calls[i].call);
	fetch_free(w->pf.g.fetch);
	rooms_close(&w->pf, w->creds, CREDS);
}

static struct want *add(struct world *w, uint64_t object, uint32_t lead)
{
	return rooms_want_attr(&w->pf, w->creds[0], object, lead);
}

static void assert_next(struct world *w, uint64_t object)
{
	struct want *want = queue_next(w->pf.queue);

	assert_non_null(want);
	assert_int_equal(want->wish.object, object);
	want_drop(want);
}

static void flight_on_reply(
    struct fetch_waiter *waiter, const struct upstream_result *res)
{
	(void)waiter;
	(void)res;
}

static const struct fetch_ops flight_ops = {.on_reply = flight_on_reply};

static struct fetch_about about(unsigned i)
{
	return (struct fetch_about){
	    .object = 100 + i, .proc = NFSPROC3_ACCESS, .cred = 1};
}

static void depart(struct world *w, unsigned i)
{
	static const char args[4];
	struct fetch_about a = about(i);
	struct upstream_request req = {
	    .proc = nfs_proc_find(NFS_PROGRAM, NFS_V3, NFSPROC3_ACCESS),
	    .cred = &w->creds[0]->rpc,
	    .args = {.data = args, .len = sizeof(args)}};

	w->calls[i].waiter.ops = &flight_ops;
	assert_int_equal(
	    fetch_start(w->pf.g.fetch, &req, &a, &w->calls[i].waiter), 0);
	w->calls[i].call = w->up.last;
}

static void arrive(struct world *w, unsigned i)
{
	FREED struct upstream_call *call = w->calls[i].call;
	struct upstream_result res = {.latency_us = 1};

	w->calls[i].call = NULL;
	call->ops->on_reply(call->arg, &res);
}

FIXTURE(struct world, setup, teardown);

/* A listing spares as many lookups as the most hopeful say, until somebody will
 * read it. */
TEST(test_spared, struct world *w)
{
	struct prediction pred = {
	    .object = 10, .p = 0.5f, .lead = 1, .needs = PREDICTOR_NEEDS_ATTR};
	struct want *x = want_add(w->pf.queue, w->creds[0], &pred, 1, 1);

	assert_non_null(x);
	pred.needs = PREDICTOR_NEEDS_LISTING;
	pred.calls_spared = 3;
	(void)want_add(w->pf.queue, w->creds[0], &pred, 1, 1);
	assert_true(x->wish.calls_spared == 3);
	pred.calls_spared = 2;
	(void)want_add(w->pf.queue, w->creds[0], &pred, 1, 1);
	assert_true(x->wish.calls_spared == 3);
	pred.needs = PREDICTOR_NEEDS_ATTR;
	pred.calls_spared = 0;
	(void)want_add(w->pf.queue, w->creds[0], &pred, 1, 1);
	assert_true(x->wish.calls_spared == 3);
	pred.needs = PREDICTOR_NEEDS_LISTING;
	(void)want_add(w->pf.queue, w->creds[0], &pred, 1, 1);
	assert_true(x->wish.calls_spared == 0);
	pred.calls_spared = 9;
	(void)want_add(w->pf.queue, w->creds[0], &pred, 1, 1);
	assert_true(x->wish.calls_spared == 0);
	want_drop(queue_next(w->pf.queue));
}

/* ---- merging ---------------------------------------------------------- */

TEST(test_merge, struct world *w)
{
	struct want *want = add(w, 10, 40);
	struct prediction pred = {.object = 10,
	    .parent = 5,
	    .p = 0.9f,
	    .lead = 2,
	    .first_bytes = 65536,
	    .needs = PREDICTOR_NEEDS_DATA};

	add(w, 11, 9);
	assert_ptr_equal(
	    want_add(w->pf.queue, w->creds[0], &pred, 1, T0 + 5), want);
	assert_int_equal(w->pf.queue->nwants, 2);
	assert_int_equal(w->pf.queue->nqueued, 2);
	assert_int_equal(
	    want->wish.needs, PREDICTOR_NEEDS_DATA | PREDICTOR_NEEDS_ATTR);
	assert_true(want->wish.p > 0.89f);
	assert_int_equal(want->wish.first_bytes, 65536);
	/* Its directory was not known: what stands on its name needs it. */
	assert_int_equal(want->wish.parent, 5);
	pred = (struct prediction){.object = 10, .p = 0.2f, .lead = 300};
	assert_ptr_equal(
	    want_add(w->pf.queue, w->creds[0], &pred, 1, T0 + 6), want);
	assert_true(want->wish.p > 0.89f);
	assert_int_equal(want->wish.first_bytes, 65536);
	assert_int_equal(want->wish.parent, 5);
	/* Nearer than 11 now, and no further away since. */
	assert_next(w, 10);
	assert_next(w, 11);
}

/* Rights are one's own: the same object is wanted by each. */
TEST(test_creds, struct world *w)
{
	struct prediction pred = {.object = 10, .p = 0.5f, .lead = 1};
	struct want *a = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);
	struct want *b = want_add(w->pf.queue, w->creds[1], &pred, 1, T0);

	assert_ptr_not_equal(a, b);
	assert_int_equal(w->pf.queue->nwants, 2);
	assert_ptr_equal(want_add(w->pf.queue, w->creds[1], &pred, 1, T0), b);
	assert_int_equal(w->creds[1]->refs, 2);
	want_drop(b);
	assert_int_equal(w->creds[1]->refs, 1);
	assert_ptr_equal(queue_next(w->pf.queue), a);
}

/* A want that waits for an answer is not queued when it is wanted again. */
TEST(test_merge_waiting, struct world *w)
{
	struct want *want = add(w, 10, 40);

	assert_ptr_equal(queue_next(w->pf.queue), want);
	assert_ptr_equal(add(w, 10, 1), want);
	assert_null(queue_next(w->pf.queue));
	add(w, 11, 9);
	queue_put(want, false);
	assert_next(w, 10);
	assert_next(w, 11);
}

/* ---- ranges ----------------------------------------------------------- */

static struct want *add_range(
    struct world *w, uint64_t offset, uint32_t count, enum note_source source)
{
	struct want_range r = {.object = 10,
	    .offset_bytes = offset,
	    .count_bytes = count,
	    .p = 0.9f,
	    .lead = 1,
	    .source = (uint8_t)source};

	return want_add_range(w->pf.queue, w->creds[0], &r, T0);
}

/* Beside what is wanted of the object otherwise, and in the same lanes. */
TEST(test_ranges, struct world *w)
{
	struct want *file = add(w, 10, 1);
	struct want *a = add_range(w, 0, 4096, NOTE_FROM_PATTERN);
	struct want *b = add_range(w, 8192, 4096, NOTE_FROM_PATTERN);
	struct want *hint = add_range(w, 8192, 4096, NOTE_FROM_HINT);

	assert_int_equal(w->pf.queue->nwants, 4);
	assert_ptr_equal(add_range(w, 8192, 16384, NOTE_FROM_PATTERN), b);
	assert_ptr_equal(add_range(w, 8192, 512, NOTE_FROM_PATTERN), b);
	assert_ptr_equal(add(w, 10, 1), file);
	assert_int_equal(w->pf.queue->nwants, 4);
	assert_int_equal(a->wish.count, 4096);
	assert_int_equal(b->wish.count, 16384);
	assert_int_equal(hint->wish.count, 4096);
	assert_true(a->wish.needs & PREDICTOR_NEEDS_DATA);
	assert_ptr_equal(queue_next(w->pf.queue), file);
	assert_ptr_equal(queue_next(w->pf.queue), a);
	assert_ptr_equal(queue_next(w->pf.queue), b);
	assert_ptr_equal(queue_next(w->pf.queue), hint);
}

/* The pattern's range at that offset of file 10 is not wanted any more. */
static void no_more(struct world *w, struct credential *cred, uint64_t offset)
{
	struct want_range r = {
	    .object = 10, .offset_bytes = offset, .source = NOTE_FROM_PATTERN};

	want_drop_range(w->pf.queue, cred, &r);
}

/* Each source takes back what it wanted itself. */
TEST(test_drop_range, struct world *w)
{
	struct want *hint;

	add(w, 10, 1);
	add_range(w, 0, 4096, NOTE_FROM_PATTERN);
	hint = add_range(w, 0, 4096, NOTE_FROM_HINT);
	no_more(w, w->creds[0], 4096);
	no_more(w, w->creds[1], 0);
	assert_int_equal(w->pf.queue->nwants, 3);
	no_more(w, w->creds[0], 0);
	no_more(w, w->creds[0], 0);
	assert_int_equal(w->pf.queue->nwants, 2);
	assert_next(w, 10);
	assert_ptr_equal(queue_next(w->pf.queue), hint);
}

/* A range that is hardly likely to be read is not worth its bytes. */
TEST(test_range_unlikely, struct world *w)
{
	struct want_range r = {
	    .object = 10, .count_bytes = 1 << 20, .p = 0.01f, .lead = 1};

	r.source = NOTE_FROM_HINT;
	assert_null(want_add_range(w->pf.queue, w->creds[0], &r, T0));
	assert_int_equal(w->pf.queue->nwants, 0);
	assert_int_equal(notes_find(w->pf.notes, 10)->state, NOTE_UNLIKELY);
}

/* Only what was not asked for yet, and of that credential. */
TEST(test_withdraw, struct world *w)
{
	struct want *asked = add(w, 11, 1);

	add(w, 10, 1);
	want_withdraw(w->pf.queue, w->creds[1], 10, T0);
	assert_int_equal(w->pf.queue->nwants, 2);
	want_withdraw(w->pf.queue, w->creds[0], 10, T0);
	want_withdraw(w->pf.queue, w->creds[0], 10, T0);
	assert_int_equal(w->pf.queue->nwants, 1);
	assert_ptr_equal(queue_next(w->pf.queue), asked);
	want_withdraw(w->pf.queue, w->creds[0], 11, T0);
	assert_int_equal(w->pf.queue->nwants, 1);
}

/* ---- waiting ---------------------------------------------------------- */

/* A want that watches the first `n` calls. */
static struct want *watching(struct world *w, uint64_t object, unsigned n)
{
	struct want *want = add(w, object, 1);

	assert_ptr_equal(queue_next(w->pf.queue), want);
	for (unsigned i = 0; i < n; i++) {
		struct fetch_about a = about(i);

		assert_true(want_watch(want, &a));
	}
	return want;
}

TEST(test_watch, struct world *w)
{
	struct fetch_about none = about(5);
	struct want *want;

	depart(w, 0);
	depart(w, 1);
	want = watching(w, 10, 2);
	assert_int_equal(want->pending, 2);
	assert_false(want_watch(want, &none));
	assert_int_equal(want->pending, 2);
	add(w, 11, 1);
	arrive(w, 1);
	assert_false(want->state == WANT_QUEUED);
	arrive(w, 0);
	/* It goes on at once, before what has not begun. */
	assert_int_equal(want->pending, 0);
	assert_next(w, 10);
	assert_next(w, 11);
}

/* More calls than it can watch; and its watches serve again. */
TEST(test_watch_many, struct world *w)
{
	struct fetch_about next = about(WANT_WATCHES);
	struct want *want;

	for (unsigned i = 0; i < FLIGHTS; i++)
		depart(w, i);
	want = watching(w, 10, FLIGHTS);
	assert_int_equal(want->pending, WANT_WATCHES);
	arrive(w, FLIGHTS - 1);
	for (unsigned i = 0; i + 1 < WANT_WATCHES; i++)
		arrive(w, i);
	assert_int_equal(want->pending, 1);
	assert_false(want->state == WANT_QUEUED);
	arrive(w, WANT_WATCHES - 1);
	assert_true(want->state == WANT_QUEUED);
	assert_ptr_equal(queue_next(w->pf.queue), want);
	assert_true(want_watch(want, &next));
	arrive(w, WANT_WATCHES);
	assert_next(w, 10);
}

/* Twice the same call: both watches ring, and it is queued once. */
TEST(test_watch_twice, struct world *w)
{
	struct fetch_about a = about(0);
	struct want *want;

	depart(w, 0);
	want = watching(w, 10, 1);
	assert_true(want_watch(want, &a));
	assert_int_equal(want->pending, 2);
	arrive(w, 0);
	assert_int_equal(w->pf.queue->nqueued, 1);
	assert_next(w, 10);
	assert_null(queue_next(w->pf.queue));
}

/* Dropped while it waits: the answer finds nobody, or only the others. */
TEST(test_drop_watching, struct world *w)
{
	struct fetch_about last = about(2);
	struct want *a, *b;

	depart(w, 0);
	depart(w, 1);
	a = watching(w, 10, 2);
	b = watching(w, 11, 2);
	want_drop(a);
	assert_int_equal(w->pf.queue->nwants, 1);
	arrive(w, 0);
	arrive(w, 1);
	assert_int_equal(w->pf.queue->nqueued, 1);
	assert_ptr_equal(queue_next(w->pf.queue), b);
	/* With its watches still set at the end. */
	depart(w, 2);
	assert_true(want_watch(b, &last));
	queue_free(w->pf.queue);
	w->pf.queue = NULL;
	arrive(w, 2);
}
