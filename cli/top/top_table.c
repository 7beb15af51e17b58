/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: cells first, then widths, then what fits. All cells are kept until
 * the table is drawn, as only then it is known how wide a column has to be, and
 * which columns have room. */
#include "ctl/ctl_text.h"
#include "top/top_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/top_text.h"

enum {
	/* Others are left out: nobody goes through so many. */
	ROWS_MAX = 512,
	/* So many blanks stand between two columns. */
	GAP = 2,
	/* The column that takes the rest of a line may be cut to so many
	 * characters; if there is less room, other columns go. */
	REST_MIN = 8,
};

/* One row; its cells are allocated. */
struct table_row {
	enum top_style style;
	char *cells[TOP_TABLE_COLUMNS]; /* NULL: empty */
};

/* `columns` is the caller's. */
struct top_table {
	const struct top_column *columns;
	size_t ncolumns;
	bool hidden[TOP_TABLE_COLUMNS];
	/* The number of rows, and of the next cell in the last one. */
	size_t nrows, in;
	struct table_row rows[ROWS_MAX];
};

struct top_table *top_table_new(const struct top_column *columns)
{
	struct top_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->columns = columns;
	while (columns[t->ncolumns].head && t->ncolumns < TOP_TABLE_COLUMNS)
		t->ncolumns++;
	return t;
}

static void row_free(const struct top_table *t, struct table_row *row)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		free(row->cells[i]);
}

void top_table_free(struct top_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nrows; i++)
		row_free(t, &t->rows[i]);
	free(t);
}

void top_table_hide(struct top_table *t, const char *head)
{
	for (size_t i = 0; t && i < t->ncolumns; i++)
		t->hidden[i] |= strcmp(t->columns[i].head, head) == 0;
}

size_t top_table_rows(const struct top_table *t)
{
	return t ? t->nrows : 0;
}

void top_table_row(struct top_table *t, enum top_style style)
{
	if (!t)
		return;
	t->in = TOP_TABLE_COLUMNS;
	if (t->nrows == ROWS_MAX)
		return;
	t->in = 0;
	t->rows[t->nrows++].style = style;
}

/* Takes the text for the next cell, or frees it where there is no place. */
static void put(struct top_table *t, char *text)
{
	if (t->nrows > 0 && t->in < t->ncolumns)
		t->rows[t->nrows - 1].cells[t->in++] = text;
	else
		free(text);
}

void top_table_cell(struct top_table *t, const char *format, ...)
{
	char *text = NULL;
	va_list ap;

	if (!t)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	put(t, text);
}

void top_table_bytes(struct top_table *t, const uint8_t *s, size_t len)
{
	if (t)
		put(t, ctl_text_clean(s, len));
}

static bool row_has(
    const struct top_table *t, const struct table_row *row, const char *text)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (row->cells[i] && strcasestr(row->cells[i], text))
			return true;
	return false;
}

void top_table_filter(struct top_table *t, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; t && i < t->nrows; i++) {
		if (row_has(t, &t->rows[i], text))
			t->rows[n++] = t->rows[i];
		else
			row_free(t, &t->rows[i]);
	}
	if (t)
		t->nrows = n;
}

/* ---- widths ----------------------------------------------------------- */

/* Widths for one drawing. */
struct table_plan {
	/* Columns of text; 0: the column is left out. */
	int widths[TOP_TABLE_COLUMNS];
	/* The sum of the widths that are shown, with the gaps. */
	int sum;
	int nshown;
};

/* The width in which nothing of a column is cut. */
static int natural_width(const struct top_table *t, size_t column)
{
	const struct top_column *c = &t->columns[column];
	int width = top_text_columns(c->head), one;

	for (size_t i = 0; i < t->nrows; i++) {
		const char *text = t->rows[i].cells[column];

		one = text ? top_text_columns(text) : 0;
		if (one > width)
			width = one;
	}
	return width;
}

/* The width that a column has at least while it is shown. */
static int least_width(const struct top_table *t, size_t column)
{
	const struct top_column *c = &t->columns[column];
	int width = natural_width(t, column);

	if (c->max > 0 && width > c->max)
		width = c->max;
	if (c->rest && c->tail)
		return top_text_columns(c->head);
	return c->rest && !c->max && width > REST_MIN ? REST_MIN : width;
}

/* Computes the sum anew after a change. */
static void sum_up(struct table_plan *plan, const struct top_table *t)
{
	plan->sum = plan->nshown = 0;
	for (size_t i = 0; i < t->ncolumns; i++) {
		if (plan->widths[i] == 0)
			continue;
		plan->sum += plan->widths[i] + (plan->nshown > 0 ? GAP : 0);
		plan->nshown++;
	}
}

/* The column that goes first where room is short; -1: all others stay. */
static int to_drop(const struct table_plan *plan, const struct top_table *t)
{
	int found = -1;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (plan->widths[i] > 0 && t->columns[i].drop > 0 &&
		    (found < 0 || t->columns[i].drop > t->columns[found].drop))
			found = (int)i;
	return found;
}

/* Gives the room that is left over to columns that were cut, then to the one
 * that takes the rest. */
