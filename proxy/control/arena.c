/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of one response, in a list of chunks of which each is one allocation,
 * so that memory checkers see each access beyond one. */
#include "control/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
	struct arena_chunk *next;
	max_align_t data[];
};

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	struct arena_chunk *chunk;

	assert(size == 0 || n <= SIZE_MAX / 2 / size);
	chunk = calloc(1, sizeof(*chunk) + n * size);
	if (!chunk) {
		a->failed = true;
		return NULL;
	}
	chunk->next = a->chunks;
	a->chunks = chunk;
	return chunk->data;
}

void *arena_message(struct arena *a, const ProtobufCMessageDescriptor *kind)
{
	ProtobufCMessage *msg = arena_alloc(a, 1, kind->sizeof_message);

	if (msg)
		protobuf_c_message_init(kind, msg);
	return msg;
}

void *arena_messages(
    struct arena *a, const ProtobufCMessageDescriptor *kind, size_t n)
{
	void **list = arena_alloc(a, n, sizeof(*list));
	char *msgs = arena_alloc(a, n, kind->sizeof_message);

	for (size_t i = 0; list && msgs && i < n; i++) {
		list[i] = msgs + i * kind->sizeof_message;
		protobuf_c_message_init(kind, list[i]);
	}
	return msgs ? list : NULL;
}

ProtobufCBinaryData arena_bytes(struct arena *a, const char *format, ...)
{
	ProtobufCBinaryData out = {0};
	va_list ap;
	int len;

	va_start(ap, format);
	len = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	out.data = arena_alloc(a, (size_t)len + 1, 1);
	if (!out.data)
		return out;
	va_start(ap, format);
	out.len =
	    (size_t)vsnprintf((char *)out.data, (size_t)len + 1, format, ap);
	va_end(ap);
	return out;
}

void arena_clear(struct arena *a)
{
	struct arena_chunk *next;

	for (; a->chunks; a->chunks = next) {
		next = a->chunks->next;
		free(a->chunks);
	}
}
