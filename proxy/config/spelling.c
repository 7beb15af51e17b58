/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the slips between two words: the restricted Damerau-Levenshtein
 * distance, row by row, of which the last three are kept. config_key.c and the
 * commands ask for names that they do not know. */
#include "config/spelling.h"

#include <stdint.h>
#include <string.h>

/* Longer words are compared with none, so the rows lie on the stack. */
enum { LONGEST = 32 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t spelling_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1], alen = strlen(a), blen = strlen(b);

	if (alen > LONGEST || blen > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= blen; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= alen; i++) {
		const size_t *up = rows[(i - 1) % 3], *top = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			row[j] = up[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = least(row[j], least(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				row[j] = least(row[j], top[j - 2] + 1);
		}
	}
	return rows[alen % 3][blen];
}

const char *spelling_meant(
    const char *word, const void *rows, size_t n, size_t size)
{
	size_t nearest = SPELLING_SLIPS_MAX + 1;
	const char *meant = NULL, *longer = NULL;
	size_t len = strlen(word), begun = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name;
		size_t distance;

		memcpy(&name, (const char *)rows + i * size, sizeof(name));
		distance = spelling_distance(word, name);
		if (len > 1 && strncmp(word, name, len) == 0) {
			longer = name;
			begun++;
		}
		/* In a short word two slips make another one, and so does a
		 * slip in the first letter ("stop" is not "top"). */
		if (distance >= nearest ||
		    (len < 6 && (distance > 1 || *word != *name)))
			continue;
		nearest = distance;
		meant = name;
	}
	return !meant && begun == 1 ? longer : meant;
}
