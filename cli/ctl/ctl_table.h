/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables on stdout, in columns as wide as what is in them (libsmartcols). */
#ifndef FOREFETCH_CTL_TABLE_H
#define FOREFETCH_CTL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct ctl_table;

/* `columns` is their headings, with commas between them; '>' before one puts
 * its cells to the right, as numbers are. NULL without memory, which the
 * functions below take. */
struct ctl_table *ctl_table_new(const char *columns);
/* Begins a row, whose cells follow. */
void ctl_table_row(struct ctl_table *t);
/* The next cell of the row; it becomes clean (ctl_text.h). */
void ctl_table_cell(struct ctl_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ctl_table_bytes(struct ctl_table *t, const uint8_t *s, size_t len);
/* The next cells, with '|' between them: texts of ctl_put.h. */
void ctl_table_put(struct ctl_table *t, const void *message, const char *cells);
/* Prints the table, and frees it. */
void ctl_table_print(struct ctl_table *t);

#endif
