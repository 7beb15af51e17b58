/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables on a page: as many columns as there is room for. Unlike ctl_table.h,
 * which prints all of a table, this one has to fit. */
#ifndef FOREFETCH_TOP_TABLE_H
#define FOREFETCH_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top/top_page.h"

enum { TOP_TABLE_COLUMNS = 16 };

/* How a column behaves when the page gets narrow. Constant, in the file that
 * has the table. */
struct top_column {
	const char *head;
	/* Where there is too little room, the columns with the greatest number
	 * are left out first; those with 0 stay. */
	int drop;
	/* Columns of text where room is short; 0: as wide as it is, and of the
	 * one with the rest only what is of use. */
	int max;
	bool right;
	bool rest; /* it has the room that the others leave; one at most */
	bool tail; /* what is too long is cut at its beginning */
};

/* A part of a page: its first row and column, and its size. */
struct top_area {
	int row, column, rows, columns;
};

struct top_table;

/* `columns` ends with one without a head, and must live as long. NULL without
 * memory, which the functions below take. */
struct top_table *top_table_new(const struct top_column *columns);
/* NULL is allowed. */
void top_table_free(struct top_table *t);
/* Leave out the column of that head. */
void top_table_hide(struct top_table *t, const char *head);
/* Rows so far, without the heads. */
size_t top_table_rows(const struct top_table *t);

/* Begins a row, whose cells follow. */
void top_table_row(struct top_table *t, enum top_style style);
/* The next cell of the row; of text that is ours, or clean (top_text.h). */
void top_table_cell(struct top_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts bytes of unknown origin into the next cell. */
void top_table_bytes(struct top_table *t, const uint8_t *s, size_t len);

/* Draws heads and rows into the area; returns how many of its rows they took, 0
 * where it has none for a row. `wide` leaves out all columns that may be left
 * out, for the sake of the one with the rest. */
int top_table_draw(const struct top_table *t, struct top_page *p,
    const struct top_area *area, bool wide);
/* The same with a cursor on a row, and with the rows around that where there is
 * no room for all. */
int top_table_draw_at(const struct top_table *t, struct top_page *p,
    const struct top_area *area, bool wide, size_t row);
/* Draws all cells of a row, hidden ones too: each beside its head and whole, on
 * as many rows of the page as it needs. */
void top_table_draw_row(const struct top_table *t, struct top_page *p,
    const struct top_area *area, size_t row);

/* Keeps the rows that have the text in one of their cells, whatever the case of
 * ASCII letters; all for "". */
void top_table_filter(struct top_table *t, const char *text);

#endif
