/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, words, and bytes of unknown origin, for people. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

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

/* C0, DEL and C1. */
static bool is_control(const uint8_t *s)
{
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

void ctl_put_bytes(FILE *out, const uint8_t *s, size_t len)
{
	size_t n;

	for (; len > 0; s += n, len -= n) {
		n = ctl_utf8_length(s, len);
		if (n > 0 && !is_control(s)) {
			fwrite(s, 1, n, out);
			continue;
		}
		fprintf(out, "\\x%02x", s[0]);
		n = 1;
	}
}

void ctl_complain(const char *path, const char *fmt, ...)
{
	va_list ap;

	fputs("forefetch: ", stderr);
	ctl_put_bytes(stderr, (const uint8_t *)path, strlen(path));
	fputs(": ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}
