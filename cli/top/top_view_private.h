/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to top_view*.c: the tables of a view, and the words in them. */
#ifndef FOREFETCH_TOP_VIEW_PRIVATE_H
#define FOREFETCH_TOP_VIEW_PRIVATE_H

#include "top/top_table.h"
#include "top/top_view.h"

/* The servers that lists are about: those from `first` to before `end`. */
struct top_range {
	size_t first, end;
};
/* The range that somebody looks at: one server, or all. */
struct top_range top_look_range(
    const struct top_model *m, const struct top_look *look);
/* Writes the indexes of all m->nservers servers into `order`, as they are
 * sorted. */
void top_look_order(
    const struct top_model *m, const struct top_look *look, size_t *order);

/* The table of servers, each with its mounts below it; to be freed, NULL
 * without memory (top_view_servers.c). */
struct top_table *top_servers_table(
    const struct top_model *m, const struct top_look *look);
/* A server's trouble, which gets a line of its own, as clean text to be freed;
 * "": it has none. */
char *top_servers_trouble(const struct top_server *srv);

/* One section of the page (top_view_lists.c). */
struct top_section {
	char title[96];
	/* Stands behind the title. */
	char remark[160];
	/* NULL without memory. */
	struct top_table *table;
	/* Its length changes seldom, so it takes no more rows than it needs. */
	bool steady;
};

/* Makes all sections of a page, with the rows that the filter leaves; to be
 * freed by top_sections_free(). There is none for TOP_ALL. */
void top_sections_make(struct top_section sections[TOP_SHOWN],
    const struct top_model *m, const struct top_look *look);
void top_sections_free(struct top_section sections[TOP_SHOWN]);

/* The name of the order in which the rows of the one section stand that is
 * shown. */
const char *top_sections_order(const struct top_look *look);

/* The name of a user, clean; of static memory, until it is called again. */
const char *top_user_name(uint32_t uid);

#endif
