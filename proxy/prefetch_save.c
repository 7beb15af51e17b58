/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was learned, on disk: at most a minute old, replaced as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "persist.h"
#include "prefetch_private.h"

enum { INTERVAL_US = 50000000 };

/* In a thread. */
static void job_run(struct iopool_job *job)
{
	struct prefetch *pf =
	    (void *)((char *)job - offsetof(struct prefetch, job));
	char tmp[PATH_MAX + 8];
	int fd, err;

	snprintf(tmp, sizeof(tmp), "%s.new", pf->path);
	fd = open(
	    tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		pf->save_error = errno;
		return;
	}
	err = fileio_write(fd, pf->saving, pf->saving_len);
	if (!err && fdatasync(fd) < 0)
		err = errno;
	if (!err && rename(tmp, pf->path) < 0)
		err = errno;
	if (err)
		unlink(tmp);
	close(fd);
	pf->save_error = err;
}

static void warn(const struct prefetch *pf, int err)
{
	log_warn("prefetch server=%s file=%s: %s: what was learned would not "
		 "survive a restart",
	    pf->p.name, pf->path, strerror(err));
}

static void job_done(struct iopool_job *job)
{
	struct prefetch *pf =
	    (void *)((char *)job - offsetof(struct prefetch, job));

	free(pf->saving);
	pf->saving = NULL;
	pf->saves = false;
	if (pf->save_error)
		warn(pf, pf->save_error);
}

static uint64_t events(const struct prefetch *pf)
{
	struct predictor_stats st;

	predictor_get_stats(pf->predictor, &st);
	return st.events;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct prefetch *pf = arg;
	uint64_t now = events(pf);

	(void)fd;
	(void)what;
	if (pf->saves || now == pf->saved_events)
		return;
	pf->saving = predictor_export(pf->predictor, &pf->saving_len);
	if (!pf->saving)
		return;
	pf->saved_events = now;
	pf->saves = true;
	pf->job.run = job_run;
	pf->job.done = job_done;
	iopool_submit(pf->p.iopool, &pf->job);
}

void prefetch_edited(struct prefetch *pf)
{
	pf->saved_events = UINT64_MAX;
}

void pf_save_open(struct prefetch *pf)
{
	struct timeval tv = clock_timeval(INTERVAL_US);
	char err[PERSIST_ERR_MAX];
	int rc;

	if (!pf->path[0])
		return;
	rc = predictor_load(pf->predictor, pf->path, err);
	if (rc < 0 && rc != -ENOENT)
		log_warn("prefetch server=%s: %s", pf->p.name, err);
	pf->saved_events = events(pf);
	pf->ev_save = event_new(pf->p.base, -1, EV_PERSIST, on_timer, pf);
	if (pf->ev_save)
		event_add(pf->ev_save, &tv);
}

void pf_save_close(struct prefetch *pf)
{
	int rc;

	if (!pf->ev_save)
		return;
	event_free(pf->ev_save);
	if (pf->saves)
		iopool_drain(pf->p.iopool);
	if (events(pf) == pf->saved_events)
		return;
	rc = predictor_save(pf->predictor, pf->path);
	if (rc < 0)
		warn(pf, -rc);
}
