/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables on stdout, by libsmartcols, which counts columns of wide characters. A
 * cell is cleaned here, since the library would print what a terminal obeys. */
#include "ctl/ctl_table.h"

#include "ctl/ctl_put.h"
#include "ctl/ctl_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

/* One table. The library owns its cells. */
struct ctl_table {
	struct libscols_table *table;
	struct libscols_line *line;
	size_t column; /* of the next cell */
};

struct ctl_table *ctl_table_new(const char *columns)
{
	struct ctl_table *t = calloc(1, sizeof(*t));
	char *names = strdup(columns), *rest = names, *name;

	if (t && names)
		t->table = scols_new_table();
	while (t && t->table && (name = strsep(&rest, ",")))
		scols_table_new_column(t->table, name + (*name == '>'), 0,
		    *name == '>' ? SCOLS_FL_RIGHT : 0);
	free(names);
	if (t && t->table) {
		/* The cells are clean already, and it would escape escapes. */
		scols_table_enable_noencoding(t->table, 1);
		return t;
	}
	free(t);
	return NULL;
}

void ctl_table_row(struct ctl_table *t)
{
	if (!t)
		return;
	t->line = scols_table_new_line(t->table, NULL);
	t->column = 0;
}

void ctl_table_cell(struct ctl_table *t, const char *format, ...)
{
	char *text = NULL, *clean = NULL;
	va_list ap;

	if (!t || !t->line)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) >= 0) {
		clean = ctl_text_clean(text, strlen(text));
		free(text);
	}
	va_end(ap);
	if (scols_line_refer_data(t->line, t->column++, clean))
		free(clean);
}

void ctl_table_bytes(struct ctl_table *t, const uint8_t *s, size_t len)
{
	ctl_table_cell(t, "%.*s", (int)len, len ? (const char *)s : "");
}

/* A cell, made by ctl_put() from its template of `len` bytes. */
static void put_one(
    struct ctl_table *t, const void *message, const char *cell, size_t len)
{
	char *form = strndup(cell, len), *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (form && out)
		ctl_put(out, message, form);
	if (out && fclose(out) == 0)
		ctl_table_cell(t, "%s", text);
	free(text);
	free(form);
}

void ctl_table_put(struct ctl_table *t, const void *message, const char *cells)
{
	for (size_t n; t && *cells; cells += n + (cells[n] == '|')) {
		n = strcspn(cells, "|");
		put_one(t, message, cells, n);
	}
}

void ctl_table_print(struct ctl_table *t)
{
	if (!t)
		return;
	scols_print_table(t->table);
	scols_unref_table(t->table);
	free(t);
}
