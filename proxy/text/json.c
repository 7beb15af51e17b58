/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes everything that --json prints, and that the page asks for. Values go
 * out one by one as they are put; nothing is kept but whether a comma is due.
 */

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.pb-c.h"
#include "control/protocol.h"
#include "text/json.h"
#include "text/text.h"
#include "text/utf8.h"

/* The values of fields that mean "not known": null is printed for them, so that
 * no reader takes 0 for a measurement. Without `of`, it is so in every message.
 */
static const struct {
	const ProtobufCMessageDescriptor *of;
	const char *field;
	uint64_t value;
} unknown[] = {
    {&forefetch__status__descriptor, "reload_age_us", 0},
    {&forefetch__server_status__descriptor, "offline_age_us", 0},
    {&forefetch__server_status__descriptor, "served_age_us", 0},
    {&forefetch__cache_status__descriptor, "disk_problem_age_us", 0},
    {&forefetch__link_status__descriptor, "rate_bytes_per_second", 0},
    {&forefetch__hold_status__descriptor, "pause_left_us", 0},
    {&forefetch__hold_status__descriptor, "hour_left_us", 0},
    {&forefetch__server_status__descriptor, "nfs_port", 0},
    {&forefetch__server_status__descriptor, "mount_port", 0},
    {&forefetch__link_status__descriptor, "base_us", 0},
    {&forefetch__pin__descriptor, "walked_unix_seconds", 0},
    {&forefetch__explained__descriptor, "size", SIZE_UNKNOWN},
    {&forefetch__explained__descriptor, "data_bytes", SIZE_UNKNOWN},
    {&forefetch__explained__descriptor, "attr_age_us", AGE_UNKNOWN},
    {&forefetch__explained__descriptor, "rights_age_us", AGE_UNKNOWN},
    {NULL, "srtt_us", 0},
    {NULL, "local_port", 0},
    {NULL, "uid", UID_NOBODY},
    {NULL, "accuracy_permille", PERMILLE_UNKNOWN},
    {NULL, "coverage_permille", PERMILLE_UNKNOWN},
    {NULL, "timeliness_permille", PERMILLE_UNKNOWN},
    {NULL, "waste_permille", PERMILLE_UNKNOWN},
    {&forefetch__ahead_call__descriptor, "bytes", 0},
};

/* ---- the writer ------------------------------------------------------- */

/* Writes one character, of `n` bytes: as it is, or escaped where it cannot be
 * seen, or means something in HTML and the page asks. Beyond 16 bits an escape
 * takes two surrogates. */
static void put_character(const struct json *j, const uint8_t *s, size_t n)
{
	uint32_t c = utf8_decode(s, n);
	bool quoted = c == '"' || c == '\\';

	if (utf8_is_shown(c) && !(j->page && (quoted || c == '<'))) {
		if (quoted)
			putc('\\', j->out);
		fwrite(s, 1, n, j->out);
		return;
	}
	if (c > 0xffff) {
		fprintf(j->out, "\\u%04x", 0xd7c0 + (unsigned)(c >> 10));
		c = 0xdc00 | (c & 0x3ff);
	}
	fprintf(j->out, "\\u%04x", (unsigned)c);
}

/* Writes a string with its quotes. */
static void put_string(const struct json *j, const uint8_t *s, size_t len)
{
	size_t n;

	putc('"', j->out);
	for (; len > 0; s += n, len -= n) {
		n = utf8_length(s, len);
		if (n > 0) {
			put_character(j, s, n);
		} else {
			fprintf(j->out, "\\udc%02x", s[0]);
			n = 1;
		}
	}
	putc('"', j->out);
}

