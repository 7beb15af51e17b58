/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far a word is from another one. */
#include "base/spelling.h"

#include <stdint.h>
#include <string.h>

size_t spelling_distance(const char *a, const char *b)
{
	enum { LONGEST = 32 };
	size_t row[LONGEST + 1], alen = strlen(a), blen = strlen(b);

	if (alen > LONGEST || blen > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[blen];
}
