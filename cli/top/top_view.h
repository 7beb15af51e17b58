/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model as a page of text of any size. */
#ifndef FOREFETCH_TOP_VIEW_H
#define FOREFETCH_TOP_VIEW_H

#include <stdbool.h>

#include "top/top_model.h"
#include "top/top_page.h"

enum top_sort {
	TOP_SORT_NAME, /* as configured */
	TOP_SORT_CALLS,
	TOP_SORT_LINK,
	TOP_SORT_WAITS,
	TOP_SORTS
};

/* How somebody looks at it. */
struct top_look {
	enum top_sort sort;
	/* Of the model's servers, the one that all but the first table is
	 * about; -1: all. */
	int server;
	bool wide;   /* only columns that matter, for long names */
	bool paused; /* the display is */
	bool help;   /* what the keys and columns mean */
	bool keys;   /* there is a keyboard: a line says what it does */
	bool block;  /* of text: lists are as long as they are, if not long */
	double interval_s;
	const char *clock; /* what time it is */
};

/* Draw on an empty page. */
void top_view_draw(
    struct top_page *p, const struct top_model *m, const struct top_look *look);

#endif
