/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What script.h promises to clients and servers: something that is wrong is
 * said, with what came before it, and ends the process. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "conversation/talk.h"
#include "scenario/script.h"

enum { EVENTS = 60, EVENT_MAX = 200 };

static struct {
	char lines[EVENTS][EVENT_MAX];
	unsigned n;
} trace;

void talk_forget_trace(void)
{
	trace.n = 0;
}

_Noreturn static void fail(const char *fmt, va_list ap)
{
	unsigned i = trace.n > EVENTS ? trace.n - EVENTS : 0;

	for (; i < trace.n; i++)
		fprintf(stderr, "    %s\n", trace.lines[i % EVENTS]);
	fprintf(stderr, "conversation: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	abort();
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
	char *to = trace.lines[trace.n++ % EVENTS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to, EVENT_MAX, fmt, ap);
	va_end(ap);
	if (script_is_traced())
		fprintf(stderr, "%s\n", to);
}

bool script_is_traced(void)
{
	return getenv("SCENARIO_TRACE") != NULL;
}
