/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the page's files. */
#include <string.h>

#include "web/page.h"
#include "web/page_data.h"

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static const struct page_file files[] = {
    {"/", "text/html; charset=utf-8", page_index_html, sizeof(page_index_html)},
    {"/style.css", "text/css; charset=utf-8", page_style_css,
	sizeof(page_style_css)},
    {"/script.js", "text/javascript; charset=utf-8", page_script_js,
	sizeof(page_script_js)},
    {"/chart.js", "text/javascript; charset=utf-8", page_chart_js,
	sizeof(page_chart_js)},
};

const struct page_file *page_find(const char *path)
{
	for (size_t i = 0; i < LENGTH(files); i++)
		if (strcmp(path, files[i].path) == 0)
			return &files[i];
	return NULL;
}
