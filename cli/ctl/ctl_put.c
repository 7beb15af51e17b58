/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text for people, made of the fields of a message. */
#include "ctl/ctl_put.h"

#include <inttypes.h>
#include <string.h>

#include "ctl/ctl_text.h"
#include "text/json.h"

enum { NAME_BYTES = 96, MINUTE_US = 60000000 };

/* Where a value is, and of which field; `at` NULL: it is not there. */
struct value {
	const void *at;
	ProtobufCType type;
	const ProtobufCEnumDescriptor *words;
};

/* Looks a name up in a list of counters or gauges. */
static bool find(Forefetch__Counter *const *list, size_t n, const char *name,
    uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i]->key, name) != 0)
			continue;
		*value = list[i]->value;
		return true;
	}
	return false;
}

bool ctl_find(
    const Forefetch__ServerStats *srv, const char *name, uint64_t *value)
{
	*value = 0;
	return name && (find(srv->counters, srv->n_counters, name, value) ||
			   find(srv->gauges, srv->n_gauges, name, value));
}

/* The field of that name; `at` is NULL where there is none, or it is
 * repeated. */
static struct value field(const ProtobufCMessage *message, const char *name)
{
	const ProtobufCFieldDescriptor *f =
	    protobuf_c_message_descriptor_get_field_by_name(
		message->descriptor, name);

	if (!f || f->label == PROTOBUF_C_LABEL_REPEATED)
		return (struct value){0};
	return (struct value){.at = (const char *)message + f->offset,
	    .type = f->type,
	    .words = f->descriptor};
}

/* The value of "NAME" or "MESSAGE.NAME"; cuts `name` at the dot. `number` holds
 * the value of a counter, which has no place in the message. */
static struct value value_of(
    const ProtobufCMessage *message, char *name, uint64_t *number)
{
	char *rest = strchr(name, '.');
	struct value v;

	if (rest)
		*rest++ = '\0';
	v = field(message, name);
	if (rest && v.at && v.type == PROTOBUF_C_TYPE_MESSAGE) {
		message = *(const ProtobufCMessage *const *)v.at;
		return message ? value_of(message, rest, number)
			       : (struct value){0};
	}
	if (!v.at &&
	    message->descriptor == &forefetch__server_stats__descriptor &&
	    ctl_find((const Forefetch__ServerStats *)message, name, number))
		v = (struct value){
		    .at = number, .type = PROTOBUF_C_TYPE_UINT64};
	return v;
}

static uint64_t number_at(const struct value *v)
{
	if (!v->at)
		return 0;
	if (v->type == PROTOBUF_C_TYPE_UINT32)
		return *(const uint32_t *)v->at;
	return *(const uint64_t *)v->at;
}

uint64_t ctl_number(const void *message, const char *name)
{
	char copy[NAME_BYTES];
	uint64_t number;
	struct value v;

	snprintf(copy, sizeof(copy), "%s", name);
	v = value_of(message, copy, &number);
	return number_at(&v);
}

/* Writes a value as it is: bytes and text escaped, a word for an enum. */
static void put_plain(FILE *out, const struct value *v)
{
	const ProtobufCBinaryData *bytes = v->at;
	const char *text;
	char word[CTL_TEXT_MAX];

	switch (v->type) {
	case PROTOBUF_C_TYPE_BYTES:
		ctl_put_bytes(out, bytes->data, bytes->len);
		return;
	case PROTOBUF_C_TYPE_STRING:
		text = *(const char *const *)v->at;
		ctl_put_bytes(out, (const uint8_t *)text, strlen(text));
		return;
	case PROTOBUF_C_TYPE_ENUM:
		fputs(json_word(word, v->words, *(const int *)v->at), out);
		return;
	default:
		fprintf(out, "%" PRIu64, number_at(v));
	}
}

/* Writes a number in the unit of ctl_put.h. */
static void put_number(FILE *out, uint64_t number, char unit)
{
	char buf[CTL_TEXT_MAX];

	switch (unit) {
	case 'N':
		fprintf(out, "%" PRIu64, number);
		return;
	case 'U':
		fputs(ctl_text_us(buf, number), out);
		return;
	case 'B':
		fputs(ctl_text_bytes(buf, number), out);
		return;
	case 'R':
		fputs(ctl_text_rate(buf, number), out);
		return;
	case 'T':
		fputs(number < MINUTE_US ? ctl_text_us(buf, number)
					 : ctl_text_duration(buf, number),
		    out);
		return;
	case 'A':
		fputs(ctl_text_duration(buf, number), out);
		return;
	case 'E':
		fputs(number == 1 ? "" : "es", out);
		return;
	case 'Y':
		fputs(number == 1 ? "y" : "ies", out);
		return;
	default:
		fputs(number == 1 ? "" : "s", out);
	}
}

/* Puts the value that stands between braces. */
static void put_value(FILE *out, const void *message, char *name)
{
	char *end = strpbrk(name, ":/"), how = end ? *end : '\0';
	uint64_t number, whole;
	struct value v;

	if (end)
		*end++ = '\0';
	if (how == '/') {
		whole = ctl_number(message, end);
		number = ctl_number(message, name);
		fprintf(out, "%.1f%%",
		    whole ? (double)number * 100 / (double)whole : 0.0);
		return;
	}
	v = value_of(message, name, &number);
	if (!v.at || (how == ':' && *end == '-' && number_at(&v) == 0))
		putc('-', out);
	else if (how == ':')
		put_number(out, number_at(&v), *end == '-' ? end[1] : *end);
	else
		put_plain(out, &v);
}

void ctl_put(FILE *out, const void *message, const char *text)
{
	char name[NAME_BYTES];

	while (*text) {
		size_t n = strcspn(text, "{");

		fwrite(text, 1, n, out);
		text += n;
		if (!*text)
			return;
		n = strcspn(++text, "}");
		snprintf(name, sizeof(name), "%.*s", (int)n, text);
		put_value(out, message, name);
		text += n + 1;
	}
}
