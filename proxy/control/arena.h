/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of one response: protobuf messages, and what they point to. All of it
 * is freed at once, and whether memory was short somewhere is asked once.
 */
#ifndef FOREFETCH_ARENA_H
#define FOREFETCH_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct arena_chunk;

/* Zeros at first. */
struct arena {
	struct arena_chunk *chunks;
	bool failed; /* memory was short */
};

/* Zeroed memory for `n` things of `size` bytes; NULL without memory. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/* A message of this kind with its defaults; NULL without memory. */
void *arena_message(struct arena *a, const ProtobufCMessageDescriptor *kind);

/* The value of a repeated field: an array of `n` pointers to such messages. */
void *arena_messages(
    struct arena *a, const ProtobufCMessageDescriptor *kind, size_t n);

/* Text, made as by printf, for a field of bytes; empty without memory. */
ProtobufCBinaryData arena_bytes(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void arena_clear(struct arena *a);

#endif
