/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages on a terminal, and its keys (ncurses(3)). There is one terminal, so all
 * functions are for one thread, and those below top_screen_open() need it
 * open. */
#ifndef FOREFETCH_TOP_SCREEN_H
#define FOREFETCH_TOP_SCREEN_H

#include <stdbool.h>

#include "top/top_page.h"

/* Keys by what they do. */
enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_RESIZED,
	TOP_KEY_QUIT,
	TOP_KEY_SORT,
	TOP_KEY_PAUSE,
	TOP_KEY_RIGHT,
	TOP_KEY_LEFT,
	TOP_KEY_DOWN,
	TOP_KEY_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_SECTION,
	TOP_KEY_FORMER_SECTION,
	TOP_KEY_FILTER,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_ERASE,
	TOP_KEY_HELP,
	TOP_KEY_WIDE,
	TOP_KEY_REDRAW,
};

/* Takes the terminal. False where it is none that ncurses knows; nothing has
 * changed then. */
bool top_screen_open(void);
/* Gives the terminal back as it was before. */
void top_screen_close(void);

/* Its present size. */
void top_screen_size(int *columns, int *rows);
/* Shows a page, as much of it as there is room for. The page stays the
 * caller's. */
void top_screen_show(const struct top_page *p);
/* The next key that was pressed, without waiting; TOP_KEY_NONE: there is none.
 * `*byte` is what it types, a byte of UTF-8 perhaps; 0: nothing. */
enum top_key top_screen_key(char *byte);

#endif
