/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of short rows of bytes that are much alike, such as handles of one
 * server. A table is a version byte; then of each row how many bytes it begins
 * with that the row before had (one byte), its length (one), and the rest.
 */
#ifndef FOREFETCH_BYTETABLE_H
#define FOREFETCH_BYTETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bounds of the format. A row has at most 64 bytes, as NFSv3's handles do. */
enum {
	BYTETABLE_VERSION = 1,
	BYTETABLE_ROW_MAX = 64,
	BYTETABLE_ROWS_MAX = 1 << 18, /* the rest is left out */
};

/* ---- a table that grows ------------------------------------------------ */

/* A table that is being made. Zeros at first; whoever has it frees its
 * bytes. */
struct bytetable {
	/* NULL at first; `len` bytes are used, of `cap`. */
	unsigned char *data;
	size_t len, cap;
	size_t n;
	/* The last row, which the next one is compared with. */
	uint8_t last_len;
	unsigned char last[BYTETABLE_ROW_MAX];
};

/* Adds a row of 1 to BYTETABLE_ROW_MAX bytes. False without memory: then the
 * table is as it was. Begins with a struct of zeros. */
bool bytetable_add(struct bytetable *t, const void *row, size_t len);
/* Frees its bytes. */
void bytetable_clear(struct bytetable *t);

/* ---- a table that came ------------------------------------------------- */

/* A table that is being read, whose bytes are the caller's. */
struct bytetable_view {
	const unsigned char *data, *end;
	/* Rows up to now. */
	size_t n;
	uint8_t len;
	unsigned char row[BYTETABLE_ROW_MAX]; /* the row at hand */
};

/* 0, or -EBADMSG, -EPROTONOSUPPORT. The bytes must outlive the view. */
int bytetable_open(struct bytetable_view *v, const void *data, size_t len);
/* Goes to the next row, which is in `row` and `len` until the next call. False
 * at the end, or where the bytes make no sense: bytetable_bad() tells. */
bool bytetable_next(struct bytetable_view *v);
/* Whether reading has ended before the end of the bytes. A table of too many
 * rows is not bad. */
bool bytetable_bad(const struct bytetable_view *v);

#endif