static void grow(struct table_plan *plan, const struct top_table *t, int room)
{
	for (int rest = 0; rest < 2; rest++)
		for (size_t i = 0; i < t->ncolumns && room > plan->sum; i++) {
			int more = natural_width(t, i) - plan->widths[i];

			if (plan->widths[i] == 0 ||
			    t->columns[i].rest != (rest == 1))
				continue;
			if (rest || more > room - plan->sum)
				more = room - plan->sum;
			plan->widths[i] += more;
			sum_up(plan, t);
		}
}

/* Chooses the widths for `room` columns of text: the least ones first, then
 * columns are left out until the rest fits, then what is left over is given
 * away. */
static void fit(
    struct table_plan *plan, const struct top_table *t, int room, bool wide)
{
	int drop;

	for (size_t i = 0; i < t->ncolumns; i++)
		plan->widths[i] = t->hidden[i] ? 0 : least_width(t, i);
	sum_up(plan, t);
	while ((wide || plan->sum > room) && (drop = to_drop(plan, t)) >= 0) {
		plan->widths[drop] = 0;
		sum_up(plan, t);
	}
	grow(plan, t, room);
}

/* ---- drawing ---------------------------------------------------------- */

/* The end of a text, in at most `width` columns. */
static const char *tail_of(const char *text, int width)
{
	int over = top_text_columns(text) - width, one;

	while (over > 0 && *text) {
		text += top_text_next(text, &one);
		over -= one;
	}
	return text;
}

/* Numbers stand at the right, so that their digits are below each other. */
static void draw_cell(struct top_page *p, int row, int column, int width,
    bool right, enum top_style style, const char *text)
{
	int columns = right ? top_text_columns(text) : 0;

	if (columns > 0 && columns < width)
		column += width - columns;
	(void)top_page_put(p, row, column,
	    columns > 0 && columns < width ? columns : width, style, text);
}

/* Draws a row, or with NULL the heads. */
static void draw_row(const struct top_table *t, const struct table_plan *plan,
    struct top_page *p, const struct top_area *area, int at,
    const struct table_row *row, enum top_style style)
{
	int column = area->column, end = area->column + area->columns;

	for (size_t i = 0; i < t->ncolumns && column < end; i++) {
		int width = plan->widths[i];
		const char *text = row ? row->cells[i] : t->columns[i].head;

		if (width == 0)
			continue;
		if (width > end - column)
			width = end - column;
		if (text && t->columns[i].tail && row)
			text = tail_of(text, width);
		if (text)
			draw_cell(p, area->row + at, column, width,
			    t->columns[i].right, style, text);
		column += width + GAP;
	}
}

int top_table_draw_at(const struct top_table *t, struct top_page *p,
    const struct top_area *area, bool wide, size_t row)
{
	struct table_plan plan;
	size_t first = 0;
	int at = 0;

	if (!t || area->rows < 2 || area->columns < 1)
		return 0;
	if (row < t->nrows && row + 2 > (size_t)area->rows)
		first = row + 2 - (size_t)area->rows;
	fit(&plan, t, area->columns, wide);
	draw_row(t, &plan, p, area, at++, NULL, TOP_HEAD);
	for (size_t i = first; i < t->nrows && at < area->rows; i++)
		draw_row(t, &plan, p, area, at++, &t->rows[i],
		    i == row ? TOP_HEAD : t->rows[i].style);
	return at;
}

int top_table_draw(const struct top_table *t, struct top_page *p,
    const struct top_area *area, bool wide)
{
	return top_table_draw_at(t, p, area, wide, SIZE_MAX);
}

/* ---- one row ------------------------------------------------------------ */

/* Draws a text over as many rows as it needs; returns how many that are. */
static int draw_whole(
    struct top_page *p, const struct top_area *area, const char *text)
{
	int at = 0, one;

	do {
		size_t n = top_text_fitting(text, area->columns);
		char *part;

		/* A wide character in a narrow area is left to the page. */
		if (n == 0)
			n = top_text_next(text, &one);
		part = strndup(text, n);

		if (part)
			(void)top_page_put(p, area->row + at, area->column,
			    area->columns, TOP_PLAIN, part);
		free(part);
		text += n;
		at++;
	} while (*text && at < area->rows);
	return at;
}

void top_table_draw_row(const struct top_table *t, struct top_page *p,
    const struct top_area *area, size_t row)
{
	struct top_area left = *area;
	int heads = 0;

	if (!t || row >= t->nrows)
		return;
	for (size_t i = 0; i < t->ncolumns; i++) {
		int columns = top_text_columns(t->columns[i].head) + GAP;

		heads = columns > heads ? columns : heads;
	}
	for (size_t i = 0; i < t->ncolumns && left.rows > 0; i++) {
		const char *text = t->rows[row].cells[i];
		struct top_area of = left;
		int took, below;

		(void)top_page_put(p, left.row, left.column, left.columns,
		    TOP_DIM, t->columns[i].head);
		/* Where there is no room beside the head, below it. */
		below = of.columns <= heads;
		of.row += below;
		of.rows -= below;
		of.column += below ? 0 : heads;
		of.columns -= below ? 0 : heads;
		took = below;
		if (of.rows > 0)
			took += draw_whole(p, &of, text ? text : "");
		left.row += took;
		left.rows -= took;
	}
}
