/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants that the writer and the reader of trace.proto share. */
#ifndef FOREFETCH_TRACE_FORMAT_H
#define FOREFETCH_TRACE_FORMAT_H

#include <stdint.h>

/* The first byte occurs in no text, so it tells the two formats apart. */
#define TRACE_MAGIC                                                            \
	"\x89"                                                                 \
	"FFTRC\n"

enum {
	TRACE_MAGIC_BYTES = 7,
	TRACE_VERSION = 1,
	TRACE_HEAD_BYTES = TRACE_MAGIC_BYTES + 1,
	TRACE_BLOCK_EVENTS = 256,
	TRACE_BLOCK_MAX = 1 << 20,
	TRACE_KIND_MARK = 255,
	TRACE_FLAG_EXEC = 1,
	TRACE_FLAG_DIRECTORY = 2,
	TRACE_LABEL_MAX = 255,
};

/* Before each block; both are little-endian. */
struct trace_frame {
	uint32_t len;      /* of the message, in bytes */
	uint32_t checksum; /* low half of its XXH3 */
};

enum { TRACE_FRAME_BYTES = sizeof(struct trace_frame) };

#endif
