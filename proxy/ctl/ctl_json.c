/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "ctl/ctl_json.h"
#include "ctl/ctl_text.h"

static void put_string(FILE *out, const uint8_t *s, size_t len)
{
	size_t n;

	putc('"', out);
	for (; len > 0; s += n, len -= n) {
		n = ctl_utf8_length(s, len);
		if (n == 0) {
			fprintf(out, "\\udc%02x", s[0]);
			n = 1;
		} else if (s[0] < 0x20 || s[0] == 0x7f) {
			fprintf(out, "\\u%04x", s[0]);
		} else {
			if (s[0] == '"' || s[0] == '\\')
				putc('\\', out);
			fwrite(s, 1, n, out);
		}
	}
	putc('"', out);
}

static void put_key(struct ctl_json *j, const char *key)
{
	if (j->comma)
		putc(',', j->out);
	j->comma = true;
	if (!key)
		return;
	put_string(j->out, (const uint8_t *)key, strlen(key));
	putc(':', j->out);
}

void ctl_json_open(struct ctl_json *j, const char *key, char bracket)
{
	put_key(j, key);
	putc(bracket, j->out);
	j->comma = false;
}

void ctl_json_close(struct ctl_json *j, char bracket)
{
	putc(bracket, j->out);
	j->comma = true;
}

void ctl_json_number(struct ctl_json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void ctl_json_known(struct ctl_json *j, const char *key, uint64_t value)
{
	if (value > 0) {
		ctl_json_number(j, key, value);
		return;
	}
	put_key(j, key);
	fputs("null", j->out);
}

void ctl_json_bool(struct ctl_json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void ctl_json_bytes(
    struct ctl_json *j, const char *key, const uint8_t *s, size_t len)
{
	put_key(j, key);
	put_string(j->out, s, len);
}

void ctl_json_text(struct ctl_json *j, const char *key, const char *text)
{
	ctl_json_bytes(j, key, (const uint8_t *)text, strlen(text));
}
