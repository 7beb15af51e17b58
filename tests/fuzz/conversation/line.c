/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines, and the words in them. */
#include "conversation/line.h"

#include <stdlib.h>
#include <string.h>

size_t line_cut(struct line *l, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);
	size_t whole = end ? (size_t)(end - text) : len, n = whole;
	char *save;

	if (n >= sizeof(l->text))
		n = sizeof(l->text) - 1;
	memcpy(l->text, text, n);
	l->text[n] = '\0';
	l->n = 0;
	for (char *w = strtok_r(l->text, " ", &save); w && l->n < LINE_WORDS;
	     w = strtok_r(NULL, " ", &save))
		l->words[l->n++] = w;
	l->words[l->n] = NULL;
	return end ? whole + 1 : whole;
}

const char *line_word(char *const *words, unsigned n, unsigned i)
{
	return i < n ? words[i] : "";
}

uint64_t line_number(char *const *words, unsigned n, unsigned i)
{
	return strtoull(line_word(words, n, i), NULL, 10);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t line_bytes(
    char *const *words, unsigned n, unsigned i, unsigned char to[LINE_BYTES])
{
	const char *w = line_word(words, n, i);
	size_t len = 0;

	if (*w++ != 'x')
		return 0;
	for (; len < LINE_BYTES && digit(w[0]) >= 0 && digit(w[1]) >= 0; w += 2)
		to[len++] = (unsigned char)(digit(w[0]) << 4 | digit(w[1]));
	return len;
}
