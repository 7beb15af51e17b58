/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A little XDR encoder for the tests, made from RFC 4506 and RFC 1813 and
 * sharing nothing with nfsproto/ or libnfs, and known-good messages in it.
 *
 * A message is spelled in words:
 *
 *	u:N q:N   an unsigned int, a hyper
 *	o:N       opaque of N bytes (wire_byte()), with length and padding
 *	n:TEXT    a string
 *	v:N       eight fixed bytes, beginning with N
 *	f         a fattr3        a A   post_op_attr with, without attributes
 *	c         a wcc_attr      w W   wcc_data with, without both sides
 *	s         a sattr3 that sets all, atime by client, mtime by server
 *	S         a sattr3 that sets nothing
 *	t         a sattr3 of both times, atime by server, mtime by client
 *	e:N       an access control list of N entries, led by its length
 */
#ifndef FOREFETCH_TESTS_NFSPROTO_WIRE_H
#define FOREFETCH_TESTS_NFSPROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
	unsigned char *data; /* from malloc() */
	size_t len;
	size_t size;
};

void wire_u32(struct wire *w, uint32_t v);
void wire_u64(struct wire *w, uint64_t v);
void wire_opaque(struct wire *w, const void *data, size_t len);
void wire_spell(struct wire *w, const char *spec);
void wire_free(struct wire *w);

/* An exactly sized copy, so that a sanitizer or valgrind sees overreads. */
void *wire_copy(const void *data, size_t len);

/* Byte `i` of an opaque of `n` bytes. */
static inline unsigned char wire_byte(size_t n, size_t i)
{
	return (unsigned char)(n * 7 + i * 3 + 1);
}

struct wire_row {
	const char *name; /* PROCEDURE.args or .res, and what is special */
	uint32_t prog;
	uint32_t proc;
	bool res;
	bool trailing; /* ends with bytes that no codec of ours looks at */
	const char *spec;
};

extern const struct wire_row wire_rows[];
extern const size_t wire_row_count;

#endif
