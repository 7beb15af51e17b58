/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines: where they go, their prefix, and the limit of repeated ones. Every
 * folder logs by this; whatever a peer can trigger goes through a struct
 * log_limit, lest it fill the disk. */
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The longest line. Each goes out by one write(2), so that lines of two
 * processes never mix. */
#define LINE_MAX_BYTES 1024

#define LIMIT_BURST     5
#define LIMIT_PERIOD_US 1000000

const char *const log_level_names[] = {"error", "warn", "info", "debug", NULL};

static enum log_level log_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	log_level = level;
}

enum log_level log_get_level(void)
{
	return log_level;
}

/*
 * JOURNAL_STREAM holds "device:inode" of the stream that the service manager
 * made; a child whose stderr was redirected inherits the variable, so it must
 * be compared with the stderr that is really there.
 */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) != 0)
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return strcmp(own, stream) == 0;
}

/* Writes the prefix of a line, and returns its length. */
static size_t format_prefix(char *line, size_t len, enum log_level level)
{
	static const int priorities[] = {3, 4, 6, 7}; /* sd-daemon(3) */
	struct timespec now;
	struct tm tm;
	size_t n;

	if (stderr_is_journal())
		return (size_t)snprintf(line, len, "<%d>", priorities[level]);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, len, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(line + n, len - n, ".%03ldZ %s ",
		       now.tv_nsec / 1000000, log_level_names[level]);
}

/* Masks control characters: a line break in the middle would start a record
 * that nobody logged. */
static void mask_controls(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = '?';
}

/*
 * Whether a line can be written without waiting. A journal that waits for
 * memory must not stop the daemon, through which that memory may have to be
 * written out. The line is lost, then.
 */
static bool log_writable(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) != 0;
}

static void log_line(enum log_level level, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int saved = errno;
	size_t start, len;
	int n;

	if (level > log_level)
		return;
	start = format_prefix(line, sizeof(line), level);
	n = vsnprintf(line + start, sizeof(line) - start, fmt, ap);
	if (n < 0)
		n = 0;
	len = start + (size_t)n;
	if (len >= sizeof(line)) {
		len = sizeof(line) - 1;
		memcpy(line + len - 3, "...", 3);
	}
	mask_controls(line + start, len - start);
	line[len++] = '\n';
	if (!log_writable() || write(STDERR_FILENO, line, len) < 0) {
		/* There is nobody left to be told. */
	}
	errno = saved;
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_LEVEL_WARN, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_LEVEL_INFO, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(LOG_LEVEL_DEBUG, fmt, ap);
	va_end(ap);
}

/* A burst of LIMIT_BURST, which wears off by one line each LIMIT_PERIOD_US. */
bool log_limit_ok(
    struct log_limit *limit, uint64_t now_us, unsigned *suppressed)
{
	uint64_t worn_off = 0;

	if (now_us > limit->since_us)
		worn_off = (now_us - limit->since_us) / LIMIT_PERIOD_US;
	if (worn_off >= limit->used) {
		limit->used = 0;
		limit->since_us = now_us;
	} else {
		limit->used -= (unsigned)worn_off;
		limit->since_us += worn_off * LIMIT_PERIOD_US;
	}
	if (limit->used >= LIMIT_BURST) {
		limit->suppressed++;
		return false;
	}
	limit->used++;
	*suppressed = limit->suppressed;
	limit->suppressed = 0;
	return true;
}

/* Returns the length of the escape of one byte, 1 to 4, not terminated. */
static size_t escape_byte(char out[5], unsigned char c)
{
	if (c == '\\')
		return (size_t)snprintf(out, 5, "\\\\");
	if (c > ' ' && c < 0x7f && c != '"' && c != '\'')
		return (size_t)snprintf(out, 5, "%c", c);
	return (size_t)snprintf(out, 5, "\\x%02x", c);
}

char *log_escape(char *dst, size_t dstlen, const void *src, size_t srclen)
{
	const unsigned char *bytes = src;
	char one[5];
	size_t len = 0, safe = 0, n;

	if (dstlen == 0)
		return dst;
	for (size_t i = 0; i < srclen; i++) {
		n = escape_byte(one, bytes[i]);
		if (len + n >= dstlen) {
			n = dstlen - 1 - safe;
			memcpy(dst + safe, "...", n < 3 ? n : 3);
			dst[safe + (n < 3 ? n : 3)] = '\0';
			return dst;
		}
		memcpy(dst + len, one, n);
		len += n;
		if (len + 4 <= dstlen)
			safe = len;
	}
	dst[len] = '\0';
	return dst;
}
