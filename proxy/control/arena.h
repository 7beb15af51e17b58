/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of one response: protobuf messages, and what they point to. All of it
 * is freed at once, and whether memory was short somewhere is asked once, at
 * the end (`failed`): code that fills a message may go on after a NULL, as long
 * as it does not follow it.
 *
 * protobuf-c's own free function is never used on these messages, so their
 * fields may also point to constants and to what outlives the response.
 */
#ifndef FOREFETCH_ARENA_H
#define FOREFETCH_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct arena_chunk;

/* Zeros at first. */
struct arena {
	/* All memory that was given out, the last first. */
	struct arena_chunk *chunks;
	bool failed; /* memory was short */
};

/* Zeroed memory for `n` things of `size` bytes, aligned for any type; NULL
 * without memory. `n * size` must fit; it comes from this process, never from a
 * peer. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/* A message of this kind with its defaults (protobuf_c_message_init()); NULL
 * without memory. */
void *arena_message(struct arena *a, const ProtobufCMessageDescriptor *kind);

/* The value of a repeated field: an array of `n` pointers to such messages,
 * which are one allocation. The caller counts those that it has filled in the
 * field n_NAME. NULL without memory, and never for `n` 0. */
void *arena_messages(
    struct arena *a, const ProtobufCMessageDescriptor *kind, size_t n);

/* Text, made as by printf(3), for a field of bytes; empty without memory. There
 * is a NUL behind it, which its length does not count. */
ProtobufCBinaryData arena_bytes(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees everything. `failed` stays as it is. */
void arena_clear(struct arena *a);

#endif
