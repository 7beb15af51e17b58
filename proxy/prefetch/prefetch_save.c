/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was learned, on disk: at most a minute old, replaced as a whole. It is
 * gathered a part at a time, so that the loop goes on, and packed and written
 * by a thread. And what a farm shares of it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/statefile.h"
#include "farm/farm.h"
#include "predictor/persist/persist.h"
#include "prefetch/prefetch_private.h"

enum {
	INTERVAL_US = 50000000,
	/* Between two parts, and what one looks at: a third of a
	 * millisecond. */
	PART_US = 2000,
	PART_STEPS = 64,
};

/* In a thread. */
static void job_run(struct iopool_job *job)
{
	struct prefetch *pf =
	    (void *)((char *)job - offsetof(struct prefetch, save.job));
	size_t len = 0;
	void *data = predictor_snapshot_pack(pf->save.gathered, &len);

	predictor_snapshot_free(pf->save.gathered);
	pf->save.gathered = NULL;
	pf->save.error =
	    data ? statefile_write(pf->save.path, data, len) : -ENOMEM;
	free(data);
}

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

static void job_done(struct iopool_job *job)
{
	struct prefetch *pf =
	    (void *)((char *)job - offsetof(struct prefetch, save.job));

	pf->save.writes = false;
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
	pf->save.writes = true;
	/* prefetch_settle() may have come before the timer. */
	event_del(pf->save.ev);
	pf->save.job.run = job_run;
	pf->save.job.done = job_done;
	iopool_submit(pf->g.iopool, &pf->save.job);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;

	(void)fd;
	(void)what;
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
	if (!pf->save.ev || (!pf->save.writes && !pf->save.gathered &&
				events(pf) == pf->save.events))
		return true;
	if (!pf->save.writes && !pf->save.gathered)
		on_timer(-1, 0, pf);
	return false;
}

void prefetch_edited(struct prefetch *pf)
{
	pf->save.events = UINT64_MAX;
}

void prefetch_save_open(struct prefetch *pf)
{
	char err[PERSIST_ERR_MAX];
	int rc;

	if (!pf->save.path[0])
		return;
	rc = predictor_load(pf->g.predictor, pf->save.path, err);
	if (rc < 0 && rc != -ENOENT)
		log_warn("prefetch server=%s: %s", pf->name, err);
	pf->save.events = events(pf);
	pf->save.ev = evtimer_new(pf->g.base, on_timer, pf);
	if (pf->save.ev)
		arm(pf, INTERVAL_US);
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

void prefetch_save_close(struct prefetch *pf)
{
	size_t len;
	void *data;
	bool half;
	int rc;

	farm_trees_end(pf->g.farm);
	if (!pf->save.ev)
		return;
	if (pf->save.writes)
		iopool_drain(pf->g.iopool);
	event_free(pf->save.ev);
	half = pf->save.gathered != NULL;
	predictor_snapshot_free(pf->save.gathered);
	pf->save.gathered = NULL;
	if (!half && events(pf) == pf->save.events)
		return;
	data = predictor_export(pf->g.predictor, &len);
	rc = data ? statefile_write(pf->save.path, data, len) : -ENOMEM;
	free(data);
	if (rc < 0)
		warn(pf, rc);
}

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
