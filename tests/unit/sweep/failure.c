/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the last things that happened, and says them where something fails. */
#include "sweep/failure.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scenario/script.h"
#include "scenario/vclock.h"

enum { EVENTS = 24, LINE_MAX_BYTES = 200, WHY_MAX = 1024 };

static struct {
	char *said;
	size_t size;
	void (*end)(void);
	const char *task;
	char events[EVENTS][LINE_MAX_BYTES];
	unsigned nevents;
	uint64_t begun_ns;
} failure;

void failure_begin(char *said, size_t size, void (*end)(void))
{
	failure.said = said;
	failure.size = size;
	failure.end = end;
	failure.task = NULL;
	failure.nevents = 0;
	failure.begun_ns = vclock_wall_ns();
}

void failure_set_task(const char *task)
{
	failure.task = task;
}

_Noreturn static void fail(const char *fmt, va_list ap)
{
	char why[WHY_MAX];
	unsigned i = failure.nevents > EVENTS ? failure.nevents - EVENTS : 0;
	size_t n;

	vsnprintf(why, sizeof(why), fmt, ap);
	n = (size_t)snprintf(failure.said, failure.size, "%s%s%s",
	    failure.task ? failure.task : "", failure.task ? ": " : "", why);
	for (; i < failure.nevents && n < failure.size; i++)
		n += (size_t)snprintf(failure.said + n, failure.size - n,
		    "\n    %s", failure.events[i % EVENTS]);
	if (script_is_traced())
		fprintf(stderr, "%s\n", failure.said);
	if (failure.end)
		failure.end();
	_exit(1);
}

void script_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(fmt, ap);
}

void script_wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(fmt, ap);
}

void script_trace(const char *fmt, ...)
{
	char *to = failure.events[failure.nevents++ % EVENTS];
	uint64_t us = (vclock_wall_ns() - failure.begun_ns) / 1000;
	va_list ap;
	int n;

	n = snprintf(to, LINE_MAX_BYTES, "%5ju.%06ju s  ",
	    (uintmax_t)(us / 1000000), (uintmax_t)(us % 1000000));
	va_start(ap, fmt);
	vsnprintf(to + n, LINE_MAX_BYTES - (size_t)n, fmt, ap);
	va_end(ap);
	if (script_is_traced())
		fprintf(stderr, "%s\n", to);
}

bool script_is_traced(void)
{
	return getenv("SCENARIO_TRACE") != NULL;
}
