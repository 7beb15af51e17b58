/* SPDX-License-Identifier: GPL-2.0-or-later */
/* While the predictor hears of a call, the rights of its user count. */
#include "unittest.h"
#include "prefetch/prefetch_fixture.h"

enum { CREDS = 2 };

struct world {
	struct rooms pf;
	struct credential *creds[CREDS];
};

static const struct world *world;
static const struct credential *asks_for; /* during the last call */

void __wrap_predictor_observe(
    struct predictor *p, const struct predictor_obs *o);
void __wrap_predictor_observe(
    struct predictor *p, const struct predictor_obs *o)
{
	(void)p;
	(void)o;
	asks_for = world->pf.g.caller;
}

static void setup(struct world *w)
{
	rooms_open(&w->pf, w->creds, CREDS);
	rooms_add(&w->pf, &source_tree);
	world = w;
}

static void teardown(struct world *w)
{
	rooms_close(&w->pf, w->creds, CREDS);
}

FIXTURE(struct world, setup, teardown);

/* The user of the call before may have other rights, and his credential may be
 * freed by now. */
TEST(test_the_caller_and_nobody_else, struct world *w)
{
	for (int i = 0; i < CREDS; i++) {
		struct passed seen = {.cred = w->creds[i],
		    .obs = {.kind = PREDICTOR_GETATTR, .object = 100}};

		rooms_hear(&w->pf, &seen, T0);
		assert_ptr_equal(asks_for, w->creds[i]);
		assert_null(w->pf.g.caller);
	}
}
