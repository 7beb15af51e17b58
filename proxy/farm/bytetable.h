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

enum {
	BYTETABLE_VERSION = 1,
	BYTETABLE_ROW_MAX = 64,
	BYTETABLE_ROWS_MAX = 1 << 18, /* the rest is left out */
};

/* ---- a table that grows ------------------------------------------------ */

struct bytetable {
	unsigned char *data; /* NULL at first; of whoever has it */
	size_t len, cap;
	size_t n;
	uint8_t last_len;
	unsigned char last[BYTETABLE_ROW_MAX];
};

/* Adds a row of 1 to BYTETABLE_ROW_MAX bytes. False without memory: then the
 * table is as it was. Begins with a struct of zeros. */
bool bytetable_add(struct bytetable *t, const void *row, size_t len);
/* Frees its bytes. */
void bytetable_clear(struct bytetable *t);

/* ---- a table that came ------------------------------------------------- */

struct bytetable_view {
	const unsigned char *data, *end;
	size_t n; /* rows up to now */
	uint8_t len;
	unsigned char row[BYTETABLE_ROW_MAX]; /* the row at hand */
};

/* 0, or -EBADMSG, -EPROTONOSUPPORT. The bytes must outlive the view. */
int bytetable_open(struct bytetable_view *v, const void *data, size_t len);
/* Goes to the next row, which is in `row` and `len`. False at the end, or where
 * the bytes make no sense: bytetable_bad() tells. */
bool bytetable_next(struct bytetable_view *v);
bool bytetable_bad(const struct bytetable_view *v);

#endif
