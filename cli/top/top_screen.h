/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages on a terminal, and its keys (ncurses). */
#ifndef FOREFETCH_TOP_SCREEN_H
#define FOREFETCH_TOP_SCREEN_H

#include <stdbool.h>

#include "top/top_page.h"

enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_RESIZED,
	TOP_KEY_QUIT,
	TOP_KEY_SORT,
	TOP_KEY_PAUSE,
	TOP_KEY_NEXT,
	TOP_KEY_FORMER,
	TOP_KEY_HELP,
	TOP_KEY_WIDE,
	TOP_KEY_REDRAW,
};

/* False where the terminal is none that ncurses knows; nothing has changed
 * then. */
bool top_screen_open(void);
/* The terminal is as it was before. */
void top_screen_close(void);

void top_screen_size(int *columns, int *rows);
void top_screen_show(const struct top_page *p);
/* The next key that was pressed; NONE: there is none. */
enum top_key top_screen_key(void);

#endif
