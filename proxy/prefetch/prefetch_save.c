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
	    (void *)((char *)job - offsetof(struct prefetch, job));
	size_t len = 0;
	void *data = predictor_snapshot_pack(pf->saving, &len);

	predictor_snapshot_free(pf->saving);
	pf->saving = NULL;
	pf->save_error = data ? statefile_write(pf->path, data, len) : -ENOMEM;
	free(data);
}

static void warn(const struct prefetch *pf, int error)
{
	log_warn("prefetch server=%s file=%s: %s: what was learned would not "
		 "survive a restart",
	    pf->p.name, pf->path, strerror(-error));
}

static void arm(struct prefetch *pf, uint64_t us)
{
	struct timeval tv = clock_timeval(us);

	event_add(pf->ev_save, &tv);
}

static void job_done(struct iopool_job *job)
{
	struct prefetch *pf =
	    (void *)((char *)job - offsetof(struct prefetch, job));

	pf->saves = false;
	if (pf->save_error)
		warn(pf, pf->save_error);
	arm(pf, INTERVAL_US);
}

static uint64_t events(const struct prefetch *pf)
{
	struct predictor_stats st;

	predictor_get_stats(pf->predictor, &st);
	return st.events;
}

/* All of it is there, or it was cleared meanwhile. */
static void hand_over(struct prefetch *pf)
{
	if (predictor_snapshot_error(pf->saving)) {
		predictor_snapshot_free(pf->saving);
		pf->saving = NULL;
		prefetch_edited(pf);
		arm(pf, INTERVAL_US);
		return;
	}
	pf->saves = true;
	/* prefetch_settle() may have come before the timer. */
	event_del(pf->ev_save);
	pf->job.run = job_run;
	pf->job.done = job_done;
	iopool_submit(pf->p.iopool, &pf->job);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;

	(void)fd;
	(void)what;
	if (!pf->saving && events(pf) != pf->saved_events) {
		pf->saving = predictor_snapshot_new(pf->predictor);
		if (pf->saving)
			pf->saved_events = events(pf);
	}
	if (!pf->saving)
		arm(pf, INTERVAL_US);
	else if (predictor_snapshot_step(pf->saving, PART_STEPS))
		hand_over(pf);
	else
		arm(pf, PART_US);
}

bool prefetch_settle(struct prefetch *pf)
{
	if (!pf->ev_save ||
	    (!pf->saves && !pf->saving && events(pf) == pf->saved_events))
		return true;
	if (!pf->saves && !pf->saving)
		on_timer(-1, 0, pf);
	return false;
}

void prefetch_edited(struct prefetch *pf)
{
	pf->saved_events = UINT64_MAX;
}

void pf_save_open(struct prefetch *pf)
{
	char err[PERSIST_ERR_MAX];
	int rc;

	if (!pf->path[0])
		return;
	rc = predictor_load(pf->predictor, pf->path, err);
	if (rc < 0 && rc != -ENOENT)
		log_warn("prefetch server=%s: %s", pf->p.name, err);
	pf->saved_events = events(pf);
	pf->ev_save = evtimer_new(pf->p.base, on_timer, pf);
	if (pf->ev_save)
		arm(pf, INTERVAL_US);
}

void prefetch_set_file(struct prefetch *pf, const char *path)
{
	if (pf->path[0] || !path[0])
		return;
	snprintf(pf->path, sizeof(pf->path), "%s", path);
	pf_save_open(pf);
	/* What is known without it is to be in it. */
	prefetch_edited(pf);
}

void pf_save_close(struct prefetch *pf)
{
	size_t len;
	void *data;
	bool half;
	int rc;

	farm_trees_end(pf->p.farm);
	if (!pf->ev_save)
		return;
	if (pf->saves)
		iopool_drain(pf->p.iopool);
	event_free(pf->ev_save);
	half = pf->saving != NULL;
	predictor_snapshot_free(pf->saving);
	pf->saving = NULL;
	if (!half && events(pf) == pf->saved_events)
		return;
	data = predictor_export(pf->predictor, &len);
	rc = data ? statefile_write(pf->path, data, len) : -ENOMEM;
	free(data);
	if (rc < 0)
		warn(pf, rc);
}

/* The predictor has taken over what other machines have learned. */
static void on_merged(void *ctx)
{
	prefetch_edited(ctx);
}

void pf_save_share(struct prefetch *pf)
{
	struct farm_trees_params tp = {.predictor = pf->predictor,
	    .names = pf->absents,
	    .iopool = pf->p.iopool,
	    .on_merged = on_merged,
	    .ctx = pf};

	farm_trees_begin(pf->p.farm, &tp);
}
