/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `forefetch top`: what goes on now, live. This folder is one command of the
 * program `forefetch`; it uses ctl/, and knows the daemon by its messages.
 *
 *	top_sample ──▶ top_model ──▶ top_view ──▶ top_page ──▶ top_screen
 *	asks (in a      rates         sections     cells of     ncurses; or
 *	thread:         between       and tables   text         lines of text
 *	top_feed)       two samples   (top_table)
 *	                  └──▶ top_json
 *
 * Text of unknown origin as text for a terminal: how wide it is, and what of it
 * may go there.
 */
#ifndef FOREFETCH_TOP_TEXT_H
#define FOREFETCH_TOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of unknown origin as UTF-8 that is safe for a terminal: what is not
 * UTF-8, control characters, and those that turn the direction of writing or
 * cannot be seen become \xNN. To be freed; NULL without memory.
 */
char *top_text_clean(const void *bytes, size_t len);

/* The character at `s`, which is clean: its length in bytes (0 at the end), and
 * in `columns` how many it takes: 0 for one that combines, 1 or 2. */
size_t top_text_next(const char *s, int *columns);

/* Columns of clean text. */
int top_text_columns(const char *s);

#endif
