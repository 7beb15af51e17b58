/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which odds count for which call, and what is not asked for again. */
#include "unittest.h"
#include "prefetch/prefetch_fixture.h"

/* A name that is nearly certain to be looked up is not nearly certain to be
 * read: who says the one says nothing of the other. */
TEST(test_odds_of_data)
{
	FREED struct rooms *pf = calloc(1, sizeof(*pf));
	struct credential *cred;
	struct prediction pred = {.object = 700,
	    .needs = PREDICTOR_NEEDS_NAME,
	    .p = 0.9f,
	    .lead = 1,
	    .source = PREDICTOR_FROM_NAMES};
	struct want *want;

	rooms_open(pf, &cred, 1);
	want = want_add(pf->queue, cred, &pred, 1, T0);
	assert_true(want->wish.p > 0.8f && want->wish.data_p < 0.01f);
	pred.needs |= PREDICTOR_NEEDS_DATA;
	pred.p = 0.2f;
	assert_ptr_equal(want_add(pf->queue, cred, &pred, 1, T0), want);
	assert_true(want->wish.p > 0.8f);
	assert_true(want->wish.data_p > 0.1f && want->wish.data_p < 0.3f);
	rooms_close(pf, &cred, 1);
}

/* An object that came ahead in vain is not confirmed again because of a guess;
 * it is because of what history says, of good odds, or for more of it. */
TEST(test_came_in_vain)
{
	struct prediction pred = {.object = 1,
	    .needs = PREDICTOR_NEEDS_NAME | PREDICTOR_NEEDS_ATTR,
	    .p = 0.4f,
	    .source = PREDICTOR_FROM_NAMES};
	struct note note = {
	    .object = 1, .state = NOTE_UNUSED, .needs = pred.needs};

	assert_true(notes_came_in_vain(&note, &pred));
	assert_false(notes_came_in_vain(NULL, &pred));
	note.state = NOTE_USED;
	assert_false(notes_came_in_vain(&note, &pred));
	note.state = NOTE_READY;
	pred.source = NOTE_FROM_MENTION;
	assert_true(notes_came_in_vain(&note, &pred));
	pred.p = 0.9f;
	assert_false(notes_came_in_vain(&note, &pred));
	pred.p = 0.4f;
	pred.source = PREDICTOR_FROM_TRAIL;
	assert_false(notes_came_in_vain(&note, &pred));
	pred.source = NOTE_FROM_WALK;
	pred.needs |= PREDICTOR_NEEDS_LISTING;
	assert_false(notes_came_in_vain(&note, &pred));
}
