/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session leads to wants: these tests look at whose credential they have, how
 * much is wanted at a time, and what is left of it when it is over. */
#include <event2/event.h>

#include "unittest.h"
#include "base/metrics.h"
#include "config/config.h"
#include "prefetch/prefetch_fixture.h"

#define SECOND_US UINT64_C(1000000)

enum { CREDS = 3, JOB = 600, UID = 1000, QUEUE = 128 + 64 };

struct world {
	struct rooms pf;
	struct credential *creds[CREDS]; /* two of UID's, and another user's */
	struct config_server config;
	uint64_t now_us;
};

static void world_close(struct world *w)
{
	rooms_close(&w->pf, w->creds, CREDS);
	event_base_free(w->pf.g.base);
	free(w);
}

/* It is there until the test is over. */
static struct world *world_open(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct predictor_options po = {.budget_bytes = 64 << 20};

	w->config = (struct config_server){.session_pause_us = 600 * SECOND_US,
	    .session_time_us = 60 * SECOND_US,
	    .session_size = 1 << 20};
	w->pf.g.config = &w->config;
	w->pf.g.base = event_base_new();
	w->pf.g.predictor = predictor_new(&po);
	assert_non_null(w->pf.g.predictor);
	rooms_open(&w->pf, w->creds, CREDS);
	rooms_add(&w->pf, &source_session);
	w->now_us = T0;
	return AFTER(world_close, w);
}

/* As prefetch.c does, of calls that predict nothing else. */
static void use(struct world *w, int cred, uint64_t object)
{
	struct predictor_obs o = {.kind = PREDICTOR_LOOKUP,
	    .now_ns = w->now_us * 1000,
	    .latency_ns = 1000,
	    .actor = cred < 2 ? 5 : 6,
	    .client = 7,
	    .space = 8,
	    .uid = cred < 2 ? UID : UID + 1,
	    .object = object,
	    .recent_ns = SECOND_US * 1500,
	    .parent = 1,
	    .name_hash = object};

	predictor_observe(w->pf.g.predictor, &o);
	rooms_hear(&w->pf, &(struct passed){.obs = o, .cred = w->creds[cred]},
	    w->now_us);
	w->now_us += 1000;
}

static struct world *world_taught(void)
{
	struct world *w = world_open();

	for (int n = 0; n < 3; n++) {
		for (uint64_t i = 0; i < JOB; i++)
			use(w, 0, 100 + i);
		w->now_us += 601 * SECOND_US;
	}
	return w;
}

static uint64_t counter(const struct world *w, enum metrics_counter c)
{
	return metrics_get(w->pf.g.metrics, c);
}

TEST(test_whose)
{
	struct world *w = world_taught();
	struct want *want;

	use(w, 2, 100);
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_int_equal(w->pf.queue->nwants, 0);
	use(w, 1, 100);
	/* The same user, with other groups: it stays with the first one. */
	use(w, 0, 101);
	assert_false(sources_in_session(w->creds[0]));
	assert_true(sources_in_session(w->creds[1]));
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_in_range(w->pf.queue->nwants, 50, 100);
	while ((want = queue_next(w->pf.queue)) != NULL) {
		assert_ptr_equal(want->wish.cred, w->creds[1]);
		assert_true(wish_is_of_session(&want->wish));
		assert_true(want->lane > 0);
	}
	assert_int_equal(
	    event_base_get_num_events(w->pf.g.base, EVENT_BASE_COUNT_ADDED), 1);
}

/* However much is due, a link that takes nothing has no more waiting. */
TEST(test_room)
{
	struct world *w = world_taught();

	for (uint64_t i = 0; i < JOB / 2; i++)
		use(w, 0, 100 + i);
	for (int i = 0; i < 10; i++)
		(void)sources_turn(w->pf.sources, w->now_us);
	assert_in_range(w->pf.queue->nwants, 100, QUEUE);
	assert_true(counter(w, METRICS_SESSION_WANTED) <= QUEUE);
	assert_int_equal(counter(w, METRICS_SESSIONS_REPLAYED), 1);
}

TEST(test_otherwise)
{
	struct world *w = world_taught();

	use(w, 0, 100);
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_true(w->pf.queue->nwants > 0);
	for (uint64_t i = 0; i < 40; i++)
		use(w, 0, 9000 + i);
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_false(sources_in_session(w->creds[0]));
	assert_int_equal(counter(w, METRICS_SESSIONS_STOPPED), 1);
}

/* A want that somebody else foresees, too, is not the session's to pay for. */
TEST(test_merge)
{
	struct world *w = world_open();
	struct prediction pred = {.object = 5,
	    .p = 0.9f,
	    .lead = 10,
	    .read_bytes = 100000,
	    .needs = PREDICTOR_NEEDS_DATA,
	    .source = PREDICTOR_FROM_SESSION,
	    .early = true};
	struct want *want = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);

	assert_true(wish_is_of_session(&want->wish) && want->wish.far_off);
	assert_int_equal(want->wish.read_bytes, 100000);
	want = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);
	assert_true(wish_is_of_session(&want->wish) && want->wish.far_off);
	pred.early = false;
	want = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);
	assert_true(wish_is_of_session(&want->wish) && !want->wish.far_off);
	pred.source = PREDICTOR_FROM_TRAIL;
	pred.read_bytes = 0;
	want = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);
	assert_false(wish_is_of_session(&want->wish));
	pred.source = PREDICTOR_FROM_SESSION;
	want = want_add(w->pf.queue, w->creds[0], &pred, 1, T0);
	assert_false(wish_is_of_session(&want->wish));
}

static bool spent(const struct world *w)
{
	return sources_session_spent(w->pf.sources, w->creds[0]);
}

TEST(test_spent)
{
	struct world *w = world_taught();

	use(w, 0, 100);
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_non_null(queue_next(w->pf.queue));
	assert_false(spent(w));
	sources_session_spends(w->pf.sources, w->creds[0], 1 << 20);
	assert_true(spent(w));
	/* The next session begins anew. */
	w->now_us += 601 * SECOND_US;
	use(w, 0, 100);
	assert_false(spent(w));
}

TEST(test_off)
{
	struct world *w = world_taught();

	w->config.session_time_us = 0;
	sources_configure(w->pf.sources);
	use(w, 0, 100);
	(void)sources_turn(w->pf.sources, w->now_us);
	assert_int_equal(w->pf.queue->nwants, 0);
	assert_int_equal(
	    event_base_get_num_events(w->pf.g.base, EVENT_BASE_COUNT_ADDED), 0);
}
