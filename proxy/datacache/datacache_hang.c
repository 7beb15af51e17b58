/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that hangs or fails. A request that has waited for it longer than a
 * deadline is a miss, and while it hangs no request begins to wait; what is in
 * memory is still served. A disk that hangs again and again is left alone for
 * longer each time, so that clients do not wait for the deadline every few
 * seconds. One that fails again and again is switched off.
 */
#include "datacache/datacache_write.h"

#include <string.h>

#include "base/log.h"
#include "base/uint.h"
#include "datacache/datacache_request.h"

#define SECOND_US UINT64_C(1000000)

/* The disk is switched off after three failures within a minute. */
enum { FAILURES_MAX = 3, FAILURES_US = 60000000 };

enum {
	READ_DEADLINE_S = 1,
	/* A write has longer: it may be of megabytes, and the disk may have to
	 * write first what other programs gave it. */
	WRITE_DEADLINE_S = 30,
	PAUSE_MAX_S = 60,
};

struct disk_health {
	uint64_t over_us;       /* since when it does again */
	uint64_t pause_us;      /* how long it is left alone after that */
	unsigned failures;      /* within FAILURES_US */
	unsigned failures_seen; /* `failures` at the last tick */
	uint64_t failed_us;     /* the tick that saw the last one */
};

bool health_init(struct datacache *dc)
{
	dc->health = dc_new(dc, sizeof(*dc->health));
	return dc->health != NULL;
}

void datacache_renewed(struct datacache *dc)
{
	dc->off = dc->full = false;
	dc->health->failures = 0;
	dc->cap_bytes = UINT64_MAX;
}

void datacache_failed(struct datacache *dc, const char *what, int err)
{
	struct disk_health *h = dc->health;

	log_warn(
	    "datacache server=%s: %s: %s", dc->server, what, strerror(-err));
	dc->st.failed = -err;
	if (++h->failures < FAILURES_MAX || dc->off)
		return;
	log_warn("datacache server=%s: off, the disk failed %u times",
	    dc->server, h->failures);
	datacache_flush(dc);
	dc->off = true;
}

void datacache_disk_failed(struct datacache *dc, int error)
{
	if (!dc->off)
		datacache_failed(dc, "the disk", -error);
}

/* It is known to a second. */
uint64_t job_late_since(
    uint64_t *begun_us, uint64_t now_us, uint64_t us, uint64_t oldest)
{
	if (*begun_us == 0)
		*begun_us = now_us;
	return now_us - *begun_us >= us && *begun_us < oldest ? *begun_us
							      : oldest;
}

/* Since when the oldest late job is under way; 0: none is late. */
static uint64_t late_since(struct datacache *dc, uint64_t now_us)
{
	uint64_t reads =
	    requests_late_since(dc, now_us, READ_DEADLINE_S * SECOND_US);
	uint64_t writes =
	    writers_late_since(dc, now_us, WRITE_DEADLINE_S * SECOND_US);
	uint64_t oldest = min_u64(reads, writes);

	return oldest < now_us ? oldest : 0;
}

static void hang_begin(struct datacache *dc, uint64_t since_us, uint64_t now_us)
{
	struct disk_health *h = dc->health;
	bool again =
	    h->over_us > 0 && now_us - h->over_us < PAUSE_MAX_S * SECOND_US;

	dc->st.hangs_since_us = since_us;
	h->pause_us = again ? 2 * h->pause_us : SECOND_US;
	if (h->pause_us > PAUSE_MAX_S * SECOND_US)
		h->pause_us = PAUSE_MAX_S * SECOND_US;
	log_warn("datacache server=%s: the disk does not answer; data that is "
		 "not in memory comes from the server",
	    dc->server);
}

static void hang_end(struct datacache *dc, uint64_t now_us)
{
	struct disk_health *h = dc->health;

	if (h->over_us <= dc->st.hangs_since_us)
		h->over_us = now_us;
	if (now_us - h->over_us < h->pause_us)
		return;
	log_info("datacache server=%s seconds=%llu: the disk answers again",
	    dc->server,
	    (unsigned long long)((h->over_us - dc->st.hangs_since_us) /
				 SECOND_US));
	dc->st.hangs_since_us = 0;
}

/* Failures are forgotten after a while: one bad sector a month is no bad disk.
 */
static void forgive(struct datacache *dc, uint64_t now_us)
{
	struct disk_health *h = dc->health;

	if (h->failures != h->failures_seen)
		h->failed_us = now_us;
	else if (!dc->off && now_us - h->failed_us >= FAILURES_US)
		h->failures = 0;
	h->failures_seen = h->failures;
}

void datacache_tick(struct datacache *dc, uint64_t now_us, bool patient)
{
	uint64_t late_us = late_since(dc, now_us);
	struct disk_health *h = dc->health;

	writers_flush(dc);
	forgive(dc, now_us);
	if (late_us > 0 && dc->st.hangs_since_us == 0)
		hang_begin(dc, late_us, now_us);
	if (late_us > 0)
		h->over_us = 0;
	if (late_us == 0 && dc->st.hangs_since_us > 0)
		hang_end(dc, now_us);
	if (dc->st.hangs_since_us > 0 && !patient)
		requests_give_up(dc);
}
