/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log lines to stderr: with the journal's "<N>" prefix when stderr is the
 * journal (JOURNAL_STREAM, see systemd.exec(5)), else with the time in UTC.
 * A line reads `module key=value: cause`; it needs no newline of its own,
 * and control characters in it come out as '?'. errno survives a call.
 */
#ifndef FOREFETCH_LOG_H
#define FOREFETCH_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* The words for them, "error" first, in the order of the enum; the last element
 * is NULL. */
extern const char *const log_level_names[];

/* Sets the level above which lines are dropped; it starts as LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Log a line, cut at 1024 bytes. Any thread may call them, and they never wait:
 * a line that the journal cannot take at once is lost. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A limit for lines that a peer can trigger: a burst of 5, then one a second.
 * All zeros at first. There is one of these for each kind of line.
 */
struct log_limit {
	uint64_t since_us; /* when the lines of `used` began to wear off */
	unsigned used;
	/* Lines refused since the last that went out. */
	unsigned suppressed;
};

/*
 * Whether a line may go out at `now_us` (of any clock that does not jump). If
 * so, `*suppressed` gets the number of lines refused since the last that did.
 */
bool log_limit_ok(
    struct log_limit *limit, uint64_t now_us, unsigned *suppressed);

/* A buffer of this many bytes takes `srclen` bytes escaped, never cut. */
#define LOG_ESCAPE_MAX(srclen) ((srclen)*4 + 1)

/*
 * Makes bytes from a peer (a name, a path) fit for a log line: printable ASCII
 * stays, backslash doubles, all else, blanks and quotes included, is \xNN. Cut
 * to fit, between escapes, with "..." at its end. Returns `dst`.
 */
char *log_escape(char *dst, size_t dstlen, const void *src, size_t srclen);

#endif
