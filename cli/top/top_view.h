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

/* How somebody looks at the model: set by keys, or by how the program was
 * started. */
struct top_look {
	enum top_sort sort;
	/* The number of the one server that all but the first table is about;
	 * -1: they are about all. */
	int server;
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

/* Draws the model on an empty page. Nothing is kept of either. */
void top_view_draw(
    struct top_page *p, const struct top_model *m, const struct top_look *look);

#endif
