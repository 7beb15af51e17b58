/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schedule of layout passes: begun in quiet times, and held to a rate. */
#include "datacache/compact.h"

#include <errno.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "datacache/datacache_layout.h"

#define SECOND_US UINT64_C(1000000)

/* Clients are silent for so long before a pass may begin; it ends a run. */
#define QUIET_US (5 * SECOND_US)

/* The wait after a pass that has moved something, and how long it may become by
 * being doubled: compact.h says why. */
#define WAIT_US  (600 * SECOND_US)
#define WAIT_MAX (24 * 3600 * SECOND_US)

/* How often to look, and how often to make a step of a pass. A step makes up
 * for a late timer, but not for a pause. */
#define LOOK_US  SECOND_US
#define STEP_US  UINT64_C(20000)
#define BURST_US (5 * STEP_US)

struct compact {
	struct compact_params p;
	struct event *ev;
	uint64_t calls;    /* of clients, at the last look */
	uint64_t quiet_us; /* since when nobody called */
	uint64_t after_us; /* no pass begins before this */
	uint64_t wait_us;  /* the next wait after a pass that moves something */
	uint64_t last_us;  /* when the last step was made */
	uint64_t may_bytes, moved_bytes, passes;
	uint64_t pass_bytes; /* that this pass has moved */
	bool running;
	bool forced;
	bool run_over;
};

static void pass_over(struct compact *c, uint64_t now_us)
{
	struct datacache_stats st;

	c->running = c->forced = false;
	datacache_get_stats(c->p.data, &st);
	/* A pass that was cut short begins from the start, so it has to wait,
	 * too. */
	if (st.layout_end == DATACACHE_LAYOUT_STOPPED && c->pass_bytes > 0)
		c->after_us = now_us + c->wait_us;
	if (st.layout_passes == c->passes) {
		if (st.layout_end == DATACACHE_LAYOUT_GOOD)
			c->wait_us = WAIT_US;
		return;
	}
	c->passes = st.layout_passes;
	c->after_us = now_us + c->wait_us;
	c->wait_us = c->wait_us < WAIT_MAX / 2 ? 2 * c->wait_us : WAIT_MAX;
}

/* Whether clients, the link and the disk have been idle for long enough. */
static bool is_quiet(struct compact *c, uint64_t now_us)
{
	uint64_t calls = c->p.calls(c->p.ctx);

	if (calls != c->calls || c->p.busy(c->p.ctx) ||
	    (!c->running && !datacache_disk_idle(c->p.data)))
		c->quiet_us = now_us;
	c->calls = calls;
	if (now_us - c->quiet_us < QUIET_US) {
		c->run_over = false;
		return false;
	}
	if (!c->run_over)
		datacache_new_run(c->p.data);
	c->run_over = true;
	return true;
}

static void pass_step(struct compact *c, uint64_t now_us)
{
	uint64_t rate = c->p.rate_bytes ? c->p.rate_bytes : COMPACT_RATE;
	uint64_t us = now_us - c->last_us;

	c->may_bytes += rate * (us < BURST_US ? us : BURST_US) / SECOND_US;
	if (c->may_bytes > rate)
		c->may_bytes = rate;
	c->last_us = now_us;
	/* Where the last extent was longer than allowed, the next steps move
	 * nothing until that is made up for. */
	if (c->moved_bytes > c->may_bytes) {
		c->moved_bytes -= c->may_bytes;
		c->may_bytes = 0;
		return;
	}
	c->may_bytes -= c->moved_bytes;
	c->moved_bytes = datacache_layout_step(c->p.data, c->may_bytes);
	c->pass_bytes += c->moved_bytes;
}

static void pass_begun(struct compact *c, bool forced, uint64_t now_us)
{
	struct datacache_stats st;

	datacache_get_stats(c->p.data, &st);
	c->passes = st.layout_passes;
	c->running = true;
	c->forced = forced;
	c->last_us = now_us;
	c->may_bytes = c->moved_bytes = c->pass_bytes = 0;
}

uint64_t compact_tick(struct compact *c, uint64_t now_us)
{
	struct datacache *dc = c->p.data;
	bool quiet = is_quiet(c, now_us);

	if (c->running && !c->forced && (!quiet || c->p.rate_bytes == 0))
		datacache_layout_stop(dc);
	if (c->running && !datacache_layout_busy(dc))
		pass_over(c, now_us);
	if (!c->running && quiet && c->p.rate_bytes > 0 &&
	    now_us >= c->after_us && datacache_layout_begin(dc, false) == 0)
		pass_begun(c, false, now_us);
	if (!c->running)
		return LOOK_US;
	pass_step(c, now_us);
	return STEP_US;
}

static void compact_on_time(evutil_socket_t fd, short what, void *arg)
{
	struct compact *c = arg;
	struct timeval tv;

	(void)fd;
	(void)what;
	tv = clock_timeval(compact_tick(c, clock_now_us()));
	event_add(c->ev, &tv);
}

int compact_begin(struct compact *c)
{
	int rc;

	if (!c->p.data)
		return -ENODEV;
	if (c->running && !c->forced) {
		datacache_layout_stop(c->p.data);
		c->running = false;
	}
	rc = datacache_layout_begin(c->p.data, true);
	if (rc == 0)
		pass_begun(c, true, c->last_us);
	if (rc == 0 && c->ev)
		event_active(c->ev, EV_TIMEOUT, 1);
	return rc;
}

bool compact_busy(const struct compact *c)
{
	return c->running;
}

void compact_set_rate(struct compact *c, uint64_t rate_bytes)
{
	c->p.rate_bytes = rate_bytes;
}

struct compact *compact_new(const struct compact_params *p, uint64_t now_us)
{
	struct compact *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->p = *p;
	c->quiet_us = c->last_us = now_us;
	c->wait_us = WAIT_US;
	c->p.data = NULL;
	if (!p->data || compact_set_data(c, p->data) == 0)
		return c;
	compact_free(c);
	errno = ENOMEM;
	return NULL;
}

int compact_set_data(struct compact *c, struct datacache *data)
{
	struct timeval tv = clock_timeval(LOOK_US);

	c->p.data = data;
	if (!c->p.base || c->ev)
		return 0;
	c->ev = evtimer_new(c->p.base, compact_on_time, c);
	/* Behind all that anybody waits for. */
	if (c->ev)
		event_priority_set(
		    c->ev, event_base_get_npriorities(c->p.base) - 1);
	return c->ev && event_add(c->ev, &tv) == 0 ? 0 : -ENOMEM;
}

void compact_free(struct compact *c)
{
	if (!c)
		return;
	if (c->ev)
		event_free(c->ev);
	free(c);
}
