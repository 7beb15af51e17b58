/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, words, and bytes of unknown origin, for people. */
#include <ctype.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "ctl/ctl_text.h"
#include "text/utf8.h"

static const char *three_digits(
    char buf[CTL_TEXT_MAX], double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buf, CTL_TEXT_MAX, "%.*f %s", decimals, value, unit);
	return buf;
}

const char *ctl_text_us(char buf[CTL_TEXT_MAX], uint64_t us)
{
	if (us < 1000) {
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " us", us);
		return buf;
	}
	if (us < 999500)
		return three_digits(buf, (double)us / 1e3, "ms");
	return three_digits(buf, (double)us / 1e6, "s");
}

const char *ctl_text_bytes(char buf[CTL_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = {
	    "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	while (value >= 1023.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	return three_digits(buf, value, units[i]);
}

const char *ctl_text_rate(char buf[CTL_TEXT_MAX], uint64_t bytes_per_second)
{
	static const char *const units[] = {
	    "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	double value = (double)bytes_per_second * 8;
	size_t i = 0;

	while (value >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		i++;
	}
	if (i > 0)
		return three_digits(buf, value, units[i]);
	snprintf(buf, CTL_TEXT_MAX, "%.0f bit/s", value);
	return buf;
}

const char *ctl_text_duration(char buf[CTL_TEXT_MAX], uint64_t us)
{
	uint64_t s = us / 1000000;

	if (s < 60)
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " s", s);
	else if (s < 3600)
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " min %" PRIu64 " s",
		    s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " h %" PRIu64 " min",
		    s / 3600, s / 60 % 60);
	else
		snprintf(buf, CTL_TEXT_MAX, "%" PRIu64 " d %" PRIu64 " h",
		    s / 86400, s / 3600 % 24);
	return buf;
}

void ctl_put_bytes(FILE *out, const uint8_t *s, size_t len)
{
	size_t n;

	for (; len > 0; s += n, len -= n) {
		n = utf8_length(s, len);
		if ((n == 1 || (n > 1 && ctl_utf8())) &&
		    utf8_is_shown(utf8_decode(s, n))) {
			fwrite(s, 1, n, out);
			continue;
		}
		fprintf(out, "\\x%02x", s[0]);
		n = 1;
	}
}

char *ctl_text_clean(const void *bytes, size_t len)
{
	const uint8_t *s = bytes;
	char *out = malloc(4 * len + 1), *to = out;
	size_t n;

	if (!out)
		return NULL;
	for (; len > 0; s += n, len -= n) {
		uint32_t c;

		n = utf8_length(s, len);
		c = n > 0 ? utf8_decode(s, n) : 0;
		if (utf8_is_shown(c) && wcwidth((wchar_t)c) >= 0) {
			memcpy(to, s, n);
			to += n;
			continue;
		}
		to += sprintf(to, "\\x%02x", s[0]);
		n = 1;
	}
	*to = '\0';
	return out;
}

static void say(FILE *out, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	ctl_put_bytes(out, (const uint8_t *)text, strlen(text));
	putc('\n', out);
	free(text);
}

void ctl_say(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(out, fmt, ap);
	va_end(ap);
}

void ctl_complain(const char *path, const char *fmt, ...)
{
	va_list ap;

	fputs("forefetch: ", stderr);
	if (path) {
		ctl_put_bytes(stderr, (const uint8_t *)path, strlen(path));
		fputs(": ", stderr);
	}
	va_start(ap, fmt);
	say(stderr, fmt, ap);
	va_end(ap);
}

void ctl_mistaken(const char *command, const char *meant)
{
	if (meant)
		fprintf(
		    stderr, "forefetch: did you mean %s %s?\n", command, meant);
	else
		fprintf(stderr, "forefetch: see forefetch help %s\n", command);
}

static bool is_given(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

void ctl_choose_text(void)
{
	bool asked =
	    is_given("LC_ALL") || is_given("LC_CTYPE") || is_given("LANG");
	/* NULL where the system does not have what was asked for. */
	bool known = asked && setlocale(LC_CTYPE, "");

	setlocale(LC_CTYPE, known && strcmp(nl_langinfo(CODESET), "UTF-8") != 0
				? "C"
				: "C.UTF-8");
}

bool ctl_utf8(void)
{
	return MB_CUR_MAX > 1;
}

bool ctl_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) &&
	       !(term && strcmp(term, "dumb") == 0);
}
