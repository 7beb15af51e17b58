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

const char *ctl_text_word(
    char buf[CTL_TEXT_MAX], const ProtobufCEnumDescriptor *of, int value)
{
	const ProtobufCEnumValue *v =
	    protobuf_c_enum_descriptor_get_value(of, value);
	const char *name = v ? v->name : "unknown";
	size_t n = 0;

	for (; name[n] && n + 1 < CTL_TEXT_MAX; n++)
		buf[n] = name[n] == '_' ? '-' : (char)tolower(name[n]);
	buf[n] = '\0';
	return buf;
}

/* The length that a first byte announces, and the least second byte. */
static size_t sequence_begin(uint8_t first, uint8_t *low, uint8_t *high)
{
	*low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t ctl_utf8_length(const uint8_t *s, size_t len)
{
	uint8_t low, high;
	size_t i, n;

	if (len == 0)
		return 0;
	n = sequence_begin(s[0], &low, &high);
	if (n > len || n == 0)
		return 0;
	for (i = 1; i < n; i++) {
		if (s[i] < low || s[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return n;
}

uint32_t ctl_utf8_decode(const uint8_t *s, size_t n)
{
	static const uint8_t first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = s[0] & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* They cannot be seen, or change the order of what stands beside them. */
static bool is_hidden(uint32_t c)
{
	return c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f ||
	       c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
	       (c >= 0x180b && c <= 0x180e) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	       c == 0x3164 || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff ||
	       c == 0xffa0 || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

bool ctl_text_safe(uint32_t c)
{
	return c >= 0x20 && (c < 0x7f || c > 0x9f) && !is_hidden(c);
}

void ctl_put_bytes(FILE *out, const uint8_t *s, size_t len)
{
	size_t n;

	for (; len > 0; s += n, len -= n) {
		n = ctl_utf8_length(s, len);
		if ((n == 1 || (n > 1 && ctl_utf8())) &&
		    ctl_text_safe(ctl_utf8_decode(s, n))) {
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

		n = ctl_utf8_length(s, len);
		c = n > 0 ? ctl_utf8_decode(s, n) : 0;
		if (ctl_text_safe(c) && wcwidth((wchar_t)c) >= 0) {
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
