/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says what was wrong in a history, and what happened just before. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "histories/play_private.h"

enum { EVENTS = 24, LINE_MAX_BYTES = 160 };

static struct {
	struct play_result *out;
	char lines[EVENTS][LINE_MAX_BYTES];
	unsigned n;
} trace;

void play_begin_trace(struct play_result *out)
{
	trace.out = out;
	trace.n = 0;
}

_Noreturn static void fail(const char *fmt, va_list ap)
{
	char *to = trace.out->said;
	size_t n = (size_t)vsnprintf(to, PLAY_SAID_MAX, fmt, ap);
	unsigned i = trace.n > EVENTS ? trace.n - EVENTS : 0;

	for (; i < trace.n && n < PLAY_SAID_MAX; i++)
		n += (size_t)snprintf(to + n, PLAY_SAID_MAX - n, "\n    %s",
		    trace.lines[i % EVENTS]);
	if (script_is_traced())
		fprintf(stderr, "%s\n", to);
	_exit(1);
}

void play_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(fmt, ap);
}

/* What script.h promises to clients and servers of scenarios. */
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
	vsnprintf(to, LINE_MAX_BYTES, fmt, ap);
	va_end(ap);
	if (script_is_traced())
		fprintf(stderr, "%s\n", to);
}

bool script_is_traced(void)
{
	return getenv("SCENARIO_TRACE") != NULL;
}

void script_join(char *const *words, unsigned n, char *to, size_t size)
{
	size_t len = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(
		    to + len, size - len, "%s%s", i > 0 ? " " : "", words[i]);
}
