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
 * Text for a terminal, which is clean (ctl_text_clean()): how wide it is.
 */
#ifndef FOREFETCH_TOP_TEXT_H
#define FOREFETCH_TOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The character at `s`, which is clean: its length in bytes (0 at the end), and
 * in `columns` how many it takes: 0 for one that combines, 1 or 2. */
size_t top_text_next(const char *s, int *columns);

/* How many bytes of clean text fit into `columns`. */
size_t top_text_fitting(const char *s, int columns);

/* Columns of clean text. */
int top_text_columns(const char *s);

#endif
