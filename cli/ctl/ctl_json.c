/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything that --json prints. */
#include "ctl/ctl_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/control.pb-c.h"
#include "control/protocol.h"
#include "ctl/ctl_mount.h"
#include "ctl/ctl_text.h"

/* The values that mean "not known"; null is printed for them. Without `of`, it
 * is so in every message. */
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

static void put_string(FILE *out, const uint8_t *s, size_t len)
{
	uint32_t c;
	size_t n;

	putc('"', out);
	for (; len > 0; s += n, len -= n) {
		n = ctl_utf8_length(s, len);
		if (n == 0) {
			fprintf(out, "\\udc%02x", s[0]);
			n = 1;
		} else if (!ctl_text_safe(c = ctl_utf8_decode(s, n))) {
			if (c > 0xffff)
				fprintf(out, "\\u%04x",
				    0xd7c0 + (unsigned)(c >> 10));
			fprintf(out, "\\u%04x",
			    c > 0xffff ? 0xdc00 | (unsigned)(c & 0x3ff)
				       : (unsigned)c);
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

void ctl_json_real(struct ctl_json *j, const char *key, double value)
{
	put_key(j, key);
	fprintf(j->out, "%.6g", value);
}

void ctl_json_null(struct ctl_json *j, const char *key)
{
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
	if (len == 0) {
		ctl_json_null(j, key);
		return;
	}
	put_key(j, key);
	put_string(j->out, s, len);
}

void ctl_json_text(struct ctl_json *j, const char *key, const char *text)
{
	ctl_json_bytes(j, key, (const uint8_t *)text, strlen(text));
}

void ctl_json_known(
    struct ctl_json *j, const char *key, const ProtobufCBinaryData *bytes)
{
	ctl_json_bytes(
	    j, key, bytes ? bytes->data : NULL, bytes ? bytes->len : 0);
}

void ctl_json_place(struct ctl_json *j, const struct ctl_place *at)
{
	size_t len = strlen(at->export);
	bool slash = *at->path && (len == 0 || at->export[len - 1] != '/');
	char path[2 * CONTROL_PATH_MAX + 1];

	snprintf(path, sizeof(path), "%s%s%s", at->export, slash ? "/" : "",
	    at->path);
	ctl_json_text(j, "export_path", path);
}

/* ---- messages --------------------------------------------------------- */

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

static void put_number(struct ctl_json *j, const char *key,
    const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *f,
    uint64_t value)
{
	if (is_unknown(of, f, value))
		ctl_json_null(j, key);
	else
		ctl_json_number(j, key, value);
}

static void put_id(struct ctl_json *j, const char *key, uint64_t id)
{
	char text[CTL_TEXT_MAX];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	if (id)
		ctl_json_text(j, key, text);
	else
		ctl_json_null(j, key);
}

/* One value of a field; in a list, without a key. */
static void put_value(struct ctl_json *j, const char *key,
    const ProtobufCMessageDescriptor *of, const ProtobufCFieldDescriptor *f,
    const void *at)
{
	char text[CTL_TEXT_MAX];

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
		ctl_json_bool(j, key, *(const protobuf_c_boolean *)at);
		return;
	case PROTOBUF_C_TYPE_ENUM:
		ctl_json_text(j, key,
		    ctl_text_word(text, f->descriptor, *(const int *)at));
		return;
	case PROTOBUF_C_TYPE_STRING:
		ctl_json_text(j, key, *(char *const *)at);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		ctl_json_known(j, key, at);
		return;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (*(const void *const *)at)
			ctl_json_message(j, key, *(const void *const *)at);
		else
			ctl_json_null(j, key);
		return;
	default:
		abort(); /* control.proto has no others */
	}
}

/* A list of counters is an object, of which each is a member. */
static void put_counters(struct ctl_json *j, const char *key,
    Forefetch__Counter *const *list, size_t n)
{
	ctl_json_open(j, key, '{');
	for (size_t i = 0; i < n; i++)
		ctl_json_number(j, list[i]->key, list[i]->value);
	ctl_json_close(j, '}');
}

/* Of each bucket [low, high, count]. */
static void put_histogram(
    struct ctl_json *j, const char *key, const uint64_t *list, size_t n)
{
	ctl_json_open(j, key, '[');
	for (size_t i = 0; i + 2 < n; i += 3) {
		ctl_json_open(j, NULL, '[');
		for (size_t k = 0; k < 3; k++)
			ctl_json_number(j, NULL, list[i + k]);
		ctl_json_close(j, ']');
	}
	ctl_json_close(j, ']');
}

static void put_list(struct ctl_json *j, const ProtobufCMessageDescriptor *of,
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
	ctl_json_open(j, f->name, '[');
	for (size_t i = 0; i < n; i++)
		put_value(j, NULL, of, f, list + i * size);
	ctl_json_close(j, ']');
}

void ctl_json_fields(struct ctl_json *j, const void *message)
{
	const ProtobufCMessageDescriptor *of =
	    ((const ProtobufCMessage *)message)->descriptor;

	for (unsigned i = 0; i < of->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &of->fields[i];
		const char *at = (const char *)message + f->offset;

		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			put_list(j, of, f, *(const char *const *)at,
			    *(const size_t *)((const char *)message +
					      f->quantifier_offset));
		else
			put_value(j, f->name, of, f, at);
	}
}

void ctl_json_message(struct ctl_json *j, const char *key, const void *message)
{
	ctl_json_open(j, key, '{');
	ctl_json_fields(j, message);
	ctl_json_close(j, '}');
}

void ctl_json_print(const void *message)
{
	struct ctl_json j = {.out = stdout};

	ctl_json_message(&j, NULL, message);
	putchar('\n');
}
