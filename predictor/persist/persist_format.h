/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: "FFTREES\n", then version (8, little-endian) and XXH3 (8) of the
 * message, seeded by the version; then the message. It is checked whole before
 * any of it is taken. The graph is not saved: it grows again out of the
 * trails.
 */
#ifndef FOREFETCH_PERSIST_FORMAT_H
#define FOREFETCH_PERSIST_FORMAT_H

#define PERSIST_MAGIC "FFTREES\n"

enum { HEADER_BYTES = 24 };

/* Object flags of the message: bits, and where numbers begin. */
enum {
	FLAG_EXEC = 1,
	FLAG_COUNT = 1,
	FLAG_ABSENT = 1 << 9,
	FLAG_DIRECTORY = 1 << 10,
	FLAG_NEEDS = 11,
	FLAG_FIRST = 17,
};

#endif
