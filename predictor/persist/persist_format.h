/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: a header, then a TreeFile (predictor.proto). All of it is checked
 * before any of it is taken. The graph is not saved, since it grows again out
 * of the trails.
 */
#ifndef FOREFETCH_PERSIST_FORMAT_H
#define FOREFETCH_PERSIST_FORMAT_H

#include <stdint.h>

#define PERSIST_MAGIC "FFTREES\n"

struct persist_header {
	char magic[8];     /* without a zero at the end */
	uint64_t version;  /* little-endian, as the checksum is */
	uint64_t checksum; /* XXH3 of the message, seeded by the version */
};

enum { HEADER_BYTES = sizeof(struct persist_header) };

/* Flags of an object in the message: single bits, and the lowest bits of
 * numbers. */
enum {
	FLAG_EXEC = 1,
	FLAG_COUNT = 1,
	FLAG_ABSENT = 1 << 9,
	FLAG_DIRECTORY = 1 << 10,
	FLAG_NEEDS = 11,
	FLAG_FIRST = 17,
};

#endif
