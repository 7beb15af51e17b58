/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows how far something is, on stderr: when to put a line, how wide it may
 * be, and at which rate bytes came lately. Only the caller knows what to
 * write. */
#include "commands/progress.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands/json_error.h"
#include "ctl/ctl_text.h"

/* Microseconds between two lines on a terminal, and between two in a file; and
 * between two samples of the rate, of which the ring then covers ten
 * seconds. */
#define SCREEN_US UINT64_C(100000)
#define LINES_US  UINT64_C(10000000)
#define RATE_US   UINT64_C(700000) /* between two samples */

void progress_init(struct progress *p, const struct ctl_options *opt)
{
	*p = (struct progress){.screen = !opt->json && isatty(STDERR_FILENO)};
	p->lines = !p->screen && opt->progress;
}

/* A walk that ends within ten seconds is not worth a line in a log, so the
 * first call only notes the time there. */
bool progress_due(struct progress *p, uint64_t now_us)
{
	uint64_t pause_us = p->screen ? SCREEN_US : LINES_US;

	if (!p->screen && !p->lines)
		return false;
	/* A short walk is not worth a line. */
	if (p->put_us == 0 && p->lines) {
		p->put_us = now_us;
		return false;
	}
	if (p->put_us > 0 && now_us - p->put_us < pause_us)
		return false;
	p->put_us = now_us;
	return true;
}

/* The width of the terminal, which may be changed at any time; 80 where it does
 * not tell. */
static size_t columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* The number of bytes of `text` that take fewer than `width` columns, counting
 * a character of UTF-8 as one column. A full line would make some terminals
 * begin another, which the next \r does not come back from. */
static size_t cut(const char *text, size_t width)
{
	size_t n = 0, column = 0;

	for (; text[n]; n++)
		if (((unsigned char)text[n] & 0xc0) != 0x80 &&
		    ++column >= width)
			break;
	return n;
}

/* The text is cut only on a terminal. While it is written, json_error must not
 * take it for an error. */
void progress_put(struct progress *p, const char *text)
{
	json_error_ignore(true);
	if (p->screen)
		fprintf(
		    stderr, "\r%.*s\033[K", (int)cut(text, columns()), text);
	else
		fprintf(stderr, "forefetch: %s\n", text);
	fflush(stderr);
	json_error_ignore(false);
	p->drawn = p->screen;
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}

/* The ring keeps a sample each RATE_US; the rate is that of the time since its
 * oldest one, so that it follows changes and does not jump. */
uint64_t progress_rate(struct progress *p, uint64_t now_us, uint64_t bytes)
{
	size_t last = (p->n + PROGRESS_RATES - 1) % PROGRESS_RATES;
	size_t first = p->n < PROGRESS_RATES ? 0 : p->n % PROGRESS_RATES;
	uint64_t us;

	if (p->n == 0 || now_us - p->past[last].us >= RATE_US) {
		p->past[p->n % PROGRESS_RATES].us = now_us;
		p->past[p->n++ % PROGRESS_RATES].bytes = bytes;
		first = p->n < PROGRESS_RATES ? 0 : p->n % PROGRESS_RATES;
	}
	us = now_us - p->past[first].us;
	if (us < RATE_US || bytes < p->past[first].bytes)
		return 0;
	return (uint64_t)((double)(bytes - p->past[first].bytes) * 1e6 /
			  (double)us);
}

void progress_head(FILE *out, uint64_t done, uint64_t all,
    uint64_t bytes_per_second, uint64_t left_us)
{
	char text[CTL_TEXT_MAX];
	const char *comma = "";

	if (all > 0) {
		fprintf(
		    out, "%u%%", (unsigned)((double)done * 100 / (double)all));
		comma = ", ";
	}
	if (bytes_per_second > 0) {
		fprintf(out, "%s%s/s", comma,
		    ctl_text_bytes(text, bytes_per_second));
		comma = ", ";
	}
	if (left_us > 0) {
		fprintf(
		    out, "%s%s left", comma, ctl_text_duration(text, left_us));
		comma = ", ";
	}
	if (*comma)
		fputs(": ", out);
}
