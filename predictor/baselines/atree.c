/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparing access trees: see atree.h. */
#include "predictor/baselines/atree.h"

static size_t count_kind(const struct atree_node *t, size_t n, bool exec)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += t[i].exec == exec;
	return count;
}

/* Pairs in order and greedily: each node takes the nearest equal one behind the
 * last pair. The search ends after REACH nodes, which keeps it linear. */
static size_t count_paired(const struct atree_node *a, size_t na,
    const struct atree_node *b, size_t nb, bool exec)
{
	enum { REACH = 32 };
	size_t paired = 0, from = 0;

	for (size_t i = 0; i < na; i++) {
		if (a[i].exec != exec)
			continue;
		for (size_t j = from; j < nb && j < from + REACH; j++) {
			if (b[j].exec != exec || b[j].object != a[i].object)
				continue;
			paired++;
			from = j + 1;
			break;
		}
	}
	return paired;
}

/* The share of one kind that is paired; negative where neither tree has any. */
static double share_paired(const struct atree_node *a, size_t na,
    const struct atree_node *b, size_t nb, bool exec)
{
	size_t most = count_kind(a, na, exec);
	size_t other = count_kind(b, nb, exec);

	if (other > most)
		most = other;
	if (most == 0)
		return -1;
	return (double)count_paired(a, na, b, nb, exec) / (double)most;
}

double atree_compat(const struct atree_node *pattern, size_t npattern,
    const struct atree_node *working, size_t nworking)
{
	double data = share_paired(pattern, npattern, working, nworking, false);
	double exec = share_paired(pattern, npattern, working, nworking, true);

	if (data < 0)
		return exec < 0 ? 0 : exec;
	return exec < 0 ? data : (data + exec) / 2;
}

size_t atree_pivot(const struct atree_node *pattern, size_t npattern,
    const struct atree_node *working, size_t nworking)
{
	if (nworking == 0)
		return 0;
	for (size_t i = npattern; i > 0; i--)
		if (pattern[i - 1].object == working[nworking - 1].object)
			return i;
	return 0;
}
