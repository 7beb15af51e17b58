/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of page/, which the build puts into the program. */
#ifndef FOREFETCH_PAGE_H
#define FOREFETCH_PAGE_H

#include <stddef.h>

/* One file; all of it is constant. */
struct page_file {
	const char *path; /* "/", "/script.js" */
	const char *type;
	const char *data;
	size_t len;
};

/* The file of a path; NULL: there is none. */
const struct page_file *page_find(const char *path);

#endif
