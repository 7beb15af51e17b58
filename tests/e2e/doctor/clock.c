/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For LD_PRELOAD: a machine whose clock is CLOCK_AHEAD_S seconds ahead. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_gettime_fn(clockid_t id, struct timespec *ts);

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static clock_gettime_fn *next;
	const char *ahead = getenv("CLOCK_AHEAD_S");
	int rc;

	if (!next)
		next = (clock_gettime_fn *)dlsym(RTLD_NEXT, "clock_gettime");
	rc = next(id, ts);
	if (rc == 0 && id == CLOCK_REALTIME && ahead)
		ts->tv_sec += atol(ahead);
	return rc;
}