/* Writes the comma that is due, and the key where there is one. */
static void put_key(struct json *j, const char *key)
{
	if (j->comma)
		putc(',', j->out);
	j->comma = true;
	if (!key)
		return;
	put_string(j, (const uint8_t *)key, strlen(key));
	putc(':', j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
	put_key(j, key);
	putc(bracket, j->out);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	putc(bracket, j->out);
	j->comma = true;
}

void json_number(struct json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_seconds(struct json *j, const char *key, uint64_t us)
{
	char buf[TEXT_SECONDS_MAX];

	put_key(j, key);
	fputs(text_of_seconds(buf, us), j->out);
}

void json_seconds_known(struct json *j, const char *key, uint64_t us)
{
	if (us > 0)
		json_seconds(j, key, us);
	else
		json_null(j, key);
}

void json_real(struct json *j, const char *key, double value)
{
	put_key(j, key);
	fprintf(j->out, "%.6g", value);
}

void json_null(struct json *j, const char *key)
{
	put_key(j, key);
	fputs("null", j->out);
}

void json_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_bytes(struct json *j, const char *key, const uint8_t *s, size_t len)
{
	if (len == 0) {
		json_null(j, key);
		return;
	}
	put_key(j, key);
	put_string(j, s, len);
}

void json_text(struct json *j, const char *key, const char *text)
{
	json_bytes(j, key, (const uint8_t *)text, strlen(text));
}

void json_known(
    struct json *j, const char *key, const ProtobufCBinaryData *bytes)
{
	json_bytes(j, key, bytes ? bytes->data : NULL, bytes ? bytes->len : 0);
}

/* ---- messages --------------------------------------------------------- */

const char *json_word(
    char buf[JSON_WORD_MAX], const ProtobufCEnumDescriptor *of, int value)
{
	const ProtobufCEnumValue *v =
	    protobuf_c_enum_descriptor_get_value(of, value);
	const char *name = v ? v->name : "unknown";
	size_t n = 0;

	for (; name[n] && n + 1 < JSON_WORD_MAX; n++)
		buf[n] = name[n] == '_' ? '-' : (char)tolower(name[n]);
	buf[n] = '\0';
	return buf;
}

/* Whether this value of the field means "not known". */
static bool is_unknown(const ProtobufCMessageDescriptor *of,
    const ProtobufCFieldDescriptor *f, uint64_t value)
{
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if ((!unknown[i].of || unknown[i].of == of) &&
		    unknown[i].value == value &&
		    strcmp(unknown[i].field, f->name) == 0)
			return true;
	return false;
}

/* Writes a field's number. For the page, a time in microseconds is in seconds
 * and loses the end of its name. */
static void put_number(struct json *j, const char *key,
    const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *f,
    uint64_t value)
{
	size_t len = key ? strlen(key) : 0;
	bool time = j->page && len > 3 && strcmp(key + len - 3, "_us") == 0;
	char name[JSON_WORD_MAX];

	if (time) {
		snprintf(name, sizeof(name), "%.*s", (int)(len - 3), key);
		key = name;
	}
	if (is_unknown(of, f, value))
		json_null(j, key);
	else if (time)
		json_seconds(j, key, value);
	else
		json_number(j, key, value);
}

/* Writes an id as text: programs read numbers as doubles, which would round it.
 * 0 is none. */
static void put_id(struct json *j, const char *key, uint64_t id)
{
	char text[JSON_WORD_MAX];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	if (id)
		json_text(j, key, text);
	else
		json_null(j, key);
}

/* Writes one value of a field; in a list, without a key. */
static void put_value(struct json *j, const char *key,
    const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *f,
    const void *at)
{
	char text[JSON_WORD_MAX];

	switch (f->type) {
	case PROTOBUF_C_TYPE_UINT32:
		put_number(j, key, of, f, *(const uint32_t *)at);
		return;
	case PROTOBUF_C_TYPE_UINT64:
		put_number(j, key, of, f, *(const uint64_t *)at);
		return;
	case PROTOBUF_C_TYPE_FIXED64:
		put_id(j, key, *(const uint64_t *)at);
		return;
	case PROTOBUF_C_TYPE_BOOL:
		json_bool(j, key, *(const protobuf_c_boolean *)at);
		return;
	case PROTOBUF_C_TYPE_ENUM:
		json_text(
		    j, key, json_word(text, f->descriptor, *(const int *)at));
		return;
	case PROTOBUF_C_TYPE_STRING:
		json_text(j, key, *(char *const *)at);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		json_known(j, key, at);
		return;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (*(const void *const *)at)
			json_message(j, key, *(const void *const *)at);
		else
			json_null(j, key);
		return;
	default:
		abort(); /* control.proto has no others */
	}
}

/* Writes a list of counters as an object, of which each is a member. */
static void put_counters(
    struct json *j, const char *key, Forefetch__Counter *const *list, size_t n)
{
	json_open(j, key, '{');
	for (size_t i = 0; i < n; i++)
		json_number(j, list[i]->key, list[i]->value);
	json_close(j, '}');
}

/* Writes a histogram as a list of buckets: [low, high, count]. */
static void put_histogram(
    struct json *j, const char *key, const uint64_t *list, size_t n)
{
	json_open(j, key, '[');
	for (size_t i = 0; i + 2 < n; i += 3) {
		json_open(j, NULL, '[');
		for (size_t k = 0; k < 3; k++)
			json_number(j, NULL, list[i + k]);
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* Writes a field that may be there several times. */
static void put_list(struct json *j, const ProtobufCMessageDescriptor *of,
    const ProtobufCFieldDescriptor *f, const char *list, size_t n)
{
	size_t size = f->type == PROTOBUF_C_TYPE_BYTES
			  ? sizeof(ProtobufCBinaryData)
			  : sizeof(void *);

	if (f->descriptor == &forefetch__counter__descriptor) {
		put_counters(j, f->name, (void *)list, n);
		return;
	}
	if (f->type == PROTOBUF_C_TYPE_UINT64) { /* there is no other */
		put_histogram(j, f->name, (const void *)list, n);
		return;
	}
	json_open(j, f->name, '[');
	for (size_t i = 0; i < n; i++)
		put_value(j, NULL, of, f, list + i * size);
	json_close(j, ']');
}

static void put_field(struct json *j, const ProtobufCMessageDescriptor *of,
    const ProtobufCFieldDescriptor *f, const char *message)
{
	const char *at = message + f->offset;

	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		put_list(j, of, f, *(const char *const *)at,
		    *(const size_t *)(message + f->quantifier_offset));
	else
		put_value(j, f->name, of, f, at);
}

void json_fields(struct json *j, const void *message)
{
	const ProtobufCMessageDescriptor *of =
	    ((const ProtobufCMessage *)message)->descriptor;

	for (unsigned i = 0; i < of->n_fields; i++)
		put_field(j, of, &of->fields[i], message);
}

void json_some(struct json *j, const void *message, const char *names)
{
	const ProtobufCMessageDescriptor *of =
	    ((const ProtobufCMessage *)message)->descriptor;
	char name[JSON_WORD_MAX];

	for (int len = 0; sscanf(names, "%31s%n", name, &len) == 1;
	     names += len)
		put_field(j, of,
		    protobuf_c_message_descriptor_get_field_by_name(of, name),
		    message);
}

void json_message(struct json *j, const char *key, const void *message)
{
	json_open(j, key, '{');
	json_fields(j, message);
	json_close(j, '}');
}

void json_print(const void *message)
{
	struct json j = {.out = stdout};

	json_message(&j, NULL, message);
	putchar('\n');
}
