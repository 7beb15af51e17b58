/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This file keeps what was learned on disk: at most a minute old, replaced as a
 * whole. All that touches the predictor goes in parts, so that the loop goes
 * on; a thread has the disk, packs and unpacks.
 *
 *	reads (thread) ─▶ adds ─▶ rests ─▶ gathers ─▶ packs, writes (thread)
 *	                            ▲                          │
 *	                            └──────────────────────────┘
 *
 * Nothing is saved before all of the file is known. Sharing with a farm begins
 * and ends here, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/statefile.h"
#include "base/uint.h"
#include "farm/farm.h"
#include "predictor/persist/persist.h"
#include "predictor/persist/trees.h"
#include "prefetch/prefetch_private.h"

enum {
	INTERVAL_US = 50000000,
	/* Between two parts, and what one looks at: a third of a
	 * millisecond. */
	PART_US = 2000,
	PART_STEPS = 64,
};

/* ---- what the thread does ---------------------------------------------- */

static struct prefetch *prefetch_of(struct iopool_job *job)
{
	return container_of(job, struct prefetch, save.job);
}

static void run_read(struct iopool_job *job)
{
	struct prefetch *pf = prefetch_of(job);

	pf->save.import = predictor_import_file(pf->save.path, pf->save.why);
	pf->save.error = pf->save.import ? 0 : -errno;
}

/* That of 64 MiB takes milliseconds. */
static void run_free_import(struct iopool_job *job)
{
	struct prefetch *pf = prefetch_of(job);

	predictor_import_free(pf->save.import);
	pf->save.import = NULL;
}

static void run_write(struct iopool_job *job)
{
	struct prefetch *pf = prefetch_of(job);
	size_t len = 0;
	void *data = predictor_snapshot_pack(pf->save.gathered, &len);

	predictor_snapshot_free(pf->save.gathered);
	pf->save.gathered = NULL;
	pf->save.error =
	    data ? statefile_write(pf->save.path, data, len) : -ENOMEM;
	free(data);
}

/* ---- from one to the next ---------------------------------------------- */

static void warn(const struct prefetch *pf, int error)
{
	log_warn("prefetch server=%s file=%s: %s: what was learned would not "
		 "survive a restart",
	    pf->name, pf->save.path, strerror(-error));
}

static void arm(struct prefetch *pf, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	event_add(pf->save.ev, &tv);
}

static void submit(struct prefetch *pf, void (*run)(struct iopool_job *job),
    void (*done)(struct iopool_job *job))
{
	pf->save.works = true;
	/* Somebody may have gone on before the timer. */
	event_del(pf->save.ev);
	pf->save.job.run = run;
	pf->save.job.done = done;
	iopool_submit(pf->g.iopool, &pf->save.job);
}

static void job_done(struct iopool_job *job)
{
	struct prefetch *pf = prefetch_of(job);

	pf->save.works = false;
	if (pf->save.error)
		warn(pf, pf->save.error);
	arm(pf, INTERVAL_US);
}

static uint64_t events(const struct prefetch *pf)
{
	struct predictor_stats st;

	predictor_get_stats(pf->g.predictor, &st);
	return st.events;
}

/* ---- loading ----------------------------------------------------------- */

static void load_end(struct prefetch *pf)
{
	pf->save.loads = false;
	farm_trees_know(pf->g.farm);
	if (pf->save.import)
		submit(pf, run_free_import, job_done);
	else
		arm(pf, INTERVAL_US);
}

static void load_add(struct prefetch *pf, size_t steps)
{
	struct predictor_import *x = pf->save.import;
	uint64_t before = events(pf);
	bool over = predictor_import_step(x, pf->g.predictor, TREES_ALL, steps);

	/* The disk has it already. */
	if (pf->save.events != UINT64_MAX)
		pf->save.events += events(pf) - before;
	if (!over) {
		/* Behind what waits for the loop by now. */
		arm(pf, 0);
		return;
	}
	/* Else all of it was cleared meanwhile. */
	if (predictor_import_error(x) == -ENOMEM)
		log_warn("prefetch server=%s file=%s: %s: not all that was "
			 "learned before was loaded",
		    pf->name, pf->save.path, strerror(ENOMEM));
	load_end(pf);
}

static void read_done(struct iopool_job *job)
{
	struct prefetch *pf = prefetch_of(job);

	pf->save.works = false;
	pf->save.read = true;
	if (pf->save.import) {
		arm(pf, 0);
		return;
	}
	if (pf->save.error != -ENOENT)
		log_warn("prefetch server=%s: %s", pf->name, pf->save.why);
	pf->save.error = 0;
	load_end(pf);
}

bool prefetch_loads(const struct prefetch *pf)
{
	return pf->save.loads;
}

void prefetch_load_wait(struct prefetch *pf, uint64_t us)
{
	if (pf->save.loads && iopool_wait(pf->g.iopool, &pf->save.read, us) &&
	    pf->save.loads)
		load_add(pf, SIZE_MAX);
}

