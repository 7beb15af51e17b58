/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page of text that is made before it is shown: rows of cells, of which none
 * is ever outside of it. It knows neither a terminal nor what is on it. */
#ifndef FOREFETCH_TOP_PAGE_H
#define FOREFETCH_TOP_PAGE_H

#include <stddef.h>

/* How a cell is to look, by its meaning; top_screen.c chooses colours. */
enum top_style {
	TOP_PLAIN,
	/* The title of a section. */
	TOP_TITLE,
	/* The heads of columns. */
	TOP_HEAD,
	/* Less important than what is around it. */
	TOP_DIM,
	/* In order; then what deserves a look, and what is wrong. */
	TOP_GOOD,
	TOP_WARN,
	TOP_BAD,
	TOP_STYLES
};

enum { TOP_COLUMNS_MAX = 1000, TOP_ROWS_MAX = 1000 };

struct top_page;

/* An empty page of 1 to TOP_COLUMNS_MAX columns and 1 to TOP_ROWS_MAX rows;
 * other sizes are brought within these. NULL without memory. */
struct top_page *top_page_new(int columns, int rows);
void top_page_free(struct top_page *p); /* NULL is allowed */
/* Its size, which does not change. */
int top_page_columns(const struct top_page *p);
int top_page_rows(const struct top_page *p);

/*
 * Write clean text (top_text.h) at a place, over at most `max` columns; what
 * does not fit is cut, with "…" at its end. Returns the columns that it took.
 * Nothing is written outside of the page.
 */
int top_page_put(struct top_page *p, int row, int column, int max,
    enum top_style style, const char *text);

/* The text of a cell, and its style; "" for the right half of a wide character.
 * The place is on the page; the text stays the page's. */
const char *top_page_at(
    const struct top_page *p, int row, int column, enum top_style *style);

/* A row as text, without blanks at its end; to be freed. NULL without memory.
 */
char *top_page_row(const struct top_page *p, int row);

#endif
