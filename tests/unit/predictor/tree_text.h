/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree as text, for tests: an object a line, indented by its depth. */
#ifndef FOREFETCH_TREE_TEXT_H
#define FOREFETCH_TREE_TEXT_H

#include <errno.h>
#include <stdio.h>

#include "predictor/persist/trees.h"

/* `name` gives an object's name, or NULL; it may be NULL itself. 0 or -errno.
 */
static inline int show_tree(const struct predictor *p, uint64_t uid,
    uint64_t id, FILE *out, const char *(*name)(void *ctx, uint64_t object),
    void *ctx)
{
	struct trees_show *s = trees_show_new(p, uid, id, SIZE_MAX);
	const struct predictor_line *lines;
	bool more;
	size_t n;
	int ret;

	if (!s)
		return -ENOMEM;
	while (!trees_show_step(s, SIZE_MAX))
		;
	ret = trees_show_lines(s, &lines, &n, &more);
	for (size_t i = 0; !ret && i < n; i++) {
		const char *known = name ? name(ctx, lines[i].object) : NULL;
		int indent = 2 * (int)lines[i].depth;

		if (known)
			fprintf(out, "%*s%s\n", indent, "", known);
		else
			fprintf(out, "%*s%016llx\n", indent, "",
			    (unsigned long long)lines[i].object);
	}
	trees_show_free(s);
	return ret;
}

#endif
