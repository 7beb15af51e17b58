/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that hangs. A request that has waited for it longer than a deadline is
 * a miss, and while it hangs no request begins to wait; what is in memory is
 * still served. A disk that hangs again and again is left alone for longer each
 * time, so that clients do not wait for the deadline every few seconds.
 */
#include "datacache/datacache_private.h"

#include "base/log.h"

#define SECOND_US UINT64_C(1000000)

enum {
	READ_DEADLINE_S = 1,
	/* Longer, since the kernel lets a write wait while it writes out older
	 * pages. */
	WRITE_DEADLINE_S = 10,
	PAUSE_MAX_S = 60,
};

/* Since when a job is under way, to a second: it is noted by the first check
 * that sees it, since nobody else here knows the time. */
static uint64_t begun_us(uint64_t *begun, uint64_t now_us)
{
	if (*begun == 0)
		*begun = now_us;
	return *begun;
}

/* Since when the oldest late job is under way; 0: none is late. */
static uint64_t late_since(struct datacache *dc, uint64_t now_us)
{
	uint64_t since, oldest = now_us;
	struct request *rq;

	TAILQ_FOREACH (rq, &dc->requests, link) {
		since = begun_us(&rq->begun_us, now_us);
		if (now_us - since >= READ_DEADLINE_S * SECOND_US &&
		    since < oldest)
			oldest = since;
	}
	for (int k = 0; k < SEGMENT_KINDS; k++) {
		struct writer *w = &dc->writers[k];

		if (!w->busy && !w->preparing)
			continue;
		since = begun_us(&w->begun_us, now_us);
		if (now_us - since >= WRITE_DEADLINE_S * SECOND_US &&
		    since < oldest)
			oldest = since;
	}
	return oldest < now_us ? oldest : 0;
}

static void hang_begin(struct datacache *dc, uint64_t since_us, uint64_t now_us)
{
	struct hang *h = &dc->hang;
	bool again =
	    h->over_us > 0 && now_us - h->over_us < PAUSE_MAX_S * SECOND_US;

	h->since_us = since_us;
	h->pause_us = again ? 2 * h->pause_us : SECOND_US;
	if (h->pause_us > PAUSE_MAX_S * SECOND_US)
		h->pause_us = PAUSE_MAX_S * SECOND_US;
	log_warn("datacache server=%s: the disk does not answer; data that is "
		 "not in memory comes from the server",
	    dc->server);
}

static void hang_end(struct datacache *dc, uint64_t now_us)
{
	struct hang *h = &dc->hang;

	if (h->over_us <= h->since_us)
		h->over_us = now_us;
	if (now_us - h->over_us < h->pause_us)
		return;
	log_info("datacache server=%s seconds=%llu: the disk answers again",
	    dc->server,
	    (unsigned long long)((h->over_us - h->since_us) / SECOND_US));
	h->since_us = 0;
}

/* Failures are forgotten after a while: one bad sector a month is no bad disk.
 */
static void forgive(struct datacache *dc, uint64_t now_us)
{
	if (dc->failures != dc->failures_seen)
		dc->failed_us = now_us;
	else if (!dc->off && now_us - dc->failed_us >= FAILURES_US)
		dc->failures = 0;
	dc->failures_seen = dc->failures;
}

void datacache_tick(struct datacache *dc, uint64_t now_us, bool patient)
{
	uint64_t late_us = late_since(dc, now_us);
	struct hang *h = &dc->hang;

	forgive(dc, now_us);
	if (late_us > 0 && h->since_us == 0)
		hang_begin(dc, late_us, now_us);
	if (late_us > 0)
		h->over_us = 0;
	if (late_us == 0 && h->since_us > 0)
		hang_end(dc, now_us);
	if (h->since_us > 0 && !patient)
		requests_give_up(dc);
}
