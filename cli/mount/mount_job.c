/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of mount and umount: which step, and why. Programs that run mount(8)
 * show them to people who did not start it themselves, so each names the
 * program and the step. */
#include "mount/mount_job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ctl/ctl_text.h"

bool mount_refuse(struct mount_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return false;
}

/* Writes "PROG: STEP: TEXT" with all bytes escaped that a terminal might obey,
 * since a message may hold what was typed, or what a server said. */
__attribute__((format(printf, 4, 0))) static void say(FILE *out,
    const struct mount_talk *talk, const char *step, const char *fmt,
    va_list ap)
{
	struct mount_why text;

	vsnprintf(text.text, sizeof(text.text), fmt, ap);
	fprintf(out, "%s: %s: ", talk->prog, step);
	ctl_put_bytes(out, (const uint8_t *)text.text, strlen(text.text));
	putc('\n', out);
}

int mount_fail(const struct mount_talk *talk, int code, const char *step,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(stderr, talk, step, fmt, ap);
	va_end(ap);
	return code;
}

void mount_step(
    const struct mount_talk *talk, const char *step, const char *fmt, ...)
{
	va_list ap;

	if (!talk->verbose)
		return;
	va_start(ap, fmt);
	say(stdout, talk, step, fmt, ap);
	va_end(ap);
	fflush(stdout);
}