/* ---- saving ------------------------------------------------------------ */

/* All of it is there, or it was cleared meanwhile. */
static void hand_over(struct prefetch *pf)
{
	if (predictor_snapshot_error(pf->save.gathered)) {
		predictor_snapshot_free(pf->save.gathered);
		pf->save.gathered = NULL;
		prefetch_edited(pf);
		arm(pf, INTERVAL_US);
		return;
	}
	submit(pf, run_write, job_done);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;

	(void)fd;
	(void)what;
	if (pf->save.loads) {
		load_add(pf, PART_STEPS);
		return;
	}
	if (!pf->save.gathered && events(pf) != pf->save.events) {
		pf->save.gathered = predictor_snapshot_new(pf->g.predictor);
		if (pf->save.gathered)
			pf->save.events = events(pf);
	}
	if (!pf->save.gathered)
		arm(pf, INTERVAL_US);
	else if (predictor_snapshot_step(pf->save.gathered, PART_STEPS))
		hand_over(pf);
	else
		arm(pf, PART_US);
}

bool prefetch_settle(struct prefetch *pf)
{
	if (!pf->save.ev)
		return true;
	/* Either goes on by itself. */
	if (pf->save.loads || pf->save.works || pf->save.gathered)
		return false;
	if (events(pf) == pf->save.events)
		return true;
	on_timer(-1, 0, pf);
	return false;
}

void prefetch_edited(struct prefetch *pf)
{
	pf->save.events = UINT64_MAX;
}

/* ---- the beginning and the end ----------------------------------------- */

void prefetch_save_open(struct prefetch *pf)
{
	if (pf->save.path[0])
		pf->save.ev = evtimer_new(pf->g.base, on_timer, pf);
	if (!pf->save.ev)
		return;
	pf->save.events = events(pf);
	pf->save.loads = true;
	submit(pf, run_read, read_done);
}

void prefetch_set_file(struct prefetch *pf, const char *path)
{
	if (pf->save.path[0] || !path[0])
		return;
	snprintf(pf->save.path, sizeof(pf->save.path), "%s", path);
	prefetch_save_open(pf);
	/* The file shall have what is known already, too. */
	prefetch_edited(pf);
}

/* Blocks. What is half loaded must not take the place of the whole. */
static void save_now(struct prefetch *pf)
{
	size_t len;
	void *data;
	int rc;

	if (pf->save.import)
		(void)predictor_import_step(
		    pf->save.import, pf->g.predictor, TREES_ALL, SIZE_MAX);
	data = predictor_export(pf->g.predictor, &len);
	rc = data ? statefile_write(pf->save.path, data, len) : -ENOMEM;
	free(data);
	if (rc < 0)
		warn(pf, rc);
}

void prefetch_finish(struct prefetch *pf)
{
	if (!pf->save.ev)
		return;
	if (pf->save.works)
		iopool_drain(pf->g.iopool);
	if (pf->save.gathered || events(pf) != pf->save.events)
		save_now(pf);
}

void prefetch_save_close(struct prefetch *pf)
{
	farm_trees_end(pf->g.farm);
	if (!pf->save.ev)
		return;
	if (pf->save.works)
		iopool_drain(pf->g.iopool);
	event_free(pf->save.ev);
	predictor_snapshot_free(pf->save.gathered);
	pf->save.gathered = NULL;
	predictor_import_free(pf->save.import);
	pf->save.import = NULL;
}

/* ---- forgetting -------------------------------------------------------- */

struct burial {
	struct iopool_job job;
	struct predictor *predictor;
};

static void burial_run(struct iopool_job *job)
{
	predictor_free(((struct burial *)job)->predictor);
}

static void burial_done(struct iopool_job *job)
{
	free(job);
}

/* Has a thread free it. */
static void bury(struct prefetch *pf, struct predictor *p)
{
	struct burial *b = p ? calloc(1, sizeof(*b)) : NULL;

	if (!b) {
		predictor_free(p);
		return;
	}
	b->predictor = p;
	b->job.run = burial_run;
	b->job.done = burial_done;
	iopool_submit(pf->g.iopool, &b->job);
}

int prefetch_clear(struct prefetch *pf)
{
	struct predictor *old = predictor_empty(pf->g.predictor);

	if (!old)
		return -errno;
	bury(pf, old);
	prefetch_edited(pf);
	return 0;
}

void prefetch_save_bury(struct prefetch *pf)
{
	bury(pf, pf->g.predictor);
	pf->g.predictor = NULL;
}

/* ---- sharing ----------------------------------------------------------- */

/* The predictor has taken over what other machines have learned. */
static void on_merged(void *ctx)
{
	prefetch_edited(ctx);
}

void prefetch_save_share(struct prefetch *pf)
{
	struct farm_trees_params tp = {.predictor = pf->g.predictor,
	    .names = pf->g.absents,
	    .iopool = pf->g.iopool,
	    .on_merged = on_merged,
	    .ctx = pf};

	farm_trees_begin(pf->g.farm, &tp);
}
