/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was learned is saved by one thread at a time. */
#include <unistd.h>

#include <event2/event.h>

#include "unittest.h"
#include "base/iopool.h"
#include "prefetch/prefetch_private.h"

static int gate[2]; /* the pool's thread waits for it */

static void wait_run(struct iopool_job *job)
{
	char byte;

	(void)job;
	assert_int_equal(read(gate[0], &byte, 1), 1);
}

static void wait_done(struct iopool_job *job)
{
	(void)job;
}

/* The timer was set before the server had to leave; while the file waits for a
 * slow disk it must not hand the same job over once more. */
TEST(test_timer_rests_while_it_is_saved)
{
	struct iopool_job job = {.run = wait_run, .done = wait_done};
	struct predictor_options po = {.budget_bytes = 2 << 20};
	struct prefetch pf = {0};

	assert_int_equal(pipe(gate), 0);
	snprintf(
	    pf.save.path, sizeof(pf.save.path), "%s/trees", unittest_folder());
	pf.g.base = event_base_new();
	pf.g.iopool = iopool_new(pf.g.base, 1);
	pf.name = "nas";
	pf.g.predictor = predictor_new(&po);
	prefetch_save_open(&pf);
	iopool_submit(pf.g.iopool, &job);
	prefetch_edited(&pf);
	for (int i = 0; i < 10000 && !pf.save.writes; i++)
		(void)prefetch_settle(&pf);
	assert_true(pf.save.writes);
	assert_non_null(pf.save.gathered); /* the thread waits */
	assert_false(event_pending(pf.save.ev, EV_TIMEOUT, NULL));
	assert_int_equal(write(gate[1], "x", 1), 1);
	prefetch_save_close(&pf);
	predictor_free(pf.g.predictor);
	iopool_free(pf.g.iopool);
	event_base_free(pf.g.base);
	close(gate[0]);
	close(gate[1]);
}
