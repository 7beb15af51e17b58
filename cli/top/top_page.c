/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of cells. A cell holds what a terminal shows in one column, so that a
 * page can be put on a screen or printed, and text never runs into its
 * neighbour, however wide its characters are. */
#include "top/top_page.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/ctl_text.h"
#include "top/top_text.h"

/* Bytes of a cell: a character and some that combine with it; more of these are
 * left out. */
#define CELL_BYTES 14

/* One column of one row. The right half of a wide character has no text. */
struct page_cell {
	char text[CELL_BYTES];
	uint8_t len;
	uint8_t style;
};

/* The rows one after the other. */
struct top_page {
	int columns, rows;
	struct page_cell cells[];
};

/* `value`, but from 1 to `max`. */
static int within(int value, int max)
{
	return value < 1 ? 1 : value > max ? max : value;
}

struct top_page *top_page_new(int columns, int rows)
{
	struct top_page *p;
	size_t n;

	columns = within(columns, TOP_COLUMNS_MAX);
	rows = within(rows, TOP_ROWS_MAX);
	n = (size_t)columns * (size_t)rows;
	p = calloc(1, sizeof(*p) + n * sizeof(p->cells[0]));
	if (!p)
		return NULL;
	p->columns = columns;
	p->rows = rows;
	for (size_t i = 0; i < n; i++)
		p->cells[i] = (struct page_cell){.text = " ", .len = 1};
	return p;
}

void top_page_free(struct top_page *p)
{
	free(p);
}

int top_page_columns(const struct top_page *p)
{
	return p->columns;
}

int top_page_rows(const struct top_page *p)
{
	return p->rows;
}

/* The cell at a place, which is on the page. */
static struct page_cell *cell(const struct top_page *p, int row, int column)
{
	return (struct page_cell *)&p
	    ->cells[(size_t)row * (size_t)p->columns + (size_t)column];
}

/* Adds a character that has no width of its own to the one before it. */
static void combine(struct page_cell *c, const char *s, size_t n)
{
	if (c->len == 0 || c->len + n >= CELL_BYTES)
		return;
	memcpy(c->text + c->len, s, n);
	c->len = (uint8_t)(c->len + n);
	c->text[c->len] = '\0';
}

/* Makes a cell one character. */
static void set(
    struct page_cell *c, const char *s, size_t n, enum top_style style)
{
	memcpy(c->text, s, n);
	c->text[n] = '\0';
	c->len = (uint8_t)n;
	c->style = (uint8_t)style;
}

/* For how many columns text goes that has `max`: if it is too long, the last
 * one is kept for the mark that says so. */
static int room_for(const char *text, int max)
{
	return top_text_columns(text) <= max ? max : max - 1;
}

int top_page_put(struct top_page *p, int row, int column, int max,
    enum top_style style, const char *text)
{
	const char *more = ctl_utf8() ? "…" : "~";
	int room, one, at = 0;
	size_t n;

	if (column < 0 || row < 0 || row >= p->rows)
		return 0;
	if (max > p->columns - column)
		max = p->columns - column;
	if (max <= 0)
		return 0;
	room = room_for(text, max);
	for (; (n = top_text_next(text, &one)) > 0; text += n) {
		if (one < 0)
			continue;
		if (one == 0) {
			if (at > 0 && n > 1)
				combine(cell(p, row, column + at - 1), text, n);
			continue;
		}
		if (at + one > room)
			break;
		set(cell(p, row, column + at), text, n, style);
		for (int i = 1; i < one; i++)
			set(cell(p, row, column + at + i), "", 0, style);
		at += one;
	}
	if (room < max)
		set(cell(p, row, column + at++), more, strlen(more), style);
	return at;
}

const char *top_page_at(
    const struct top_page *p, int row, int column, enum top_style *style)
{
	const struct page_cell *c = cell(p, row, column);

	*style = (enum top_style)c->style;
	return c->text;
}

/* Blanks at the end are left out, so that a printed page has no trailing
 * ones. */
char *top_page_row(const struct top_page *p, int row)
{
	char *out = malloc((size_t)p->columns * CELL_BYTES + 1);
	size_t len = 0, end = 0;

	if (!out)
		return NULL;
	for (int i = 0; i < p->columns; i++) {
		const struct page_cell *c = cell(p, row, i);

		memcpy(out + len, c->text, c->len);
		len += c->len;
		if (c->len > 0 && strcmp(c->text, " ") != 0)
			end = len;
	}
	out[end] = '\0';
	return out;
}
