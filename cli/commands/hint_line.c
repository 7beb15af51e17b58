/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a line of `forefetch hint -`: PATH [OFFSET LENGTH]. Names may contain
 * blanks and digits, so the line is read from its end: a range is two words
 * that look like numbers, with something in front of them. */
#include "commands/hint_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Whether a word is written as a number: digits, and perhaps one suffix. */
static bool looks(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n > 0 && (s[n] == '\0' || (strchr("KMGT", s[n]) && !s[n + 1]));
}

/* Parses what looks() has accepted. False if the value is 2^64 or more. */
static bool number(const char *s, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;

	errno = 0;
	*out = strtoull(s, &end, 10);
	if (errno)
		return false;
	if (!*end)
		return true;
	suffix = strchr(suffixes, *end);
	for (const char *c = suffixes; c <= suffix; c++) {
		if (*out > UINT64_MAX / 1024)
			return false;
		*out *= 1024;
	}
	return true;
}

/* The beginning of the last word of `text`, which ends at `end`; NULL unless it
 * looks like a number and something stands before it. */
static char *last_number(char *text, char *end)
{
	char *word = end;

	while (word > text && !is_blank(word[-1]))
		word--;
	if (word == text || !looks(word))
		return NULL;
	return word;
}

/* The end of what stands before the blanks in front of `word`. */
static char *cut(char *text, char *word)
{
	while (word > text && is_blank(word[-1]))
		word--;
	return word;
}

/* It writes NULs into the text as it goes. A single number at the end is a part
 * of the name, so the first NUL is taken back in that case. */
bool hint_line_parse(char *text, struct hint_line *out)
{
	char *length = last_number(text, text + strlen(text));
	char *offset, *end;
	char kept;

	*out = (struct hint_line){.path = text};
	if (!length)
		return true;
	end = cut(text, length);
	if (end == text)
		return true;
	/* Put back where it is no range. */
	kept = *end;
	*end = '\0';
	offset = last_number(text, end);
	if (!offset || cut(text, offset) == text) {
		*end = kept;
		return true;
	}
	*cut(text, offset) = '\0';
	return number(offset, &out->offset) && number(length, &out->length) &&
	       out->offset + out->length >= out->offset;
}
