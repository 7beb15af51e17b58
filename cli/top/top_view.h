/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model as a page of text of any size. */
#ifndef FOREFETCH_TOP_VIEW_H
#define FOREFETCH_TOP_VIEW_H

#include <stdbool.h>

#include "top/top_model.h"
#include "top/top_page.h"

/* Servers are sorted by one of these, the greatest first. */
enum top_sort {
	/* The order of the configuration. */
	TOP_SORT_NAME,
	TOP_SORT_CALLS,
	TOP_SORT_LINK,
	TOP_SORT_WAITS,
	TOP_SORTS
};

/* The sections below the servers. */
enum top_shown {
	TOP_ALL, /* all sections, one below the other */
	TOP_WAITERS,
	TOP_CALLS,
	TOP_AHEAD,
	TOP_OUTCOMES,
	TOP_SHOWN
};

enum { TOP_FILTER_BYTES = 64 };

/* How somebody looks at the model: set by keys, or by how the program was
 * started. */
struct top_look {
	enum top_sort sort;
	/* The number of the one server that all but the first table is about;
	 * -1: they are about all. */
	int server;
	/* The one section that is shown, or all. One alone has a cursor, which
	 * is on `row`; with `details` it shows that row only, and whole. */
	enum top_shown shown;
	size_t row;
	size_t rows; /* how many there were when it was drawn last */
	bool details;
	/* How its rows are sorted: less than top_view_orders(). */
	unsigned order;
	/* Rows of sections that do not have this text are left out; "": none
	 * is. It is being typed while `typing`. */
	char filter[TOP_FILTER_BYTES];
	bool typing;
	/* Only columns that matter, for long names. */
	bool wide;
	/* The display is; the daemon is asked all the same. */
	bool paused;
	/* The meaning of keys and columns is shown. */
	bool help;
	/* There is a keyboard: a line says what it does. */
	bool keys;
	/* It is a block of text: lists are as long as they are, if not too
	 * long. */
	bool block;
	/* Seconds between two samples. */
	double interval_s;
	/* The time of day; set while a page is drawn. */
	const char *clock;
};

/* How many orders there are for the rows of a section that is shown alone; 0
 * for TOP_ALL. */
unsigned top_view_orders(enum top_shown shown);

/* Draws the model on an empty page. Nothing is kept of either. It sets
 * `look->rows`, and `look->row` to the last row where it is behind that. */
void top_view_draw(
    struct top_page *p, const struct top_model *m, struct top_look *look);
/* Draws it on a page of this size, with the time of day; to be freed, NULL
 * without memory, after which the next one may succeed. */
struct top_page *top_view_page(
    const struct top_model *m, struct top_look *look, int columns, int rows);

#endif
